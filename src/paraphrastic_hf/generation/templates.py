"""The templates that a model's training had, in its directory: `templates.tsv` (thesis, 6.3.3)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.files import write_bytes

TEMPLATES = "templates.tsv"


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
    """The templates of a model's training with their counts, the most frequent first.

    Args:
        directory: The model's.

    Raises:
        ModelError: The file is not there or damaged.
    """
    path = directory / TEMPLATES
    try:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        return {text: int(count) for count, text in rows}
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read the templates of training in {path}: {error}; name a directory that "
            "`paraphrastic train` made from a recipe of kind paraphrase"
        ) from error
