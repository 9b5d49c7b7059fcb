"""Base class of training jobs for encoder-decoders."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.encoders.storage.directory import TRANSLATION, save_model
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.evaluation.measures.judged import Judged
from paraphrastic_hf.generation.likelihood import perplexity_of
from paraphrastic_hf.models.seq2seq.base import Seq2SeqModel
from paraphrastic_hf.models.seq2seq.stock import (
    TrainedBart,
    TrainedMarian,
    TrainedStock,
    bart_config,
    generation_settings,
    marian_config,
)
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.engine.checkpoint import load_average, weights_of
from paraphrastic_hf.training.engine.loop import Evaluation
from paraphrastic_hf.training.engine.memory import check_memory
from paraphrastic_hf.training.engine.recipe import NONE, SourceArguments
from paraphrastic_hf.training.seq2seq.objective import TranslationObjective, nats_of_targets

STOCK_CLASSES: dict[str, tuple[Any, Any]] = {
    "marian": (TrainedMarian, marian_config),
    "bart": (TrainedBart, bart_config),
}
HEADS, FEED_FORWARD_FACTOR, POSITIONS = 4, 4, 512  # defaults of stock models


class Seq2SeqRun:
    """Base of training jobs of encoder-decoders. Subclasses set the attributes in `build`."""

    recipe: Any
    tokenizer: TextTokenizer
    corpus: Any  # its `sentences` are the tokenized texts that the model reads and writes
    templates: Ragged | None = None  # of each target. None for models without templates
    kept: np.ndarray  # source and target of each training pair, indices of sentences, (pairs, 2)
    held_out: np.ndarray  # the same of each held-out pair
    start: int  # id of the token that the decoder begins with

    def new_model(self, model_class: Any, config: Any) -> Any:
        """Return a model with random weights. Raise an error if it does not fit into memory."""
        check_memory(model_class, config)
        model = model_class(config)
        if isinstance(model, TrainedStock):
            model.generation_config = generation_settings(config)
        self.start = int(config.decoder_start_token_id)
        return model

    def objective(self, model: Any, accelerator: Accelerator) -> TranslationObjective:
        return TranslationObjective(
            self.recipe,
            self.corpus.sentences,
            self.kept,
            self.start,
            accelerator,
            self.templates,
            gives_loss=isinstance(model, Seq2SeqModel),
        )

    def development(self) -> Callable[[Any], Evaluation] | None:
        return None if self.recipe.run.development == NONE else self.score

    def score(self, model: Any) -> Evaluation:
        """Return minus the cross-entropy of the held-out pairs, in nats per token."""
        return Evaluation.of_parts([(-0.01, self._judged(model))])  # scores of `Judged` are x 100

    def nats(self, model: Any) -> float:
        """Return the cross-entropy of the held-out pairs, in nats per token."""
        return self._judged(model).score / 100

    def _judged(self, model: Any) -> Judged:
        nats = nats_of_targets(
            model,
            self.corpus.sentences,
            self.held_out,
            self.start,
            self.recipe.training.batch_tokens,
            self.templates,
        )
        tokens = self.corpus.sentences.lengths(self.held_out[:, 1])
        return Judged("held out", "pairs", "nats a token", nats[None], tokens[None])

    def save(self, model: Any, output: Path) -> dict[str, Any]:
        record: dict[str, Any] = {
            "development": self.recipe.run.development,
            "pairs": len(self.kept),
            "held_out_pairs": len(self.held_out),
            "parameters": model.num_parameters(),
            "vocab_size": self.tokenizer.vocab_size,
        }
        if self.recipe.training.average > 1:
            record["averaged_checkpoints"] = self._average(model, output / "checkpoints")
        if len(self.held_out):
            record["held_out"] = held_out_record(self.nats(model))
        model = model.to("cpu")
        saved = model.stock() if isinstance(model, TrainedStock) else model
        save_model(saved, self.tokenizer, output, TRANSLATION)
        return record

    def _average(self, model: Any, checkpoints: Path) -> int:
        """Average the last checkpoints, and return their number.

        If the average does not score better, keep the current weights and return 0.
        """
        score = self.development()
        best = -math.inf if score is None else float(score(model))
        kept = {name: value.clone() for name, value in weights_of(model).items()}
        count = load_average(model, checkpoints, self.recipe.training.average)
        if score is None or float(score(model)) > best:
            return count
        model.load_state_dict(kept, strict=False)  # tied weights have one name in `kept`
        return 0


def held_out_record(nats: float) -> dict[str, float]:
    return {"nats_per_token": nats, "perplexity": float(perplexity_of(nats))}


def with_config(model_class: Any, **settings: Any) -> tuple[Any, Any]:
    """Return a model class and its configuration. Raise a RecipeError for an invalid setting."""
    try:
        return model_class, model_class.config_class(**settings)
    except StrictDataclassError as error:
        raise RecipeError(f"model: {error.__cause__ or error}") from error


def stock_model(given: Any, tokens: int, end: int) -> tuple[Any, Any]:
    """Return class and configuration of a stock model, for the section `model` of a recipe."""
    size, heads = given.hidden_size, given.heads or HEADS
    if size % heads or size % 2:
        raise RecipeError(
            f"model.hidden_size must be even and a multiple of {heads} (model.heads), got {size}"
        )
    wide = given.feed_forward or FEED_FORWARD_FACTOR * size
    model_class, make_config = STOCK_CLASSES[given.kind]
    return model_class, make_config(
        tokens,
        end,
        d_model=size,
        encoder_layers=given.encoder_layers or given.decoder_layers,
        decoder_layers=given.decoder_layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=wide,
        decoder_ffn_dim=wide,
        dropout=given.dropout,
        max_position_embeddings=given.positions or POSITIONS,
    )


def check_written(sources: Sequence[SourceArguments], to: str) -> None:
    """Raise an error unless every source has the target language on exactly one side."""
    for source in sources:
        if source.languages is not None:
            written_side(source, to)


def written_side(source: SourceArguments, to: str) -> int:
    """Return the side of a source, 0 or 1, that is in the target language."""
    languages = source.languages or []
    if len(languages) != 2 or languages.count(to) != 1:
        raise DataError(
            f"{source.name} must have data.target_language ({to}) on one side, got the languages "
            f"{', '.join(languages)}. Set data.target_language, or the key `languages` of this "
            f"source, such as [{to}, de]"
        )
    return languages.index(to)
