"""Names and units of development scores (thesis, 3.5.3 and 4.4)."""

from collections.abc import Mapping
from typing import Any

from paraphrastic_hf.config.recipe import names_file

PEARSON = "Pearson r x 100"
NATS = "log-likelihood, nats per token"
UNITS = {  # by `run.development` (all others: Pearson's r)
    "ws353-tuning": "2 WS-S - WS-R, Spearman's rho x 100",
    "clean-and-bitext": "mean of Pearson r x 100 and retrieval, %",
    "held_out": NATS,
    "bleu": "BLEU",
    "expected_cost": "minus expected cost x 100",
    "first": "minus cost of the first candidate x 100",
}
TASK_UNITS = {"relatedness": PEARSON, "parsing": "labeled F1, %"}
FILE_UNITS = {  # unit of the score on a development file, by kind of recipe
    **dict.fromkeys(("language_model", "translation", "paraphrase"), NATS),
    "minimum_risk": UNITS["expected_cost"],
}


def unit_of(development: str) -> str:
    """Return the unit of the development score that `run.development` names."""
    return "x 100" if names_file(development) else UNITS.get(development, PEARSON)


def scored_on(recipe: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of a run's development set and the unit of the score."""
    development = recipe["run"].get("development")
    if "task" in recipe:
        task = recipe["task"]
        unit = TASK_UNITS.get(task["kind"], "accuracy, %")
        split = f"validation split of {task['dataset']['name']}"
        return development if names_file(development) else split, unit
    if names_file(development):
        return development, FILE_UNITS.get(recipe.get("kind", ""), unit_of(development))
    return (development, unit_of(development)) if development else ("held-out text", NATS)
