"""Helpers that write recipes, train them and read the results."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.training.engine import run
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.kinds import load_recipe
from tests import fresh

RECIPES = Path(__file__).parents[2] / "recipes"
PAIRS = RECIPES / "demo" / "pairs.tsv"
BITEXT = RECIPES / "default" / "en-fr.tsv"
ROWS = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
CONTRASTIVE = f"""
data: {{sources: [{PAIRS}]}}
tokenizer: {{kind: word, vocab_size: 200}}
model: {{hidden_size: 8}}
training: {{epochs: 1, mega_batch: 1}}
run: {{development: none}}
"""
DISTILLATION = f"""
kind: distillation
data: {{sources: [{PAIRS}]}}
teachers: [tiny]
tokenizer: {{kind: word, vocab_size: 100}}
model: {{hidden_size: 8}}
training: {{epochs: 1, batch_size: 20}}
run: {{development: none}}
"""
SMALL = ["--vocab_size", "250", "--hidden_size", "24", "--batch_size", "8", "--development", "none"]
SMALL += ["--mega_batch", "3", "--anneal_steps", "4", "--epochs", "4"]
COMMAND = "import sys\nfrom paraphrastic_hf.cli.main import main\nsys.exit(main(sys.argv[1:]))"

train = partial(run.train, progress=False)


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def recipe_of(folder: Path, text: str, *options: str) -> Any:
    return load_recipe(written(folder, text), options)


def small_recipe(folder: Path, *options: str) -> Any:
    """Return a recipe of about 20 steps on the demo pairs with SentencePiece."""
    return recipe_of(folder, f"data: {{sources: [{PAIRS}]}}", *SMALL, *options)


def trained(folder: Path, text: str, *options: str, **more: Any) -> Path:
    """Train and return the output folder."""
    train(recipe_of(folder, text, *options), folder / "out", **more)
    return folder / "out"


def record(output: Path) -> dict[str, Any]:
    return dict(json.loads((output / "run.json").read_text(encoding="utf-8")))


def card(output: Path) -> str:
    """Return the model card on one line."""
    return " ".join((output / "README.md").read_text(encoding="utf-8").split())


def log(output: Path, key: str = "step") -> list[dict[str, Any]]:
    """Return the lines of a run's log with a key, without times."""
    lines = (output / "logs" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    found = [line for line in map(json.loads, lines) if key in line]
    return [{k: v for k, v in line.items() if k != "seconds"} for line in found]


def logged(output: Path, key: str) -> list[float]:
    return [line[key] for line in log(output, key)]


def weights(output: Path) -> dict[str, torch.Tensor]:
    return load_file(output / "model.safetensors")


def table(output: Path) -> torch.Tensor:
    return weights(output)["embedding.weight"]


def assert_close_weights(found: Path, expected: Path, **tolerance: float) -> None:
    torch.testing.assert_close(weights(found), weights(expected), **tolerance)


assert_equal_weights = partial(assert_close_weights, rtol=0, atol=0)


@contextmanager
def breaking_at(step: int, error: type[BaseException] = SystemExit) -> Iterator[None]:
    """Make runs raise an error at this step, from 0."""
    of_loop = TrainingLoop._step

    def broken(loop: TrainingLoop, *arguments: Any) -> Any:
        if loop.progress.step >= step:
            raise error
        return of_loop(loop, *arguments)

    with pytest.MonkeyPatch.context() as patch, suppress(SystemExit):
        patch.setattr(TrainingLoop, "_step", broken)
        yield
        pytest.fail("the run has fewer steps")


def train_in_two_processes(
    recipe: Path, output: Path, *options: str, before: str = "", ends_with: int = 0
) -> str:
    """Train as torchrun does and return the standard error of both processes.

    Args:
        before: Code to run first in each process.
        ends_with: Expected exit status of both.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    command = ["train", str(recipe), "--output", str(output), "--quiet", *options]
    ranks, errors = [], [output.with_name(f"errors-{rank}") for rank in (0, 1)]
    for rank in (0, 1):
        numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
        variables = {**os.environ, **place, **{name: str(n) for name, n in numbers.items()}}
        ranks.append(
            fresh.start(before + COMMAND, *command, environment=variables, errors=errors[rank])
        )
    wait([rank.sentinel for rank in ranks], timeout=180)
    for rank in ranks:
        rank.join(60)  # if one has failed, the other waits for it
        rank.kill()
        rank.join()
    said = "".join(path.read_text()[-3000:] for path in errors)
    assert [rank.exitcode for rank in ranks] == [ends_with] * 2, said
    return said


def told_apart(output: Path) -> float:
    """Return how much closer paraphrases are than other pairs, in cosine units."""
    first, second = (list(side) for side in zip(*ROWS, strict=True))
    encoder = SentenceEncoder.from_pretrained(output)
    together = encoder.similarity_pairwise(first, second).mean()
    return float(together - encoder.similarity_pairwise(first, second[1:] + second[:1]).mean())
