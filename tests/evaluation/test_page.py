import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.page import (
    merge,
    page_html,
    page_markdown,
    read_figures,
    write_page,
)


def write(folder, model, suite="sts", **headline):
    folder.mkdir(exist_ok=True)
    results: dict[str, Any] = {
        "model": model,
        "suite": suite,
        "summary": "a test",
        "unit": "points",
        "headline": headline,
        "papers": {"thesis <SP>": {"a": 50.0}},
        "notes": ["read me"],
        "skipped": {"late": "no | data"},
        "rows": [{"group": "g", "name": "n", "size": 1234, "scores": {"pearson": 1.26}}],
        "settings": {"weights": "abc"},
        "seconds": 1.5,
    }
    (folder / f"{suite}.json").write_text(json.dumps(results))
    return folder


def rows_of(page):
    """Return the cells of every table row of a page, which must be well-formed."""
    closed = re.sub(r"<(meta|img)([^>]*)>", r"<\1\2/>", page.removeprefix("<!doctype html>"))
    rows = ElementTree.fromstring(closed).iter("tr")
    return [[cell.text or "" for cell in row] for row in rows]


def test_the_table_has_the_columns_of_all_models(tmp_path):
    first = write(tmp_path / "1", "ours", a=60.0, b=10.04)
    second = write(tmp_path / "2", "peer", b=10.26, c=3.0)
    (section,) = merge([first, second])
    rows = rows_of(page_html([section], "<Page>"))
    assert rows[:4] == [
        ["system", "a", "b", "c"],
        ["ours", "60.0", "10.0", ""],
        ["peer", "", "10.3", "3.0"],
        ["thesis <SP>", "50.0", "", ""],
    ]
    assert ["g n", "1,234", "1.3"] in rows
    markdown = page_markdown([section], "Page")
    assert "| peer |  | **10.3** | 3.0 |" in markdown  # a single figure is never bold
    assert r"* Skipped, late: no \| data" in markdown
    assert "thesis <SP>" not in markdown


def test_the_best_figure_is_bold_even_if_published(tmp_path):
    (section,) = merge([write(tmp_path / "1", "ours", a=49.9), write(tmp_path / "2", "peer", a=50)])
    rows = section.tables()[2:]
    assert rows == ["| ours | 49.9 |", "| peer | **50.0** |", "| thesis &lt;SP> | **50.0** |"]


@pytest.mark.parametrize("number", [1, 6, 7, 13])
def test_wide_tables_are_split(tmp_path, number):
    headline = {f"f{figure}": float(figure) for figure in range(number)}
    (section,) = merge([write(tmp_path / "1", "ours", **headline)])
    lines = section.tables()
    heads = [lines[at - 1] for at, line in enumerate(lines) if line.startswith("|---")]
    names = [head.split(" | ")[1:] for head in heads]
    assert [name.strip(" |") for each in names for name in each] == list(headline)
    assert max(map(len, names)) <= 6
    assert max(map(len, names)) - min(map(len, names)) <= len(names)
    assert len([line for line in lines if line.startswith("| thesis")]) == 0  # it has no f0


def test_the_figures_are_read_back(tmp_path):
    written = merge([write(tmp_path / "1", "ours", a=-60.04, b=1_234_567.0)])
    write_page(written, tmp_path / "page")
    assert "data:image/png;base64," in (tmp_path / "page" / "report.html").read_text()
    read = read_figures(tmp_path / "page" / "results.tsv")["sts"]
    assert read.tables() == written[0].tables()


def test_a_skipped_task_is_listed_once_without_folders(tmp_path):
    for name, skipped in (
        ("1", {"x": "no x in /srv/data/eval/xs; https://a.b/c says", "y": "no y"}),
        ("2", {"x": "no x in /var/cache/xs or a/b"}),
    ):
        path = write(tmp_path / name, f"model {name}", a=1.0) / "sts.json"
        results = json.loads(path.read_text())
        path.write_text(json.dumps({**results, "skipped": skipped}))
    markdown = page_markdown(merge([tmp_path / "1", tmp_path / "2"]), "Page")
    assert "* Skipped, x: no x in xs; https://a.b/c says\n" in markdown
    assert "* Skipped, y (model 1): no y\n" in markdown


def test_suites_are_in_order_and_invalid_folders_are_refused(tmp_path):
    one = tmp_path / "1"
    for suite in ("wmt-da", "unheard", "sts"):
        write(one, "ours", suite, a=60.0)
    assert [section.name for section in merge([one])] == ["sts", "wmt-da", "unheard"]
    for folders in ([one, write(tmp_path / "2", "ours", a=1.0)], [tmp_path]):
        with pytest.raises(DataError):
            merge(folders)
    (tmp_path / "sts.json").write_text("{")
    with pytest.raises(DataError):
        merge([tmp_path])
