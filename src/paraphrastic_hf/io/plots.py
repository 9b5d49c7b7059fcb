"""Shared style of all plots: colors, titles, legends, ticks and units."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = (  # the palette of Okabe and Ito, safe for color blindness
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444c56",
)  # fmt: skip
DASHES = ("-", "--", ":", "-.")  # after the last color
MARKED = 30  # with fewer points, each has a marker


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that needs no display. Its size is in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png(figure: Figure, title: str = "", dpi: int = 150) -> bytes:
    """Render a figure as PNG, below a title."""
    from matplotlib.text import Text

    if title:
        wrapped = textwrap.fill(title, int(10 * figure.get_figwidth()))
        figure.suptitle(wrapped, x=0.01, ha="left", fontsize=11, fontweight="bold")
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # names may contain dollar signs
    buffer = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # characters that no font has
        figure.savefig(buffer, dpi=dpi, format="png")
    return buffer.getvalue()


def human(value: float, digits: int = 6) -> str:
    """Format a number for a plot."""
    value = float(f"{value:.{digits}g}")
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.{digits}g}{name}"
    return f"{value:.{digits}g}".replace("e-0", "e-")


def style(
    axes: Axes,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    *,
    grid: Literal["both", "x", "y"] = "both",
    counts: str = "",
    columns: int = 1,
) -> None:
    """Style a panel, after its data are drawn and its scales are set.

    Several labeled curves get a legend of `columns` columns (0: none) to the right of the panel. A
    single label becomes the title. `counts` names the axes with integer ticks: `x`, `y` or `xy`.
    """
    from matplotlib.ticker import (
        FuncFormatter,
        LogFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
        ScalarFormatter,
    )

    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        if not isinstance(axis.get_major_formatter(), ScalarFormatter | LogFormatter):
            continue  # names
        low, high = axis.get_view_interval()
        if axis.get_scale() == "log" and high < 1000 * low:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        elif axis.get_scale() == "linear" and name in counts:
            axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        axis.set_major_formatter(FuncFormatter(lambda value, _: human(value)))
        axis.set_minor_formatter(NullFormatter())
    labels = axes.get_legend_handles_labels()[1]
    if columns and len(labels) > 1:
        axes.legend(
            loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False, fontsize=8,
            ncols=columns,
        )  # fmt: skip
    elif columns and labels:
        title = title or labels[0]
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(xlabel, fontsize=9)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#e3e6ea")
    axes.set_axisbelow(True)


def bars(
    axes: Axes,
    names: Sequence[str],
    values: Sequence[float],
    label: str,
    title: str = "",
    **options: Any,
) -> None:
    """Draw horizontal bars with their values, the first bar on top. Takes options of `barh`."""
    places = range(len(names))
    highest = max(map(abs, values), default=0)
    decimals = 2 if highest < 10 else 1 if highest < 100 else 0
    axes.barh(places, values, height=0.7, **{"color": COLORS[0], **options})
    errors = options.get("xerr", [[0] * len(values)] * 2)
    for place, value, below, above in zip(places, values, *errors, strict=True):
        text = f"{value:.{decimals}f}" if highest < 1000 else human(value, 3)
        end, side, gap = (value - below, "right", -4) if value < 0 else (value + above, "left", 4)
        axes.annotate(
            text, (end, place), (gap, 0), textcoords="offset points", va="center", ha=side,
            fontsize=8, annotation_clip=False,
        )  # fmt: skip
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=0.12)
    style(axes, title, label, grid="x")
    axes.tick_params(axis="y", length=0)


def lines(
    axes: Axes,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    xlabel: str,
    ylabel: str = "",
    title: str = "",
    *,
    log: bool = False,
    **options: Any,
) -> None:
    """Draw each curve, x and y values by name, as a line, with points if they are few. Curves of a
    single point become bars. With `log`, the x axis is logarithmic if its values span a factor of
    ten.
    """
    if curves and all(len(x) == 1 for x, _ in curves.values()):
        heights = [y[0] for _, y in curves.values()]
        return bars(axes, list(curves), heights, ylabel or title, title if ylabel else "")
    for number, (name, points) in enumerate(curves.items()):
        marker = "o" if len(points[0]) < MARKED else ""
        axes.plot(
            *points, marker=marker, markersize=3.5, linewidth=1.6, label=name,
            linestyle=DASHES[number // len(COLORS) % len(DASHES)],
            color=COLORS[number % len(COLORS)],
        )  # fmt: skip
    every = [place for x, _ in curves.values() for place in x]
    if log and max(every, default=0) >= 10 * min(every, default=1) > 0:
        axes.set_xscale("log")
    style(axes, title, xlabel, ylabel, **options)


def heat_map(
    axes: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    texts: Sequence[Sequence[str]],
) -> None:
    """Draw a matrix. Cells are blue above 0 and red below 0, with the given texts."""
    most = float(np.nanmax(np.abs(values))) or 1.0
    image = axes.imshow(values, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if not texts[row][column]:
            continue
        color = "white" if abs(value) > 0.6 * most else "black"
        axes.text(
            column, row, texts[row][column], ha="center", va="center", color=color, size=8
        )  # fmt: skip
    axes.set_xticks(range(len(columns)), columns, rotation=35, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(labelsize=8, length=0)
    axes.spines[:].set_visible(False)
    bar = axes.figure.colorbar(image, ax=axes)
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
