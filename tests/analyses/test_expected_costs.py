from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.analyses.expected_costs import expected_costs, read_costs
from paraphrastic_hf.analyses.report import write_analysis
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put


def run(folder: Path, metric: str, entries: list[dict[str, Any]]) -> Path:
    recipe = f"kind: minimum_risk\ncost: {{metric: {metric}}}\n"
    log = "".join(json.dumps(entry) + "\n" for entry in entries) + '{"step": 4'
    return put(folder, {"recipe.yaml": recipe, "logs/train.jsonl": log})


def test_runs_have_costs_by_both_metrics(tmp_path: Path) -> None:

    loss = {"step": 1, "loss": 9.0}
    simile = [{"step": 2, "expected_cost": 20.0, "expected_cost_bleu": 50.0}]
    bleu = [{"step": 2, "expected_cost": 49.0, "expected_cost_simile": 21.0}]
    later = {"step": 3, "expected_cost": 48.0, "expected_cost_simile": 20.5}
    half = [{"step": 2, "expected_cost": 30.0, "expected_cost_simile": 22.0}]
    runs = [
        run(tmp_path / "a", "simile", [loss, *simile]),
        run(tmp_path / "b", "bleu", [loss, *bleu, later]),
        run(tmp_path / "c", "half", half),
    ]
    analysis = expected_costs(runs)
    assert analysis.tables[0].columns == ["run", "trained by", "steps", "by SimiLE", "by BLEU"]
    assert analysis.tables[0].rows == [
        ["a", "simile", 2, 20.0, 50.0],
        ["b", "bleu", 2, 21.0, 49.0],
        ["b", "bleu", 3, 20.5, 48.0],
        ["c", "half", 2, 22.0, None],
    ]
    lines = [len(axes.lines) for axes in analysis.figure.axes]
    assert lines == [3, 2]
    names = {path.name for path in write_analysis(analysis, tmp_path / "out")}
    assert names == {f"expected-costs.{kind}" for kind in ("md", "json", "png", "tsv")}


def test_runs_without_expected_costs_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_costs(tmp_path / "absent")
    with pytest.raises(DataError):
        read_costs(run(tmp_path / "other", "simile", [{"step": 1, "development": 3.0}]))
    with pytest.raises(DataError):
        expected_costs([tmp_path / "a", tmp_path / "b" / "a"])
