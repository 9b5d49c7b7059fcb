"""A run that is killed before any file operation resumes with equal weights, logs and plot."""

import os
from pathlib import Path

import pytest

from paraphrastic_hf.config.recipe import to_yaml
from tests import fresh
from tests.trained import FAMILIES
from tests.training.runs import assert_equal_weights, log, recipe_of, written

pytestmark = pytest.mark.slow

POINTS = 20
RUNS = {  # recipe and options
    "contrastive": (
        FAMILIES["word"],
        "--epochs 4 --batch_size 8 --mega_batch 2 --anneal_steps 4 --lambda_w 0.01",
    ),
    "language_model": (
        FAMILIES["language_model"],
        "--epochs 2 --batch_tokens 100 --accumulate 2 --evaluate_every 4",
    ),
    "generative": (
        FAMILIES["bgt"],
        "--epochs 4 --batch_tokens 100 --accumulate 2 --candidates 20 --aggressive true "
        "--evaluate_every 4 --development held_out",
    ),
    "translation": (
        FAMILIES["gated_conv"],
        "--epochs 4 --batch_tokens 100 --accumulate 2 --optimizer nesterov --momentum 0.9 "
        "--learning_rate 0.2 --clip 0.1 --schedule constant --warmup_steps 0 --anneal 0.5 "
        "--anneal_from 2 --average 2 --evaluate_every 4 --development held_out",
    ),
}
# Every run is a fork of one process that has imported everything. Arguments: a recipe, a folder for
# the runs `whole` and `killed-N`, and the number of points N.
PROGRAM = """
import gc, signal, sys
from pathlib import Path
from paraphrastic_hf.text.language_id import known_languages
from paraphrastic_hf.training.engine import curve
from tests.robustness.attack import Run, import_all

import_all()
# drawing and loading the language identifier take longer than a run
curve.draw = lambda curves, titles: sorted(curves.items())
curve.png = lambda numbers, dpi: repr(numbers).encode()
known_languages()
gc.freeze()
recipe, folder, points = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])


def run(name, kill=None):
    output = folder / name
    line = ["train", recipe, "--output", str(output), "--quiet"]
    return Run(line, output, folder / "errors", kill).wait()


status, total, errors = run("whole")
assert status == 0, errors
for number in range(points):
    point = 1 + number * (total - 1) // (points - 1)
    status, _, errors = run(f"killed-{number}", (point, signal.SIGKILL))
    assert status == -signal.SIGKILL, (point, errors)
    status, _, errors = run(f"killed-{number}")
    assert status == 0, f"point {point} of {total}: {errors}"
"""


def write_run(name: str, folder: Path) -> Path:
    """Write a recipe of `RUNS`."""
    text, options = RUNS[name]
    often = ["--checkpoint_every", "5", "--log_every", "3"]
    return written(folder, to_yaml(recipe_of(folder, text, *options.split(), *often)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forks of one process")
@pytest.mark.parametrize("name", RUNS)
def test_a_run_killed_anywhere_ends_like_an_uninterrupted_one(name, tmp_path):
    arguments = str(write_run(name, tmp_path)), str(tmp_path), str(POINTS)
    done = fresh.run(PROGRAM, *arguments, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    whole = tmp_path / "whole"
    expected = log(whole)
    assert len(expected) > 4
    for number in range(POINTS):
        output = tmp_path / f"killed-{number}"
        assert_equal_weights(output, whole)
        assert log(output) == expected, number
        assert {path.name for path in output.iterdir()} == {path.name for path in whole.iterdir()}
        picture = (output / "training.png").read_bytes()
        assert picture == (whole / "training.png").read_bytes(), number
