"""Training job of a paraphrase generator (thesis, 4.6 and 6.3)."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoConfig

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.encoders.storage.locate import as_directory, local_directory
from paraphrastic_hf.errors import RecipeError, counted
from paraphrastic_hf.generation.loading import load_translation_model
from paraphrastic_hf.generation.templates import save_templates
from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserModel
from paraphrastic_hf.models.seq2seq.scpn import ScpnModel
from paraphrastic_hf.models.seq2seq.ssru import SsruConfig, SsruModel
from paraphrastic_hf.syntax.parse_tokens import parse_tokenizer
from paraphrastic_hf.text.bpe import BytePairTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.training.data.corpus import hold_out_pairs
from paraphrastic_hf.training.data.sources import read_sources, with_development
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.engine.memory import SMALLEST_TABLE, check_memory
from paraphrastic_hf.training.engine.paths import resolve_model, resolve_path
from paraphrastic_hf.training.engine.recipe import NONE, SourceArguments
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.paraphrase.parsed_pairs import (
    build_parsed_corpus,
    load_parsed_corpus,
    parsed_pairs,
    texts_to_learn,
    tree_columns,
    with_tree_columns,
)
from paraphrastic_hf.training.paraphrase.recipe import (
    PARAPHRASER,
    SENTENCE,
    SSRU,
    STOCK,
    ParaphraseRecipe,
)
from paraphrastic_hf.training.seq2seq.job import (
    FEED_FORWARD_FACTOR,
    HEADS,
    POSITIONS,
    Seq2SeqRun,
    stock_model,
    with_config,
)

logger = logging.getLogger(__name__)


class Paraphrasing(Seq2SeqRun):
    recipe: ParaphraseRecipe

    def __init__(self, recipe: ParaphraseRecipe, context: Context) -> None:
        self.context, recipe = context, with_development(recipe)
        self.started = None if recipe.start is None else start_of(recipe, context.data_root)
        if self.started is None:
            check_memory(*model_of_size(recipe, SMALLEST_TABLE, 2))
        self.recipe = with_tree_columns(recipe, lambda path: resolve_path(path, context.data_root))

    def prepare(self, work: Path) -> None:
        recipe, context = self.recipe, self.context
        beside: Any = {name: name for name in tree_columns(recipe)}
        given = [
            item
            if isinstance(item, tuple)
            else (item, SourceArguments(path=f"dataset {number}", beside=beside))
            for number, item in enumerate(context.datasets)
        ]
        sources = read_sources(recipe, context.data_root, given, progress=context.progress)
        number = len(recipe.data.sources) - 1 if names_file(recipe.run.development) else None
        pairs = parsed_pairs([s for n, s in enumerate(sources) if n != number], recipe)
        given = [] if number is None else parsed_pairs([sources[number]], recipe)
        pairs += given  # at the end, as `build` expects
        tokenizer: Any = parse_tokenizer()
        if self.started is not None:
            tokenizer = load_tokenizer(self.started)
        elif recipe.model.writes == SENTENCE and recipe.data.bpe is not None:
            codes = resolve_path(recipe.data.bpe, context.data_root)
            lowercase = recipe.tokenizer.lowercase
            tokenizer = BytePairTokenizer.from_codes(codes, lowercase=lowercase)
            tokenizer = MarkedTokenizer(tokenizer, "end")
        elif recipe.model.writes == SENTENCE:
            lines = texts_to_learn(pairs, recipe)
            tokenizer = train_tokenizer(
                recipe.tokenizer, lines, recipe.seed, self.context.data_root
            )
        tokenizer.save(work / "tokenizer")
        build_parsed_corpus(pairs, tokenizer, recipe, work / "corpus", len(given))

    def build(self, work: Path) -> Any:
        recipe = self.recipe
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.corpus = load_parsed_corpus(work / "corpus")
        self.templates = self.corpus.templates
        data = recipe.data
        every = self.corpus.sides(np.arange(len(self.corpus)), both=True)
        lengths = self.corpus.sentences.lengths(every).reshape(-1, 2, 2)  # read and written
        most = most_tokens(recipe)
        is_good = ((lengths <= most) & (lengths > 0)).all((1, 2))
        if not is_good.all():
            logger.warning(
                "Left out %s without a known token on a side, or with more than %d tokens to "
                "read or %d to write",
                counted(int((~is_good).sum()), "pair"),
                *most,
            )
        pairs = np.flatnonzero(is_good)
        groups = self.corpus.group.reshape(-1, 2)[pairs]
        given = None
        if self.corpus.given:
            given = np.flatnonzero(pairs >= len(self.corpus) - self.corpus.given)
        held_out, kept = hold_out_pairs(groups, data.held_out, recipe.seed, given)
        self.held_out, self.kept = (
            self.corpus.sides(pairs[chosen], both=data.both_directions)
            for chosen in (held_out, kept)
        )
        if self.started is not None:
            return self._model_of_start()
        end = self.tokenizer.special.end[0]
        return self.new_model(*model_of_size(recipe, self.tokenizer.vocab_size, end))

    def _model_of_start(self) -> Any:
        """Return the model given as `start`, with the recipe's dropout."""
        assert self.started is not None
        trained, given = load_translation_model(self.started), self.recipe.model
        config = type(trained.config).from_dict(
            {**trained.config.to_dict(), "dropout": given.dropout}
        )
        model = self.new_model(type(trained), config)
        model.load_state_dict(trained.state_dict())
        return model

    def save(self, model: Any, output: Path) -> dict[str, Any]:
        if self.corpus.counts:
            save_templates(output, self.corpus.counts)
        return super().save(model, output)


def start_of(recipe: ParaphraseRecipe, data_root: Any) -> Path:
    """Return the directory of the model in the recipe key `start`."""
    directory = local_directory(as_directory(resolve_model(str(recipe.start), data_root)))
    config = AutoConfig.from_pretrained(directory, trust_remote_code=False)
    if (config.model_type, getattr(config, "template", None)) != (
        SsruConfig.model_type,
        recipe.model.template,
    ):
        raise RecipeError(
            f"start ({recipe.start}) must be a model of kind {SSRU} that reads "
            f"{recipe.model.template}, got {config.model_type}"
        )
    return directory


def most_tokens(recipe: ParaphraseRecipe) -> tuple[int, int]:
    """Return the maximum numbers of tokens that a model reads and writes per text.

    A stock model reads source and template as one text.
    """
    data, model = recipe.data, recipe.model
    most = data.max_length if recipe.model.writes == SENTENCE else data.max_template
    if model.kind not in STOCK:
        return most, most
    positions = model.positions or POSITIONS
    beside = 0 if model.template == NONE else data.max_template
    return min(most + beside, positions), min(most, positions)


def model_of_size(recipe: ParaphraseRecipe, tokens: int, end: int) -> tuple[Any, Any]:
    """Return the model class and its configuration. `end` is the id of the end mark."""
    given = recipe.model
    if given.kind in STOCK:
        model_class, config = stock_model(given, tokens, end)
        config.writes, config.template = given.writes, given.template
        return model_class, config
    own: dict[str, Any] = {
        "vocab_size": tokens,
        "hidden_size": given.hidden_size,
        "decoder_layers": given.decoder_layers,
        "dropout": given.dropout,
        "eos_token_id": end,
        "decoder_start_token_id": end,
    }
    templates = {"template_vocab_size": parse_tokenizer().vocab_size, "template": given.template}
    if given.kind == SSRU:
        return with_config(
            SsruModel,
            **own,
            **templates,
            encoder_layers=given.encoder_layers or given.decoder_layers,
            heads=given.heads or HEADS,
            feed_forward=given.feed_forward or FEED_FORWARD_FACTOR * given.hidden_size,
        )
    own["embedding_size"] = given.embedding_size or 300
    own["tie_word_embeddings"] = given.tie
    if given.kind == PARAPHRASER:
        return with_config(ParaphraserModel, **own)
    return with_config(
        ScpnModel,
        **own,
        **templates,
        template_embedding_size=given.template_embedding_size or 56,
        template_hidden_size=given.template_hidden_size or 128,
        use_copy=given.copy is not False,
        writes=given.writes,
    )
