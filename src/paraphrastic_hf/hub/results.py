"""Scores of a model in the Hub's formats, `model-index` on the card and `.eval_results/`.

`model-index` has all main scores of a run and of `paraphrastic evaluate`. `.eval_results/` feeds
the Hub's leaderboards, so it has only scores on exactly the rows of a known benchmark.
"""

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
MEASURES = {  # word in the unit or name of a score: name of the measure on the Hub
    "pearson": "pearson",
    "spearman": "spearmanr",
    "accuracy": "accuracy",
    "f1": "f1",
    "perplexity": "perplexity",
    "mse": "mse",
    "cost": "expected_cost",
}
MULTILINGUAL = ("bucc", "sts17", "tatoeba", "xnli")  # suites for multilingual models only
# Benchmarks that equal a row of a suite, as (group, name, measure): (id, task, number of rows).
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
    """Return all measured scores of a model: first from its run, then from each suite."""
    found = list(_of_run(trained))
    for results in suites:
        suite = results["suite"]  # a suite, or the name of a file of scored pairs
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
        dataset_config=name,  # distinguishes the scores of a suite
        metric_type=measure,
        metric_name=unit,
        metric_value=round(float(value), 4),
    )


def own_results(trained: TrainedModel, evaluation: str | Path) -> list[dict[str, Any]]:
    """Read the results that `paraphrastic evaluate --output` wrote for a model."""
    if not trained.is_encoder:
        raise PublishError(f"{trained.directory} is not an encoder. Omit --evaluation")
    suites = read_results(evaluation)
    encoder = load_encoder(trained.directory)
    for results in suites:
        if not is_identified(encoder, results["settings"]):
            raise PublishError(
                f"The {results['suite']} scores in {evaluation} belong to another model than "
                f"{trained.directory}. Evaluate this model without --latent, --dimension or "
                "--precision"
            )
    return suites


def for_languages(
    suites: Sequence[dict[str, Any]], languages: Sequence[str]
) -> list[dict[str, Any]]:
    """Drop the suites and STS tracks of other languages if the model is only English."""
    if list(languages) != ["en"]:
        return list(suites)

    def is_english(row: Mapping[str, Any]) -> bool:
        return row["group"] != "STS17" or row["name"] == "en-en"

    return [
        {**results, "rows": [row for row in results["rows"] if is_english(row)]}
        for results in suites
        if results["suite"] not in MULTILINGUAL
    ]


def result_files(suites: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the files of `.eval_results/` by name, with the benchmark scores of each suite."""
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


def _of_run(trained: TrainedModel) -> Iterator[EvalResult]:
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
    """Return the unit of a score. In the units `A; NAMES: B` it is B for NAMES, else A."""
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
    for row in results["rows"]:
        for measure, value in row["scores"].items():
            found = BENCHMARKS.get((row["group"], row["name"], measure))
            if found is not None and row["size"] == found[2]:
                yield found[0], found[1], measure, value
