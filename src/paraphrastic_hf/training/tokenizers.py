"""The tokenizers that recipes ask for, trained on their text."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.encoder_arguments import EncoderArguments, TokenizerArguments
from paraphrastic_hf.training.sources import SourcePairs

logger = logging.getLogger(__name__)


def train_tokenizers(
    encoders: Sequence[EncoderArguments], sources: Sequence[SourcePairs], seed: int
) -> TextTokenizer:
    """The tokenizer of an encoder, or those of all parts of a mixture as one."""
    trained = [
        train_tokenizer(
            encoder.tokenizer,
            (side for source in sources for pair in source.pairs for side in pair),
            seed,
        )
        for encoder in encoders
    ]
    return trained[0] if len(trained) == 1 else MixedTokenizer(trained)


def train_tokenizer(
    arguments: TokenizerArguments, lines: Iterable[str], seed: int
) -> TextTokenizer:
    """The tokenizer a recipe asks for, from lines of text.

    Raises:
        DataError: Too little text for the vocabulary.
    """
    shared: dict[str, Any] = {
        "vocab_size": arguments.vocab_size,
        "hard_vocab_limit": arguments.hard_vocab_limit,
        "lowercase": arguments.lowercase,
        "keep_unknown": arguments.keep_unknown,
    }
    tokenizer: TextTokenizer
    if arguments.kind == "sentencepiece":
        tokenizer = SubwordTokenizer.train(
            lines,
            **shared,
            character_coverage=arguments.character_coverage,
            input_sentence_size=arguments.input_sentence_size,
            seed=seed % 2**32,
        )
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
