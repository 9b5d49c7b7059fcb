"""The plot of a run's training curves."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from paraphrastic_hf.training.engine.curve import Curve, read_curves, titles_of, write_curve
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


def test_every_logged_value_except_times_is_a_curve(tmp_path):
    assert read_curves(write_log(tmp_path, LOG)) == {
        "lr": Curve([2], [1e-3]),
        "loss": Curve([2, 3], [0.9, 0.7]),
        "margin": Curve([2, 3], [0.8, 0.65]),
        "penalty": Curve([2, 3], [0.1, 0.05]),
        "development": Curve([3], [41.5], is_part=False),
    }


def test_titles_name_the_unit_of_the_score_and_whether_the_loss_can_rise(tmp_path):
    def titles(*options: str) -> dict[str, str]:
        return titles_of(asdict(recipe_of(tmp_path, SMALL, *options)))

    hard = titles("--development", "clean")
    assert "harder" in hard["loss"]
    assert "x 100" in hard["development"]
    for easy in (("--negatives", "rand"), ("--objective", "infonce")):
        assert "harder" not in titles(*easy)["loss"]
    held_out = titles_of({"run": {"development": "held_out"}, "training": {}})["development"]
    assert NATS in held_out
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
def test_the_task_determines_the_unit_of_a_score(name, unit):
    for options in ([], ["--development", "mine.tsv"]):
        assert unit in scored_on(asdict(load_recipe(name, options)))[1]


def size_of(folder: Path) -> tuple[int, int]:
    """Write the plot and return its width and height in pixels, from the header of the file."""
    write_curve(folder)
    header = (folder / "training.png").read_bytes()[16:24]
    return int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")


@pytest.mark.parametrize(
    ("gauges", "size"),
    [
        ({}, (830, 670)),
        ({"expected_cost": 9, "first": 1}, (830, 910)),
        ({"kl/en": 2, "kl/fr": 3, "active_units/en": 5}, (830, 910)),
        ({f"kl/{number}": number for number in range(40)}, (1480, 790)),
    ],
)
def test_gauges_have_panels_of_their_own_with_legends_beside(gauges, size, tmp_path):
    scores = [{"step": step, "development": step, **gauges} for step in (3, 6)]
    write_log(tmp_path, [LOG[0], LOG[0] | {"step": 4}, *scores])
    assert size_of(tmp_path) == size


def test_a_single_curve_has_no_legend(tmp_path):
    write_log(tmp_path, [{"step": step, "kl/en": step} for step in (3, 6)])
    assert size_of(tmp_path)[0] == 700


@pytest.mark.parametrize("lines", [[], LOG[:2]])
def test_without_two_points_there_is_no_picture(lines, tmp_path):
    write_log(tmp_path, lines)
    (tmp_path / "training.png").write_bytes(b"of another run")
    write_curve(tmp_path)
    assert not (tmp_path / "training.png").exists()


@pytest.mark.parametrize("has_matplotlib", [True, False])
def test_a_run_plots_its_log_if_matplotlib_is_installed(has_matplotlib, tmp_path, monkeypatch):
    for name in () if has_matplotlib else ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    output = trained(tmp_path, SMALL)
    assert read_curves(output / "logs" / "train.jsonl")["loss"].steps == [4, 8, 12]
    assert ("](training.png)" in card(output)) == has_matplotlib
    assert (output / "training.png").exists() == has_matplotlib
    if has_matplotlib:
        picture = (output / "training.png").read_bytes()
        write_curve(output)
        assert (output / "training.png").read_bytes() == picture
