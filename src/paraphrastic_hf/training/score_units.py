"""Names and units of what a run reports while it trains: its development score and its loss
(thesis, 3.5.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paraphrastic_hf.recipe import names_file

PEARSON = "Pearson r x 100"
NATS = "log-likelihood, nats per token"
UNITS = {  # of `run.development`, where it is no Pearson's r
    "ws353-tuning": "2 WS-S - WS-R, Spearman's rho x 100",
    "clean-and-bitext": "mean of Pearson r x 100 and retrieval, %",
    "held_out": NATS,
    "bleu": "BLEU",
    "expected_cost": "minus expected cost x 100",
    "first": "minus cost of the first candidate x 100",
}
TASK_UNITS = {"relatedness": PEARSON, "parsing": "labeled F1, %"}


def unit_of(development: str) -> str:
    """The unit of the score that `run.development` names.

    Example:
        >>> unit_of("held_out")
        'log-likelihood, nats per token'
    """
    return "x 100" if names_file(development) else UNITS.get(development, PEARSON)


def scored_on(recipe: Mapping[str, Any]) -> tuple[str, str]:
    """What a run is scored on while it trains, and the unit of the score.

    Args:
        recipe: The recipe as a mapping.
    """
    if development := recipe["run"].get("development"):
        return development, unit_of(development)
    if "task" not in recipe:
        return "held-out text", NATS
    task = recipe["task"]
    unit = TASK_UNITS.get(task["kind"], "accuracy, %")
    return f"validation split of {task['dataset']['name']}", unit


def are_negatives_chosen(recipe: Mapping[str, Any]) -> bool:
    """Whether the loss compares with negatives that the model itself finds hard.

    Such a loss may rise while the model gets better.

    Args:
        recipe: The recipe as a mapping.
    """
    training = recipe["training"]
    return training.get("objective") == "margin" and training.get("negatives") in ("max", "mix")
