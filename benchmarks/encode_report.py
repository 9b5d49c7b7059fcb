"""The Markdown tables and the plot of `encode.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLORS = {"ours": "C0", "StaticEmbedding": "C1", "model2vec": "C2", "all-MiniLM-L6-v2": "C3"}


def markdown(results: dict[str, Any]) -> str:
    """All parts measured, one table each."""
    writers: dict[str, Callable[[Any], Iterator[str]]] = {
        "throughput": throughput,
        "cold": cold,
        "latency": latency,
        "growth": growth,
        "disk": disk,
    }
    lines: list[str] = []
    for part, writer in writers.items():
        if part in results:
            lines += ["", f"### {part.capitalize()}", "", *writer(results[part])]
    return "\n".join(lines[1:]) + "\n"


def ranged(value: dict[str, Any] | None, form: str = ",.0f", factor: float = 1) -> str:
    """Median (lowest to highest)."""
    if value is None:
        return ""
    median, low, high = (value[key] * factor for key in ("median", "lowest", "highest"))
    return f"{median:{form}} ({low:{form}} to {high:{form}})"


def throughput(result: dict[str, Any]) -> Iterator[str]:
    """Every contender, then the best of each family with ours over it."""
    share = np.median(result["new_words"])
    yield (
        f"{result['sentences_a_slice']:,} sentences a repetition, "
        f"{result['words_a_sentence']:.1f} words each, {share:.1%} of the words new to ours."
    )
    yield from ("", "| sentences per second | unseen | the same again |", "|---|---|---|")
    for name, found in result["sentences_per_second"].items():
        yield f"| {name} | {ranged(found['unseen'])} | {ranged(found.get('seen'))} |"
    columns = ("ours_over_it_unseen", "ours_over_it_seen", "nothing_learned_over_it")
    yield ""
    yield "| ours, with as many threads, over the best of | unseen | seen | nothing learned |"
    yield "|---|---|---|---|"
    for row in result["best"]:
        if not row["family"].startswith("ours, n") and row["family"] != "ours":
            ratios = (row.get(column) for column in columns)
            cells = " | ".join("" if ratio is None else f"{ratio:.1f}x" for ratio in ratios)
            yield f"| {row['unseen']} | {cells} |"


def cold(result: dict[str, Any]) -> Iterator[str]:
    """Seconds."""
    yield from ("| fresh process, seconds | import to first vector | whole |", "|---|---|---|")
    for name, found in result.items():
        yield f"| {name} | {ranged(found['inside'], '.3f')} | {ranged(found['whole'], '.3f')} |"


def latency(result: dict[str, Any]) -> Iterator[str]:
    """Microseconds."""
    yield "| one sentence, microseconds | unseen | 99th percentile | seen | 99th percentile |"
    yield "|---|---|---|---|---|"
    for name, found in result.items():
        cells = (
            f"{ranged(found[when], ',.1f')} | {found[when]['99th_percentile']:,.1f}"
            for when in ("unseen", "seen")
        )
        yield f"| {name} | {' | '.join(cells)} |"


def growth(result: list[dict[str, Any]]) -> Iterator[str]:
    """Rates, and how far from reading the rows alone."""
    yield (
        "| sentences | words | dimensions | threads | seconds | sentences/s | rows, GB/s "
        "| random rows alone, GB/s | share | these rows alone, GB/s | share |"
    )
    yield "|" + "---|" * 11
    for row in result:
        limits = {kind: max(by.values()) for kind, by in row["gather_bytes_per_second"].items()}
        yield (
            f"| {row['sentences']:,} | {row['words']} | {row['dimension']} | {row['threads']} "
            f"| {ranged(row['seconds'], '.4g')} | {row['sentences_per_second']:,.0f} "
            f"| {row['row_bytes_per_second'] / 1e9:.2f} "
            f"| {limits['random rows'] / 1e9:.2f} | {row['share_of_random_rows']:.0%} "
            f"| {limits['these rows'] / 1e9:.2f} | {row['share_of_these_rows']:.0%} |"
        )


def disk(result: list[dict[str, Any]]) -> Iterator[str]:
    """Time and memory."""
    yield "| lines | seconds | sentences/s | peak memory, MB | .npy, MB | writing zeros, seconds |"
    yield "|" + "---|" * 6
    for row in result:
        zeros = ranged(row["seconds_writing_as_many_zeros"], ".2f")
        yield (
            f"| {row['lines']:,} | {ranged(row['seconds'], '.2f')} "
            f"| {row['sentences_per_second']:,.0f} "
            f"| {ranged(row['peak_memory_bytes'], ',.0f', 1e-6)} "
            f"| {row['vector_bytes'] / 1e6:,.0f} | {zeros} |"
        )


def plot(results: dict[str, Any], path: Path) -> None:
    """One panel a part, three for the growth; bars show the range of the repetitions."""
    panels: list[Callable[[Axes], None]] = []
    if "throughput" in results:
        panels.append(lambda axes: plot_throughput(axes, results["throughput"]))
    if "cold" in results:
        found = {name: by["inside"] for name, by in results["cold"].items()}
        panels.append(lambda axes: bars(axes, found, "fresh process to first vector, seconds"))
    if "latency" in results:
        times = {name: by["unseen"] for name, by in results["latency"].items()}
        panels.append(lambda axes: bars(axes, times, "one unseen sentence, microseconds", log=True))
    for axis in ("sentences", "words", "dimensions") if "growth" in results else ():
        rows = [row for row in results["growth"] if row["axis"] == axis]
        panels.append(lambda axes, axis=axis, rows=rows: plot_growth(axes, axis, rows))
    if "disk" in results:
        peaks = {f"{row['lines']:,} lines": row["peak_memory_bytes"] for row in results["disk"]}
        panels.append(lambda axes: bars(axes, peaks, "file to file, peak memory, bytes"))
    if not panels:
        return
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(6.5 * columns, 4 * rows), layout="constrained")
    all_axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, draw in zip(all_axes, panels, strict=False):
        draw(axes)
    for axes in all_axes[len(panels) :]:
        axes.set_axis_off()
    figure.savefig(path, dpi=150)


def plot_throughput(axes: Axes, result: dict[str, Any]) -> None:
    """The best of each family."""
    names = [row["unseen"] for row in result["best"]]
    found = {name: result["sentences_per_second"][name]["unseen"] for name in names}
    bars(axes, found, "unseen sentences per second", log=True)


def bars(axes: Axes, found: dict[str, dict[str, Any]], label: str, log: bool = False) -> None:
    """Medians with the range."""
    median, lowest, highest = (
        np.array([value[key] for value in found.values()])
        for key in ("median", "lowest", "highest")
    )
    colors = [COLORS.get(name.split(",")[0], "C7") for name in found]
    axes.barh(
        list(found), median, xerr=[median - lowest, highest - median], color=colors, capsize=3
    )
    axes.invert_yaxis()
    axes.set(xlabel=label, xscale="log" if log else "linear")


def plot_growth(axes: Axes, axis: str, rows: list[dict[str, Any]]) -> None:
    """Bytes of rows per second: ours from strings, and the gather alone."""
    key = "dimension" if axis == "dimensions" else axis
    for color, threads in enumerate(sorted({row["threads"] for row in rows})):
        mine = [row for row in rows if row["threads"] == threads]
        x = [row[key] for row in mine]
        lines = {
            f"ours, threads: {threads}": ([r["row_bytes_per_second"] for r in mine], "o-"),
            f"these rows alone, threads: {threads}": (limits(mine, "these rows"), "--"),
            f"random rows alone, threads: {threads}": (limits(mine, "random rows"), ":"),
        }
        for label, (values, style) in lines.items():
            axes.plot(x, np.array(values) / 1e9, style, color=f"C{color}", label=label)
    axes.set(xlabel=axis, ylabel="GB of rows per second", xscale="log", ylim=(0, None))
    axes.legend(fontsize="small")


def limits(rows: list[dict[str, Any]], kind: str) -> list[float]:
    """Of the faster kernel."""
    return [max(row["gather_bytes_per_second"][kind].values()) for row in rows]
