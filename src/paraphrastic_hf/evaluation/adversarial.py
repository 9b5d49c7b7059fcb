"""Syntactically adversarial examples (thesis, 6.5).

An example is broken if a classifier labels its sentence correctly and one of its paraphrases
wrongly. Paraphrases may come from SCPN, back-translation or a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from paraphrastic_hf.encoders.vectors import pairwise_cosine
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.generation.writing import GenerationOptions, Translate
from paraphrastic_hf.io.lines import is_blank, read_blocks
from paraphrastic_hf.io.markdown import markdown_table
from paraphrastic_hf.text.overlap import ngram_overlap

if TYPE_CHECKING:
    from paraphrastic_hf.predictors.any_classifier import Classify  # imports torch

MOST_TOKENS = 200  # maximum length of a translation
MOST_DIGITS = 10  # maximum length of a line number


@dataclass(frozen=True)
class Example:
    """An example of a classification task: the sentence to paraphrase and its correct label."""

    text: str
    label: str
    second: str | None = None  # second sentence of a pair, which stays unchanged (6.5.1)


@dataclass(frozen=True)
class Attack:
    """A classifier's predictions for an example and its paraphrases."""

    example: Example
    predicted: str
    paraphrases: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        return self.predicted == self.example.label

    @property
    def is_broken(self) -> bool:
        """Whether the sentence is labeled correctly and at least one paraphrase wrongly (6.5.2)."""
        return self.is_right and any(answer != self.example.label for answer in self.answers)


def attack(
    examples: Sequence[Example], classify: Classify, paraphrases: Sequence[Sequence[str]]
) -> list[Attack]:
    """Classify examples and their paraphrases.

    `classify` gets sentences, and the second sentences of pairs or None. Duplicates, empty texts
    and copies of the example's sentence are not used as paraphrases.
    """
    if len(examples) != len(paraphrases) or not examples:
        raise DataError(
            "An attack requires one list of paraphrases for each example, got "
            f"{len(paraphrases):,} lists for {len(examples):,} examples"
        )
    own = [
        tuple(text for text in dict.fromkeys(each) if text.strip() and text != example.text)
        for example, each in zip(examples, paraphrases, strict=True)
    ]
    texts, seconds = [], []
    for example, each in zip(examples, own, strict=True):
        texts += [example.text, *each]
        seconds += [example.second or ""] * (len(each) + 1)
    answers = iter(classify(texts, None if examples[0].second is None else seconds))
    return [
        Attack(example, next(answers), each, tuple(islice(answers, len(each))))
        for example, each in zip(examples, own, strict=True)
    ]


def report_attack(
    attacks: Sequence[Attack],
    *,
    encoder: Any = None,
    perplexity: Callable[[Sequence[str]], np.ndarray] | None = None,
) -> dict[str, float]:
    """Compute the figures of an attack (Table 62). `perplexity` returns (texts,).

    Accuracies and shares are x 100. NaN is a figure not measured.
    """
    right = [each for each in attacks if each.is_right]
    broken = [each for each in right if each.is_broken]
    count = len(attacks)
    asked = [answer == each.example.label for each in right for answer in each.answers]
    pairs = [
        (each.example.text, text)
        for each in broken
        for text, answer in zip(each.paraphrases, each.answers, strict=True)
        if answer != each.example.label
    ]
    similarity = shared = found = float("nan")
    if pairs:
        first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if encoder is not None:
            sides = (encoder.encode(side, normalize_embeddings=True) for side in (first, second))
            similarity = float(pairwise_cosine(*sides).mean())
        shared = float(np.mean([ngram_overlap(*pair, 1) for pair in pairs]))
        if perplexity is not None:
            found = float(np.exp(np.nanmean(np.log(perplexity(second)))))
    return {
        "examples": count,
        "attacked": sum(bool(each.paraphrases) for each in attacks),  # with any paraphrase
        "accuracy": 100 * len(right) / count,
        # share of examples whose sentence and paraphrases are all right
        "accuracy_under_attack": 100 * (len(right) - len(broken)) / count,
        "broken": 100 * len(broken) / count,  # Dev Broken in the thesis
        "success": 100 * len(broken) / max(1, len(right)),
        # accuracy on the paraphrases of examples whose sentence is right
        "agreement": 100 * float(np.mean(asked)) if asked else float("nan"),
        "paraphrases": sum(len(each.paraphrases) for each in attacks) / count,
        "queries": count + sum(len(each.paraphrases) for each in attacks),  # texts to classify
        # mean cosine and word overlap of broken sentences and their wrongly labeled paraphrases
        "similarity": similarity,
        "overlap": shared,
        "perplexity": found,  # of these paraphrases
    }


COLUMNS = {  # figure -> column of the table and format
    "accuracy": ("accuracy", ".1f"),
    "accuracy_under_attack": ("under attack", ".1f"),
    "broken": ("broken", ".1f"),
    "success": ("success", ".1f"),
    "agreement": ("agreement", ".1f"),
    "paraphrases": ("paraphrases", ".1f"),
    "queries": ("queries", ","),
    "similarity": ("cosine", ".2f"),
    "overlap": ("overlap", ".2f"),
    "perplexity": ("perplexity", ".0f"),
}


def attack_markdown(reports: Mapping[str, Mapping[str, float]]) -> str:
    """Return a Markdown table of several attacks, without empty columns."""
    columns = {}
    for figure, (name, form) in COLUMNS.items():
        values = [each[figure] for each in reports.values()]
        if not all(map(math.isnan, values)):
            columns[name] = ["" if math.isnan(value) else format(value, form) for value in values]
    rows = [list(row) for row in zip(reports, *columns.values(), strict=True)]
    lines = markdown_table(["source", *columns], rows)
    for name, each in reports.items():
        if not each["broken"]:
            lines += [
                "",
                f"{name}: no paraphrase changed a correct prediction, so cosine, overlap and "
                "perplexity are undefined.",
            ]
    return "\n".join([*lines, ""])


def training_rows(attacks: Sequence[Attack]) -> list[list[str]]:
    """Return a training row for each paraphrase (6.5.4): label, text and any second text."""
    rows = []
    for each in attacks:
        second = [] if each.example.second is None else [each.example.second]
        rows += [[each.example.label, text, *second] for text in each.paraphrases]
    return rows


def back_translate(
    sentences: Sequence[str], forth: Translate, back: Translate, *, outputs: int, beams: int
) -> list[list[str]]:
    """Paraphrase by back-translation, NMT-BT (6.5.1). Only the best translation `forth` is used."""
    likeliest = GenerationOptions(max_tokens=MOST_TOKENS)
    there = [best[0].text for best in forth(list(sentences), likeliest, scores=False)]
    how = GenerationOptions(beams=beams, outputs=outputs, max_tokens=MOST_TOKENS)
    return [[each.text for each in written] for written in back(there, how, scores=False)]


def read_examples(path: str) -> list[Example]:
    """Read tab-separated examples: a label and a text, or a label and two texts."""
    found: list[Example] = []
    columns = 0
    for number, row in _rows(path):
        columns = columns or len(row)
        if len(row) != columns or columns not in (2, 3):
            raise DataError(
                f"{path}:{number} has {counted(len(row), 'column')}. Every row must have a label "
                "and one or two texts, separated by tabs"
            )
        if number != len(found) + 1 or any(map(is_blank, row)):
            raise DataError(
                f"{path}:{len(found) + 1} is blank or has a blank column. Remove the line from "
                "this file and from the paraphrased sentences, because line numbers must match"
            )
        found.append(Example(row[1], row[0], row[2] if columns == 3 else None))
    if not found:
        raise DataError(f"{path} has no examples")
    return found


def read_paraphrases(path: str, count: int) -> list[list[str]]:
    """Read the paraphrases of `count` examples, one list per example.

    The file is the output of `paraphrastic paraphrase`. Otherwise each line has the number of an
    example (from 1), a tab and a paraphrase.
    """
    found: list[list[str]] = [[] for _ in range(count)]
    rows = _rows(path)
    header = rows[0][1] if rows and rows[0][1][0] == "line" else None
    for number, row in rows[0 if header is None else 1 :]:
        fields = dict(zip(header or ("line", "paraphrase"), row, strict=False))
        line, text = fields.get("line", ""), fields.get("paraphrase")
        is_number = line.isdecimal() and len(line) < MOST_DIGITS
        if text is None or not is_number or not 1 <= int(line) <= count:
            raise DataError(
                f"{path}:{number} must have an example number (1 to {count}) and a text, or be "
                "output of `paraphrastic paraphrase`"
            )
        if fields.get("kept", "yes") == "yes":
            found[int(line) - 1].append(text)
    return found


def _rows(path: str) -> list[tuple[int, list[str]]]:
    lines = (line for block in read_blocks(path) for line in block)
    return [(i, line.split("\t")) for i, line in enumerate(lines, 1) if line.strip()]
