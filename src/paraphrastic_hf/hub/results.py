"""The scores of a model as the Hub reads them: `model-index` on the card, and `.eval_results/`.

Both hold only what a run or `paraphrastic evaluate` measured. `model-index` has every headline
figure. `.eval_results/*.yaml` has those that were measured on the very rows, by the very measure,
of a benchmark on the Hub, since it puts them on that benchmark's board.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import yaml

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.hub.trained import TrainedModel, dataset_title

RESULTS_FOLDER = ".eval_results"
MEASURES = {  # a word in the unit or name of a figure: what the Hub calls the measure
    "pearson": "pearson",
    "spearman": "spearmanr",
    "accuracy": "accuracy",
    "f1": "f1",
    "perplexity": "perplexity",
    "mse": "mse",
    "cost": "expected_cost",
}
NOT_SCORES = ("speed", "development")  # suites of times, and of what a model is chosen by
TASKS = {  # suite: task of the Hub
    "transfer": "text-classification",
    "probing": "text-classification",
    "xnli": "text-classification",
    "tatoeba": "sentence-similarity",
    "bucc": "sentence-similarity",
}
# Benchmarks with the rows of ours, and how many these are: (group, name, measure): id, task, size.
BENCHMARKS = {
    ("2012", "all pairs", "spearman"): ("mteb/sts12-sts", "STS12", 3108),
    ("2013", "all pairs", "spearman"): ("mteb/sts13-sts", "STS13", 1500),
    ("2014", "all pairs", "spearman"): ("mteb/sts14-sts", "STS14", 3750),
    ("2015", "all pairs", "spearman"): ("mteb/sts15-sts", "STS15", 3000),
    ("2016", "all pairs", "spearman"): ("mteb/sts16-sts", "STS16", 1186),
    ("STS-B", "test", "spearman"): ("mteb/stsbenchmark-sts", "STSBenchmark", 1379),
    ("STS17", "en-en", "spearman"): ("mteb/sts17-crosslingual-sts", "en-en", 250),
}


@dataclass(frozen=True)
class Figure:
    """One number that was measured.

    Attributes:
        task: Of the Hub, such as `sentence-similarity`.
        dataset: What it was measured on: a suite or corpus of this package.
        name: The figure's name, such as `STS-B test`.
        measure: What the Hub calls the measure.
        unit: The measure as reports print it.
        value: The number.
    """

    task: str
    dataset: str
    name: str
    measure: str
    unit: str
    value: float


def figures(trained: TrainedModel, suites: Sequence[Mapping[str, Any]] = ()) -> list[Figure]:
    """Everything that is known of a model's quality: from its own run, then from each suite.

    Args:
        trained: The model.
        suites: What `paraphrastic evaluate --output` wrote, as `read_results` reads it.
    """
    found = list(_of_run(trained))
    for results in suites:
        suite = results["suite"]
        if suite in NOT_SCORES:
            continue
        for name, value in results["headline"].items():
            unit = _unit(name, results["unit"])
            measure = _measure(f"{name} {unit}" if name in ("Pearson", "Spearman") else unit)
            task = TASKS.get(suite, "sentence-similarity")
            found.append(Figure(task, suite, name, measure, unit, round(float(value), 4)))
    return [figure for figure in found if math.isfinite(figure.value)]


def model_index(found: Sequence[Figure]) -> Any:
    """The figures as huggingface_hub's `EvalResult`, for its card; None if there are none."""
    from huggingface_hub import EvalResult

    results = [
        EvalResult(
            task_type=figure.task,
            dataset_type=figure.dataset,
            dataset_name=f"{figure.dataset} {figure.name}",
            dataset_config=figure.name,  # keeps the figures of a suite apart
            metric_type=figure.measure,
            metric_name=figure.unit,
            metric_value=figure.value,
        )
        for figure in found
    ]
    return results or None


def result_files(suites: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The files of `.eval_results/`, by name: of each suite the rows that are a benchmark's."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    files = {}
    for results in suites:
        entries = [
            EvalResultEntry(
                dataset_id=dataset,
                task_id=task,
                value=round(float(value), 4),
                notes=f"x 100, {measure}; paraphrastic evaluate --suite {results['suite']}, "
                f"weights {results['settings']['weights']}",
            )
            for dataset, task, measure, value in _benchmarks(results)
        ]
        if entries:
            text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False)
            files[f"{RESULTS_FOLDER}/{results['suite']}.yaml"] = text
    return files


def refuse_unmeasured(
    folder: str | Path, found: Sequence[Figure], suites: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse a folder whose card or result files name a figure that nothing here has measured.

    Args:
        folder: What is to be published.
        found: What was measured, as `figures` gives it.
        suites: The results that rows of benchmarks come from.

    Raises:
        PublishError: There is such a figure, or one of a measure without any number; or a file
            cannot be read.
    """
    from huggingface_hub import ModelCard, parse_eval_result_entries

    folder = Path(folder)
    known = {(figure.measure, figure.value) for figure in found}
    try:
        data = ModelCard.load(folder / "README.md").data
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PublishError(f"huggingface_hub cannot read the card: {error}") from error
    for result in data.eval_results or []:
        if (result.metric_type, _rounded(result.metric_value)) not in known:
            raise PublishError(
                f"the card has {result.metric_type} {result.metric_value} on "
                f"{result.dataset_name}, which nothing has measured: give the folder of "
                "`paraphrastic evaluate --output` as --evaluation, or leave the figure out"
            )
    for measure in data.metrics or []:
        if measure not in {figure.measure for figure in found}:
            raise PublishError(
                f"the card names the metric {measure}, of which nothing has been measured: "
                "evaluate the model, or leave it out"
            )
    measured = {
        (dataset, task, _rounded(value))
        for results in suites
        for dataset, task, _, value in _benchmarks(results)
    }
    for path in sorted((folder / RESULTS_FOLDER).glob("*")):
        try:
            entries = parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError, yaml.YAMLError) as error:
            raise PublishError(f"{path.name} holds no results as the Hub has them") from error
        for entry in entries:
            if (entry.dataset_id, entry.task_id, _rounded(entry.value)) not in measured:
                raise PublishError(
                    f"{RESULTS_FOLDER}/{path.name} has {entry.value} on {entry.dataset_id}, which "
                    "nothing has measured"
                )


def _rounded(value: Any) -> float:
    try:
        return round(float(value), 4)
    except (TypeError, ValueError):
        return math.nan


def _of_run(trained: TrainedModel) -> Iterator[Figure]:
    """The figures of `run.json` on examples that were not trained on."""
    run = trained.run
    if trained.task:
        dataset = trained.recipe["task"]["dataset"]
        name = dataset_title(dataset)
        task = "token-classification" if trained.task == "tagging" else "text-classification"
        for measure, value in run["test"].items():
            if isinstance(value, (int, float)):
                rounded = round(float(value), 4)
                yield Figure(task, name, f"test, {measure}", _measure(measure), measure, rounded)
        return
    held_out = run.get("held_out") or {}
    if "perplexity" in held_out:
        is_translation = trained.translates and trained.recipe.get("kind") != "paraphrase"
        task = "translation" if is_translation else "text-generation"
        value = round(float(held_out["perplexity"]), 4)
        file = run.get("development")
        where = f"of {PurePath(file).name}" if names_file(file) else "of its sources"
        yield Figure(task, "held out", where, "perplexity", "a token", value)


def _unit(name: str, unit: str) -> str:
    """The unit of one figure, where a suite's says `A; NAMES: B`."""
    common, *others = (part.strip() for part in unit.split(";"))
    for other in others:
        names, colon, own = other.partition(":")
        if colon and name in (each.strip() for each in names.split(",")):
            return own.strip()
    return common


def _measure(text: str) -> str:
    lowered = text.lower()
    found = [(lowered.find(word), name) for word, name in MEASURES.items() if word in lowered]
    return min(found)[1] if found else lowered.replace(" ", "_")


def _benchmarks(results: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """Rows of a suite that are a benchmark's: its id and task, the measure and the value."""
    for row in results["rows"]:
        for measure, value in row["scores"].items():
            found = BENCHMARKS.get((row["group"], row["name"], measure))
            if found is not None and row["size"] == found[2]:
                yield found[0], found[1], measure, value
