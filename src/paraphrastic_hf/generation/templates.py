"""Templates and paraphrases, their checks, and the filter of paraphrases (thesis, 6.3.3)."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.vectors import pairwise_cosine
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.files import write_bytes
from paraphrastic_hf.syntax.parse_tokens import checked_tree, parse_text
from paraphrastic_hf.syntax.parse_tree import ROOT, Tree, read_tree, template
from paraphrastic_hf.text.overlap import repeated_word

TEMPLATES = "templates.tsv"
PARSE, NONE = "parse", "none"  # possible second inputs of a model, besides "template"
SENTENCE = "sentence"  # possible output of a model, besides PARSE


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
    """Return the kept paraphrases that differ from each other and the source, except in case and
    punctuation, best first by cosine (if known) plus mean log-probability of a token in nats.
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
    """Compute similarities, and set the `remark` of each rejected paraphrase."""
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
    """Convert the tokens of a parse, `(S (NP ) (VP ) )`, to `(ROOT (S (NP) (VP)))`."""
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


def save_templates(directory: Path, counts: Iterable[tuple[str, int]]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{count}\t{text}\n" for text, count in counts)
    write_bytes(directory / TEMPLATES, lines.encode("utf-8"))


def load_templates(directory: Path) -> dict[str, int]:
    """Read templates with their counts, most frequent first."""
    path = directory / TEMPLATES
    try:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        return {text: int(count) for count, text in rows}
    except (OSError, ValueError) as error:
        raise ModelError(
            f"Cannot read the templates of the training data in {path}: {error}. Use a model "
            "trained with a recipe of kind paraphrase"
        ) from error


def is_whole(tree: Tree) -> bool:
    """Return whether a tree is a full parse, with more than the two levels of a template."""
    return tree.top != template(tree).top


def check_roles(writes: str, generator: str | None) -> None:
    """Raise an error if paraphraser and parse generator were swapped, given what they write."""
    if writes != SENTENCE:
        raise ModelError(
            "The given model writes parses, not sentences. Use a model trained with model.writes "
            "sentence"
        )
    if generator not in (None, PARSE):
        raise ModelError(
            "The parse generator must write parses, but this model writes sentences. Give a model "
            "trained with `model.writes: parse`"
        )


def check_templates(templates: Sequence[str], reads: str, *, has_generator: bool) -> None:
    """Raise an error if templates do not fit a model. `reads` is the model's second input."""
    if reads == NONE and templates:
        raise DataError(
            "This model takes no templates. Leave them out, or use canonicalise (--canonical)"
        )
    if reads != NONE and not templates:
        raise DataError(
            "This model requires templates, such as (ROOT (S (NP) (VP) (.))). Use top20 for the "
            "20 most frequent ones"
        )
    for text in templates:
        if is_whole(checked_tree(text)) or reads != PARSE:
            continue
        if not has_generator:
            raise DataError(
                f"This model takes full parses, got the template {text.strip()!r}. Pass a parse "
                "generator to expand the template (--generator MODEL or generator=)"
            )


def top_templates(counts: Mapping[str, int], count: int) -> list[str]:
    """Return the `count` most frequent templates in the training data, in brackets (6.3.3)."""
    if not counts:
        raise DataError("This model takes no templates. Use canonicalise (--canonical)")
    return [bracketed(text) for text in list(counts)[:count]]
