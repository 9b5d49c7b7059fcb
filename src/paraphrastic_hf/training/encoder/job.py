"""Base class of training jobs for sentence encoders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from paraphrastic_hf.encoders.merged import check_alike
from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, save_model
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.data.development import development_scorer, read_development
from paraphrastic_hf.training.data.held_out import HeldOut, hold_out, write_held_out
from paraphrastic_hf.training.data.sources import SourcePairs, check_sources, read_sources
from paraphrastic_hf.training.data.tokenizers import given_tokenizer
from paraphrastic_hf.training.encoder.build import build_model, check_encoders, check_start
from paraphrastic_hf.training.encoder.finish import finish
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.encoder.start import encoder_from_start, load_start, resolve_vectors
from paraphrastic_hf.training.kinds import Context

AnyRecipe = TypeVar("AnyRecipe", bound=EncoderRecipe)


class EncoderRun(Generic[AnyRecipe]):
    """Training job of a sentence encoder. Subclasses add the corpus and the objective.

    `build` sets `tokenizer` and `held_out`, the pairs excluded from training.
    """

    tokenizer: TextTokenizer
    held_out: HeldOut

    def __init__(self, recipe: AnyRecipe, context: Context) -> None:
        check_encoders(recipe)
        self.recipe, self.context = recipe, context
        self.start = None if recipe.start is None else load_start(recipe.start, context.data_root)
        if self.start is not None:
            check_start(recipe, self.start.model)
        self.development_pairs = read_development(recipe.run.development, context.data_root)
        self.merges = [load_start(name, context.data_root) for name in recipe.finish.merge_with]
        self._check_given_vocabulary()
        self.holds_out = recipe.run.development == "clean-and-bitext"
        check_sources(recipe.data, context.data_root)
        for encoder in recipe.encoders:
            if encoder.model.vectors is not None:
                resolve_vectors(encoder.model.vectors, context.data_root)

    def read_pairs(self, work: Path) -> list[SourcePairs]:
        """Return the training pairs, and write the held-out pairs to `work`."""
        context = self.context
        sources = read_sources(
            self.recipe, context.data_root, context.datasets, progress=context.progress
        )
        if self.holds_out:
            sources, held_out = hold_out(sources)
            write_held_out(held_out, work)
        return sources

    def encoder_at_start(self) -> SentenceEncoderModel:
        """Return the initial encoder: the model in `start`, or else one with random weights."""
        recipe = self.recipe
        if self.start is not None:
            model = encoder_from_start(self.start, recipe.model)
        else:
            model = build_model(recipe, self.tokenizer, self.context.data_root)
        self._check_merges(self.tokenizer)
        return model

    def _check_given_vocabulary(self) -> None:
        tokenizer = self.recipe.tokenizer
        if self.start is not None:
            self._check_merges(self.start.tokenizer)
        elif tokenizer.from_model is not None and not self.recipe.parts:
            self._check_merges(given_tokenizer(tokenizer, self.context.data_root))

    def _check_merges(self, tokenizer: TextTokenizer) -> None:
        width = self.recipe.model.hidden_size if self.start is None else self.start.dimension
        for other in self.merges:
            check_alike(other, tokenizer, width, "this run")

    def development(self) -> Callable[[Any], float] | None:
        """Return a function that computes a model's development score, or None without a set."""
        return development_scorer(
            self.recipe.run.development, self.tokenizer, self.development_pairs, self.held_out
        )

    def save_finished(
        self, model: SentenceEncoderModel, corpus: Any, output: Path
    ) -> dict[str, Any]:
        """Apply the section `finish`, write the model, and return values for `run.json`."""
        recipe = self.recipe
        others = [table for each in self.merges if (table := each.table()) is not None]
        model, tokenizer = finish(model, self.tokenizer, corpus, recipe, others)
        precision = recipe.finish.precision
        save_model(model.to("cpu"), tokenizer, output, SENTENCE_ENCODER, precision=precision)
        held_out = {name: len(pairs) for name, pairs in self.held_out.items()}
        return {
            "development": recipe.run.development,
            **({"pairs_held_out": held_out} if held_out else {}),
            "vocab_size": tokenizer.vocab_size,
        }
