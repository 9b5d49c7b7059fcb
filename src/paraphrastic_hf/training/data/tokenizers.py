"""The tokenizers that recipes ask for, trained on their text."""

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
TOKENIZERS: dict[str, type] = {
    "sentencepiece": SubwordTokenizer,
    "word": WordTokenizer,
    "char_ngram": CharNgramTokenizer,
    "char": CharTokenizer,
}
SAMPLE = 20_000  # lines that are looked at for characters without a piece
MANY = 0.05  # of these, a share that is worth a warning
NAMED = 30  # characters that it names at most


def train_tokenizers(
    encoders: Sequence[EncoderArguments],
    sources: Sequence[SourcePairs],
    seed: int,
    data_root: str | Path | None = None,
) -> TextTokenizer:
    """The tokenizer of an encoder, or those of all parts of a mixture as one."""
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
    """The tokenizer a recipe asks for, from lines of text, or that of another model.

    Args:
        lines: The text, which is not read where `from_model` names a model.
    """
    if arguments.from_model is not None:
        return given_tokenizer(arguments, data_root)
    shared: dict[str, Any] = {
        "vocab_size": arguments.vocab_size,
        "hard_vocab_limit": arguments.hard_vocab_limit,
        "lowercase": arguments.lowercase,
        "keep_unknown": arguments.keep_unknown,
    }
    tokenizer: TextTokenizer
    if arguments.kind == "sentencepiece":
        sample: list[str] = []
        tokenizer = SubwordTokenizer.train(
            _sampled(lines, sample),
            **shared,
            character_coverage=arguments.character_coverage,
            input_sentence_size=arguments.input_sentence_size,
            seed=seed % 2**32,
        )
        if not arguments.keep_unknown:
            _warn_of_left_out(tokenizer, sample)
    elif arguments.kind == "word":
        tokenizer = WordTokenizer.train(lines, **shared)
    elif arguments.kind == "char":
        tokenizer = CharTokenizer.train(lines, **shared)
    else:
        tokenizer = CharNgramTokenizer.train(
            lines,
            **shared,
            orders=arguments.orders,
            padding_mode=arguments.padding_mode,
            spans_spaces=arguments.spans_spaces,
            min_count=arguments.min_count,
            most_per_order=arguments.most_per_order,
        )
    if tokenizer.vocab_size < arguments.vocab_size:
        logger.warning(
            "the text supports %s of the %s entries asked for",
            tokenizer.vocab_size,
            arguments.vocab_size,
        )
    return tokenizer if arguments.marks == "none" else MarkedTokenizer(tokenizer, arguments.marks)


def given_tokenizer(arguments: TokenizerArguments, data_root: str | Path | None) -> TextTokenizer:
    """The tokenizer of the model that `of` names, with marks if it has none and the recipe asks for
    them.

    Args:
        arguments: The recipe's, with `of`.
    """
    name = str(arguments.from_model)
    tokenizer = load_start(name, data_root).tokenizer
    inner = tokenizer.inner if isinstance(tokenizer, MarkedTokenizer) else tokenizer
    kind = next((kind for kind, made in TOKENIZERS.items() if isinstance(inner, made)), None)
    if kind is None:
        raise RecipeError(
            f"tokenizer.from_model: the tokenizer of {name} is of several parts or of byte pairs, "
            "which no recipe trains; name another model"
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
                f"tokenizer.from_model: the tokenizer of {name} has {key} {value}, and the recipe "
                f"asks for {asked}; set tokenizer.{key} to {value}, or name another model"
            )
    return tokenizer


def _sampled(lines: Iterable[str], sample: list[str]) -> Iterator[str]:
    """The lines as they are, of which every so many-th is put into the sample."""
    stride = 1
    for number, line in enumerate(lines):
        if number % stride == 0:
            sample.append(line)
        if len(sample) > SAMPLE:
            del sample[1::2]
            stride *= 2
        yield line


def _warn_of_left_out(tokenizer: SubwordTokenizer, sample: Sequence[str]) -> None:
    """Say which characters have no piece where that changes many texts: two sentences that differ
    in nothing else are one to the model."""
    left_out = tokenizer.left_out(sample)
    changed = sum(
        not left_out.keys().isdisjoint(normalize(line, tokenizer.lowercase)) for line in sample
    )
    if changed >= MANY * len(sample) and left_out:
        logger.warning(
            "of 100 lines %d have characters without a piece, which are dropped wherever they are: "
            "%s; a greater tokenizer.character_coverage, such as 0.9995, keeps more",
            100 * changed // len(sample),
            " ".join(list(left_out)[:NAMED]),
        )
