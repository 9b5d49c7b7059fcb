"""Content of the variables of a generative model (thesis, 5.7.2, 5.7.3, Tables 52 and 53)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paraphrastic_hf.analyses.report import Analysis, Cell, Table
from paraphrastic_hf.encoders.storage.fingerprint import is_identified
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions
from paraphrastic_hf.io.files import read_json
from paraphrastic_hf.io.plots import COLORS, heat_map, new_figure, style
from paraphrastic_hf.models.generative.latent_parts import SEMANTIC

STEP, SHIFT = 2, 5  # every second sentence is a source, and its style is 5 sentences later
MOST_TOKENS = 60
POINTS = 5  # points of an interpolation, including both ends
Probes = Mapping[str, Mapping[str, float]]


def read_probes(path: str | Path, model: Any = None) -> dict[str, dict[str, float]]:
    """Read the accuracies in `probing.json` by encoder and task, of `model` if given."""
    try:
        found: dict[str, dict[str, float]] = {}
        record = read_json(Path(path))
        if record["suite"] != "probing":
            raise DataError(f"{path} has results of {record['suite']}. Give the file probing.json")
        if model is not None and not is_identified(model, record.get("settings", {})):
            raise DataError(
                f"{path} has the results of another model, {record.get('model')}. Run "
                "`paraphrastic evaluate` again"
            )
        for row in record["rows"]:
            found.setdefault(row["group"], {})[row["name"]] = float(row["scores"]["accuracy"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is not a valid probing.json ({error}). Create it with `paraphrastic evaluate "
            "MODEL --suite probing --output DIR`"
        ) from error
    return found


def variables(
    generator: LatentGenerator,
    judge: Any,
    texts: Sequence[str],
    *,
    language: str = "en",
    probes: Probes | None = None,
    count: int = 300,
    samples: int = 8,
    name: str = "model",
    progress: bool = False,
) -> Analysis:
    """Show what the variables of a generative model encode.

    Every second text is a source, and its style is the text five positions later. Interpolation
    goes from a source to its style text. `judge` is an independently trained encoder with
    `similarity_pairwise`, for the cosines. `probes` come from `read_probes`.
    """
    for what, value, least in (("count", count, 2), ("samples", samples, 0)):
        if value < least:
            raise DataError(f"{what} must be at least {least}, got {value}")
    sources = list(texts[:-SHIFT:STEP][:count])
    styles = list(texts[SHIFT::STEP][: len(sources)])
    if len(styles) < 2:
        raise DataError(f"Style transfer requires at least {2 * SHIFT} sentences, got {len(texts)}")
    sources = sources[: len(styles)]
    how = GenerationOptions(max_tokens=MOST_TOKENS)
    swapped = _first(
        generator.transfer(sources, styles, language=language, writing=how, progress=progress)
    )
    rebuilt = _first(
        generator.reconstruct(sources, language=language, writing=how, progress=progress)
    )
    near = [
        ["meaning of one, style of another", "meaning sentence", *_near(judge, swapped, sources)],
        ["meaning of one, style of another", "style sentence", *_near(judge, swapped, styles)],
        ["meaning and style of one", "same sentence", *_near(judge, rebuilt, sources)],
    ]
    shown = list(zip(sources, styles, swapped, strict=True))[:samples]
    lines: list[list[Cell]] = []
    for first, second in list(zip(sources, styles, strict=True))[:samples]:
        points = generator.interpolate(first, second, language=language, steps=POINTS, writing=how)
        lines += [[f"{place}/{POINTS - 1}", text] for place, text in enumerate(_first(points))]
    tables = [
        Table(
            "transfer",
            "Similarity of the output to the sentences it was generated from",
            ["written from", "compared with", "cosine", "length r", "same end"],
            near,
        ),
        Table("samples", "The first samples", ["meaning of", "style of", "written"], shown),
        Table("lines", "From one sentence to another", ["position", "written"], lines),
    ]
    if probes:
        tables.insert(0, _probe_table(probes))
    return Analysis(
        "variables",
        f"Content of the variables of {name}",
        tables,
        _figure(tables[0] if probes else None, near),
        [
            f"Sources are every second of {len(texts):,} sentences. The style of each is the "
            f"sentence {SHIFT} places on. There are {len(sources):,} pairs; the first are shown.",
            "Cosine: mean over all outputs, by another model. Length r: Pearson's r of the numbers "
            "of words. Same end: share of outputs with the same last character.",
            "Lines are straight, from all variables of the meaning sentence to those of the style "
            f"sentence, in {POINTS} points.",
        ],
        {"model": name, "language": language, "sentences": len(texts), "sources": len(sources)},
    )


def _first(written: Sequence[Sequence[GeneratedText]]) -> list[str]:
    return [sentences[0].text for sentences in written]


def _near(judge: Any, outputs: Sequence[str], others: Sequence[str]) -> list[Cell]:
    """Compare texts: mean cosine, correlation of lengths, share of equal last characters."""
    words = [np.array([len(text.split()) for text in side], float) for side in (outputs, others)]
    length = float("nan")
    if all(side.std() > 0 for side in words):
        length = float(np.corrcoef(words[0], words[1])[0, 1])
    ends = np.mean([a[-1:] == b[-1:] for a, b in zip(outputs, others, strict=True)])
    return [float(np.mean(judge.similarity_pairwise(outputs, others))), length, float(ends)]


def _probe_table(probes: Probes) -> Table:
    tasks = list(dict.fromkeys(task for scores in probes.values() for task in scores))
    rows: list[list[Cell]] = [
        [encoder, *(scores.get(task) for task in tasks)] for encoder, scores in probes.items()
    ]
    return Table("probes", "Accuracy of the probes x 100", ["variable", *tasks], rows)


def _figure(probes: Table | None, near: Sequence[Sequence[Cell]]) -> Figure:
    """Draw a heat map of probing accuracies minus each task's mean.

    Without probes, draw bars of the similarity of the outputs.
    """
    if probes is None:
        figure = new_figure(9, 3)
        axes = figure.subplots()
        for number, row in enumerate(near):
            values = [float(value or 0) for value in row[2:]]
            places = np.arange(len(values)) + 0.25 * number
            name = f"{row[0]}, {row[1]}"
            axes.bar(places, values, width=0.22, label=name, color=COLORS[number % len(COLORS)])
        axes.set_xticks(np.arange(3) + 0.25, ["cosine", "length r", "same end"])
        style(axes, grid="y")
        return figure
    names, tasks = [str(row[0]) for row in probes.rows], probes.columns[1:]
    scores = np.array([row[1:] for row in probes.rows], float)  # None is NaN
    figure = new_figure(1.5 + 0.75 * len(tasks), 1.2 + 0.45 * len(names))
    labels = ["meaning" if name == SEMANTIC else name for name in names]
    texts = [["" if np.isnan(score) else f"{score:.1f}" for score in row] for row in scores]
    relative = scores - np.nanmean(scores, 0)
    heat_map(figure.subplots(), relative, labels, tasks, "points above the mean", texts)
    return figure
