"""Syntactically adversarial examples (thesis, 6.5): whether a classifier that is right on a
sentence is wrong on a paraphrase of it.

Paraphrases come from anywhere: SCPN, translation there and back, a file. The attack and the
classifier are functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paraphrastic_hf.encoders.vectors import pairwise_cosine
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.generation.writing import GenerationOptions, Translate
from paraphrastic_hf.io.blocks import is_blank, read_blocks
from paraphrastic_hf.io.markdown import markdown_table
from paraphrastic_hf.text.overlap import ngram_overlap

if TYPE_CHECKING:
    from paraphrastic_hf.predictors.any_classifier import Classify  # imports torch

MOST_TOKENS = 200  # of a translation there or back
Paraphrasing = Callable[[Sequence[str]], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Example:
    """An example of a classification task.

    Attributes:
        text: The sentence that is paraphrased.
        label: Its right label.
        second: The second sentence of a pair, which stays as it is (6.5.1); None of single ones.
    """

    text: str
    label: str
    second: str | None = None


@dataclass(frozen=True)
class Attack:
    """What a classifier says of the paraphrases of one example.

    Attributes:
        example: The example.
        predicted: What it says of the example itself.
        paraphrases: The distinct paraphrases.
        answers: What it says of each.
    """

    example: Example
    predicted: str
    paraphrases: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether it is right on the example itself."""
        return self.predicted == self.example.label

    @property
    def is_broken(self) -> bool:
        """Whether it is right on the example and wrong on at least one paraphrase (6.5.2)."""
        return self.is_right and any(answer != self.example.label for answer in self.answers)


@dataclass(frozen=True)
class AttackReport:
    """What an attack comes to; shares are x 100.

    Attributes:
        examples: How many there are.
        attacked: Examples with at least one paraphrase that is not the sentence itself.
        accuracy: Right on the example.
        accuracy_under_attack: Right on the example and on all its paraphrases.
        broken: Right on the example and wrong on at least one paraphrase, of all examples (the
            thesis's Dev Broken).
        success: The same of the examples that it is right on.
        agreement: Paraphrases on which it is right, of those of examples that it is right on.
        paraphrases: Mean number of an example's paraphrases.
        queries: Sentences that the classifier was asked about.
        similarity: Mean cosine of broken examples with what broke them; NaN if not asked for.
        overlap: Mean share of their words.
        perplexity: Of a language model for what broke them; NaN if not asked for.
    """

    examples: int
    attacked: int
    accuracy: float
    accuracy_under_attack: float
    broken: float
    success: float
    agreement: float
    paraphrases: float
    queries: int
    similarity: float
    overlap: float
    perplexity: float

    def to_dict(self) -> dict[str, float]:
        """All figures by name."""
        return dict(self.__dict__)


def attack(
    examples: Sequence[Example],
    classify: Classify,
    paraphrases: Sequence[Sequence[str]],
) -> list[Attack]:
    """Ask a classifier about examples and their paraphrases.

    Args:
        classify: From sentences, and the second ones of pairs or None, to labels.
        paraphrases: Of each example; repeated ones, empty ones and the sentence itself count for
            nothing.
    """
    if len(examples) != len(paraphrases) or not examples:
        raise DataError(
            f"an attack needs examples and a list of paraphrases of each, got {len(examples):,} "
            f"and {len(paraphrases):,}"
        )
    has_second = examples[0].second is not None
    own = [
        [text for text in dict.fromkeys(each) if text.strip() and text != example.text]
        for example, each in zip(examples, paraphrases, strict=True)
    ]
    texts, seconds = [], []
    for example, each in zip(examples, own, strict=True):
        texts += [example.text, *each]
        seconds += [example.second or ""] * (len(each) + 1)
    answers = list(classify(texts, seconds if has_second else None))
    found, start = [], 0
    for example, each in zip(examples, own, strict=True):
        said = answers[start : start + len(each) + 1]
        found.append(Attack(example, said[0], tuple(each), tuple(said[1:])))
        start += len(each) + 1
    return found


def report_attack(
    attacks: Sequence[Attack],
    *,
    encoder: Any = None,
    perplexity: Callable[[Sequence[str]], np.ndarray] | None = None,
) -> AttackReport:
    """The figures of an attack (Table 62).

    Args:
        attacks: What `attack` gives, at least one.
        encoder: Gives vectors by `encode(texts, normalize_embeddings=True)`; None for no cosine.
        perplexity: Of texts by a language model, (texts,).
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
    return AttackReport(
        examples=count,
        attacked=sum(bool(each.paraphrases) for each in attacks),
        accuracy=100 * len(right) / count,
        accuracy_under_attack=100 * (len(right) - len(broken)) / count,
        broken=100 * len(broken) / count,
        success=100 * len(broken) / max(1, len(right)),
        agreement=100 * float(np.mean(asked)) if asked else float("nan"),
        paraphrases=sum(len(each.paraphrases) for each in attacks) / count,
        queries=count + sum(len(each.paraphrases) for each in attacks),
        similarity=similarity,
        overlap=shared,
        perplexity=found,
    )


def attack_markdown(reports: Mapping[str, AttackReport]) -> str:
    """The figures of several attacks side by side, as Markdown.

    A column without a number is left out, and a line below says why a cell is empty.
    """
    columns = {
        "accuracy": [f"{each.accuracy:.1f}" for each in reports.values()],
        "under attack": [f"{each.accuracy_under_attack:.1f}" for each in reports.values()],
        "broken": [f"{each.broken:.1f}" for each in reports.values()],
        "success": [f"{each.success:.1f}" for each in reports.values()],
        "agreement": [_cell(each.agreement, 1) for each in reports.values()],
        "a sentence": [f"{each.paraphrases:.1f}" for each in reports.values()],
        "queries": [f"{each.queries:,}" for each in reports.values()],
        "cosine": [_cell(each.similarity, 2) for each in reports.values()],
        "overlap": [_cell(each.overlap, 2) for each in reports.values()],
        "perplexity": [_cell(each.perplexity, 0) for each in reports.values()],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [list(row) for row in zip(reports, *columns.values(), strict=True)]
    notes = [
        f"{name}: no paraphrase changed a right answer, so there is no cosine, overlap or "
        "perplexity."
        for name, each in reports.items()
        if each.broken == 0
    ]
    lines = markdown_table(["paraphrases of", *columns], rows)
    for note in notes:
        lines += ["", note]
    return "\n".join([*lines, ""])


def _cell(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def training_rows(attacks: Sequence[Attack]) -> list[list[str]]:
    """The paraphrases as further training examples (6.5.4): label, text and, of pairs, the second.

    Args:
        attacks: What `attack` gives, of the training examples.
    """
    rows = []
    for each in attacks:
        second = [] if each.example.second is None else [each.example.second]
        rows += [[each.example.label, text, *second] for text in each.paraphrases]
    return rows


def back_translation(
    forth: Translate, back: Translate, *, outputs: int = 10, beams: int = 10
) -> Paraphrasing:
    """Paraphrases by translation there and back, NMT-BT (6.5.1).

    Args:
        forth: What translates from English, as `load_translator` gives it; its best translation is
            taken.
        outputs: Paraphrases of a sentence, the likeliest ones; the thesis takes 10.
        beams: Beginnings kept at each step, at least `outputs`.
    """

    def write(sentences: Sequence[str]) -> list[list[str]]:
        likeliest = GenerationOptions(max_tokens=MOST_TOKENS)
        there = [best[0].text for best in forth(list(sentences), likeliest, scores=False)]
        how = GenerationOptions(beams=beams, outputs=outputs, max_tokens=MOST_TOKENS)
        found = back(there, how, scores=False)
        return [[each.text for each in written] for written in found]

    return write


MOST_DIGITS = 10  # of a line's number


def read_examples(path: str) -> list[Example]:
    """The examples of a file."""
    found: list[Example] = []
    columns = 0
    for number, row in _rows(path):
        columns = columns or len(row)
        if len(row) != columns or columns not in (2, 3):
            raise DataError(
                f"{path}:{number} has {counted(len(row), 'column')}; every row must be a label "
                "and a text, or a label and two texts, tab-separated"
            )
        if number != len(found) + 1 or any(map(is_blank, row)):
            raise DataError(
                f"{path}:{len(found) + 1} is blank or has a blank column: paraphrases go by the "
                "number of a line, so leave it out here and in the sentences that were paraphrased"
            )
        found.append(Example(row[1], row[0], row[2] if columns == 3 else None))
    if not found:
        raise DataError(f"{path} has no example")
    return found


def read_paraphrases(path: str, count: int) -> list[list[str]]:
    """Of each of `count` lines its paraphrases: what `paraphrastic paraphrase` kept, or rows of a
    number and a text."""
    found: list[list[str]] = [[] for _ in range(count)]
    rows = _rows(path)
    header = rows[0][1] if rows and rows[0][1][0] == "line" else None
    for number, row in rows[0 if header is None else 1 :]:
        fields = dict(zip(header or ("line", "paraphrase"), row, strict=False))
        line, text = fields.get("line", ""), fields.get("paraphrase")
        is_number = line.isdecimal() and len(line) < MOST_DIGITS
        if text is None or not is_number or not 1 <= int(line) <= count:
            raise DataError(
                f"{path}:{number} is no paraphrase: a row is the number of an example, 1 to "
                f"{count}, and a text, or what `paraphrastic paraphrase` writes"
            )
        if fields.get("kept", "yes") == "yes":
            found[int(line) - 1].append(text)
    return found


def _rows(path: str) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, with their numbers from 1."""
    lines = (line for block in read_blocks(path) for line in block)
    return [(i, line.split("\t")) for i, line in enumerate(lines, 1) if line.strip()]
