"""The plot of a run's training curves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

import pytest
from matplotlib.axes import Axes

from paraphrastic_hf.config.recipe import to_mapping
from paraphrastic_hf.training.engine.curve import Curve, read_curves, titles_of, write_curve
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.engine.score_units import NATS, scored_on
from paraphrastic_hf.training.kinds import load_recipe
from tests.data_root import DEMO
from tests.training.runs import PAIRS, card, trained

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


def titles(folder: Path, *options: str) -> dict[str, str]:
    (folder / "recipe.yaml").write_text(SMALL, encoding="utf-8")
    recipe = load_recipe(folder / "recipe.yaml", options)
    return titles_of(to_mapping(recipe))


def test_titles_name_the_unit_of_the_score_and_whether_the_loss_can_rise(tmp_path: Path) -> None:
    hard = titles(tmp_path, "--development", "clean")
    assert "harder" in hard["loss"]
    assert "clean" in hard["development"]
    assert "x 100" in hard["development"]
    assert "harder" not in titles(tmp_path, "--negatives", "rand")["loss"]
    assert "harder" not in titles(tmp_path, "--objective", "infonce")["loss"]
    held_out = titles_of({"run": {"development": "held_out"}, "training": {}})["development"]
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


def size_of(folder: Path) -> tuple[int, int]:
    """Width and height of the picture in pixels, from the header of the PNG file."""
    header = (folder / "training.png").read_bytes()
    return int.from_bytes(header[16:20], "big"), int.from_bytes(header[20:24], "big")


@pytest.mark.parametrize(
    ("gauges", "height"),
    [
        ({}, 670),
        ({"expected_cost": 52.8}, 790),
        ({"expected_cost": 9, "first": 1}, 910),
        ({"kl/en": 2, "kl/fr": 3, "active_units/en": 5}, 910),
    ],
)
def test_gauges_have_panels_of_their_own(
    gauges: dict[str, float], height: int, tmp_path: Path
) -> None:
    scores = [{"step": step, "development": step, **gauges} for step in (3, 6)]
    write_log(tmp_path, [LOG[0], LOG[0] | {"step": 4}, *scores])
    write_curve(tmp_path)
    assert size_of(tmp_path)[1] == height


@pytest.mark.parametrize(("names", "columns"), [(1, 0), (2, 1), (7, 1), (9, 2), (40, 6)])
def test_the_legend_is_beside_the_panel(names: int, columns: int, tmp_path: Path) -> None:
    gauges = {f"kl/{number}": 2.0 + number for number in range(names)}
    write_log(tmp_path, [{"step": step, **gauges} for step in (3, 6)])
    with mock.patch.object(Axes, "plot", autospec=True, side_effect=Axes.plot) as plot:
        write_curve(tmp_path)
    if columns:
        drawn = [call.kwargs["label"] for call in plot.call_args_list]
        assert drawn == sorted(map(str, range(names)))
    assert size_of(tmp_path)[0] == 700 + 130 * columns


@pytest.mark.parametrize("lines", [[], LOG[:2]])
def test_without_two_points_there_is_no_picture(
    lines: list[dict[str, float]], tmp_path: Path
) -> None:
    write_log(tmp_path, lines)
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


def test_the_loss_of_the_demo_falls(tmp_path: Path) -> None:
    train(load_recipe(DEMO.with_name("demo.yaml")), tmp_path / "demo", progress=False)
    values = read_curves(tmp_path / "demo" / "logs" / "train.jsonl")["loss"].values
    assert values[:5] == sorted(values[:5], reverse=True)
    assert max(values[5:]) < 0.1 * values[0]
