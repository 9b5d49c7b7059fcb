import os
import signal

import pytest

from tests.robustness import damaged
from tests.robustness.subjects import SUBJECTS, Subject, writes

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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="readers run in forks")
@pytest.mark.parametrize(
    ("wrong", "named"),
    [(lambda: os.kill(os.getpid(), signal.SIGKILL), "-9"), (lambda: int("x"), "ValueError")],
    ids=["crash", "other error"],
)
def test_crashes_and_other_errors_are_failures(wrong, named, tmp_path, monkeypatch):
    def read(folder):
        return (folder / "a").read_bytes() == b"undamaged" or wrong()

    monkeypatch.setitem(SUBJECTS, "wrong", Subject(writes("a", b"undamaged"), read))
    counts, failures = damaged.try_subject("wrong", 2, 0, tmp_path)
    assert not counts
    assert [named in failure for failure in failures] == [True, True]
