"""Encoders and tiny files with known cosines: each text is a number, the angle of its vector."""

import numpy as np

from paraphrastic_hf.evaluation.measures.judged import Ranked
from paraphrastic_hf.metrics.resampling import p_value
from tests.evaluation.sts_files import write_lines

ANGLES = ("0.2", "0.7", "1.1", "1.5")  # decreasing cosines with the angle 0


class Angles:
    """Encodes a number as an angle."""

    def encode(self, texts):
        angles = np.array([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], 1)


class Letters:
    """Encodes a text as its counts of letters."""

    def encode(self, texts):
        return np.array(
            [[text.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float
        )


class Vowels(Letters):
    """Encodes a text as its counts of two vowels, so that some texts are equal."""

    def encode(self, texts):
        return super().encode(texts)[:, [0, 4]]


class Lengths:
    """Encodes a text as its length and a constant."""

    def encode(self, texts):
        return np.array([[len(text), 1.0] for text in texts])


class Constant:
    """Encodes all texts as the same vector."""

    def encode(self, texts):
        return np.ones((len(texts), 3))


def write_words(folder, name, gold):
    path = folder / "wordsim" / "mfaruqui_eval-word-vectors" / f"EN-{name}.txt"
    write_lines(path, [f"0\t{angle}\t{score}" for angle, score in zip(ANGLES, gold, strict=True)])


def write_bigrams(folder, kind, ratings):
    """Write bigrams of the angle 0 with each of `ANGLES`, a line per rating."""
    lines = [
        f"0|||{angle}|||{rating}"
        for angle, each in zip(ANGLES, ratings, strict=True)
        for rating in each
    ]
    write_lines(folder / "ppdb_annotated" / f"bigram_test.{kind}.txt", lines)


def row_of(results, group, name):
    return next(row for row in results["rows"] if (row["group"], row["name"]) == (group, name))


def correlation_p_value(first, second, gold, measure="pearson", **options):
    a, b = (Ranked("", "", measure, cosines, gold) for cosines in (first, second))
    return p_value(a, b, **options)
