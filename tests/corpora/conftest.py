"""Fixtures shared by the tests of corpora."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpora.layouts import write_all


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of official files."""
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set")
    return Path(root) / "eval"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def corpora(tmp_path: Path, own_cache: None) -> Path:
    return write_all(tmp_path / "corpora")
