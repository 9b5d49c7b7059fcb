"""Training job of a translation model (thesis, 7.3)."""

import copy
import logging
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.errors import RecipeError, counted
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import MOST_TOKENS, GenerationOptions
from paraphrastic_hf.metrics.corpus_bleu import bleu_counts, bleu_of_counts
from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvModel
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.data.corpus import build_corpus, hold_out_pairs, load_corpus
from paraphrastic_hf.training.data.sources import (
    read_sources,
    sides_of,
    with_development,
)
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.engine.loop import Evaluation
from paraphrastic_hf.training.engine.memory import SMALLEST_TABLE, check_memory
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.seq2seq.job import (
    POSITIONS,
    Seq2SeqRun,
    check_written,
    stock_model,
    with_config,
    written_side,
)
from paraphrastic_hf.training.translation.recipe import BLEU, TranslationRecipe

logger = logging.getLogger(__name__)

TRANSLATED = 500  # number of held-out pairs for BLEU


class Translation(Seq2SeqRun):
    recipe: TranslationRecipe

    def __init__(self, recipe: TranslationRecipe, context: Context) -> None:
        self.recipe, self.context = recipe, context = with_development(recipe), context
        check_memory(*model_of_size(recipe, SMALLEST_TABLE, 2))
        check_written(recipe.data.sources, recipe.data.target_language)

    def prepare(self, work: Path) -> None:
        recipe, context = self.recipe, self.context
        sources = read_sources(
            recipe, context.data_root, context.datasets, progress=context.progress
        )
        for item in sources:
            written_side(item.source, recipe.data.target_language)
        tokenizer = train_tokenizer(
            recipe.tokenizer, sides_of(sources), recipe.seed, context.data_root
        )
        tokenizer.save(work / "tokenizer")
        build_corpus(sources, tokenizer, work / "corpus", progress=context.progress)

    def build(self, work: Path) -> Any:
        recipe = self.recipe
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.stock_tokenizer = AutoTokenizer.from_pretrained(
            work / "tokenizer", trust_remote_code=False
        )
        self.corpus = corpus = load_corpus(work / "corpus")
        target = corpus.languages.index(recipe.data.target_language)
        is_first = corpus.language[::2] == target
        sources = 2 * np.arange(len(corpus)) + is_first
        sides = np.stack([sources, sources ^ 1], 1)
        is_short = (corpus.sentences.lengths(sides) <= recipe.data.max_length).all(1)
        if not is_short.all():
            logger.warning(
                "Left out %s with more than data.max_length (%d) tokens on a side",
                counted(int((~is_short).sum()), "pair"),
                recipe.data.max_length,
            )
        sides = sides[is_short]
        given = None
        if names_file(recipe.run.development):
            given = np.flatnonzero(corpus.source[sides[:, 0] // 2] == len(recipe.data.sources) - 1)
        held_out, kept = hold_out_pairs(
            corpus.group[sides], recipe.data.held_out, recipe.seed, given
        )
        self.held_out, self.kept = sides[held_out], sides[kept]
        end = self.tokenizer.special.end[0]
        return self.new_model(*model_of_size(recipe, self.tokenizer.vocab_size, end))

    def score(self, model: Any) -> Evaluation:
        """Return minus the held-out cross-entropy in nats per token, or the held-out BLEU."""
        if self.recipe.run.development != BLEU:
            return super().score(model)
        return Evaluation(self._bleu(model), {"held_out": -self.nats(model)})

    def _bleu(self, model: Any) -> float:
        sentences, chosen = self.corpus.sentences, self.held_out[:TRANSLATED]
        sources, targets = (
            [sentences[number].tolist() for number in chosen[:, side]] for side in (0, 1)
        )
        translator = Translator(model, copy.copy(self.stock_tokenizer))
        limit = min(self.recipe.data.max_length, MOST_TOKENS)
        written = translator.write(
            sources, GenerationOptions(beams=1, max_tokens=limit), scores=False
        )
        references = [[self.tokenizer.decode(ids)] for ids in targets]
        counts = bleu_counts([best[0].text for best in written], references)
        return float(bleu_of_counts(counts.sum(0)))


def model_of_size(recipe: TranslationRecipe, tokens: int, end: int) -> tuple[Any, Any]:
    """Return the model class and its configuration. `end` is the id of the end mark."""
    given = recipe.model
    if given.kind == "marian":
        if not given.tie:
            raise RecipeError("model.tie must be true with model.kind marian, got false")
        return stock_model(given, tokens, end)
    return with_config(
        GatedConvModel,
        vocab_size=tokens,
        hidden_size=given.hidden_size,
        embedding_size=given.embedding_size or given.hidden_size,
        encoder_layers=given.encoder_layers or given.decoder_layers,
        decoder_layers=given.decoder_layers,
        kernel_width=given.kernel_width or 3,
        dropout=given.dropout,
        max_position_embeddings=given.positions or POSITIONS,
        tie_word_embeddings=given.tie,
        eos_token_id=end,
        decoder_start_token_id=end,
    )
