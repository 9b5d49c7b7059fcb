import pytest
from markdown_it import MarkdownIt

from paraphrastic_hf.io.markdown import Markdown, bold, code, code_block, literal, markdown_table


def test_columns_are_aligned():
    rows = ["| system | a | b |", "|---|---:|---:|", "| ours | 1.0 |  |"]
    assert markdown_table(["system", "a", "b"], [["ours", "1.0", ""]]) == rows
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
def test_a_cell_of_markdown_stays_one_cell(cell, shown):
    cells = [Markdown(cell)]
    assert markdown_table(cells, [cells])[::2] == [f"| {shown} |"] * 2


HOSTILE = [
    *("<0.001", "a|b", r"back\slash", "5 * 3 * 2", "_x_ `y`", r"\|", "__init__", "a_b", "-0.3"),
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;b&gt; AT&T &#60;"),
    *("[x](javascript:alert(1))", "![x](http://a/b.png)", "[x]: javascript:alert(1)", "<http://a>"),
    *("# a", "#a", "> a", "- a", "+ a", "* a", "1. a", "2) a", "---", "===", "~~a~~", "$x$ $$y$$"),
    *("``` a", "<!-- a", "a\n\n# b", "a\n```\n<b>"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_shown_literally(text):
    """As an independent parser reads it: paragraph, cell, bold, code."""
    wanted = " ".join(text.split())
    read = MarkdownIt().enable(["table", "strikethrough"])
    lines = ["# Title", "", literal(text), "", *markdown_table(["t"], [[text]]), "", bold(text)]
    shown = read.parse("\n".join([*lines, "", f"so: {code(text)}", "", code_block(text, "x")]))
    blocks = [token for token in shown if token.type == "inline" and token.content not in ("t",)]
    for block in blocks[1:]:
        kinds = {child.type for child in block.children or ()}
        assert kinds <= {"text", "code_inline", "strong_open", "strong_close", "text_special"}
        found = "".join(child.content for child in block.children or ())
        assert found.removeprefix("so: ") == wanted
    assert len(blocks) == 5
    assert shown[-1].content.rstrip("\n") == text
