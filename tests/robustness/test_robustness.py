import os

import pytest

from tests.robustness import damaged

QUICK = ["vectors.txt", "vectors.zip", "pairs.tsv.gz", "archive.zip", "archive.tar.xz", "recipe"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="readers run in forks")
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each == "recipe" else pytest.mark.slow) for each in QUICK],
)
def test_damaged_files_are_read_or_refused(name, tmp_path):
    counts, failures = damaged.try_subject(name, 10, 0, tmp_path)
    assert not failures
    assert counts.total() == 10
