"""Training job of a sentence encoder on sentence pairs (thesis, 3.1.3, 4.4, 5.1.1)."""

from pathlib import Path
from typing import Any

from accelerate import Accelerator

from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.corpus import build_corpus, count_by_source, load_corpus
from paraphrastic_hf.training.data.sources import sides_of
from paraphrastic_hf.training.encoder.job import EncoderRun


class Contrastive(EncoderRun[ContrastiveRecipe]):
    def prepare(self, work: Path) -> None:
        sources = self.read_pairs(work)
        tokenizer = self.make_tokenizer(lambda: sides_of(sources))
        tokenizer.save(work / "tokenizer")
        exclude, progress = self.recipe.training.exclude, self.context.progress
        build_corpus(sources, tokenizer, work / "corpus", exclude=exclude, progress=progress)

    def build(self, work: Path) -> SentenceEncoderModel:
        self.load_work(work)
        self.corpus = load_corpus(work / "corpus").evened(self.recipe.data.language_exponent)
        if self.recipe.training.epochs and not self.corpus.pairs_in_epoch:
            raise DataError("The weights of data.sources select no pairs. Increase at least one")
        model = self.encoder_at_start()
        if self.recipe.keeps_tables:
            if not any(model.composition()):
                raise RecipeError(
                    "With `training.freeze: tables`, an average of token vectors has nothing to "
                    "train. Set model.kind to weighted, or remove training.freeze"
                )
            for table in model.tables():
                table.weight.requires_grad_(False)
        return model

    def objective(
        self, model: SentenceEncoderModel, accelerator: Accelerator
    ) -> ContrastiveObjective:
        return ContrastiveObjective(self.recipe, self.corpus, model, accelerator)

    def save(self, model: SentenceEncoderModel, output: Path) -> dict[str, Any]:
        return {
            **self.save_finished(model, self.corpus, output),
            "pairs_by_source": count_by_source(self.corpus),
        }
