import os
import signal

import pytest

from tests.robustness import damaged
from tests.robustness.subjects import SUBJECTS, Subject

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


def crash(folder):
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(folder):
    raise ValueError("not of this package")


def hang(folder):
    while True:
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="readers run in forks")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [(crash, "-9"), (refuse, "ValueError"), pytest.param(hang, "hung", marks=pytest.mark.slow)],
)
def test_crashes_hangs_and_other_errors_are_failures(wrong, message, tmp_path, monkeypatch):
    good = SUBJECTS["recipe"]

    def read(folder):
        return good.read(folder) if "RANK_OF_TEST" not in os.environ else wrong(folder)

    def one_case(*arguments):
        os.environ["RANK_OF_TEST"] = "case"
        return real(*arguments)

    real = damaged.one_case
    monkeypatch.setattr(damaged, "one_case", one_case)
    monkeypatch.setattr(damaged, "SECONDS", 3)
    monkeypatch.setitem(SUBJECTS, "wrong", Subject(good.make, read))
    counts, failures = damaged.try_subject("wrong", 2, 0, tmp_path)
    assert not counts
    assert len(failures) == 2
    assert all(message in failure for failure in failures)
