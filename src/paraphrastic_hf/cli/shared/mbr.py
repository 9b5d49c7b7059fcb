"""Options of `paraphrastic translate` for minimum Bayes risk decoding."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from paraphrastic_hf.encoders.languages import written_language
from paraphrastic_hf.encoders.storage.locate import check_model_name, local_directory
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.writing import GeneratedText
from paraphrastic_hf.metrics.names import SIMILARITIES, UTILITIES


def add_decoding_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--decode",
        choices=("likely", "mbr"),
        default="likely",
        help=(
            "output for each line. likely: all --outputs translations, most likely first. mbr: "
            "the translation with the highest mean similarity to all translations (minimum Bayes "
            "risk). The mean is weighted by likelihood, or uniform with --sample"
        ),
    )
    parser.add_argument(
        "--metric",
        choices=UTILITIES,
        help="similarity of two translations for --decode mbr (default: simile)",
    )
    parser.add_argument(
        "--metric-model",
        metavar="MODEL",
        help="encoder of --metric simile or sim (default: simile, or multilingual if the output is "
        "known not to be English)",
    )
    parser.add_argument(
        "--metric-similarity",
        choices=SIMILARITIES,
        default="sentences",
        help=(
            "unit that --metric simile or sim compares: sentences, or windows of five tokens "
            "(slower)"
        ),
    )
    parser.add_argument(
        "--aggregate",
        action="store_true",
        help=(
            "compare each translation with the mean vector of all translations. Faster than "
            "comparing all pairs, with equal choices for --metric sim and nearly equal choices "
            "for simile"
        ),
    )


def decider(
    arguments: argparse.Namespace,
) -> Callable[[list[list[GeneratedText]]], list[list[GeneratedText]]]:
    by_windows = arguments.metric_similarity == "windows"
    metric = arguments.metric or "simile"
    if by_windows and (arguments.decode == "likely" or metric not in ("simile", "sim")):
        raise DataError("--metric-similarity requires --decode mbr with --metric simile or sim")
    if arguments.decode == "likely":
        for name in ("metric", "metric_model", "aggregate"):
            if getattr(arguments, name):
                raise DataError(f"--{name} requires --decode mbr".replace("_", "-"))
        return lambda lines: lines
    if arguments.outputs < 2:
        raise DataError(
            "--decode mbr requires several translations. Set --outputs to 16 or more. Also pass "
            "--sample, or set --beams to at least as many"
        )
    if arguments.aggregate and metric not in ("simile", "sim"):
        raise DataError(f"--aggregate requires --metric simile or sim, got {metric}")
    if arguments.aggregate and by_windows:
        raise DataError("--aggregate works only with --metric-similarity sentences, got windows")
    from paraphrastic_hf.generation.bayes_risk import likelihood_weights, minimum_bayes_risk
    from paraphrastic_hf.metrics.utilities import CODES_OF_ENGLISH, make_utility

    model = arguments.metric_model or "simile"
    if arguments.metric_model and metric not in ("simile", "sim"):
        raise DataError(f"--metric-model requires --metric simile or sim, got {metric}")
    if not arguments.metric_model and metric in ("simile", "sim"):
        to = arguments.to or written_language(local_directory(arguments.model))
        if to not in (None, *CODES_OF_ENGLISH):  # `simile` reads English only
            model = "multilingual"
    check_model_name(model)
    utility = make_utility(metric, model=model, similarity=arguments.metric_similarity)

    def decide(lines: list[list[GeneratedText]]) -> list[list[GeneratedText]]:
        found = minimum_bayes_risk(
            [[each.text for each in line] for line in lines],
            utility,
            weights=None if arguments.sample else [likelihood_weights(line) for line in lines],
            aggregate=arguments.aggregate,
        )
        return [[line[choice.index]] for line, choice in zip(lines, found, strict=True)]

    return decide
