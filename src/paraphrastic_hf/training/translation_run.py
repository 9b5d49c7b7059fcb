"""A run of a translation model: pairs to a finished model directory (thesis, 7.3)."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoTokenizer

from paraphrastic_hf.encoding.directory import TRANSLATION, save_model
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import Writing
from paraphrastic_hf.metrics.corpus_bleu import bleu_counts, bleu_of_counts
from paraphrastic_hf.models.gated_conv import GatedConvConfig, GatedConvModel
from paraphrastic_hf.models.marian import TrainedMarian, marian_config
from paraphrastic_hf.models.stock import generation_settings
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.checkpoint import load_average, weights_of
from paraphrastic_hf.training.corpus import build_corpus, has_columns, hold_out_pairs, load_corpus
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.loop import Evaluation
from paraphrastic_hf.training.memory import SMALLEST_TABLE, check_memory
from paraphrastic_hf.training.sources import check_sources, read_sources
from paraphrastic_hf.training.tokenizers import train_tokenizer
from paraphrastic_hf.training.translation import TranslationObjective, nats_per_token
from paraphrastic_hf.training.translation_arguments import BLEU, NONE, TranslationRecipe

logger = logging.getLogger(__name__)

TRANSLATED = 500  # held-out pairs whose translations are compared with their targets
HEADS, WIDER = 4, 4  # of a Marian whose recipe names neither heads nor feed_forward


class Translation:
    """Training a translation model, `kind: translation`.

    Args:
        recipe: The whole recipe.
        context: Where data is, and what is given beside the recipe.

    Raises:
        RecipeError: A setting is wrong, or a combination of settings has no meaning.
        DataError: A source is not there, or lacks the language that is written.
    """

    def __init__(self, recipe: TranslationRecipe, context: Context) -> None:
        self.recipe, self.context = recipe, context
        check_memory(*self._of_size(SMALLEST_TABLE, 2))  # type: ignore[arg-type]
        check_sources(recipe.data, context.data_root)
        for source in recipe.data.sources:
            if source.languages is not None:
                _check_languages(source.name, source.languages, recipe.data.to)
            if source.weight != 1:
                raise RecipeError(
                    f"weight of {source.name} is for contrastive recipes; give its pairs more than "
                    "once, or cut it with max_pairs"
                )

    def prepare(self, work: Path) -> None:
        """Tokenizer and tokenized pairs in `work`."""
        if has_columns(work / "corpus"):
            return
        recipe, context = self.recipe, self.context
        sources = read_sources(
            recipe, context.data_root, context.datasets, progress=context.progress
        )
        for item in sources:
            _check_languages(item.source.name, item.source.languages or [], recipe.data.to)
        lines = (side for source in sources for pair in source.pairs for side in pair)
        tokenizer = train_tokenizer(recipe.tokenizer, lines, recipe.seed)
        tokenizer.save(work / "tokenizer")
        build_corpus(sources, tokenizer, work / "corpus", progress=context.progress)

    def build(self, work: Path) -> Any:
        """The model with random weights."""
        recipe = self.recipe
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.stock_tokenizer = AutoTokenizer.from_pretrained(work / "tokenizer")
        self.corpus = load_corpus(work / "corpus")
        target = self.corpus.languages.index(recipe.data.to)
        is_first = self.corpus.language[::2] == target
        sources = 2 * np.arange(len(self.corpus)) + is_first
        sides = np.stack([sources, sources ^ 1], 1)
        is_short = (self.corpus.sentences.lengths(sides) <= recipe.data.max_length).all(1)
        if not is_short.all():
            logger.warning(
                "%s pairs left out: a side has more than data.max_length (%d) tokens",
                f"{int((~is_short).sum()):,}",
                recipe.data.max_length,
            )
        sides = sides[is_short]
        held_out, kept = hold_out_pairs(self.corpus.group[sides], recipe.data.held_out, recipe.seed)
        self.held_out, self.kept = sides[held_out], sides[kept]
        model_class, config = self._of_size(
            self.tokenizer.vocab_size, self.tokenizer.special.end[0]
        )
        check_memory(model_class, config)  # type: ignore[arg-type]
        model = model_class(config)
        if isinstance(model, TrainedMarian):
            model.generation_config = generation_settings(config)
        self.start = int(config.decoder_start_token_id)
        return model

    def objective(self, model: Any, accelerator: Accelerator) -> TranslationObjective:
        """The pairs, in batches of about equally many tokens."""
        return TranslationObjective(
            self.recipe, self.corpus.sentences, self.kept, self.start, accelerator
        )

    def development(self) -> Callable[[Any], float] | None:
        """Minus the cross-entropy of the held-out pairs, in nats a token; or their BLEU."""
        return None if self.recipe.run.development == NONE else self._score

    def save(self, model: Any, output: Path) -> dict[str, Any]:
        """The model directory, and how well the model predicts the held-out pairs."""
        model = model.to("cpu")
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
            nats = self._nats(model)
            record["held_out"] = {"nats_per_token": nats, "perplexity": math.exp(nats)}
        saved = model.stock() if isinstance(model, TrainedMarian) else model
        save_model(saved, self.tokenizer, output, TRANSLATION)
        return record

    def _average(self, model: Any, checkpoints: Path) -> int:
        """Average the last checkpoints, where that scores better; 0 where it does not."""
        scores = self.recipe.run.development != NONE
        best = float(self._score(model)) if scores else -math.inf
        kept = {name: value.clone() for name, value in weights_of(model).items()}
        count = load_average(model, checkpoints, self.recipe.training.average)
        if not scores or float(self._score(model)) > best:
            return count
        model.load_state_dict(kept, strict=False)  # names that are tied to others are not there
        return 0

    def _score(self, model: Any) -> Evaluation:
        nats = self._nats(model)
        if self.recipe.run.development != BLEU:
            return Evaluation(-nats, {})
        return Evaluation(self._bleu(model), {"held_out": -nats})

    def _nats(self, model: Any) -> float:
        return nats_per_token(
            model,
            self.corpus.sentences,
            self.held_out,
            self.start,
            self.recipe.training.batch_tokens,
        )

    def _bleu(self, model: Any) -> float:
        """Corpus BLEU of the likeliest translations, token by token, of held-out pairs."""
        sentences, chosen = self.corpus.sentences, self.held_out[:TRANSLATED]
        sources, targets = (
            [sentences[number].tolist() for number in chosen[:, side]] for side in (0, 1)
        )
        translator = Translator(model, copy.copy(self.stock_tokenizer))
        limit = self.recipe.data.max_length
        written = translator.write(sources, Writing(beams=1, max_tokens=limit), scores=False)
        references = [[self.tokenizer.decode(ids)] for ids in targets]
        counts = bleu_counts([best[0].text for best in written], references)
        return bleu_of_counts(counts.sum(0))

    def _of_size(self, tokens: int, end: int) -> tuple[type, Any]:
        """The class of the model, and its configuration for a tokenizer of so many entries."""
        given = self.recipe.model
        if given.kind == "marian":
            return TrainedMarian, self._marian(tokens, end)
        try:
            return GatedConvModel, GatedConvConfig(
                vocab_size=tokens,
                hidden_size=given.hidden_size,
                embedding_size=given.embedding_size or given.hidden_size,
                encoder_layers=given.encoder_layers,
                decoder_layers=given.decoder_layers,
                kernel_width=given.kernel_width or 3,
                dropout=given.dropout,
                max_position_embeddings=given.positions,
                tie_word_embeddings=given.tie,
                eos_token_id=end,
                decoder_start_token_id=end,
            )
        except StrictDataclassError as error:
            raise RecipeError(f"model: {error.__cause__ or error}") from error

    def _marian(self, tokens: int, end: int) -> Any:
        given = self.recipe.model
        size, heads = given.hidden_size, given.heads or HEADS
        if size % heads or size % 2:
            raise RecipeError(
                f"model.hidden_size with {heads} heads must be even and a multiple of {heads}, got "
                f"{size}"
            )
        wide = given.feed_forward or WIDER * size
        if not given.tie:
            raise RecipeError("model.tie is for gated_conv: a Marian has one table; leave it out")
        return marian_config(
            tokens,
            end,
            d_model=size,
            encoder_layers=given.encoder_layers,
            decoder_layers=given.decoder_layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=wide,
            decoder_ffn_dim=wide,
            dropout=given.dropout,
            max_position_embeddings=given.positions,
        )


def _check_languages(name: str, languages: list[str], to: str) -> None:
    """Refuse a source that has not the language that is written on one side alone.

    Raises:
        DataError: It has not.
    """
    if len(languages) != 2 or languages.count(to) != 1:
        raise DataError(
            f"{name} has the languages {', '.join(languages)}: every source must have data.to "
            f"({to}) on one side; name them with languages: [{to}, de], or set data.to"
        )
