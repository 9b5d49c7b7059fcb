"""The keys of a recipe that say what is trained: tokenizer and model, or several of both.

A key of one family of encoders has no default here: left out, it has the default of the family's
configuration (`models/`), and `training/encoder/build.py` refuses it for the families that lack it.
Keys of other encoders are given under `model.options`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from paraphrastic_hf.config.encoder_kinds import ENCODER_KINDS
from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.engine.recipe import refuse_unless

MOST_ENTRIES = 2**31 - 1  # ids are 32-bit integers
MOST_DIMENSIONS = 1_000_000


@dataclass(frozen=True)
class TokenizerArguments:
    """How text becomes ids."""

    kind: str = argument(
        "sentencepiece", help="tokenizer", choices=("sentencepiece", "word", "char_ngram", "char")
    )
    vocab_size: int = argument(
        20_000,
        help="entries with <pad> and <unk>; 200,000 for words and n-grams",
        at_least=3,
        at_most=MOST_ENTRIES,
    )
    lowercase: bool = argument(True, help="lower-case first")
    keep_unknown: bool = argument(
        False, help="a trained <unk> row, as PARAGRAM has; SP drops unknown pieces"
    )
    hard_vocab_limit: bool = argument(
        False, help="refuse, rather than shrink, where the text is too small"
    )
    character_coverage: float = argument(
        0.995,
        help="sentencepiece: share of characters with a piece (at-scale)",
        above=0,
        at_most=1,
    )
    input_sentence_size: int = argument(
        10_000_000,
        help="sentencepiece: lines sampled (at-scale)",
        at_least=0,
        at_most=MOST_ENTRIES,
    )
    orders: list[int] = argument([3], help="char_ngram: lengths of the n-grams", at_least=1)
    padding_mode: str = argument(
        "both", help="char_ngram: spaces around a text", choices=("both", "left", "none")
    )
    spans_spaces: bool = argument(True, help="char_ngram: take n-grams across words too")
    min_count: int = argument(
        1, help="char_ngram: leave out what occurs less often (3.7.5)", at_least=1
    )
    most_per_order: int | None = argument(
        None, help="char_ngram: keep at most this many of each length (Table 19)", at_least=1
    )
    marks: str = argument(
        "none",
        help="tokens for the start and end of a text, not in char_ngram; a text cut at "
        "data.max_length has no end",
        choices=("none", "start", "end", "both"),
    )
    apart: list[str] = argument(
        [],
        help="languages that share no piece with any other, though they write alike (5.3.2); "
        "finish.drop_apart leaves their pieces out of the finished model",
    )
    from_model: str | None = argument(
        None,
        help="a run's directory, a packaged model or one on the Hub whose tokenizer is taken as it "
        "is, so that finish.merge_with can make one model of both; kind and lowercase must be its "
        "own, and marks may be added",
        names="model",
    )

    def __post_init__(self) -> None:
        refuse_unless(
            [
                (bool(self.orders), "tokenizer.orders", self.orders, "lengths of at least 1"),
                (
                    self.from_model is None or bool(self.from_model.strip()),
                    "tokenizer.from_model",
                    self.from_model,
                    "a model's name",
                ),
                (
                    self.from_model is None or not self.apart,
                    "tokenizer.apart",
                    self.apart,
                    "empty beside tokenizer.from_model, whose pieces are what they are",
                ),
            ]
        )


def check_marks(tokenizer: TokenizerArguments, marks: str, because: str) -> None:
    """Refuse a tokenizer without the marks that what is written begins or ends at.

    Args:
        tokenizer: The recipe's.
        marks: The marks that are needed: `end` or `both`.
        because: Why, as the message says it.

    Raises:
        RecipeError: It has other marks, or n-grams, which no text can be made of again.

    Example:
        >>> check_marks(TokenizerArguments(marks="end"), "end", "a translation ends")
    """
    if tokenizer.marks != marks or tokenizer.kind == "char_ngram":
        raise RecipeError(
            f"{because}: set tokenizer.marks to {marks}, and tokenizer.kind to sentencepiece, word "
            "or char"
        )


@dataclass(frozen=True)
class ModelArguments:
    """The encoder."""

    kind: str = argument(
        "averaging",
        help="encoder family; DAN is a projection, LSTM-AVG recurrent, GRAN gated; weighted is an "
        "average with a number a word; module:Class is an encoder of your own",
        choices=ENCODER_KINDS,
    )
    hidden_size: int = argument(
        300, help="dimensions of a sentence vector", at_least=1, at_most=MOST_DIMENSIONS
    )
    embedding_size: int | None = argument(
        None,
        help="projection, recurrent, char_cnn: dimensions of a token vector, if others",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )
    embedding_dropout: float = argument(
        0.3,
        help="probability that a number of a token vector is zeroed in training",
        at_least=0,
        below=1,
    )
    word_dropout: float = argument(
        0.0, help="probability that a whole token is zeroed in training", at_least=0, below=1
    )
    initializer_std: float = argument(1.0, help="standard deviation of the initial table")
    vectors: str | None = argument(
        None,
        help="word vectors (GloVe text format), an earlier run's directory or a packaged model, to "
        "start the rows of known entries from; words may start from a model of pieces",
        names="weights",
    )
    bad_vectors: str = argument(
        "refuse",
        help="rows of a vectors file that are bad or come twice: refuse; skip them and keep the "
        "first; or skip bad ones and keep the last",
        choices=("refuse", "skip", "last"),
    )
    activation: str | None = argument(
        None,
        help="projection: linear, or tanh or relu for a DAN; RNN, gated without a gate, charagram, "
        "char_cnn: theirs",
    )
    layers: int | None = argument(None, help="projection: 1 or 2 dense layers over the average")
    cell: str | None = argument(None, help="recurrent: lstm, rnn or identity_rnn")
    peepholes: bool | None = argument(
        None, help="recurrent, lstm: gates see the cell, as in the papers; slower on a GPU"
    )
    output_gate: bool | None = argument(None, help="recurrent, lstm: with an output gate or not")
    bidirectional: bool | None = argument(None, help="recurrent, gated: read both ways")
    merge: str | None = argument(
        None,
        help="recurrent, gated: both ways' states by add or tanh layer; recurrent: concatenate",
    )
    pooling: str | None = argument(None, help="recurrent: last, mean or max of the states")
    recurrent_std: float | None = argument(
        None, help="recurrent, gated: standard deviation of initial recurrent weights"
    )
    variant: int | None = argument(
        None,
        help="gated: 1 for GRAN, 2 to 5 for GRAN-2 to GRAN-5, 0 for none of the gates (2017, "
        "footnote 2)",
    )
    presence: bool | None = argument(
        None, help="charagram: count an n-gram once a text (released code), not each time (3.6.2)"
    )
    filter_widths: list[int] | None = argument(
        None, help="char_cnn: widths of the filters", at_least=1, at_most=MOST_DIMENSIONS
    )
    filter_counts: list[int] | None = argument(
        None, help="char_cnn: filters of each width", at_least=1, at_most=MOST_DIMENSIONS
    )
    dense_activation: str | None = argument(
        None, help="char_cnn: of the dense layer, tanh or linear; none for no dense layer"
    )
    options: dict[str, Any] = argument(
        {}, help="values for other fields of the encoder's configuration, by name"
    )


@dataclass(frozen=True)
class EncoderArguments:
    """One encoder of a mixture."""

    tokenizer: TokenizerArguments = argument(TokenizerArguments(), help="how text becomes ids")
    model: ModelArguments = argument(ModelArguments(), help="the encoder")


def refuse_beside_start(
    start: str | None, tokenizer: TokenizerArguments, model: ModelArguments
) -> None:
    """Refuse keys that an encoder brings which training begins with.

    Raises:
        RecipeError: There is a `start`, and a key of the tokenizer, or one of the model other than
            its two dropouts.
    """
    plain = ModelArguments()
    undropped = replace(
        model, embedding_dropout=plain.embedding_dropout, word_dropout=plain.word_dropout
    )
    if start is not None and (undropped, tokenizer) != (plain, TokenizerArguments()):
        raise RecipeError(
            f"start ({start}) brings its own tokenizer and encoder: leave out tokenizer "
            "and all of model but embedding_dropout and word_dropout"
        )
