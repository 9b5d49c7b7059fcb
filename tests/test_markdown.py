"""Every table that the package writes is a table to whoever shows Markdown."""

from __future__ import annotations

import pytest

from paraphrastic_hf.markdown import literal, markdown_table


def test_the_first_column_stands_left_and_the_others_right() -> None:
    assert markdown_table(["system", "a", "b"], [["ours", "1.0", ""]]) == [
        "| system | a | b |",
        "|---|---:|---:|",
        "| ours | 1.0 |  |",
    ]


def test_columns_stand_where_they_are_told_to() -> None:
    assert markdown_table(["n", "text"], [], "rl") == ["| n | text |", "|---:|---|"]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\|b"),  # escaped already
        (r"a\\|b", r"a\\\|b"),  # an escaped backslash, and a bar that is not
        ("||", r"\|\|"),
        ("two\nlines\tand  more ", "two lines and more"),
        ("**bold**", "**bold**"),
    ],
)
def test_a_cell_stays_one_cell(cell: str, shown: str) -> None:
    assert markdown_table([cell], [[cell]])[::2] == [f"| {shown} |"] * 2


@pytest.mark.parametrize("text", ["a|b", r"back\slash", "5 * 3 * 2", "_x_ `y`", r"\|"])
def test_text_of_other_people_is_escaped_once(text: str) -> None:
    (row,) = markdown_table(["t"], [[literal(text)]])[2:]
    shown = row.removeprefix("| ").removesuffix(" |")
    assert shown == literal(text)
    characters = iter(shown)
    plain = [next(characters) if mark == "\\" else mark for mark in characters]
    assert "".join(plain) == text


@pytest.mark.parametrize(("rows", "align"), [([["a"]], None), ([["a", "b", "c"]], None), ([], "l")])
def test_a_row_of_another_width_is_refused(rows: list[list[str]], align: str | None) -> None:
    with pytest.raises(ValueError, match="must have"):
        markdown_table(["one", "two"], rows, align)
