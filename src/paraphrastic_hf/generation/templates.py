"""The templates that a model's training had, in its directory (`templates.tsv`; thesis, 6.3.3), and
those that it can write by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.generation.paraphrase_filter import bracketed
from paraphrastic_hf.io.files import write_bytes
from paraphrastic_hf.syntax.parse_tokens import checked_tree
from paraphrastic_hf.syntax.parse_tree import Tree, template

TEMPLATES = "templates.tsv"
PARSE, NONE = "parse", "none"  # what a model reads beside a sentence, or a template
SENTENCE = "sentence"  # what it writes, or a parse


def save_templates(directory: Path, counts: Iterable[tuple[str, int]]) -> None:
    """Write templates with their counts, a line each.

    Args:
        directory: The model's, which is made if need be.
        counts: Templates and how many sentences had them, the most frequent first.
    """
    directory.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{count}\t{text}\n" for text, count in counts)
    write_bytes(directory / TEMPLATES, lines.encode("utf-8"))


def load_templates(directory: Path) -> dict[str, int]:
    """The templates of a model's training with their counts, the most frequent first."""
    path = directory / TEMPLATES
    try:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        return {text: int(count) for count, text in rows}
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read the templates of training in {path}: {error}; name a directory that "
            "`paraphrastic train` made from a recipe of kind paraphrase"
        ) from error


def is_whole(tree: Tree) -> bool:
    """Whether a tree has more than the top two levels that make a template."""
    return tree.top != template(tree).top


def check_roles(writes: str, generator: str | None) -> None:
    """Refuse a paraphraser and a parse generator that were exchanged.

    Args:
        writes: What the paraphraser writes, `sentence` or `parse`.
        generator: What the parse generator writes; None if there is none.
    """
    if writes != SENTENCE:
        raise ModelError("the model writes parses: it is the generator, not the paraphraser")
    if generator not in (None, PARSE):
        raise ModelError("the parse generator writes sentences: name one that writes parses")


def check_templates(
    templates: Sequence[str], reads: str, *, has_generator: bool, has_parses: bool = True
) -> None:
    """Refuse templates that a model cannot write by.

    Args:
        templates: Templates in brackets, or whole parses.
        reads: What the model reads beside a sentence: `parse`, `template` or `none`.
    """
    if reads == NONE and templates:
        raise DataError("this model reads no template: leave them out, or canonicalise")
    if reads != NONE and not templates:
        raise DataError(
            "this model reads a template; give some, as (ROOT (S (NP) (VP) (.))), or top20"
        )
    for text in templates:
        if is_whole(checked_tree(text)) or reads != PARSE:
            continue
        if not has_generator:
            raise DataError(
                "this model reads whole parses: name a parse generator that fills templates "
                "(--generator MODEL; generator= in Python), or give whole parses, not "
                f"{text.strip()!r}"
            )
        if not has_parses:
            raise DataError(
                "the parse generator reads the parse of each sentence: name a parser, or give "
                "the trees"
            )


def top_templates(counts: Mapping[str, int], count: int) -> list[str]:
    """The most frequent templates of training, in brackets (6.3.3).

    Args:
        counts: Templates with their counts, the most frequent first.
        count: How many, at least 1.
    """
    if not counts:
        raise DataError("this model has no templates: it reads none; use canonicalise")
    return [bracketed(text) for text in list(counts)[:count]]
