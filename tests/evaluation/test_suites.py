"""The `sts` suite end to end: any encoder in, a report out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.data.sts_files import read_sts
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.evaluation.report import write_report
from paraphrastic_hf.evaluation.suites import evaluate


class Letters:
    """An encoder: counts of letters."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array(
            [[text.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float
        )


def test_any_object_with_encode_is_scored(sts_folder: Path, tmp_path: Path) -> None:
    results = evaluate(Letters(), "sts", sts_folder, name="letters")
    assert len(results["datasets"]) == 25 + 2 + 7
    assert results["averages"]["mean"] > 50  # paraphrases share letters
    paths = write_report(results, tmp_path / "report")
    assert json.loads(paths[0].read_text(encoding="utf-8"))["averages"] == results["averages"]
    assert f"| **letters** | {results['groups'][0]['mean']:.1f} |" in paths[1].read_text(
        encoding="utf-8"
    )
    assert paths[2].read_bytes().startswith(b"\x89PNG")


def test_without_smt_the_report_says_so(sts_folder: Path) -> None:
    (sts_folder / "sts13" / "STS.input.SMT.txt").unlink()
    results = evaluate(Letters(), "sts", sts_folder)
    assert len(results["datasets"]) == 24 + 2 + 7
    assert "24 datasets" in results["notes"][0]


def test_a_missing_gold_file_is_named(sts_folder: Path) -> None:
    (sts_folder / "sts14" / "STS.gs.images.txt").unlink()
    with pytest.raises(DataError, match=r"STS.gs.images.txt is not in .*sts14"):
        evaluate(Letters(), "sts", sts_folder)


def test_an_unknown_suite_is_refused(sts_folder: Path) -> None:
    with pytest.raises(RecipeError, match="the suites are sts"):
        evaluate(Letters(), "stss", sts_folder)


def test_the_official_files_have_their_published_sizes() -> None:
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set: no official STS files here")
    sizes: dict[str, int] = {}
    for pairs in read_sts(Path(root) / "eval"):
        sizes[pairs.group] = sizes.get(pairs.group, 0) + len(pairs)
    assert sizes == {"2012": 3108, "2013": 2250, "2014": 3750, "2015": 3000, "2016": 1186}
