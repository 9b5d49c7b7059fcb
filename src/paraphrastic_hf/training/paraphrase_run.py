"""A run of a paraphrase generator: parsed pairs to a finished model (thesis, 4.6 and 6.3)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.encoding.directory import TRANSLATION, save_model
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.generation.templates import save_templates
from paraphrastic_hf.models.bart import TrainedBart, bart_config
from paraphrastic_hf.models.marian import TrainedMarian, marian_config
from paraphrastic_hf.models.paraphraser import ParaphraserConfig, ParaphraserModel
from paraphrastic_hf.models.scpn import ScpnConfig, ScpnModel
from paraphrastic_hf.models.stock import TrainedStock, generation_settings
from paraphrastic_hf.text.bpe import BytePairTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.parse_tokens import parse_tokenizer
from paraphrastic_hf.training.arguments import resolve_path
from paraphrastic_hf.training.checkpoint import load_average, weights_of
from paraphrastic_hf.training.corpus import has_columns, hold_out_pairs
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.loop import Evaluation
from paraphrastic_hf.training.memory import SMALLEST_TABLE, check_memory
from paraphrastic_hf.training.paraphrase import ParaphraseObjective
from paraphrastic_hf.training.paraphrase_arguments import (
    NONE,
    PARAPHRASER,
    SCPN,
    STOCK,
    ParaphraseRecipe,
)
from paraphrastic_hf.training.parsed_pairs import (
    build_parsed_corpus,
    load_parsed_corpus,
    parsed_pairs,
    texts_to_learn,
    with_tree_columns,
    writes_sentences,
)
from paraphrastic_hf.training.sources import check_sources, read_sources
from paraphrastic_hf.training.tokenizers import train_tokenizer
from paraphrastic_hf.training.translation import nats_per_token

logger = logging.getLogger(__name__)

STOCK_CLASSES: dict[str, tuple[Any, Any]] = {
    "marian": (TrainedMarian, marian_config),
    "bart": (TrainedBart, bart_config),
}
HEADS, WIDER, POSITIONS = 4, 4, 512  # where the recipe of a stock model names none


class Paraphrasing:
    """Training a paraphrase generator or a parse generator, `kind: paraphrase`.

    Args:
        recipe: The whole recipe.
        context: Where data is, and what is given beside the recipe.

    Raises:
        RecipeError: A setting is wrong, or a combination of settings has no meaning.
        DataError: A source is not there.
    """

    def __init__(self, recipe: ParaphraseRecipe, context: Context) -> None:
        self.context = context
        model_class, config = model_of_size(recipe, SMALLEST_TABLE, 2)
        check_memory(model_class, config)
        check_sources(recipe.data, context.data_root)
        self.recipe = with_tree_columns(recipe, lambda path: resolve_path(path, context.data_root))

    def prepare(self, work: Path) -> None:
        """Tokenizer and tokenized pairs in `work`."""
        if has_columns(work / "corpus"):
            return
        recipe, context = self.recipe, self.context
        given = [
            item if isinstance(item, tuple) else (item, _of_dataset(number))
            for number, item in enumerate(context.datasets)
        ]
        sources = read_sources(recipe, context.data_root, given, progress=context.progress)
        pairs = parsed_pairs(sources, recipe)
        tokenizer: Any = parse_tokenizer()
        if writes_sentences(recipe) and recipe.data.bpe is not None:
            codes = resolve_path(recipe.data.bpe, context.data_root)
            lowercase = recipe.tokenizer.lowercase
            tokenizer = BytePairTokenizer.from_codes(codes, lowercase=lowercase)
            tokenizer = MarkedTokenizer(tokenizer, "end")
        elif writes_sentences(recipe):
            lines = texts_to_learn(pairs, recipe)
            tokenizer = train_tokenizer(recipe.tokenizer, lines, recipe.seed)
        tokenizer.save(work / "tokenizer")
        build_parsed_corpus(pairs, tokenizer, recipe, work / "corpus")

    def build(self, work: Path) -> Any:
        """The model with random weights."""
        recipe = self.recipe
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.corpus = load_parsed_corpus(work / "corpus")
        data = recipe.data
        every = self.corpus.sides(np.arange(len(self.corpus)), both=True)
        lengths = self.corpus.sentences.lengths(every).reshape(-1, 4)
        # one text of a stock model has the template too, and a parse is long as such
        most = data.max_length if writes_sentences(recipe) else data.max_template
        if recipe.model.kind in STOCK:
            most = min(most + data.max_template, recipe.model.positions or POSITIONS)
        is_good = (lengths <= most).all(1) & (lengths > 0).all(1)
        if not is_good.all():
            logger.warning(
                "%s pairs left out: a side has no known token, or more than %d",
                f"{int((~is_good).sum()):,}",
                most,
            )
        pairs = np.flatnonzero(is_good)
        if not len(pairs):
            raise DataError(f"no pair has at most {most} tokens on both sides")
        groups = self.corpus.group.reshape(-1, 2)[pairs]
        held_out, kept = hold_out_pairs(groups, data.held_out, recipe.seed)
        self.held_out, self.kept = (
            self.corpus.sides(pairs[chosen], both=data.both_directions)
            for chosen in (held_out, kept)
        )
        end = self.tokenizer.special.end[0]
        model_class, config = model_of_size(recipe, self.tokenizer.vocab_size, end)
        check_memory(model_class, config)
        model = model_class(config)
        if isinstance(model, TrainedStock):
            model.generation_config = generation_settings(config)
        self.start = int(config.decoder_start_token_id)
        return model

    def objective(self, model: Any, accelerator: Accelerator) -> ParaphraseObjective:
        """The pairs, in batches of about equally many tokens."""
        return ParaphraseObjective(
            self.recipe,
            self.corpus.sentences,
            self.kept,
            self.start,
            accelerator,
            self.corpus.templates,
            self.recipe.model.kind not in STOCK,
        )

    def development(self) -> Callable[[Any], float] | None:
        """Minus the cross-entropy of the held-out pairs, in nats a token."""
        if self.recipe.run.development == NONE:
            return None
        return lambda model: Evaluation(-self._nats(model), {})

    def save(self, model: Any, output: Path) -> dict[str, Any]:
        """The model directory, with the templates of its training, and how well it predicts the
        held-out pairs."""
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
        saved = model.stock() if self.recipe.model.kind in STOCK else model
        save_templates(output, self.corpus.counts)
        save_model(saved, self.tokenizer, output, TRANSLATION)
        return record

    def _average(self, model: Any, checkpoints: Path) -> int:
        """Average the last checkpoints, where that scores better; 0 where it does not."""
        if not len(self.held_out):
            return load_average(model, checkpoints, self.recipe.training.average)
        best = self._nats(model)
        kept = {name: value.clone() for name, value in weights_of(model).items()}
        count = load_average(model, checkpoints, self.recipe.training.average)
        if self._nats(model) < best:
            return count
        model.load_state_dict(kept, strict=False)  # names that are tied to others are not there
        return 0

    def _nats(self, model: Any) -> float:
        return nats_per_token(
            model,
            self.corpus.sentences,
            self.held_out,
            self.start,
            self.recipe.training.batch_tokens,
            self.corpus.templates,
        )


def _of_dataset(number: int) -> Any:
    """What is known of a dataset that is given beside the recipe."""
    from paraphrastic_hf.training.arguments import SourceArguments

    return SourceArguments(path=f"dataset {number}", beside={"tree1": "tree1", "tree2": "tree2"})


def model_of_size(recipe: ParaphraseRecipe, tokens: int, end: int) -> tuple[Any, Any]:
    """The class of the model, and its configuration for a tokenizer of so many entries."""
    given = recipe.model
    if given.kind in STOCK:
        return _stock(recipe, tokens, end)
    sizes: dict[str, Any] = {
        "vocab_size": tokens,
        "hidden_size": given.hidden_size,
        "embedding_size": given.embedding_size or 300,
        "decoder_layers": given.decoder_layers,
        "dropout": given.dropout,
        "tie_word_embeddings": given.tie,
        "eos_token_id": end,
        "decoder_start_token_id": end,
    }
    try:
        if given.kind == PARAPHRASER:
            return ParaphraserModel, ParaphraserConfig(**sizes)
        assert given.kind == SCPN
        return ScpnModel, ScpnConfig(
            **sizes,
            template_vocab_size=parse_tokenizer().vocab_size,
            template_embedding_size=given.template_embedding_size or 56,
            template_hidden_size=given.template_hidden_size or 128,
            use_template=given.template != NONE,
            use_copy=given.copy is not False,
            writes=given.writes,
            template=given.template,
        )
    except StrictDataclassError as error:
        raise RecipeError(f"model: {error.__cause__ or error}") from error


def _stock(recipe: ParaphraseRecipe, tokens: int, end: int) -> tuple[Any, Any]:
    given = recipe.model
    size, heads = given.hidden_size, given.heads or HEADS
    if size % heads or size % 2:
        raise RecipeError(
            f"model.hidden_size with {heads} heads must be even and a multiple of {heads}, got "
            f"{size}"
        )
    wide = given.feed_forward or WIDER * size
    model_class, make_config = STOCK_CLASSES[given.kind]
    config = make_config(
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
    config.writes, config.template = given.writes, given.template
    return model_class, config
