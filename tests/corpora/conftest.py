"""Fixtures shared by the tests of corpora."""

import os
from pathlib import Path

import pytest

from tests.corpora.layouts import write_all


@pytest.fixture(scope="session")
def data():
    """The folder of official files."""
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set")
    return Path(root) / "eval"


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def corpora(tmp_path, own_cache):
    return write_all(tmp_path / "corpora")
