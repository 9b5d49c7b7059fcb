"""The objective of paraphrase generators (thesis, 4.6 and 6.3): that of translation models, with a
third text of each pair, the parse or template of what is written."""

from __future__ import annotations

import numpy as np
from accelerate import Accelerator
from torch import nn

from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.engine.loop import Losses
from paraphrastic_hf.training.paraphrase.recipe import ParaphraseRecipe
from paraphrastic_hf.training.translation.objective import TranslationBatch, TranslationObjective


class ParaphraseObjective(TranslationObjective):
    """Predicting every token of a paraphrase from its source, a template and the tokens before.

    Args:
        sides: (pairs, 2) numbers of the sources and of the targets to train on.
        templates: Token ids of what is read beside the sources, as `seq2seq_inputs` takes them.
        is_own: Whether the model is of this package and so gives the loss of right tokens without
            a score of every other one.
    """

    def __init__(
        self,
        recipe: ParaphraseRecipe,
        sentences: Ragged,
        sides: np.ndarray,
        start: int,
        accelerator: Accelerator,
        templates: Ragged | None,
        is_own: bool,
    ) -> None:
        super().__init__(recipe, sentences, sides, start, accelerator)  # type: ignore[arg-type]
        self.templates = templates
        self.is_direct = is_own and not recipe.training.label_smoothing

    def loss(self, model: nn.Module, batch: TranslationBatch, epoch: int, step: int) -> Losses:
        """The cross-entropy, of the right token and of its smoothing."""
        if not self.is_direct:
            return super().loss(model, batch, epoch, step)
        inputs, targets = self.inputs(batch)
        loss = model(**inputs, targets=targets).loss
        return Losses.of({"cross_entropy": loss * batch.weight})
