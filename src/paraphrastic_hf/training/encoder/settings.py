"""Recipe keys of tokenizers and encoders.

Keys of some encoder families default to None, which selects the default of the family's
configuration (`models/`).
"""

from dataclasses import dataclass, replace
from typing import Any

from paraphrastic_hf.config.recipe import ENCODER_KINDS, argument, check_bounds
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.engine.recipe import check_source, must_be

MOST_ENTRIES = 2**31 - 1  # ids are 32-bit integers
MOST_DIMENSIONS = 1_000_000


def size_argument(default: Any, *, help: str) -> Any:
    """Return a field for a number of dimensions, or for a list of such numbers."""
    return argument(default, help=help, at_least=1, at_most=MOST_DIMENSIONS)


@dataclass(frozen=True)
class TokenizerArguments:
    kind: str = argument(
        "sentencepiece",
        help="type of tokens: SentencePiece pieces, words, character n-grams or characters",
        choices=("sentencepiece", "word", "char_ngram", "char"),
    )
    vocab_size: int = argument(
        20_000,
        help="vocabulary size, including <pad> and <unk> (thesis: 200,000 for words and n-grams)",
        at_least=3,
        at_most=MOST_ENTRIES,
    )
    lowercase: bool = argument(True, help="lowercase the text before tokenizing")
    keep_unknown: bool = argument(
        False, help="replace unknown tokens by <unk> (PARAGRAM) instead of dropping them (SP)"
    )
    hard_vocab_limit: bool = argument(
        False, help="fail if the text is too small, instead of using a smaller vocabulary"
    )
    character_coverage: float = argument(
        0.9995,
        help="sentencepiece: share of characters to cover (released code: 0.995, drops digits)",
        above=0,
        at_most=1,
    )
    input_sentence_size: int = argument(
        10_000_000,
        help="sentencepiece: maximum number of training lines, sampled (as the at-scale release)",
        at_least=0,
        at_most=MOST_ENTRIES,
    )
    orders: list[int] = argument([3], help="char_ngram: lengths of the n-grams", at_least=1)
    padding_mode: str = argument(
        "both",
        help="char_ngram: sides of the text to add a space",
        choices=("both", "left", "none"),
    )
    spans_spaces: bool = argument(True, help="char_ngram: include n-grams that cross words")
    min_count: int = argument(
        1, help="char_ngram: minimum number of occurrences of an n-gram (thesis 3.7.5)", at_least=1
    )
    most_per_order: int | None = argument(
        None, help="char_ngram: maximum n-grams per length (default: no limit)", at_least=1
    )
    marks: str = argument(
        "none",
        help="special tokens around a text (not for char_ngram). Cut texts lose their end mark",
        choices=("none", "start", "end", "both"),
    )
    apart: list[str] = argument(
        [],
        help="languages with separate pieces, even for words spelled as in other languages (thesis "
        "5.3.2). finish.drop_apart removes these pieces from the saved model",
    )
    from_model: str | None = argument(
        None,
        help="model whose tokenizer to use: run, packaged model or Hub repository. Its kind and "
        "lowercase must equal those of this section. finish.merge_with can average the two models",
        names="model",
    )

    def __post_init__(self) -> None:
        if not self.orders:
            raise must_be("tokenizer.orders", self.orders, "a list with at least one n-gram length")
        if self.from_model is None:
            return
        if not self.from_model.strip():
            raise must_be("tokenizer.from_model", self.from_model, "the name of a model")
        if self.apart:
            raise must_be("tokenizer.apart", self.apart, "empty with tokenizer.from_model")


def check_recipe(recipe: Any) -> None:
    """Raise RecipeError for numbers out of bounds and sources with contradictory keys."""
    check_bounds(recipe)
    for source in recipe.data.sources:
        check_source(source, recipe.data.ignored)


def check_marks(tokenizer: TokenizerArguments, marks: str, because: str) -> None:
    """Raise RecipeError unless a tokenizer has the `marks` that a model needs, and no n-grams."""
    if tokenizer.marks != marks or tokenizer.kind == "char_ngram":
        raise RecipeError(
            f"tokenizer.marks must be {marks}, because {because}, and tokenizer.kind must be "
            f"sentencepiece, word or char. Got {tokenizer.marks} and {tokenizer.kind}"
        )


@dataclass(frozen=True)
class ModelArguments:
    kind: str = argument(
        "averaging",
        help="encoder family. projection: also DAN. recurrent: LSTM-AVG. gated: GRAN. weighted: "
        "average with learned weights. window: also reads neighboring tokens (settings in "
        "model.options). module:Class: your own class",
        choices=ENCODER_KINDS,
    )
    hidden_size: int = size_argument(300, help="number of dimensions of a sentence vector")
    embedding_size: int | None = size_argument(
        None, help="projection, recurrent, char_cnn: token dimensions (default: model.hidden_size)"
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
        help="initial token vectors: GloVe file, run or packaged model. If the new model reads "
        "words and the given one subwords, each word gets its embedding by the given model",
        names="weights",
    )
    bad_vectors: str = argument(
        "refuse",
        help="malformed or repeated rows in a vectors file. refuse: fail. skip, last: drop "
        "malformed rows and keep the first, or the last, of repeated rows",
        choices=("refuse", "skip", "last"),
    )
    activation: str | None = argument(
        None,
        help="projection: linear (default), or tanh or relu for a DAN. charagram: tanh (default), "
        "linear or relu. char_cnn, cell rnn, gated with variant 0: tanh (default) or relu",
    )
    layers: int | None = argument(
        None, help="projection: number of dense layers over the average, 1 or 2 (default: 1)"
    )
    cell: str | None = argument(
        None, help="recurrent: type of cell, lstm, rnn or identity_rnn (default: lstm)"
    )
    peepholes: bool | None = argument(
        None, help="lstm: peephole connections, as in the papers (default: true)"
    )
    output_gate: bool | None = argument(
        None, help="recurrent with cell lstm: use an output gate (default: true)"
    )
    bidirectional: bool | None = argument(
        None, help="recurrent, gated: read in both directions (default: false)"
    )
    merge: str | None = argument(
        None,
        help="bidirectional: how to join the two states. add (default), tanh (a dense layer), or "
        "concatenate (only recurrent)",
    )
    pooling: str | None = argument(
        None, help="recurrent: pooling of the states, last, mean or max (default: mean)"
    )
    recurrent_std: float | None = argument(
        None, help="recurrent, gated: standard deviation of initial weights (default: 0.1)"
    )
    variant: int | None = argument(
        None, help="gated: 1 for GRAN (default), 2 to 5 for GRAN-2 to -5, 0 for no gate"
    )
    presence: bool | None = argument(
        None,
        help="charagram: count a repeated n-gram once (true, as in the released code) or each time",
    )
    filter_widths: list[int] | None = size_argument(
        None, help="char_cnn: filter widths in tokens (default: [2, 3, 4])"
    )
    filter_counts: list[int] | None = size_argument(
        None, help="char_cnn: number of filters of each width (default: 175)"
    )
    dense_activation: str | None = argument(
        None, help="char_cnn: dense layer, tanh, linear or none (default: linear)"
    )
    options: dict[str, Any] = argument({}, help="other fields of the configuration, by name")


@dataclass(frozen=True)
class EncoderArguments:
    """One of several encoders."""

    tokenizer: TokenizerArguments = argument(TokenizerArguments(), help="tokenizer of this part")
    model: ModelArguments = argument(ModelArguments(), help="encoder of this part")


def refuse_beside_start(
    start: str | None, tokenizer: TokenizerArguments, model: ModelArguments
) -> None:
    """Raise RecipeError if `start` is set together with a tokenizer key or a model key.

    Only the two dropouts may be set together with `start`.
    """
    plain = ModelArguments()
    undropped = replace(
        model, embedding_dropout=plain.embedding_dropout, word_dropout=plain.word_dropout
    )
    if start is not None and (undropped, tokenizer) != (plain, TokenizerArguments()):
        raise RecipeError(
            f"The model given as start ({start}) already has a tokenizer and an encoder. Remove "
            "all keys of the sections tokenizer and model except model.embedding_dropout and "
            "model.word_dropout"
        )
