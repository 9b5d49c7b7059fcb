"""Base class of training jobs for sentence encoders."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

from paraphrastic_hf.encoders.merged import check_alike
from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, save_model
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.data.development import development_scorer, read_development
from paraphrastic_hf.training.data.held_out import (
    HeldOut,
    hold_out,
    read_held_out,
    write_held_out,
)
from paraphrastic_hf.training.data.sources import SourcePairs, read_sources
from paraphrastic_hf.training.data.tokenizers import train_tokenizers
from paraphrastic_hf.training.encoder.build import build_model, check_encoders, check_start
from paraphrastic_hf.training.encoder.finish import finish
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.encoder.start import encoder_from_start, load_start, resolve_vectors
from paraphrastic_hf.training.engine.loop import Evaluation
from paraphrastic_hf.training.kinds import Context

AnyRecipe = TypeVar("AnyRecipe", bound=EncoderRecipe)


class EncoderRun(Generic[AnyRecipe]):
    """Training job of a sentence encoder. Subclasses add the corpus and the objective."""

    tokenizer: TextTokenizer
    held_out: HeldOut  # pairs excluded from training

    def __init__(self, recipe: AnyRecipe, context: Context) -> None:
        check_encoders(recipe)
        self.recipe, self.context = recipe, context
        self.start = None if recipe.start is None else load_start(recipe.start, context.data_root)
        if self.start is not None:
            check_start(recipe, self.start.model)
        self.development_pairs = read_development(recipe.run.development, context.data_root)
        self.merges = [load_start(name, context.data_root) for name in recipe.finish.merge_with]
        self.holds_out = recipe.run.development == "clean-and-bitext"
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

    def make_tokenizer(self, texts: Callable[[], Iterable[str]]) -> TextTokenizer:
        """Return the tokenizer of `start`, or else train the recipe's tokenizers."""
        if self.start is not None:
            return self.start.tokenizer
        recipe = self.recipe
        return train_tokenizers(recipe.encoders, texts, recipe.seed, self.context.data_root)

    def load_work(self, work: Path) -> None:
        """Read the tokenizer and the held-out pairs from `work`."""
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.held_out = read_held_out(work) if self.holds_out else {}

    def encoder_at_start(self) -> SentenceEncoderModel:
        """Return the initial encoder: the model in `start`, or else one with random weights."""
        recipe, start = self.recipe, self.start
        width = recipe.model.hidden_size if start is None else start.dimension
        for other in self.merges:
            check_alike(other, self.tokenizer, width, "this run")
        if start is not None:
            return encoder_from_start(start, recipe.model)
        return build_model(recipe, self.tokenizer, self.context.data_root)

    def development(self) -> Callable[[Any], Evaluation] | None:
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
