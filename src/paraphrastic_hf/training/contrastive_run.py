"""A contrastive run: sentence pairs to a finished sentence encoder (thesis, 3.1.3, 4.4, 5.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from paraphrastic_hf.encoding.directory import SENTENCE_ENCODER, save_model
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.build import build_model, check_encoders, check_start
from paraphrastic_hf.training.contrastive import ContrastiveObjective
from paraphrastic_hf.training.contrastive_arguments import ContrastiveRecipe
from paraphrastic_hf.training.corpus import build_corpus, has_columns, load_corpus
from paraphrastic_hf.training.development import development_scorer, read_development
from paraphrastic_hf.training.finish import finish
from paraphrastic_hf.training.held_out import (
    HeldOut,
    hold_out,
    read_held_out,
    write_held_out,
)
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.sources import check_sources, read_sources
from paraphrastic_hf.training.start import encoder_from_start, load_start, resolve_vectors
from paraphrastic_hf.training.tokenizers import train_tokenizers


class Contrastive:
    """Training on sentence pairs, `kind: contrastive`.

    Args:
        recipe: The whole recipe.
        context: Where data is, and what is given beside the recipe.

    Raises:
        RecipeError: A setting is wrong, or a combination of settings has no meaning.
        DataError: A source is not there.
        ModelError: `start` is no encoder of this package.
    """

    def __init__(self, recipe: ContrastiveRecipe, context: Context) -> None:
        check_encoders(recipe)
        self.recipe, self.context = recipe, context
        self.start = None if recipe.start is None else load_start(recipe.start, context.data_root)
        if self.start is not None:
            check_start(recipe, self.start.model)
        self.development_pairs = read_development(recipe.run.development, context.data_root)
        self.holds_out = recipe.run.development == "clean-and-bitext"
        check_sources(recipe.data, context.data_root)
        for encoder in recipe.encoders:
            if encoder.model.vectors is not None:
                resolve_vectors(encoder.model.vectors, context.data_root)

    def prepare(self, work: Path) -> None:
        """Tokenizer and tokenized pairs in `work`."""
        if has_columns(work / "corpus"):
            return
        recipe, context = self.recipe, self.context
        sources = read_sources(
            recipe, context.data_root, context.datasets, progress=context.progress
        )
        if self.holds_out:
            sources, held_out = hold_out(sources)
            write_held_out(held_out, work)
        if self.start is not None:
            tokenizer = self.start.tokenizer
        else:
            tokenizer = train_tokenizers(recipe.encoders, sources, recipe.seed)
        tokenizer.save(work / "tokenizer")
        exclude = recipe.training.exclude
        build_corpus(
            sources, tokenizer, work / "corpus", exclude=exclude, progress=context.progress
        )

    def build(self, work: Path) -> SentenceEncoderModel:
        """The encoder at its random or given start."""
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.corpus = load_corpus(work / "corpus")
        self.held_out: HeldOut = read_held_out(work) if self.holds_out else {}
        if self.recipe.training.epochs and not self.corpus.pairs_in_epoch():
            raise DataError("an epoch is empty: every source has weight 0")
        if self.start is not None:
            model = encoder_from_start(self.start, self.recipe.model)
        else:
            model = build_model(self.recipe, self.tokenizer, self.context.data_root)
        for table in model.tables():
            table.weight.requires_grad_(self.recipe.training.freeze == "none")
        return model

    def objective(
        self, model: SentenceEncoderModel, accelerator: Accelerator
    ) -> ContrastiveObjective:
        """The pairs, mega-batch by mega-batch."""
        return ContrastiveObjective(self.recipe, self.corpus, model, accelerator)

    def development(self) -> Callable[[Any], float] | None:
        """The score on the recipe's development set."""
        return development_scorer(
            self.recipe.run.development, self.tokenizer, self.development_pairs, self.held_out
        )

    def save(self, model: SentenceEncoderModel, output: Path) -> dict[str, Any]:
        """The model directory, after what the recipe's `finish` asks."""
        recipe, corpus = self.recipe, self.corpus
        model, tokenizer = finish(model, self.tokenizer, corpus, recipe)
        precision = recipe.finish.precision
        save_model(model.to("cpu"), tokenizer, output, SENTENCE_ENCODER, precision=precision)
        held_out = {name: len(pairs) for name, pairs in self.held_out.items()}
        return {
            "development": recipe.run.development,
            **({"pairs_held_out": held_out} if held_out else {}),
            "pairs_by_source": {
                name: int((corpus.source == number).sum())
                for number, name in enumerate(corpus.names)
            },
            "vocab_size": tokenizer.vocab_size,
        }
