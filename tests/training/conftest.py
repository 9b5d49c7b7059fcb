"""Fixtures of this folder."""

import pytest

from tests.evaluation.sts_files import write_sts


@pytest.fixture
def sts_folder(tmp_path):
    """A data root's `eval` folder with tiny STS files."""
    return write_sts(tmp_path / "data" / "eval")
