"""Train the tokenizers of recipes."""

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.encoder.settings import EncoderArguments, TokenizerArguments
from paraphrastic_hf.training.encoder.start import load_start
from paraphrastic_hf.training.engine.recipe import must_be

logger = logging.getLogger(__name__)
TOKENIZERS: dict[str, Any] = {
    "sentencepiece": SubwordTokenizer,
    "word": WordTokenizer,
    "char_ngram": CharNgramTokenizer,
    "char": CharTokenizer,
}
KEYS = ("vocab_size", "hard_vocab_limit", "lowercase", "keep_unknown")
OWN_KEYS = {
    "sentencepiece": ("character_coverage", "input_sentence_size"),
    "char_ngram": ("orders", "padding_mode", "spans_spaces", "min_count", "most_per_order"),
}


def train_tokenizers(
    encoders: Sequence[EncoderArguments],
    texts: Callable[[], Iterable[str]],
    seed: int,
    data_root: str | Path | None = None,
) -> TextTokenizer:
    """Train the tokenizer of an encoder, or for several encoders a combination of tokenizers.

    `texts` is called once for each tokenizer.
    """
    trained = [train_tokenizer(each.tokenizer, texts(), seed, data_root) for each in encoders]
    return trained[0] if len(trained) == 1 else MixedTokenizer(trained)


def train_tokenizer(
    arguments: TokenizerArguments,
    lines: Iterable[str],
    seed: int,
    data_root: str | Path | None = None,
) -> TextTokenizer:
    """Train a recipe's tokenizer on lines of text, or load the tokenizer of `from_model`."""
    if arguments.from_model is not None:
        return given_tokenizer(arguments, data_root)
    keys = (*KEYS, *OWN_KEYS.get(arguments.kind, ()))
    options: dict[str, Any] = {key: getattr(arguments, key) for key in keys}
    if arguments.kind == "sentencepiece":
        options["seed"] = seed % 2**32
    tokenizer: Any = TOKENIZERS[arguments.kind].train(lines, **options)
    if tokenizer.vocab_size < arguments.vocab_size:
        logger.warning(
            "The text supports only %s of the %s requested vocabulary entries.",
            tokenizer.vocab_size,
            arguments.vocab_size,
        )
    return tokenizer if arguments.marks == "none" else MarkedTokenizer(tokenizer, arguments.marks)


def given_tokenizer(arguments: TokenizerArguments, data_root: str | Path | None) -> TextTokenizer:
    """Return the tokenizer of `from_model`. Add the recipe's marks if it has no marks."""
    name = str(arguments.from_model)
    tokenizer = load_start(name, data_root).tokenizer
    inner = tokenizer.inner if isinstance(tokenizer, MarkedTokenizer) else tokenizer
    kind = next((kind for kind, made in TOKENIZERS.items() if isinstance(inner, made)), None)
    if kind is None:
        raise RecipeError(
            f"tokenizer.from_model: {name} has a tokenizer of several parts or of byte pairs, "
            "which recipes do not support. Use another model."
        )
    if tokenizer is inner and arguments.marks != "none":
        tokenizer = MarkedTokenizer(inner, arguments.marks)
    marks = tokenizer.marks if isinstance(tokenizer, MarkedTokenizer) else "none"
    for key, value in {"kind": kind, "lowercase": inner.lowercase, "marks": marks}.items():
        if getattr(arguments, key) != value:
            where = f"tokenizer.{key} with tokenizer.from_model {name}"
            raise must_be(where, getattr(arguments, key), str(value).lower())
    return tokenizer
