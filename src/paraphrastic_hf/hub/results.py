"""Scores of a model as the Hub reads them: `model-index` on the card, and `.eval_results/`.

`model-index` has every headline figure of a run and of `paraphrastic evaluate`. `.eval_results/`
feeds the leaderboards of benchmarks on the Hub, so it has only scores on exactly their rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import yaml
from huggingface_hub import EvalResult

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.fingerprint import is_identified
from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.report import read_results
from paraphrastic_hf.evaluation.suite import SIMILARITY
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


def figures(trained: TrainedModel, suites: Sequence[Mapping[str, Any]] = ()) -> list[EvalResult]:
    """Return all measured figures of a model: those of its own run, then those of each suite.

    Args:
        trained: The model.
        suites: What `paraphrastic evaluate --output` wrote, as `read_results` reads it.
    """
    found = list(_of_run(trained))
    for results in suites:
        suite = results["suite"]  # or the name of a file of scored pairs
        task = SUITES[suite].hub_task if suite in SUITES else SIMILARITY
        if task is None:
            continue
        for name, value in results["headline"].items():
            unit = _unit(name, results["unit"])
            measure = _measure(f"{name} {unit}" if name in ("Pearson", "Spearman") else unit)
            found.append(_figure(task, suite, name, measure, unit, value))
    return [figure for figure in found if math.isfinite(figure.metric_value)]


def _figure(
    task: str, dataset: str, name: str, measure: str, unit: str, value: float
) -> EvalResult:
    return EvalResult(
        task_type=task,
        dataset_type=dataset,
        dataset_name=f"{dataset} {name}",
        dataset_config=name,  # keeps the figures of a suite apart
        metric_type=measure,
        metric_name=unit,
        metric_value=round(float(value), 4),
    )


def own_results(trained: TrainedModel, evaluation: str | Path) -> list[dict[str, Any]]:
    """Read the results in a folder that `paraphrastic evaluate --output` wrote for a model.

    Raises:
        PublishError: They are another model's, or the model is no encoder.
        DataError: They cannot be read.
    """
    if not trained.is_encoder:
        raise PublishError(f"only encoders are evaluated, and {trained.directory} holds none")
    suites = read_results(evaluation)
    encoder = load_encoder(trained.directory)
    for results in suites:
        if not is_identified(encoder, results["settings"]):
            raise PublishError(
                f"{evaluation} holds scores on {results['suite']} of another model than that in "
                f"{trained.directory}: evaluate this one, without --latent, --dimension or "
                "--precision"
            )
    return suites


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


def refuse_unmeasured(card: Path, found: Sequence[EvalResult]) -> None:
    """Refuse a card with a figure that was not measured.

    Args:
        card: The card.
        found: The measured figures, as `figures` gives them.

    Raises:
        PublishError: It has such a figure or metric, or cannot be read.
    """
    from huggingface_hub import ModelCard

    try:
        data = ModelCard.load(card).data
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PublishError(f"huggingface_hub cannot read the card: {error}") from error
    known = {(figure.metric_type, figure.metric_value) for figure in found}
    unmeasured = [
        f"{result.metric_type} {result.metric_value} on {result.dataset_name}"
        for result in data.eval_results or []
        if (result.metric_type, _rounded(result.metric_value)) not in known
    ]
    unmeasured += [name for name in data.metrics or [] if name not in {it[0] for it in known}]
    if unmeasured:
        raise PublishError(
            f"the card names {unmeasured[0]}, which was not measured: give the folder of "
            "`paraphrastic evaluate --output` as --evaluation, or leave it out"
        )


def _rounded(value: Any) -> float:
    try:
        return round(float(value), 4)
    except (TypeError, ValueError):
        return math.nan


def _of_run(trained: TrainedModel) -> Iterator[EvalResult]:
    """Yield the figures of `run.json` on examples that were not trained on."""
    run = trained.run
    if trained.task:
        name = dataset_title(trained.recipe["task"]["dataset"])
        task = "token-classification" if trained.task == "tagging" else "text-classification"
        for measure, value in run["test"].items():
            if isinstance(value, (int, float)):
                yield _figure(task, name, f"test, {measure}", _measure(measure), measure, value)
    elif "perplexity" in (run.get("held_out") or {}):
        is_translation = trained.translates and not trained.paraphrases
        task = "translation" if is_translation else "text-generation"
        file = run.get("development")
        where = f"of {PurePath(file).name}" if names_file(file) else "of its sources"
        value = run["held_out"]["perplexity"]
        yield _figure(task, "held out", where, "perplexity", "a token", value)


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
