"""Share of the training gain that token weights alone explain (thesis, 3.4).

The thesis multiplies each token's initial vector by its weight, the sum of the absolute values of
its trained vector. This gives two thirds of the improvement.
"""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from paraphrastic_hf.analyses.report import Analysis, Cell, Table, bars_figure
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.suites.sts import AVERAGE
from paraphrastic_hf.text.contract import TextTokenizer

START, BY_FREQUENCY, SCALED = "start", "start x 1 / frequency", "start x trained weights"
EQUAL, TRAINED = "trained, rows of length 1", "trained"
THESIS = {START: 54.94, BY_FREQUENCY: 45.52, SCALED: 62.64, TRAINED: 66.83}  # 22 datasets
TEXTS_AT_A_TIME = 20_000


def weighting(
    encoder: SentenceEncoder,
    start: np.ndarray,
    counts: np.ndarray,
    data_dir: str | Path,
    *,
    name: str = "model",
) -> Analysis:
    """Score a trained embedding table and four variants on STS 2012-2016.

    The variants are the initial vectors, the initial vectors times the trained weights, the initial
    vectors divided by token frequency, and the trained vectors scaled to length 1. The weight of a
    token is the sum of the absolute values of its trained vector. `start` has the initial values,
    (vocab, dim), and `counts` the frequency of each token in the training text, (vocab,), where 0
    counts as 1, as in the thesis.
    """
    table = trained_table(encoder, name)
    frequency = np.maximum(counts, 1) / max(1, counts.sum())
    tables = {
        BY_FREQUENCY: start / frequency[:, None],
        START: start,
        SCALED: start * np.abs(table).sum(1, keepdims=True),
        EQUAL: unit_length(table),
        TRAINED: table,
    }
    scores = {key: _average(rows, encoder.tokenizer, data_dir) for key, rows in tables.items()}
    figures: list[list[Cell]] = [[key, scores[key], THESIS.get(key)] for key in tables]
    shares = [share_of_weights(scores), share_of_weights(THESIS)]
    figures.append(["share of the improvement that is weights, %", *shares])
    return Analysis(
        "weighting",
        f"Weights and directions of {name}",
        [Table("scores", "Pearson r x 100, average", ["vectors", name, "thesis 3.4"], figures)],
        bars_figure(scores, "STS 2012-2016, Pearson r x 100", size=(6.5, 2.4)),
        [
            "Average of STS 2012-2016, a mean of yearly means. The thesis averages 22 datasets.",
            "The thesis starts from PARAGRAM-SL999, where similar words have similar directions.",
        ],
        {"model": name, "tokens counted": int(counts.sum())},
    )


def share_of_weights(scores: dict[str, float]) -> float:
    """Return the percentage of the training gain that the weights alone give.

    Example:
        >>> round(share_of_weights(THESIS), 2)
        64.76
    """
    gained = scores[TRAINED] - scores[START]
    return 100 * (scores[SCALED] - scores[START]) / gained if gained else float("nan")


def trained_table(encoder: SentenceEncoder, name: str = "model") -> np.ndarray:
    """Return the embedding table of an averaging model, (vocab, dim)."""
    table = encoder.table() if isinstance(encoder, SentenceEncoder) else None
    if table is None:
        kind = type(getattr(encoder, "model", encoder)).__name__
        raise ModelError(f"{name} is a {kind}. Use an averaging model of this package")
    return table


def random_start(table: np.ndarray) -> np.ndarray:
    """Draw values from N(0, 1), (vocab, dim), like the initial values times a constant."""
    return np.random.default_rng(1).standard_normal(table.shape, np.float32)


def given_start(table: np.ndarray, tokens: list[str], start: SentenceEncoder) -> np.ndarray:
    """Take the vectors of the same tokens from another averaging model, (vocab, dim).

    Missing tokens get random vectors of the mean length of the found vectors. Only the shape of the
    trained `table` is used. `tokens` are its tokens.
    """
    rows = trained_table(start, start.name or "the start")
    if rows.shape[1] != table.shape[1]:
        raise ModelError(
            f"The model given as start has {rows.shape[1]} dimensions, but the trained model has "
            f"{table.shape[1]}. Give the model that training started from"
        )
    place = {token: row for row, token in enumerate(start.tokenizer.tokens())}
    known = np.array([token in place for token in tokens])
    if not known[2:].any():
        raise ModelError(
            "The model given as start shares no token with the trained model. Give the model "
            "that training started from"
        )
    found = random_start(table)
    given = rows[[place[token] for token, kept in zip(tokens, known, strict=True) if kept]]
    found *= np.linalg.norm(given, axis=1).mean() / np.sqrt(table.shape[1])
    found[known] = given
    return found


def token_counts(tokenizer: TextTokenizer, texts: Iterable[str]) -> np.ndarray:
    """Count how often each token occurs in texts, (vocab,)."""
    counts = np.zeros(tokenizer.vocab_size, np.int64)
    texts = iter(texts)
    while block := list(islice(texts, TEXTS_AT_A_TIME)):
        counts += np.bincount(tokenizer.encode_batch(block).ids, minlength=len(counts))
    if not counts.any():
        raise DataError("The text contains none of the model's tokens. Give other text")
    return counts


def _average(table: np.ndarray, tokenizer: TextTokenizer, data_dir: str | Path) -> float:
    rows = table.astype(np.float32)
    rows[0] = 0  # padding
    results = evaluate(SentenceEncoder.from_table(rows, tokenizer), "sts", data_dir)
    if AVERAGE not in results["headline"]:
        raise DataError(
            f"{data_dir} lacks {', '.join(results['skipped'])}, needed for the average {AVERAGE}"
        )
    return float(results["headline"][AVERAGE])
