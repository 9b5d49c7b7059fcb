"""Recipe keys of tokenizers and encoders.

A key that only one family of encoders has defaults to None, which selects the default of the
family's configuration (`models/`). `training/encoder/build.py` refuses it for other families.
Fields of other encoders are given under `model.options`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from paraphrastic_hf.config.encoder_kinds import ENCODER_KINDS
from paraphrastic_hf.config.recipe import argument, check_bounds
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.engine.recipe import check_source, must_be

MOST_ENTRIES = 2**31 - 1  # ids are 32-bit integers
MOST_DIMENSIONS = 1_000_000


def size_argument(default: Any, *, help: str) -> Any:
    """Return a field for a number of dimensions, or a list of them."""
    return argument(default, help=help, at_least=1, at_most=MOST_DIMENSIONS)


@dataclass(frozen=True)
class TokenizerArguments:
    kind: str = argument(
        "sentencepiece",
        help="type of token: SentencePiece unigrams, words, character n-grams, characters",
        choices=("sentencepiece", "word", "char_ngram", "char"),
    )
    vocab_size: int = argument(
        20_000,
        help="vocabulary size with <pad> and <unk> (thesis: 200,000 for words and n-grams)",
        at_least=3,
        at_most=MOST_ENTRIES,
    )
    lowercase: bool = argument(True, help="lowercase the text first")
    keep_unknown: bool = argument(
        False, help="train a vector for <unk> (PARAGRAM) instead of dropping unknown tokens (SP)"
    )
    hard_vocab_limit: bool = argument(
        False, help="fail, instead of shrinking the vocabulary, if the text is too small"
    )
    character_coverage: float = argument(
        0.995,
        help="sentencepiece: share of the text's characters to cover (at-scale release)",
        above=0,
        at_most=1,
    )
    input_sentence_size: int = argument(
        10_000_000,
        help="sentencepiece: maximum lines sampled for training (at-scale release)",
        at_least=0,
        at_most=MOST_ENTRIES,
    )
    orders: list[int] = argument([3], help="char_ngram: lengths of the n-grams", at_least=1)
    padding_mode: str = argument(
        "both",
        help="char_ngram: sides of a text where a space is added",
        choices=("both", "left", "none"),
    )
    spans_spaces: bool = argument(
        True, help="char_ngram: include n-grams that cross a word boundary"
    )
    min_count: int = argument(
        1, help="char_ngram: minimum occurrences of an n-gram (thesis 3.7.5)", at_least=1
    )
    most_per_order: int | None = argument(
        None,
        help="char_ngram: maximum number of n-grams per length (thesis Table 19, default: no "
        "limit)",
        at_least=1,
    )
    marks: str = argument(
        "none",
        help="special tokens at the start and end of a text (not for char_ngram). A text cut at "
        "data.max_length loses its end token",
        choices=("none", "start", "end", "both"),
    )
    apart: list[str] = argument(
        [],
        help="languages that share no pieces with any other language, even if spelled the same "
        "(thesis 5.3.2). finish.drop_apart drops their pieces from the saved model",
    )
    from_model: str | None = argument(
        None,
        help="model whose tokenizer is reused, so that finish.merge_with can average both: a run "
        "directory, a packaged or a Hub model. kind and lowercase must match it, marks may be "
        "added",
        names="model",
    )

    def __post_init__(self) -> None:
        if not self.orders:
            raise must_be("tokenizer.orders", self.orders, "lengths of at least 1")
        if self.from_model is None:
            return
        if not self.from_model.strip():
            raise must_be("tokenizer.from_model", self.from_model, "the name of a model")
        if self.apart:
            raise must_be(
                "tokenizer.apart",
                self.apart,
                "empty with tokenizer.from_model, whose pieces are fixed",
            )


def check_recipe(recipe: Any) -> None:
    """Refuse numbers out of bounds and contradictory sources.

    Raises:
        RecipeError: There is one.
    """
    check_bounds(recipe)
    for source in recipe.data.sources:
        check_source(source, recipe.data.ignored)


def check_marks(tokenizer: TokenizerArguments, marks: str, because: str) -> None:
    """Refuse a tokenizer without the start and end tokens that a model needs.

    Args:
        marks: The tokens that are needed: `end` or `both`.
        because: The reason, which starts the message.

    Raises:
        RecipeError: The tokenizer has other marks, or is of n-grams, from which no text can be
            restored.

    Example:
        >>> check_marks(TokenizerArguments(marks="end"), "end", "translations end with </s>")
    """
    if tokenizer.marks != marks or tokenizer.kind == "char_ngram":
        raise RecipeError(
            f"tokenizer.marks must be {marks}, because {because}, and tokenizer.kind must be "
            f"sentencepiece, word or char. Got {tokenizer.marks} and {tokenizer.kind}"
        )


@dataclass(frozen=True)
class ModelArguments:
    kind: str = argument(
        "averaging",
        help="encoder family (projection: also DAN, recurrent: also LSTM-AVG, gated: GRAN, "
        "weighted: average with a learned weight per word, module:Class: your own class)",
        choices=ENCODER_KINDS,
    )
    hidden_size: int = size_argument(300, help="dimensions of a sentence vector")
    embedding_size: int | None = size_argument(
        None,
        help="projection, recurrent, char_cnn: dimensions of a token vector (default: hidden_size)",
    )
    embedding_dropout: float = argument(
        0.3, help="dropout probability of each dimension of a token vector", at_least=0, below=1
    )
    word_dropout: float = argument(
        0.0, help="dropout probability of a whole token vector", at_least=0, below=1
    )
    initializer_std: float = argument(1.0, help="standard deviation of the initial token vectors")
    vectors: str | None = argument(
        None,
        help="initial token vectors: a GloVe text file, a run directory or a packaged model "
        "(which encodes each word, if it has subwords and this tokenizer words)",
        names="weights",
    )
    bad_vectors: str = argument(
        "refuse",
        help="malformed and repeated rows of a vectors file: fail (refuse), or drop malformed "
        "rows and keep the first (skip) or the last (last) of repeated ones",
        choices=("refuse", "skip", "last"),
    )
    activation: str | None = argument(
        None,
        help="projection: linear (default), or tanh or relu for a DAN. charagram: tanh "
        "(default), linear or relu. char_cnn, recurrent rnn and ungated gated: tanh (default) or "
        "relu",
    )
    layers: int | None = argument(
        None, help="projection: dense layers over the average, 1 or 2 (default: 1)"
    )
    cell: str | None = argument(None, help="recurrent: lstm, rnn or identity_rnn (default: lstm)")
    peepholes: bool | None = argument(
        None,
        help="recurrent lstm: let gates read the cell, as in the papers, slower on GPU (default: "
        "true)",
    )
    output_gate: bool | None = argument(
        None, help="recurrent lstm: use an output gate (default: true)"
    )
    bidirectional: bool | None = argument(
        None, help="recurrent, gated: read in both directions (default: false)"
    )
    merge: str | None = argument(
        None,
        help="recurrent, gated: combination of both directions: add (default), tanh (a dense "
        "layer) or, only recurrent, concatenate",
    )
    pooling: str | None = argument(
        None, help="recurrent: last, mean or max of the states (default: mean)"
    )
    recurrent_std: float | None = argument(
        None, help="recurrent, gated: deviation of the initial recurrent weights (default: 0.1)"
    )
    variant: int | None = argument(
        None,
        help="gated: 1 for GRAN (default), 2 to 5 for GRAN-2 to GRAN-5, 0 for no gate (2017 "
        "paper, footnote 2)",
    )
    presence: bool | None = argument(
        None,
        help="charagram: count an n-gram once per text (released code), not each time (thesis "
        "3.6.2)",
    )
    filter_widths: list[int] | None = size_argument(
        None, help="char_cnn: filter widths in tokens (default: [2, 3, 4])"
    )
    filter_counts: list[int] | None = size_argument(
        None, help="char_cnn: filters of each width (default: 175)"
    )
    dense_activation: str | None = argument(
        None, help="char_cnn: tanh or linear dense layer, or none (default: linear)"
    )
    options: dict[str, Any] = argument(
        {}, help="other fields of the encoder's configuration, by name"
    )


@dataclass(frozen=True)
class EncoderArguments:
    """One encoder of a mixture."""

    tokenizer: TokenizerArguments = argument(TokenizerArguments(), help="tokenizer of this part")
    model: ModelArguments = argument(ModelArguments(), help="encoder of this part")


def refuse_beside_start(
    start: str | None, tokenizer: TokenizerArguments, model: ModelArguments
) -> None:
    """Refuse tokenizer and model keys that `start` already determines.

    Raises:
        RecipeError: There is a `start`, and a key of the tokenizer, or one of the model other than
            its two dropouts, is set.
    """
    plain = ModelArguments()
    undropped = replace(
        model, embedding_dropout=plain.embedding_dropout, word_dropout=plain.word_dropout
    )
    if start is not None and (undropped, tokenizer) != (plain, TokenizerArguments()):
        raise RecipeError(
            f"start ({start}) has its own tokenizer and encoder. Remove the keys of tokenizer "
            "and of model, except embedding_dropout and word_dropout"
        )
