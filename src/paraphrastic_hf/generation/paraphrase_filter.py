"""Paraphrases, and the filter that rejects bad ones (thesis, 6.3.3)."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from paraphrastic_hf.encoders.vectors import pairwise_cosine
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.syntax.parse_tokens import checked_tree, parse_text
from paraphrastic_hf.syntax.parse_tree import ROOT, Tree, read_tree, template
from paraphrastic_hf.text.overlap import repeated_word


@dataclass(frozen=True)
class Paraphrase:
    """A paraphrase, or the reason why none was written.

    Attributes:
        text: Text of the paraphrase. Empty if nothing was written.
        template: Requested template in brackets, or empty.
        parse: Full parse given to the model, in brackets, or empty.
        nats: Mean log-probability of the paraphrase's tokens in nats, at most 0. NaN if the text is
            empty.
        overlap: Share of the words of the shorter text that also occur in the other text, 0 to 1.
        is_cut: Whether the paraphrase was cut off at the maximum number of tokens.
        similarity: Cosine of paraphrase and sentence, -1 to 1. NaN if not computed.
        remark: Reason why the paraphrase was rejected, or empty.
    """

    text: str
    template: str = ""
    parse: str = ""
    nats: float = float("nan")
    overlap: float = float("nan")
    is_cut: bool = False
    similarity: float = float("nan")
    remark: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the paraphrase passed the filter."""
        return not self.remark


def ranked(found: Sequence[Paraphrase], source: str) -> list[Paraphrase]:
    """Return the kept paraphrases that differ from each other and the source, best first.

    The score is the cosine plus the mean log-probability of a token, in nats. Without an encoder,
    it is the log-probability alone. Case and punctuation do not count as differences.
    """

    def score(one: Paraphrase) -> float:
        return one.nats + (0 if math.isnan(one.similarity) else one.similarity)

    met = {bare(source)}
    kept = []
    for one in sorted((one for one in found if one.is_kept), key=score, reverse=True):
        if bare(one.text) not in met:
            met.add(bare(one.text))
            kept.append(one)
    return kept


def bare(text: str) -> str:
    """Return the letters and digits of a text in lower case, words separated by spaces."""
    return " ".join(re.findall(r"\w+", text.lower()))


def filtered(
    lines: Sequence[str],
    found: list[list[Paraphrase]],
    encoder: Any,
    min_overlap: float | None,
    min_similarity: float | None,
) -> list[list[Paraphrase]]:
    """Compute similarities, and set the `remark` of each rejected paraphrase.

    Bounds that are None are not applied. The similarity needs an encoder.
    """
    places = [(row, k) for row, each in enumerate(found) for k, one in enumerate(each) if one.text]
    if encoder is not None and places:
        first = encoder.encode([lines[row] for row, _ in places], normalize_embeddings=True)
        second = encoder.encode(
            [found[row][k].text for row, k in places], normalize_embeddings=True
        )
        for (row, k), cosine in zip(places, pairwise_cosine(first, second).tolist(), strict=True):
            found[row][k] = replace(found[row][k], similarity=cosine)
    checks = (("overlap", min_overlap), ("similarity", min_similarity))
    for line, each in zip(lines, found, strict=True):
        for k, one in enumerate(each):
            if one.remark:
                continue
            if not one.text:
                each[k] = replace(one, remark="nothing was written")
                continue
            low = ["it was cut at the limit of tokens"] if one.is_cut else []
            word = repeated_word(line, one.text)
            low += [f"it repeats {word!r}"] if word else []
            low += [
                f"{name} {getattr(one, name):.2f} is below {least}"
                for name, least in checks
                if least is not None and getattr(one, name) < least
            ]
            each[k] = replace(one, remark="; ".join(low))
    return found


def bracketed(text: str) -> str:
    """Convert the tokens of a parse to a bracketed parse.

    Example:
        >>> bracketed("(S (NP ) (VP ) )")
        '(ROOT (S (NP) (VP)))'
    """
    return str(Tree(ROOT, (read_tree(text),)))


def first_tree(written: Sequence[str], wanted: str) -> str:
    """Return the first parse with the wanted template, else the first valid parse, else ""."""
    asked, trees = read_tree(wanted), []
    for text in written:
        try:
            tree = checked_tree(text)
        except DataError:
            continue
        trees.append(parse_text(tree))
        if template(tree).top == asked:
            return trees[-1]
    return trees[0] if trees else ""
