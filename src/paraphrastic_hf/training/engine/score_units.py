"""Names and units of the development score and the loss that a run reports (thesis, 3.5.3 and
4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paraphrastic_hf.config.recipe import names_file

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
FILE_UNITS = {  # of the score on a file, by the kind of the recipe
    **dict.fromkeys(("language_model", "translation", "paraphrase"), NATS),
    "minimum_risk": UNITS["expected_cost"],
}


def unit_of(development: str) -> str:
    """The unit of the score that `run.development` names.

    Example:
        >>> unit_of("held_out")
        'log-likelihood, nats per token'
    """
    return "x 100" if names_file(development) else UNITS.get(development, PEARSON)


def scored_on(recipe: Mapping[str, Any]) -> tuple[str, str]:
    """The development set of a run, and the unit of the score on it."""
    development = recipe["run"].get("development")
    if "task" in recipe:
        task = recipe["task"]
        unit = TASK_UNITS.get(task["kind"], "accuracy, %")
        split = f"validation split of {task['dataset']['name']}"
        return development if names_file(development) else split, unit
    if names_file(development):
        return development, FILE_UNITS.get(recipe.get("kind", ""), unit_of(development))
    return (development, unit_of(development)) if development else ("held-out text", NATS)


def are_negatives_chosen(recipe: Mapping[str, Any]) -> bool:
    """Whether the loss compares with negatives that the model itself finds hard.

    Such a loss may rise while the model gets better.
    """
    training = recipe["training"]
    return training.get("objective") == "margin" and training.get("negatives") in ("max", "mix")
