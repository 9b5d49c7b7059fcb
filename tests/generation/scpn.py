"""Paraphrasers trained for a few steps, whose output means nothing."""

from __future__ import annotations

from pathlib import Path

from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe

PAIRS = Path(__file__).parents[2] / "recipes" / "scpn-2018" / "pairs.tsv"
SMALL = f"""
kind: paraphrase
data: {{sources: [{{path: {PAIRS}, max_pairs: 60}}], held_out: 5}}
tokenizer: {{kind: word, vocab_size: 100, marks: end}}
model: {{hidden_size: 16}}
training: {{epochs: 1, steps: 3, batch_size: 16, learning_rate: 1.e-2}}
run: {{log_every: 1, development: held_out}}
"""
STOCK = ["--decoder_layers", "1", "--heads", "2", "--positions", "256"]
KINDS = {
    "scpn": [],
    "parse-generator": ["--writes", "parse", "--model.template", "template"],
    "by-template": ["--model.template", "template"],
    "untemplated": ["--model.template", "none"],
    "paraphraser": ["--model.kind", "paraphraser", "--model.template", "none"],
    "ssru": [
        *("--model.kind", "ssru", "--model.template", "template", "--model.heads", "2"),
    ],
    "marian": ["--model.kind", "marian", *STOCK],
    "bart": ["--model.kind", "bart", "--model.template", "template", *STOCK],
}


def write_recipe(folder: Path) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def make(kind: str, folder: Path, *options: str) -> Path:
    """The directory of a model of one of `KINDS`."""
    recipe = load_recipe(write_recipe(folder), [*KINDS[kind], *options])
    train(recipe, folder / kind, progress=False)
    return folder / kind
