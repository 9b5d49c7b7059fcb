import json

import numpy as np

from paraphrastic_hf.analyses.report import Analysis, Table, table_markdown, write_analysis
from paraphrastic_hf.io.plots import bars, new_figure


def analysis(*tables):
    figure = new_figure(3, 2)
    bars(figure.add_subplot(), ["大", "b"], [2.0, 1.0], "value")
    return Analysis("kind", "A title", list(tables), figure, ["A note."], {"seed": 1})


ONE = Table("one", "First", ["word", "score"], [["a|b", 1 / 3], ["c\td", None], ["e", np.nan]])
MANY = Table("many", "Second", ["number"], [[12345]], on_page=False)


def test_the_page_rounds_and_the_table_does_not(tmp_path):
    paths = write_analysis(analysis(ONE), tmp_path / "new")
    assert [path.name for path in paths] == ["kind.md", "kind.png", "kind.tsv", "kind.json"]
    page = (tmp_path / "new" / "kind.md").read_text()
    assert "| a\\|b | 0.3333 |\n| c d |  |\n| e |  |\n" in page
    assert "![A title](kind.png)\n\n* A note.\n" in page
    table = (tmp_path / "new" / "kind.tsv").read_text()
    assert table == f"word\tscore\na|b\t{1 / 3}\nc d\t\ne\t\n"
    values = json.loads((tmp_path / "new" / "kind.json").read_text())
    assert values["tables"] == {
        "one": [["word", "score"], ["a|b", 1 / 3], ["c\td", None], ["e", None]]
    }
    assert values["settings"] == {"seed": 1}
    assert (tmp_path / "new" / "kind.png").read_bytes().startswith(b"\x89PNG")


def test_several_tables_have_separate_files(tmp_path):
    write_analysis(analysis(ONE, MANY), tmp_path)
    assert {path.name for path in tmp_path.glob("*.tsv")} == {"kind-one.tsv", "kind-many.tsv"}
    page = (tmp_path / "kind.md").read_text()
    assert "## First" in page
    assert "Second" not in page
    numbers = Table("t", "", ["n"], [[71.849], [123456.7], [7]])
    shown = ["| n |", "|---:|", "| 71.85 |", "| 123,457 |", "| 7 |"]
    assert table_markdown(numbers) == shown
