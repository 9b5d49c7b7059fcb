"""Options, settings, tables, plots and the files of the results."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paraphrastic_hf.io.files import write_bytes, write_json
from paraphrastic_hf.io.markdown import markdown_table
from paraphrastic_hf.io.plots import COLORS, bars, new_figure, png

DATA = Path(os.environ.get("PARAPHRASTIC_DATA", "."))
NAME = Path(sys.argv[0]).stem  # name of the script and of its result files
RANGE = ("median", "lowest", "highest")


class _Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Help formatter that keeps the layout of the docstring and shows defaults that are not
    None."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return super()._get_help_string(action) if action.default is not None else action.help


def options(
    doc: str | None,
    *,
    threads: int | None = os.cpu_count(),
    repetitions: int | None = None,
    parts: Iterable[str] = (),
    data: bool = False,
) -> argparse.ArgumentParser:
    """Return a parser with the common options. Its help is the script's docstring.

    Args:
        doc: The docstring.
        threads: Default of `--threads`. None omits the option.
        repetitions: Default of `--repetitions`. None omits the option.
        parts: Choices of `--parts`.
        data: Whether to add `--data`, the data folder.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=_Help)
    option = parser.add_argument
    place = Path("results") / NAME
    option("--output", type=Path, default=place, metavar="DIR", help="folder of the results")
    if threads:
        option("--threads", type=int, default=threads, metavar="N", help="threads")
    if repetitions:
        text = "measurements per contender"
        option("--repetitions", type=int, default=repetitions, metavar="N", help=text)
    if names := list(parts):
        option("--parts", nargs="+", choices=names, default=names, help="parts to run")
    if data:
        text = "data folder, by default PARAPHRASTIC_DATA"
        is_needed = "PARAPHRASTIC_DATA" not in os.environ
        option("--data", type=Path, required=is_needed, default=DATA, metavar="DIR", help=text)
    return parser


def settings(args: argparse.Namespace, *packages: str) -> dict[str, Any]:
    """Return the options, machine, load and versions of a run."""
    found: dict[str, Any] = {}
    for name, value in vars(args).items():
        if isinstance(value, list):
            found[name] = [each.name if isinstance(each, Path) else each for each in value]
        elif name != "output":
            found[name] = value.name if isinstance(value, Path) else value
    cpu = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.+)", cpu.read_text()) if cpu.exists() else None
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for name in ("paraphrastic-hf", "numpy", *packages):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return found | {
        "processor": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "load_average_before": os.getloadavg()[0],
        "commit": commit,
        "versions": versions,
    }


def run_parts(
    args: argparse.Namespace, parts: Mapping[str, Callable[..., Any]], *packages: str
) -> dict[str, Any]:
    """Run the parts in `--parts`, and write the results after each."""
    results: dict[str, Any] = {"settings": settings(args, *packages)}
    for name in args.parts:
        results[name] = parts[name](args)
        write(args, results)
    return results


def write(args: argparse.Namespace, results: dict[str, Any]) -> None:
    """Write `NAME.json`."""
    args.output.mkdir(parents=True, exist_ok=True)
    write_json(args.output / f"{NAME}.json", results)


class Table(NamedTuple):
    """Figures by name and column. The plot shows the first column as bars."""

    title: str
    rows: Mapping[str, Mapping[str, Any]]  # numbers, `spread`s or text
    form: str = ",.0f"  # number format

    def markdown(self) -> str:
        """Return a Markdown table."""
        columns = list(dict.fromkeys(column for row in self.rows.values() for column in row))
        cells = [
            [name, *(self._cell(row.get(c, "")) for c in columns)]
            for name, row in self.rows.items()
        ]
        return "\n".join(markdown_table([self.title, *columns], cells))

    def _cell(self, value: Any) -> str:
        if isinstance(value, Mapping):
            median, low, high = (format(value[key], self.form) for key in RANGE)
            return f"{median} ({low} to {high})"
        return value if isinstance(value, str) else format(value, self.form)

    def draw(self, axes: Any) -> None:
        """Draw the first column as bars with their ranges."""
        column = next(iter(next(iter(self.rows.values()), {})), "")
        cells = [next(iter(row.values())) for row in self.rows.values()]
        ranges = [
            [value[key] for key in RANGE] if isinstance(value, Mapping) else [value] * 3
            for value in cells
        ]
        medians, lows, highs = zip(*ranges, strict=True)
        errors = np.abs(np.subtract((lows, highs), medians))
        if max(medians) > 100 * min(medians) > 0:
            axes.set_xscale("log")
        colors = [COLORS[not name.startswith("ours")] for name in self.rows]
        bars(axes, list(self.rows), medians, column, self.title, xerr=errors, color=colors)


def picture(tables: Sequence[Table]) -> bytes:
    """Return a PNG with a panel for each table, one below the other."""
    heights = [1 + 0.3 * len(each.rows) for each in tables]
    figure = new_figure(8, sum(heights))
    panels = figure.subplots(len(tables), squeeze=False, gridspec_kw={"height_ratios": heights})
    for each, axes in zip(tables, panels[:, 0], strict=True):
        each.draw(axes)
    return png(figure, dpi=120)


def times(ours: Any, other: Any) -> str:
    """Return the ratio of two medians with at least two digits."""
    ratio = ours["median"] / other["median"]
    return f"{ratio:,.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 2 else f"{ratio:.2f}x"


def save(args: argparse.Namespace, results: dict[str, Any], *tables: Table) -> None:
    """Write `NAME.json`, and the tables to `NAME.md` and `NAME.png`. Print the tables, else the
    JSON."""
    write(args, results)
    if not tables:
        print(json.dumps(results, indent=1))
        return
    write_bytes(args.output / f"{NAME}.png", picture(tables))
    text = "\n\n".join(each.markdown() for each in tables)
    (args.output / f"{NAME}.md").write_text(f"{text}\n", encoding="utf-8")
    print(f"\n{text}")
