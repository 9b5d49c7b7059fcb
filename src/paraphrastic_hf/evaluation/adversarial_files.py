"""Files of adversarial evaluation (thesis, 6.5): examples with their labels, and paraphrases."""

from __future__ import annotations

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.evaluation.adversarial import Example
from paraphrastic_hf.io.blocks import is_blank, read_blocks

MOST_DIGITS = 10  # of a line's number


def read_examples(path: str) -> list[Example]:
    """The examples of a file.

    Raises:
        DataError: A row has not two or three columns, or not as many as the first.
    """
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
    number and a text.

    Raises:
        DataError: A row is neither, or its number is of no line.
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
