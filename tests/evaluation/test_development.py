"""What recipes select models by, as a suite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.suites.development import GROUP, MEAN, SETS
from tests.evaluation.made_pairs import Letters, row_of
from tests.evaluation.sts_files import write_lines


def test_the_mean_is_of_the_three_sets_whatever_their_sizes(sts_folder: Path) -> None:
    """Of the second set three pairs of twelve are left, those of the last are in another order."""
    sick, phrases = (
        sts_folder / "sick2014/SICK_trial.txt",
        sts_folder / "ppdb_annotated/ppdb_dev.txt",
    )
    lines = sick.read_text(encoding="utf-8").splitlines()
    write_lines(sick, [lines[0], lines[1], lines[8], lines[9]])
    write_lines(phrases, phrases.read_text(encoding="utf-8").splitlines()[::-1])
    results = evaluate(Letters(), "development", sts_folder)
    sizes = {name: row_of(results, GROUP, name)["size"] for name in SETS}
    assert list(sizes.values()) == [12, 3, 12]
    scores = [row_of(results, GROUP, name)["scores"]["pearson"] for name in SETS]
    assert len({round(score, 3) for score in scores}) == 2
    assert list(results["headline"]) == [*SETS, MEAN]
    assert list(results["headline"].values()) == pytest.approx([*scores, np.mean(scores)])


def test_without_one_set_there_is_no_score(sts_folder: Path) -> None:
    (sts_folder / "sick2014" / "SICK_trial.txt").unlink()
    with pytest.raises(DataError, match=r"SICK_trial\.txt is not in"):
        evaluate(Letters(), "development", sts_folder)
