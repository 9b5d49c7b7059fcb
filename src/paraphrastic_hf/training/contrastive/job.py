"""Training job of a sentence encoder on sentence pairs (thesis, 3.1.3, 4.4, 5.1.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accelerate import Accelerator

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.corpus import build_corpus, load_corpus
from paraphrastic_hf.training.data.held_out import read_held_out
from paraphrastic_hf.training.data.tokenizers import train_tokenizers
from paraphrastic_hf.training.encoder.job import EncoderRun


class Contrastive(EncoderRun[ContrastiveRecipe]):
    def prepare(self, work: Path) -> None:
        recipe, sources = self.recipe, self.read_pairs(work)
        if self.start is not None:
            tokenizer = self.start.tokenizer
        else:
            tokenizer = train_tokenizers(
                recipe.encoders, sources, recipe.seed, self.context.data_root
            )
        tokenizer.save(work / "tokenizer")
        exclude, progress = recipe.training.exclude, self.context.progress
        build_corpus(sources, tokenizer, work / "corpus", exclude=exclude, progress=progress)

    def build(self, work: Path) -> SentenceEncoderModel:
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.corpus = load_corpus(work / "corpus").evened(self.recipe.data.language_exponent)
        self.held_out = read_held_out(work) if self.holds_out else {}
        if self.recipe.training.epochs and not self.corpus.pairs_in_epoch:
            raise DataError("The weights of data.sources select no pairs. Increase at least one")
        model = self.encoder_at_start()
        for table in model.tables():
            table.weight.requires_grad_(not self.recipe.keeps_tables)
        return model

    def objective(
        self, model: SentenceEncoderModel, accelerator: Accelerator
    ) -> ContrastiveObjective:
        return ContrastiveObjective(self.recipe, self.corpus, model, accelerator)

    def save(self, model: SentenceEncoderModel, output: Path) -> dict[str, Any]:
        corpus = self.corpus
        return {
            **self.save_finished(model, corpus, output),
            "pairs_by_source": {
                name: int((corpus.source == number).sum())
                for number, name in enumerate(corpus.names)
            },
        }
