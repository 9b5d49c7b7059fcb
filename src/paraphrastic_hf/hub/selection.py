"""What a card says of how the state that was kept was chosen, and which scores that spoils."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.hub.trained import TrainedModel
from paraphrastic_hf.io.markdown import literal
from paraphrastic_hf.metrics.permutation import p_text

# Of a contrastive run, by the name of the development set in its recipe.
SELECTION = {
    "none": "The last state was kept. No development set had a part in it.",
    "clean": "The state that scored best on the clean development set was kept: pairs of STS-B "
    "dev, SICK trial and Annotated-PPDB dev that no reported test set holds.",
    "clean-and-bitext": "The state that scored best on the clean development set and on "
    "translations held out of training was kept. The former are pairs of STS-B dev, SICK trial and "
    "Annotated-PPDB dev that no reported test set holds.",
    "stsb-dev": "The state that scored best on STS-B dev was kept. Of its 1,500 pairs 1,131 are "
    "also in STS 2012-2016 and 125 in STS 2017 en-en, so scores on these are in part scores on "
    "what the model was chosen by.",
    "sts17-en-en": "The state that scored best on STS 2017 en-en was kept, so the score on it is "
    "no test. Of its 250 pairs 125 are also in STS-B test.",
    "ws353-tuning": "The state that scored best on the two parts of WordSim-353 was kept, so "
    "scores on WS353, WS-S and WS-R are no test.",
}

RISK = {  # of a run of minimum risk training, by what its recipe has for development
    "expected_cost": "The state was kept whose candidates for held-out pairs cost least, weighted "
    "by their probabilities; scores are minus that cost, x 100.",
    "first": "The state was kept whose likeliest candidates for held-out pairs cost least; scores "
    "are minus that cost, x 100.",
}


def selection(trained: TrainedModel) -> str:
    """By what the state that was kept was chosen, and its step and score there."""
    at = trained.run["progress"]
    if at["best_step"] is None:
        return SELECTION["none"]
    if trained.task:
        name = trained.run.get("development", "validation")
        where = literal(PurePath(name).name) if names_file(name) else f"the {name} split"
        chosen = f"The state with the best {trained.run['measure']} on {where}"
        said = f"{chosen} was kept, so its score there is no test."
    elif "cost" in trained.run:
        said = RISK.get(trained.run["development"], RISK["expected_cost"])
    elif trained.generates:
        said = "The state that predicted the held-out sentences best, in nats a token, was kept."
    else:
        name = PurePath(trained.run["development"]).name
        scored = f"The state that scored best on {literal(name)} was kept"
        said = SELECTION.get(name, f"{scored}, so its score there is no test.")
    changed = (
        " That is the score before `finish` in the recipe changed the table or its number format."
        if _is_changed(trained.recipe)
        else ""
    )
    score = f"Its step is {at['best_step']:,}, its score {at['best_score']:.2f}."
    return f"{said} {score}{_before(trained.run)}{changed}"


def _before(run: Mapping[str, Any]) -> str:
    """The score before training; runs of earlier versions do not have it."""
    change = run.get("change")
    if change is None:
        return ""
    p_value = p_text(change["p_value"])
    tested = f" (p {p_value}, paired permutation test)" if p_value else ""
    return f" Before training the score was {change['before']:.2f}{tested}."


def _is_changed(recipe: Mapping[str, Any]) -> bool:
    """Whether the saved table differs from the one whose score decided."""
    asked = recipe.get("finish") or {}
    steps = ("merge_with", "whiten", "dimension", "spread", "drop_apart", "significant_bits")
    return any(asked.get(step) for step in steps) or asked.get("precision", "float32") != "float32"
