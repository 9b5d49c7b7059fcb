"""One page with the results of several models. Each suite has a table, or several if it has many
figures: models first, then published systems."""

import base64
import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.report import figure_text, left_out, plot_systems, read_results
from paraphrastic_hf.io.files import tsv_line, write_bytes
from paraphrastic_hf.io.markdown import bold, literal, markdown_table
from paraphrastic_hf.io.plots import png

DIRECTORIES = re.compile(r"(?<![\w.:/])/(?:[^/\s;,]+/)+")  # the folders of an absolute path
COLUMNS = ("suite", "system", "kind", "figure", "value")  # columns of results.tsv
FIGURES = 6  # maximum number of figures in a row of a Markdown table
STYLE = """
:root { color-scheme: light dark; --line: #d5dae1; --faint: #69727f; --best: #1b6ca8; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a414b; --faint: #9aa3b0; --best: #6db3e8; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
nav a { margin-right: .8rem; white-space: nowrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th { font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child {
  text-align: left; position: sticky; left: 0; background: Canvas; min-width: 8rem;
}
tr.paper td { color: var(--faint); } td.best { color: var(--best); font-weight: 700; }
img { width: 100%; max-width: 44rem; height: auto; background: white; border-radius: 4px; }
.faint { color: var(--faint); font-size: .85rem; }
details { margin: .6rem 0; } summary { cursor: pointer; }
"""


@dataclass(frozen=True)
class Section:
    """One suite of the page."""

    name: str
    results: list[dict[str, Any]]  # of each model, from `evaluate`
    columns: list[str]
    rows: list[tuple[str, list[float], bool]]  # system, figures or NaN, whether it is published

    def best(self) -> list[float]:
        """Return the highest figure of each column, rounded. NaN for a column with one figure."""
        systems = zip(*(values for _, values, _ in self.rows), strict=True)
        columns = [[round(v, 1) for v in column if not math.isnan(v)] for column in systems]
        return [max(column) if len(column) > 1 else math.nan for column in columns]

    def tables(self) -> list[str]:
        """Return the lines of Markdown tables with at most `FIGURES` figures per row."""
        best, lines = self.best(), []
        for part in _parts(len(self.columns)):
            rows = [
                [name, *map(_cell, values[part], best[part])]
                for name, values, _ in self.rows
                if not all(map(math.isnan, values[part]))
            ]
            lines += ["", *markdown_table(["system", *self.columns[part]], rows)]
        return lines[1:]


def merge(directories: Sequence[str | Path]) -> list[Section]:
    """Read results from output folders of `paraphrastic evaluate`, in the order of `SUITES`."""
    by_suite: dict[str, list[dict[str, Any]]] = {}
    for directory in directories:
        for results in read_results(directory):
            others = by_suite.setdefault(results["suite"], [])
            if any(other["model"] == results["model"] for other in others):
                raise DataError(
                    f"{directory} contains a second result of model {results['model']} on suite "
                    f"{results['suite']}. Evaluate one of the two models with another --name"
                )
            others.append(results)
    order = [*(name for name in SUITES if name in by_suite), *(set(by_suite) - set(SUITES))]
    return [_section(name, by_suite[name]) for name in order]


def write_page(
    sections: Sequence[Section], directory: str | Path, *, title: str = "Evaluation"
) -> list[Path]:
    """Write report.html, a single self-contained file, report.md and results.tsv."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    pages = {
        "report.html": page_html(sections, title),
        "report.md": page_markdown(sections, title),
        "results.tsv": figures_tsv(sections),
    }
    for name, text in pages.items():
        write_bytes(directory / name, text.encode("utf-8"))
    return [directory / name for name in pages]


def page_markdown(sections: Sequence[Section], title: str) -> str:
    lines = [f"# {literal(title)}", ""]
    for section in sections:
        lines += [f"## {literal(section.name)}", "", literal(_about(section)), ""]
        lines += section.tables()
        lines += ["", *(f"* {literal(text)}" for text in _remarks(section)), ""]
    return "\n".join(lines)


def figures_tsv(sections: Sequence[Section]) -> str:
    """Return every figure as a line: suite, system, `model` or `published`, figure, value."""
    lines = [tsv_line(*COLUMNS)]
    for section in sections:
        for name, values, is_paper in section.rows:
            kind = "published" if is_paper else "model"
            lines += [
                tsv_line(section.name, name, kind, column, str(value))
                for column, value in zip(section.columns, values, strict=True)
                if not math.isnan(value)
            ]
    return "".join(lines)


def read_figures(path: str | Path) -> dict[str, Section]:
    """Read the sections of a results.tsv, by suite. Their `results` are empty."""
    rows: dict[str, dict[tuple[str, bool], dict[str, float]]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines()[1:]:
        suite, system, kind, figure, value = line.split("\t")
        figures = rows.setdefault(suite, {}).setdefault((system, kind == "published"), {})
        figures[figure] = float(value)
    return {
        suite: _aligned(suite, [], [(name, values, p) for (name, p), values in systems.items()])
        for suite, systems in rows.items()
    }


def page_html(sections: Sequence[Section], title: str) -> str:
    links = "".join(f'<a href="#{_e(s.name)}">{_e(s.name)}</a>' for s in sections)
    body = [f"<h1>{_e(title)}</h1><nav>{links}</nav>"]
    for section in sections:
        body.append(f'<section id="{_e(section.name)}"><h2>{_e(section.name)}</h2>')
        body.append(f"<p>{_e(_about(section))}</p>")
        body.append(f'<div class="wide">{_html_table(section)}</div>')
        plot = base64.b64encode(_plot(section)).decode()
        alt = f"plot of the table of {section.name}"
        body.append(f'<p><img alt="{_e(alt)}" src="data:image/png;base64,{plot}"></p>')
        remarks = "".join(f"<li>{_e(text)}</li>" for text in _remarks(section))
        body.append(f'<ul class="faint">{remarks}</ul>')
        body += [_html_details(results) for results in section.results]
        body.append("</section>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_e(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _parts(number: int) -> list[slice]:
    """Return slices of nearly equal length, at most `FIGURES`, that cover `number` columns."""
    width = math.ceil(number / max(1, math.ceil(number / FIGURES)))
    return [slice(start, start + width) for start in range(0, number, max(1, width))]


def _cell(value: float, best: float) -> str:
    return bold(figure_text(value)) if round(value, 1) == best else figure_text(value)


def _section(name: str, results: list[dict[str, Any]]) -> Section:
    rows = [(each["model"], each["headline"], False) for each in results]
    papers = {paper: values for each in results for paper, values in each["papers"].items()}
    return _aligned(name, results, [*rows, *((paper, papers[paper], True) for paper in papers)])


def _aligned(
    name: str, results: list[dict[str, Any]], rows: Sequence[tuple[str, dict[str, float], bool]]
) -> Section:
    columns = list(
        dict.fromkeys(key for _, values, is_paper in rows if not is_paper for key in values)
    )
    filled = [(n, [v.get(key, math.nan) for key in columns], p) for n, v, p in rows]
    return Section(name, results, columns, filled)


def _about(section: Section) -> str:
    first = section.results[0]
    return f"{first['summary']}. {first['unit'].replace(';', '.')}."


def _remarks(section: Section) -> list[str]:
    remarks = list(section.results[0]["notes"])
    remarks += [
        f"{each['model']}: {each['seconds']:.1f} s, weights {each['settings']['weights']}."
        for each in section.results
    ]
    return remarks + _skipped(section.results)


def _skipped(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return one line with the reason for each task that was not run.

    Paths are shortened to file names, because the page is read on other machines.
    """
    reasons: dict[tuple[str, str], str] = {}
    models: dict[tuple[str, str], list[str]] = {}
    for each in results:
        for title, tasks in left_out(each):
            for task, reason in tasks.items():
                reasons.setdefault((title, task), DIRECTORIES.sub("", reason))
                models.setdefault((title, task), []).append(each["model"])
    lines = []
    for (title, task), who in models.items():
        of = "" if len(who) == len(results) else f" ({', '.join(who)})"
        lines.append(f"{title}, {task}{of}: {reasons[title, task]}")
    return lines


def _html_table(section: Section) -> str:
    best = section.best()
    head = "".join(f"<th>{_e(column)}</th>" for column in section.columns)
    rows = [f"<tr><th>system</th>{head}</tr>"]
    for name, values, is_paper in section.rows:
        cells = "".join(
            f'<td class="best">{figure_text(v)}</td>'
            if round(v, 1) == b
            else f"<td>{figure_text(v)}</td>"
            for v, b in zip(values, best, strict=True)
        )
        kind = ' class="paper"' if is_paper else ""
        rows.append(f"<tr{kind}><td>{_e(name)}</td>{cells}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _html_details(results: dict[str, Any]) -> str:
    measures = list(dict.fromkeys(name for row in results["rows"] for name in row["scores"]))
    head = "".join(f"<th>{_e(name)}</th>" for name in ("size", *measures))
    rows = [f"<tr><th>dataset</th>{head}</tr>"]
    for row in results["rows"]:
        scores = [row["scores"].get(measure, math.nan) for measure in measures]
        cells = [f"{row['size']:,}", *map(figure_text, scores)]
        filled = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f"<tr><td>{_e(row['group'])} {_e(row['name'])}</td>{filled}</tr>")
    table = f'<div class="wide"><table>{"".join(rows)}</table></div>'
    return f"<details><summary>{_e(results['model'])}: every dataset</summary>{table}</details>"


def _plot(section: Section) -> bytes:
    figures = [dict(zip(section.columns, values, strict=True)) for _, values, _ in section.rows]
    kinds: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for (name, _, is_paper), values in zip(section.rows, figures, strict=True):
        kinds[is_paper][name] = values
    return png(plot_systems(*kinds, section.results[0]["unit"]), section.name, dpi=130)


def _e(text: object) -> str:
    return html.escape(str(text))
