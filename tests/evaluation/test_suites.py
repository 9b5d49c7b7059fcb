import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from paraphrastic_hf import evaluate
from paraphrastic_hf.errors import DataError, ModelError, RecipeError
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.report import headline_table, write_report
from tests.evaluation.made_pairs import Lengths, Letters


def test_any_object_with_encode_is_scored(sts_folder, tmp_path):
    results = evaluate(Letters(), "sts", sts_folder, name="letters")
    assert len(results["rows"]) == 25 + 5 + 2 + 7  # datasets, whole years, STS-B, STS17
    assert results["headline"]["2012-2016"] > 50  # paraphrases share letters
    paths = write_report(results, tmp_path / "report")
    assert json.loads(paths[0].read_text())["headline"] == results["headline"]
    assert f"| **letters** | {results['headline']['2012']:.1f} |" in paths[1].read_text(
        encoding="utf-8"
    )
    assert paths[2].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("names", [("a", "b"), [f"a rather long name, {i}" for i in range(9)]])
def test_a_wide_table_is_transposed(names):
    results = {
        "model": "ours",
        "summary": "What",
        "unit": "r",
        "headline": {name: 10.0 + i for i, name in enumerate(names)},
        "papers": {"paper": {names[1]: 3.0}},
    }
    table = headline_table(results)[2:]
    if len(names) == 2:
        assert table[0] == "| system | a | b |"
        assert table[2:] == ["| **ours** | 10.0 | 11.0 |", "| paper |  | 3.0 |"]
    else:
        assert table[0] == "|  | **ours** | paper |"
        assert table[2:4] == [f"| {names[0]} | 10.0 |  |", f"| {names[1]} | 11.0 | 3.0 |"]
        assert len(table) == 2 + 9


def test_the_averages_follow_their_conventions(sts_folder):
    results = evaluate(Letters(), "sts", sts_folder)
    years = {}
    for row in results["rows"]:
        if row["group"].isdecimal():
            years.setdefault(row["group"], []).append(row)
    single = [[r for r in rows if r["name"] != "all pairs"] for rows in years.values()]
    mean = np.mean([np.mean([r["scores"]["pearson"] for r in rows]) for rows in single])
    weighted = np.mean(
        [
            np.average([r["scores"]["pearson"] for r in rows], weights=[r["size"] for r in rows])
            for rows in single
        ]
    )
    whole = [r for rows in years.values() for r in rows if r["name"] == "all pairs"]
    mteb = np.mean([r["scores"]["spearman"] for r in whole])
    headline = results["headline"]
    assert headline["2012-2016"] == pytest.approx(mean)
    assert headline["weighted"] == pytest.approx(weighted)
    assert headline["MTEB"] == pytest.approx(mteb)


def test_a_task_without_data_is_skipped(sts_folder, tmp_path):
    (sts_folder / "sts14" / "STS.gs.images.txt").unlink()
    results = evaluate(Letters(), "sts", sts_folder)
    assert list(results["skipped"]) == ["2014"]
    assert "STS.gs.images.txt" in results["skipped"]["2014"]
    assert "2014" not in results["headline"]
    assert "2012-2016" not in results["headline"]  # no average over fewer years
    assert results["headline"]["2012"] > 50
    page = write_report(results, tmp_path)[1].read_text()
    assert "STS.gs.images.txt" in page
    (sts_folder / "sts13" / "STS.input.SMT.txt").unlink()  # SMT is optional
    results = evaluate(Letters(), "sts", sts_folder)
    assert list(results["skipped"]) == ["2014"]
    assert any("24" in note for note in results["notes"])


def test_an_interrupted_run_reuses_cached_tasks(sts_folder, tmp_path):
    class Interrupted(Letters):
        calls = 0

        def encode(self, texts):
            self.calls += 1
            if self.calls == 4:
                raise KeyboardInterrupt
            return super().encode(texts)

    encoder, given = Interrupted(), {"name": "letters", "keep": tmp_path / "kept"}
    with pytest.raises(KeyboardInterrupt):
        evaluate(encoder, "sts", sts_folder, **given)
    assert len(list((tmp_path / "kept").iterdir())) == 3
    path = tmp_path / "kept" / "sts.2012.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "seconds": 1e6}))
    again = evaluate(encoder, "sts", sts_folder, **given)
    assert encoder.calls == 4 + 4  # three tasks of seven were kept
    assert again["seconds"] >= 1e6
    assert again["rows"] == evaluate(Letters(), "sts", sts_folder)["rows"]


def test_cached_tasks_of_other_models_files_or_protocols_are_not_used(
    sts_folder, tmp_path, monkeypatch
):
    def rows(encoder, **given):
        return evaluate(encoder, "sts", sts_folder, **given)["rows"]

    kept = {"name": "letters", "keep": tmp_path / "kept"}
    whole = rows(Letters(), **kept)
    (tmp_path / "kept" / "sts.2012.json").write_text("{")
    assert rows(Lengths(), **kept) == rows(Lengths())
    file = sts_folder / "sts12" / "STS.gs.MSRpar.txt"
    scores = file.read_text().split("\n")
    file.write_text("\n".join(["5.0" if scores[0] != "5.0" else "0.0", *scores[1:]]))
    assert whole != rows(Letters(), **kept) == rows(Letters())
    encoder = Mock(wraps=Letters())
    for notes, calls in (((), 7), ((), 7), (("Vectors are 1 long.",), 14)):
        monkeypatch.setitem(SUITES, "sts", replace(SUITES["sts"], notes=notes))
        rows(encoder, name="letters", keep=tmp_path)
        assert encoder.encode.call_count == calls


@pytest.mark.parametrize("change", [lambda x: x * np.nan, lambda x: x[0], lambda x: x[1:]])
def test_invalid_vectors_are_refused(sts_folder, change):
    encoder = SimpleNamespace(encode=lambda texts: change(Letters().encode(texts)))
    for suite in ("sts", "speed"):
        with pytest.raises(ModelError):
            evaluate(encoder, suite, sts_folder)


def test_invalid_evaluations_are_refused(tmp_path):
    for encoder, suite, options, error in (
        (Letters(), "sts", {}, DataError),  # no data at all
        (Letters(), "stss", {}, RecipeError),
        (Letters(), "sts", {"keep": Path("kept")}, RecipeError),  # no name
        ("english", "sts", {}, TypeError),
    ):
        with pytest.raises(error):
            evaluate(encoder, suite, tmp_path, **options)
