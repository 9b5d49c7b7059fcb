"""Paraphrasers trained for a few steps, whose output means nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.generation.writing import GeneratedText
from paraphrastic_hf.syntax.parse_tokens import parse_tokenizer
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
    "ssru": [*("--model.kind", "ssru", "--model.template", "template", "--model.heads", "2")],
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


class Scripted:
    """Stub of a `TemplatedWriter` that writes a given text for each template, "" for none."""

    reads, writes, needs_template, tokenizer = "template", "sentence", False, parse_tokenizer()

    def __init__(self, texts: dict[str, tuple[str, float]]) -> None:
        self.texts = texts  # with their mean log-probabilities

    def count_tokens(self, lines: Sequence[str]) -> list[int]:
        return [len(line.split()) for line in lines]

    def write(
        self, sources: Sequence[str], templates: Sequence[Sequence[str]], _: Any
    ) -> list[list[list[GeneratedText]]]:
        found = [[self.texts[template] for template in own] for own in templates]
        return [[[GeneratedText(*one, (5,))] for one in own] for own in found]

    def free_likelihoods(self, _: Sequence[str], texts: Sequence[str]) -> list[float]:
        nats = dict(self.texts.values())
        return [nats[text] / 100 for text in texts]
