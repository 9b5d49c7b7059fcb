"""Training job of supervised models, which also computes test scores."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.encoders.storage.directory import (
    PARSER,
    SUPERVISED,
    TAGGER,
    Layout,
    save_model,
)
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.mixed import MixedModel
from paraphrastic_hf.models.supervised.base import SupervisedModel
from paraphrastic_hf.models.supervised.parser import ParserModel
from paraphrastic_hf.models.supervised.tagger import TaggerModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.encoder.build import build_encoder, check_encoder
from paraphrastic_hf.training.encoder.settings import EncoderArguments
from paraphrastic_hf.training.encoder.start import load_start, resolve_vectors, settings_from_start
from paraphrastic_hf.training.engine.loop import Evaluation
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.supervised.examples import Examples
from paraphrastic_hf.training.supervised.objective import SupervisedObjective
from paraphrastic_hf.training.supervised.recipe import SPLITS, SupervisedRecipe
from paraphrastic_hf.training.supervised.tasks import TASKS


class Supervised:
    def __init__(self, recipe: SupervisedRecipe, context: Context) -> None:
        if recipe.start is None:  # refuse contradictory settings before any text is read
            check_encoder(EncoderArguments(recipe.tokenizer, recipe.model))
        for part in recipe.parts:
            check_encoder(part)
        self.recipe, self.data_root = recipe, context.data_root
        self.task = TASKS[recipe.task.kind](recipe, context.data_root)
        named = recipe.start
        self.start = None if named is None else load_start(named, context.data_root)
        if recipe.model.vectors is not None:
            resolve_vectors(recipe.model.vectors, context.data_root)

    def prepare(self, work: Path) -> None:
        if (work / "ready").exists():
            return
        if self.start is not None:
            tokenizer = self._joined(self.start.tokenizer)
        else:
            # The papers keep every word with a given vector, else the words of training.
            splits = SPLITS[:1] if self.recipe.model.vectors is None else SPLITS
            lines = self.task.lines(splits)
            tokenizer = train_tokenizer(
                self.recipe.tokenizer, lines, self.recipe.seed, self.data_root
            )
        tokenizer.save(work / "tokenizer")
        (work / "ready").touch()

    def _joined(self, tokenizer: TextTokenizer) -> TextTokenizer:
        """Return the tokenizer of `start`, combined with a new tokenizer for each of `parts`."""
        parts = self.recipe.parts
        lines = list(self.task.lines(SPLITS[:1])) if parts else []
        made = [
            train_tokenizer(part.tokenizer, lines, self.recipe.seed, self.data_root)
            for part in parts
        ]
        return MixedTokenizer([tokenizer, *made]) if made else tokenizer

    def build(self, work: Path) -> SupervisedModel:
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.examples: dict[str, Examples] = {
            split: self.task.examples(split, self.tokenizer) for split in SPLITS
        }
        recipe, start = self.recipe, self.start
        if start is None:
            encoder = build_encoder(recipe.model, self.tokenizer, self.data_root)
        else:
            encoder = self._with_parts(start.model)
        try:
            model = self.task.new_model(settings_from_start(encoder, recipe.model))
        except StrictDataclassError as error:
            raise RecipeError(f"head: {error.__cause__ or error}") from error
        model.encoder.load_state_dict(encoder.state_dict())
        if recipe.training.freeze == "encoder":
            model.encoder.requires_grad_(False)
        elif recipe.training.freeze == "tables":
            for table in model.tables():
                table.requires_grad_(False)
        return model

    def _with_parts(self, encoder: SentenceEncoderModel) -> SentenceEncoderModel:
        """Return a trained encoder, concatenated with new encoders for the recipe's `parts`."""
        recipe, tokenizer = self.recipe, self.tokenizer
        if not isinstance(tokenizer, MixedTokenizer) or not recipe.parts:
            return encoder
        if isinstance(encoder, MixedModel):
            raise RecipeError(f"start ({recipe.start}) is a mixture of encoders. Remove parts")
        made = [
            build_encoder(part.model, part_tokenizer, self.data_root)
            for part, part_tokenizer in zip(recipe.parts, tokenizer.parts[1:], strict=True)
        ]
        return MixedModel.of([encoder, *made], "concatenate")

    def objective(self, model: SupervisedModel, accelerator: Accelerator) -> SupervisedObjective:
        return SupervisedObjective(
            self.recipe, self.examples["train"], self.tokenizer, model, accelerator
        )

    def development(self) -> Callable[[Any], Evaluation]:
        task, examples = self.task, self.examples["validation"]

        def score(model: SupervisedModel) -> Evaluation:
            found, judged = task.scores(model, examples)
            return Evaluation(found[task.measure], {}, [(1.0, judged)])

        return score

    def save(self, model: SupervisedModel, output: Path) -> dict[str, Any]:
        scores = {split: self.task.scores(model, self.examples[split])[0] for split in SPLITS[1:]}
        layouts: dict[type, Layout] = {TaggerModel: TAGGER, ParserModel: PARSER}
        layout = layouts.get(type(model), SUPERVISED)
        save_model(model.to("cpu"), self.tokenizer, output, layout)
        return {
            "task": self.recipe.task.kind,
            "measure": self.task.measure,
            "development": self.recipe.run.development,
            **scores,
            "examples": {split: len(examples) for split, examples in self.examples.items()},
            "vocab_size": self.tokenizer.vocab_size,
        }
