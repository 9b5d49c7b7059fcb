"""The plot of a run's training curves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

import pytest
from matplotlib.axes import Axes

from paraphrastic_hf.config.recipe import to_mapping
from paraphrastic_hf.training.engine.curve import Curve, labels_of, read_curves, write_curve
from paraphrastic_hf.training.engine.score_units import NATS, scored_on
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.runs import PAIRS, card, recipe_of, trained

SMALL = f"""
data: {{sources: [{PAIRS}]}}
tokenizer: {{kind: word, vocab_size: 200}}
model: {{hidden_size: 8}}
training: {{epochs: 2, batch_size: 10, mega_batch: 1, lambda_w: 0.1}}
run: {{development: none, log_every: 4}}
"""


LOG = [
    {"step": 2, "epoch": 0, "seconds": 0.5, "lr": 1e-3, "loss": 0.9, "margin": 0.8, "penalty": 0.1},
    {"step": 3, "development": 41.5},
    {"step": 3, "epoch": 1, "seconds": 0.9, "loss": 0.7, "margin": 0.65, "penalty": 0.05},
]


def write_log(folder: Path, lines: list[dict[str, float]]) -> Path:
    (folder / "logs").mkdir()
    (folder / "recipe.yaml").write_text(SMALL, encoding="utf-8")
    path = folder / "logs" / "train.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_every_logged_value_except_times_is_a_curve(tmp_path: Path) -> None:
    assert read_curves(write_log(tmp_path, LOG)) == {
        "lr": Curve([2], [1e-3]),
        "loss": Curve([2, 3], [0.9, 0.7]),
        "margin": Curve([2, 3], [0.8, 0.65]),
        "penalty": Curve([2, 3], [0.1, 0.05]),
        "development": Curve([3], [41.5], is_part=False),
    }


def labels(folder: Path, *options: str) -> dict[str, str]:
    return labels_of(to_mapping(recipe_of(folder, SMALL, *options)))


def test_labels_name_the_unit_of_the_score_and_negatives_that_harden(tmp_path: Path) -> None:
    hard = labels(tmp_path, "--development", "clean")
    assert "harden" in hard["loss"]
    assert "clean" in hard["development"]
    assert "x 100" in hard["development"]
    assert "harden" not in labels(tmp_path, "--negatives", "rand")["loss"]
    assert "harden" not in labels(tmp_path, "--objective", "infonce")["loss"]
    held_out = labels_of({"run": {"development": "held_out"}, "training": {}})["development"]
    assert "nats per token" in held_out
    assert "100" not in held_out


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("sentiment-lstm", "accuracy"),
        ("smoke-parser", "F1"),
        ("towards-universal-2016/sick-universal", "Pearson"),
        ("language-model/smoke", NATS),
    ],
)
def test_the_task_determines_the_unit_of_a_score(name: str, unit: str) -> None:
    for options in ([], ["--development", "mine.tsv"]):
        assert unit in scored_on(to_mapping(load_recipe(name, options)))[1]


def test_the_plot_does_not_depend_on_training_times(tmp_path: Path) -> None:
    pictures = []
    for number, factor in enumerate((1, 7)):
        folder = tmp_path / str(number)
        folder.mkdir()
        times = [{**line, **({"seconds": factor} if "seconds" in line else {})} for line in LOG]
        write_log(folder, times)
        write_curve(folder)
        pictures.append((folder / "training.png").read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"\x89PNG")


def test_each_gauge_has_its_own_panel(tmp_path: Path) -> None:
    heights = []
    gauges: list[dict[str, float]] = [
        {},
        {"expected_cost": 52.8},
        {"expected_cost": 9, "first": 1},
        {"kl/en": 2, "kl/fr": 3, "active_units/en": 5},
    ]
    for number, more in enumerate(gauges):
        folder = tmp_path / str(number)
        folder.mkdir()
        log = [LOG[0], LOG[0] | {"step": 4, "late": 0.2}, LOG[0] | {"step": 6}]
        write_log(folder, [*log, {"step": 6, "development": 1, **more}])
        write_curve(folder)
        picture = (folder / "training.png").read_bytes()
        heights.append(int.from_bytes(picture[20:24], "big"))  # of the header of a PNG
    assert heights == [670, 790, 910, 910]


@pytest.mark.parametrize(("names", "columns"), [(5, 0), (6, 1), (9, 2), (40, 5)])
def test_long_legends_stand_beside_their_panel(names: int, columns: int, tmp_path: Path) -> None:
    gauges = {f"kl/{number}": 2.0 + number for number in range(names)}
    write_log(tmp_path, [LOG[0], {"step": 6, **gauges}])
    with mock.patch.object(Axes, "plot", autospec=True, side_effect=Axes.plot) as plot:
        write_curve(tmp_path)
    drawn = [call.kwargs["label"] for call in plot.call_args_list]
    assert set(drawn) >= {str(number) for number in range(names)}
    width = int.from_bytes((tmp_path / "training.png").read_bytes()[16:20], "big")
    assert width == 700 + 130 * columns


def test_without_a_logged_step_an_old_plot_is_removed(tmp_path: Path) -> None:
    write_log(tmp_path, [])
    (tmp_path / "training.png").write_bytes(b"of another run")
    write_curve(tmp_path)
    assert not (tmp_path / "training.png").exists()


def test_without_matplotlib_a_run_has_no_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    output = trained(tmp_path, SMALL)
    assert (output / "run.json").exists()
    assert not (output / "training.png").exists()
    assert "training.png" not in card(output)


def test_a_run_plots_its_log(tmp_path: Path) -> None:
    output = trained(tmp_path, SMALL)
    picture = (output / "training.png").read_bytes()
    assert read_curves(output / "logs" / "train.jsonl")["loss"].steps == [4, 8, 12]
    write_curve(output)
    assert (output / "training.png").read_bytes() == picture
    assert "](training.png)" in card(output)
