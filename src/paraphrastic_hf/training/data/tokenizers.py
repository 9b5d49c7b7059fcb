"""Train the tokenizers of recipes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.encoder.settings import EncoderArguments, TokenizerArguments
from paraphrastic_hf.training.encoder.start import load_start

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
SAMPLE = 20_000  # maximum number of lines to check for characters without a piece
MANY = 0.05  # share of lines with such characters that triggers a warning
NAMED = 30  # maximum number of characters listed in the warning


def train_tokenizers(
    encoders: Sequence[EncoderArguments],
    sources: Sequence[SourcePairs],
    seed: int,
    data_root: str | Path | None = None,
) -> TextTokenizer:
    """Train the tokenizer of an encoder, or for several encoders a combination of tokenizers."""
    trained = [
        train_tokenizer(
            encoder.tokenizer,
            (side for source in sources for pair in source.pairs for side in pair),
            seed,
            data_root,
        )
        for encoder in encoders
    ]
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
    sample: list[str] = []
    if arguments.kind == "sentencepiece":
        lines, options["seed"] = _sampled(lines, sample), seed % 2**32
    tokenizer: Any = TOKENIZERS[arguments.kind].train(lines, **options)
    if arguments.kind == "sentencepiece" and not arguments.keep_unknown:
        _warn_of_dropped_characters(tokenizer, sample)
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
    has = {"kind": kind, "lowercase": inner.lowercase, "marks": marks}
    for key, value in has.items():
        asked = getattr(arguments, key)
        if asked != value:
            value, asked = (str(each).lower() for each in (value, asked))
            raise RecipeError(
                f"tokenizer.from_model: the tokenizer of {name} has {key} {value}, but the recipe "
                f"has {asked}. Set tokenizer.{key} to {value}, or use another model."
            )
    return tokenizer


def _sampled(lines: Iterable[str], sample: list[str]) -> Iterator[str]:
    """Yield the lines. Add up to SAMPLE of them to `sample`, at regular intervals."""
    stride = 1
    for number, line in enumerate(lines):
        if number % stride == 0:
            sample.append(line)
        if len(sample) > SAMPLE:
            del sample[1::2]
            stride *= 2
        yield line


def _warn_of_dropped_characters(tokenizer: SubwordTokenizer, sample: Sequence[str]) -> None:
    """Warn if many lines contain characters without a piece, which the tokenizer drops."""
    left_out = tokenizer.left_out(sample)
    changed = sum(
        not left_out.keys().isdisjoint(normalize(line, tokenizer.lowercase)) for line in sample
    )
    if changed >= MANY * len(sample) and left_out:
        logger.warning(
            "%d %% of the lines contain characters that have no piece. The tokenizer drops these "
            "characters: %s. To keep more, raise tokenizer.character_coverage, for example to "
            "0.9995.",
            100 * changed // len(sample),
            " ".join(list(left_out)[:NAMED]),
        )
