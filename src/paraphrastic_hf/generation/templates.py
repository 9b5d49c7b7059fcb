"""Templates of the training data (`templates.tsv`; thesis, 6.3.3), and checks of templates."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.generation.paraphrase_filter import bracketed
from paraphrastic_hf.io.files import write_bytes
from paraphrastic_hf.syntax.parse_tokens import checked_tree
from paraphrastic_hf.syntax.parse_tree import Tree, template

TEMPLATES = "templates.tsv"
PARSE, NONE = "parse", "none"  # possible second inputs of a model, besides "template"
SENTENCE = "sentence"  # possible output of a model, besides PARSE


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
    """Raise an error if the paraphraser and the parse generator were swapped.

    `writes` and `generator` are their outputs, `sentence` or `parse`.
    """
    if writes != SENTENCE:
        raise ModelError(
            "The given model writes parses, not sentences. Use a model trained with model.writes "
            "sentence"
        )
    if generator not in (None, PARSE):
        raise ModelError(
            "The model given as parse generator writes sentences. Give a model trained with "
            "model.writes parse"
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
