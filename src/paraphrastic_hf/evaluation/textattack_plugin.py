"""Paraphrases to order for users of `TextAttack` (Morris et al., 2020): a transformation, and the
attack of the thesis (6.5) made of it.

`textattack` is no dependency. This file keeps to its documented interface, `Transformation` with
`_get_transformations` and `Attack` of goal function, constraints, transformation and search. It was
run in textattack 0.3.11, whose word-level packages were left out. `paraphrastic attack` reports the
same attack without it.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from paraphrastic_hf.errors import MissingExtraError

Paraphrasing = Callable[[Sequence[str]], Sequence[Sequence[str]]]


def transformation(paraphrase: Paraphrasing) -> Any:
    """A transformation of TextAttack that puts a paraphrase in the place of the whole text.

    Args:
        paraphrase: From sentences to the paraphrases of each, such as `by_templates` makes, or
            `back_translation` of `evaluation.adversarial`.

    Raises:
        MissingExtraError: `textattack` is not installed.

    Example:
        >>> from paraphrastic_hf.evaluation import textattack_plugin  # doctest: +SKIP
        >>> ways = textattack_plugin.by_templates(paraphraser)  # doctest: +SKIP
        >>> textattack_plugin.attack(model_wrapper, ways)  # doctest: +SKIP
    """
    base = _part("transformations").Transformation
    attacked_text = _part("shared").AttackedText

    class SyntacticParaphrases(base):  # type: ignore[misc,valid-type]
        """Each paraphrase of the text, which becomes its first column where it has several.

        A paraphrase has none of its own: searches of TextAttack go on as long as there are any.
        """

        def _get_transformations(self, current_text: Any, indices_to_modify: Any) -> list[Any]:
            if current_text.attack_attrs.get("previous_attacked_text") is not None:
                return []
            columns = OrderedDict(current_text._text_input)
            first = next(iter(columns))
            (found,) = paraphrase([columns[first]])
            texts = [text for text in dict.fromkeys(found) if text and text != columns[first]]
            attrs = {"previous_attacked_text": current_text, "modified_indices": set()}
            return [
                attacked_text(OrderedDict(columns, **{first: text}), attack_attrs=dict(attrs))
                for text in texts
            ]

        @property
        def deterministic(self) -> bool:
            return True

        def extra_repr_keys(self) -> list[str]:
            return []

    return SyntacticParaphrases()


def attack(model_wrapper: Any, paraphrase: Paraphrasing) -> Any:
    """The attack of the thesis: any paraphrase on which a classifier errs, one step deep.

    Args:
        model_wrapper: A `textattack.models.wrappers.ModelWrapper` of the classifier.
        paraphrase: As `transformation` takes it.

    Raises:
        MissingExtraError: `textattack` is not installed.
    """
    goal = _part("goal_functions").UntargetedClassification(model_wrapper)
    search = _part("search_methods").BeamSearch(beam_width=1)
    made = importlib.import_module("textattack").Attack
    return made(goal, [], transformation(paraphrase), search)


def by_templates(paraphraser: Any, count: int = 20, **settings: Any) -> Paraphrasing:
    """What the filter keeps of the paraphrases by the most frequent templates.

    Args:
        paraphraser: A `SyntacticParaphraser`.
        count: How many templates, at least 1.
        **settings: Of its `paraphrase`.
    """
    templates = paraphraser.top_templates(count)

    def write(sentences: Sequence[str]) -> list[list[str]]:
        found = paraphraser.paraphrase(list(sentences), templates, **settings)
        return [[one.text for one in each if one.is_kept] for each in found]

    return write


def _part(name: str) -> Any:
    try:
        return importlib.import_module(f"textattack.{name}")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "textattack is not installed here: pip install textattack, in an environment of its "
            "own beside paraphrastic-hf; or use paraphrastic attack",
            name="textattack",
        ) from error
