"""Options of `paraphrastic translate` that choose among many translations of a line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from paraphrastic_hf.encoders.languages import written_language
from paraphrastic_hf.encoders.storage.locate import check_model_name, local_directory
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.writing import GeneratedText
from paraphrastic_hf.metrics.names import SIMILARITIES, UTILITIES


def add_decoding_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which of several translations is printed."""
    parser.add_argument(
        "--decode",
        choices=("likely", "mbr"),
        default="likely",
        help="mbr: of the --outputs translations of a line, print the one that agrees most with "
        "all of them (minimum Bayes risk); with --sample they count alike, else by their "
        "likelihood (default: likely)",
    )
    parser.add_argument(
        "--metric",
        choices=UTILITIES,
        help="with --decode mbr, what says how well two translations agree (default: simile)",
    )
    parser.add_argument(
        "--metric-model",
        help="with --decode mbr, the model of SimiLE and SIM (default: simile, and multilingual "
        "where something else than English is known to be written)",
    )
    parser.add_argument(
        "--metric-similarity",
        choices=SIMILARITIES,
        default="sentences",
        help="with --decode mbr and simile or sim, compare sentences (default) or, slower, windows "
        "of five tokens, as `paraphrastic simile --similarity` does",
    )
    parser.add_argument(
        "--aggregate",
        action="store_true",
        help="with --decode mbr and simile or sim, compare each translation with the mean of all "
        "once, not with every other: nearly the same choices, and exactly those of sim",
    )


def decider(
    arguments: argparse.Namespace,
) -> Callable[[list[list[GeneratedText]]], list[list[GeneratedText]]]:
    """What is to be printed of the translations of some lines: all, or the one that is chosen."""
    by_windows = arguments.metric_similarity == "windows"
    metric = arguments.metric or "simile"
    if by_windows and (arguments.decode == "likely" or metric not in ("simile", "sim")):
        raise DataError("--metric-similarity is for --decode mbr with --metric simile or sim")
    if arguments.decode == "likely":
        for name in ("metric", "metric_model", "aggregate"):
            if getattr(arguments, name):
                raise DataError(f"--{name} is for --decode mbr".replace("_", "-"))
        return lambda lines: lines
    if arguments.outputs < 2:
        raise DataError(
            "--decode mbr chooses among several translations: set --outputs 16 or more, with "
            "--sample or as many --beams"
        )
    if arguments.aggregate and metric not in ("simile", "sim"):
        raise DataError(f"--aggregate is for --metric simile and sim, got {metric}")
    if arguments.aggregate and by_windows:
        raise DataError("--aggregate is for --metric-similarity sentences: windows have no mean")
    from paraphrastic_hf.generation.bayes_risk import likelihood_weights, minimum_bayes_risk
    from paraphrastic_hf.metrics.utilities import CODES_OF_ENGLISH, make_utility

    model = arguments.metric_model or "simile"
    if arguments.metric_model and metric not in ("simile", "sim"):
        raise DataError(f"--metric-model is for --metric simile and sim, got {metric}")
    if not arguments.metric_model and metric in ("simile", "sim"):
        to = arguments.to or written_language(local_directory(arguments.model))
        if to not in (None, *CODES_OF_ENGLISH):  # which `simile` does not compare
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
