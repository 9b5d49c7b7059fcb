"""Results of the package at the time when these files were made.

    python -m tests.golden.make                # all files, from the root of the repository
    python -m tests.golden.make mining         # named files

`test_golden.py` compares them. Make a file again only if its numbers are meant to change, and say
so in the commit.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf import SentenceEncoder, SimileScorer, mine
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe
from tests.texts import SENTENCES

FOLDER = Path(__file__).parent
RECIPES = FOLDER.parents[1] / "recipes"


def embeddings(model: str) -> dict[str, Any]:
    """Token ids, length and every 64th number of each sentence's vector."""
    encoder = SentenceEncoder.from_pretrained(model)
    ids = encoder.tokenizer.encode_batch(SENTENCES)
    vectors = encoder.encode(SENTENCES)
    return {
        text: {
            "ids": np.asarray(row).tolist(),
            "length": float(np.linalg.norm(vector)),
            "numbers": vector[::64].tolist(),
        }
        for text, row, vector in zip(SENTENCES, ids, vectors, strict=True)
    }


def simile() -> dict[str, Any]:
    """SimiLE and SIM of neighbors among the English sentences."""
    scores = SimileScorer().score(SENTENCES[:18:2], SENTENCES[1:18:2])
    return {
        "score": scores.score,
        "sim_score": scores.sim_score,
        "simile": list(map(float, scores.simile)),
        "sim": list(map(float, scores.sim)),
    }


def mining() -> list[Any]:
    """Source, target and score of each mined pair of French and English."""
    lines = (RECIPES / "default" / "en-fr.tsv").read_text(encoding="utf-8").splitlines()
    english, french = zip(*(line.split("\t") for line in lines), strict=True)
    encoder = SentenceEncoder.from_pretrained("multilingual")
    pairs = mine(encoder.encode(french[::-1]), encoder.encode(english), threshold=1.0)
    return sorted([int(a), int(b), float(score)] for score, a, b in zip(*pairs, strict=True))


def training() -> list[float]:
    """Losses of a smoke recipe, each the mean of five steps."""
    smoke = RECIPES / "simple-and-effective-2019" / "smoke.yaml"
    recipe = load_recipe(smoke, ["--sources", str(RECIPES / "demo" / "pairs.tsv")])
    with tempfile.TemporaryDirectory() as folder:
        train(recipe, Path(folder) / "out", progress=False)
        log = (Path(folder) / "out" / "logs" / "train.jsonl").read_text(encoding="utf-8")
    return [json.loads(line)["loss"] for line in log.splitlines()]


def recipe() -> dict[str, Any]:
    """Every key of a recipe, including defaults."""
    return asdict(load_recipe(RECIPES / "simple-and-effective-2019" / "sp.yaml"))


@dataclass(frozen=True)
class Golden:
    """Function that makes a file, and the tolerance of its numbers."""

    make: Callable[[], Any]
    tolerance: float


FILES = {
    # Float32 means of numbers below 10: the order of a sum affects the 7th digit.
    "english": Golden(lambda: embeddings("english"), 1e-5),
    "multilingual": Golden(lambda: embeddings("multilingual"), 1e-5),
    # Cosines of these means, and averages in percent.
    "simile": Golden(simile, 1e-4),
    "mining": Golden(mining, 1e-4),
    # Forty steps of Adam in float32, which accumulate rounding errors.
    "training": Golden(training, 1e-3),
    "recipe": Golden(recipe, 0.0),
}


def write(name: str) -> None:
    """Write a file with its command, one line per item."""
    found = FILES[name].make()
    if isinstance(found, dict):
        lines, (start, end) = [f"{_json(key)}: {_json(found[key])}" for key in found], "{}"
    else:
        lines, (start, end) = map(_json, found), "[]"
    text = f"{start}\n" + ",\n".join(lines) + f"\n{end}"
    text = f'{{"command": "{command(name)}",\n"found": {text}}}\n'
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


def command(name: str) -> str:
    return f"python -m tests.golden.make {name}"


def _json(value: Any) -> str:
    """Return JSON whose numbers are rounded to seven digits."""
    text = json.dumps(value)
    rounded = json.loads(text, parse_float=lambda number: float(f"{float(number):.7g}"))
    return json.dumps(rounded, ensure_ascii=False)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or FILES:
        write(chosen)
