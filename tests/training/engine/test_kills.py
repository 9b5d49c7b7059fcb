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
import gc, os, signal, sys
from pathlib import Path
import torch
from paraphrastic_hf.text.language_id import known_languages
from paraphrastic_hf.training.contrastive import job
from paraphrastic_hf.training.engine import curve
from paraphrastic_hf.training.generative import job
from paraphrastic_hf.training.language_model import job
from paraphrastic_hf.training.translation import job
from paraphrastic_hf.training.kinds import load_recipe
from paraphrastic_hf.training.engine.run import train


# drawing takes longer than a run
curve.draw = lambda curves, titles: sorted(curves.items())
curve.png = lambda numbers, dpi: repr(numbers).encode()
known_languages()  # loading the language identifier takes longer than a run
recipe, folder = load_recipe(sys.argv[1]), Path(sys.argv[2])
points = int(sys.argv[3])
KINDS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"}


def in_a_fork(output, kill_at=None):
    events = os.open(folder / "events", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    child = os.fork()
    if child == 0:
        seen = 0

        def hook(event, arguments):
            nonlocal seen
            if event not in KINDS or not str(arguments[0]).startswith(str(output)):
                return
            if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR):
                return
            seen += 1
            os.write(events, b".")
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            train(recipe, output, progress=False)
            if output.name == "whole":
                (folder / "modules").write_text(" ".join(sys.modules))
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    os.close(events)
    count = (folder / "events").stat().st_size
    return count, os.WIFSIGNALED(status), os.waitstatus_to_exitcode(status)


total, _, code = in_a_fork(folder / "whole")
assert code == 0
for module in (folder / "modules").read_text().split():
    try:
        __import__(module)  # once for all forks
    except ImportError:
        pass
gc.freeze()
for number in range(points):
    point = 1 + number * (total - 1) // (points - 1)
    output = folder / f"killed-{number}"
    _, was_killed, _ = in_a_fork(output, point)
    assert was_killed, point
    code = in_a_fork(output)[2]
    assert code == 0, f"point {point} of {total}"
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
