"""Answers of the pages of the Space: strings in, HTML out, without gradio."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import drawing
import numpy as np

from paraphrastic_hf import SentenceEncoder, SimileScorer, token_contributions
from paraphrastic_hf.encoders.contributions import left_out
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.resampling import p_text
from paraphrastic_hf.metrics.systems import ONE_SEGMENT, compare_systems
from paraphrastic_hf.mining.search import nearest_texts

MOST_CHARACTERS = 2_000  # of a text
MOST_LINES = 5_000  # of a pasted list
EXACT = (
    "The numbers are exact contributions, times 100; in each text they add up to the cosine. "
    "Removing a token changes the cosine by another amount, because the mean's length changes."
)
ERASED = (
    "The numbers show how much the cosine falls without a word, times 100. They do not add up to "
    "the cosine, because this model does more than average."
)

encoder = functools.lru_cache(maxsize=8)(load_encoder)
scorer = functools.lru_cache(maxsize=8)(SimileScorer)


def similarity(first: str, second: str, model: str) -> str:
    """Return the cosine of two texts with the contributions of their tokens."""
    for text in (first, second):
        if not text.strip():
            raise DataError("Enter two texts to compare.")
        _refuse_long(text)
    chosen = encoder(model)
    if isinstance(chosen, SentenceEncoder) and chosen.table() is not None:
        found = token_contributions(chosen, first, second)
        shares, names = (found.of_first(), found.of_second()), (found.first, found.second)
        cosine, why, table = found.cosine, EXACT, drawing.pairs(*names, found.pairs)
    else:
        shares, names = left_out(chosen, first, second), (first.split(), second.split())
        cosine, why, table = float(np.asarray(chosen.similarity(first, second))[0, 0]), ERASED, ""
    largest = float(max((np.abs(side).max(initial=0) for side in shares), default=0))
    drawn = [drawing.tokens(*side, largest) for side in zip(names, shares, strict=True)]
    notes = [] if all(names) else [_unknown(first, second, model)]
    if why is EXACT and names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
        notes.append(drawing.note("Only the order differs, and this model ignores word order."))
    return "".join([drawing.cosine(cosine), *notes, *drawn, table, drawing.note(why)])


def _unknown(first: str, second: str, model: str) -> str:
    """Say that a text has no known token, with a link to try the last model, if it is another."""
    text, other = "A text without a known token has cosine 0.", models()[-1]
    if model == other:
        return drawing.note(text)
    link = urlencode({"tab": "similarity", "a": first, "b": second, "model": other})
    return drawing.note(text, f"?{link}", f"Try {other}")


def nearest(query: str, lines: str, model: str, count: float) -> str:
    """Return the lines of a list nearest to a query, with their cosines."""
    texts = [(number, line) for number, line in enumerate(lines.splitlines(), 1) if line.strip()]
    if not query.strip() or not texts:
        raise DataError("Enter a query and a list with one sentence per line.")
    for text in (query, *(line for _, line in texts)):
        _refuse_long(text)
    if len(texts) > MOST_LINES:
        raise DataError(
            f"The list has {len(texts):,} lines; the limit is {MOST_LINES:,}. "
            "`paraphrastic neighbors` searches files of any size."
        )
    chosen = encoder(model)
    listed = [line for _, line in texts]
    vectors = np.asarray(chosen.encode([query, *listed]), np.float32)
    (found,) = nearest_texts(vectors[:1], [(listed, vectors[1:])], int(count))
    rows = [(float(match.cosine), texts[match.place][0], match.text) for match in found]
    return drawing.table(["cosine", "line", "text"], rows)


def simile(baseline: str, other: str, references: str, model: str) -> str:
    """Return SimiLE and SIM of one or two systems, p-values, and every segment."""
    truths = references.splitlines()
    systems = [
        (name, text.splitlines())
        for name, text in (("baseline", baseline), ("other", other))
        if text.strip()
    ]
    if not systems or not truths:
        raise DataError("Enter a system's output and the references, one segment per line.")
    if len(truths) > MOST_LINES:
        raise DataError(
            f"There are {len(truths):,} segments; the limit is {MOST_LINES:,}. "
            "`paraphrastic simile` scores files of any size."
        )
    results = compare_systems(scorer(model), systems, truths)
    columns = ["system", "SimiLE × 100", "95 %", "p", "SIM × 100", "95 %", "p"]
    rows = [
        [
            each.name,
            *(100 * each.simile.mean, _ends(each.simile), p_text(each.p_value)),
            *(100 * each.sim.mean, _ends(each.sim), p_text(each.sim_p_value)),
        ]
        for each in results
    ]
    segments = zip(truths, *(each.scores.simile.tolist() for each in results), strict=True)
    by_segment = [
        [n, *(100 * score for score in scores), *(lines[n - 1] for _, lines in systems), truth]
        for n, (truth, *scores) in enumerate(segments, 1)
    ]
    names = [each.name for each in results]
    heads = ["segment", *(f"SimiLE {name}" for name in names), *names, "reference"]
    notes = [
        *([ONE_SEGMENT] if len(truths) == 1 else []),
        "p: probability that two equally good systems differ at least as much (two-sided). Compare "
        "only scores with equal signatures: " + results[0].scores.signature,
    ]
    folded = (
        f"<details><summary>every segment</summary>{drawing.table(heads, by_segment)}</details>"
    )
    return drawing.table(columns, rows) + "".join(map(drawing.note, notes)) + folded


@functools.lru_cache(maxsize=2)
def style_model(name: str) -> Any:
    """Load a generative model; imports torch."""
    from paraphrastic_hf import LatentGenerator

    return LatentGenerator.from_pretrained(name)


def style_languages(name: str) -> list[str]:
    """Return the languages that a model can write for style transfer."""
    tasks = [task.split("_", 1) for task in style_model(name).model.tasks()]
    return [language for verb, language in tasks if verb == "reconstruct"]


def style(source: str, model_of_style: str, language: str, count: float, *, model: str) -> str:
    """Write the meaning of one sentence in the style of another, several times."""
    from paraphrastic_hf import GenerationOptions

    if not source.strip() or not model_of_style.strip():
        raise DataError("Enter a sentence, and another one for the style.")
    for text in (source, model_of_style):
        _refuse_long(text)
    how = GenerationOptions(sample=True, outputs=int(count), seed=1, max_tokens=60)
    (written,) = style_model(model).transfer(
        [source], [model_of_style], language=language, writing=how
    )
    return drawing.table(["written"], [[each.text] for each in written])


@functools.lru_cache(maxsize=1)
def paraphraser(name: str) -> Any:
    """Load a paraphraser and the packaged parser; imports torch."""
    from paraphrastic_hf import SyntacticParaphraser

    return SyntacticParaphraser.from_pretrained(name, parser="parser", encoder=encoder("english"))


def paraphrase(text: str, templates: str, *, model: str) -> str:
    """Show the best paraphrases of a sentence, or one for each template, one per line."""
    if not text.strip():
        raise DataError("Enter a sentence.")
    _refuse_long(text)
    wanted = [line.strip() for line in templates.splitlines() if line.strip()]
    writer = paraphraser(model)
    (written,) = writer.paraphrase([text], wanted) if wanted else writer.best([text])
    if not written:
        return drawing.note("No paraphrase passes the filter. Enter templates to see all outputs.")
    rows = [(each.text, each.template, each.similarity, each.remark) for each in written]
    return drawing.table(["written", "template", "cosine", "problem"], rows)


def models() -> Sequence[str]:
    """Return the encoders to choose from."""
    given = os.environ.get("PARAPHRASTIC_MODELS", "english,multilingual").split(",")
    return [name.strip() for name in given if name.strip()]


def _refuse_long(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise DataError(f"A text has {len(text):,} characters; the limit is {MOST_CHARACTERS:,}.")


def _ends(interval: Any) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
