"""Recipe keys of paraphrase generators (thesis, 4.6 and chapter 6).

Sizes and optimization follow the released SCPN unless a help text says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from paraphrastic_hf.config.recipe import FILE, argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.settings import (
    TokenizerArguments,
    check_marks,
    check_recipe,
    size_argument,
)
from paraphrastic_hf.training.engine.recipe import (
    HELD_OUT,
    MORE_THAN_ONCE,
    NONE,
    RunArguments,
    must_be,
    refuse_keys_of_others,
    seed_argument,
)
from paraphrastic_hf.training.seq2seq.recipe import (
    AveragedArguments,
    PairArguments,
    Seq2SeqArguments,
    check_chosen_by_score,
)

SENTENCE, PARSE, TEMPLATE = "sentence", "parse", "template"
SCPN, PARAPHRASER, SSRU, STOCK = "scpn", "paraphraser", "ssru", ("marian", "bart")
PLAIN_TOKENIZER = TokenizerArguments(
    vocab_size=32_000, lowercase=True, marks="end", character_coverage=0.9999
)
OWNERS = {
    "model.embedding_size": (SCPN, PARAPHRASER),
    **{
        f"model.{key}": (SCPN,)
        for key in ("template_embedding_size", "template_hidden_size", "copy")
    },
    **{f"model.{key}": (SSRU, *STOCK) for key in ("encoder_layers", "heads", "feed_forward")},
    "model.positions": STOCK,
    "data.plain": (SSRU,),
    "start": (SSRU,),
}


@dataclass(frozen=True)
class ParaphraseData(PairArguments):
    """Pairs with columns sentence1 and sentence2, and tree1 and tree2 if parses are read."""

    ignored: ClassVar[Mapping[str, str]] = {
        "weight": MORE_THAN_ONCE,
        "swap": "data.both_directions trains on each pair in both directions",
    }
    both_directions: bool = argument(
        True,
        help="true: train on each pair in both directions (thesis 6.2.2). false: only the second "
        "sentence is a target",
    )
    differing: bool = argument(
        True,
        help="leave out pairs with equal parses (released code). Pairs need parses if this is "
        "true or model.template is not none",
    )
    plain: float | None = argument(
        None,
        help="ssru: share of the examples without a template, so that the model can also "
        "paraphrase freely (default: 0.3)",
        at_least=0,
        at_most=1,
    )
    max_template: int = argument(
        300,
        help="maximum number of tokens in a parse. Pairs with a longer parse are left out",
        at_least=1,
        at_most=2**31 - 1,
    )
    bpe: str | None = argument(
        None,
        help="file of byte pair codes, such as the released scpn/bpe.codes, to use instead of "
        "training a tokenizer. Relative to the data root",
    )


@dataclass(frozen=True)
class ParaphraserArguments(Seq2SeqArguments):
    kind: str = argument(
        SCPN,
        help="model class. scpn: LSTMs controlled by a parse. paraphraser: LSTMs without control "
        "(thesis 4.6). ssru: Transformer encoder and recurrent decoder. marian, bart: classes of "
        "the transformers library, which read sentence, <sep> and parse as one text",
        choices=(SCPN, PARAPHRASER, SSRU, *STOCK),
    )
    writes: str = argument(
        SENTENCE,
        help="output of the model: a sentence, or a parse (for a parse generator, which also "
        "reads a parse)",
        choices=(SENTENCE, PARSE),
    )
    template: str = argument(
        PARSE,
        help="part of the target that controls its syntax. parse: the whole parse. template: the "
        "top two levels. none: nothing (the thesis's model without z)",
        choices=(PARSE, TEMPLATE, NONE),
    )
    copy: bool | None = argument(
        None, help="scpn: copy mechanism for source tokens (default: true)"
    )
    template_embedding_size: int | None = size_argument(
        None, help="scpn: number of dimensions of a token vector in the parse encoder (default: 56)"
    )
    template_hidden_size: int | None = size_argument(
        None, help="scpn: number of dimensions of a state in the parse encoder (default: 128)"
    )


@dataclass(frozen=True)
class ParaphraseRunArguments(RunArguments):
    development: str = argument(
        HELD_OUT,
        help="score that selects the checkpoint. held_out: likelihood of held-out pairs. FILE: "
        "likelihood of the pairs in a file, which has the columns of the first source. none: "
        "keep the last checkpoint",
        choices=(HELD_OUT, NONE, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class ParaphraseRecipe:
    kind: str = argument(
        "paraphrase", help="kind of training: paraphrase generator", choices=("paraphrase",)
    )
    data: ParaphraseData = argument(ParaphraseData(), help="training data")
    start: str | None = argument(
        None,
        help="ssru: directory or Hub repository of the model to start from, with its tokenizer. "
        "Sizes and tokenizer must then be left out",
    )
    tokenizer: TokenizerArguments = argument(
        PLAIN_TOKENIZER,
        help="tokenizer of sentences (requires `tokenizer.marks: end`)",
    )
    model: ParaphraserArguments = argument(ParaphraserArguments(), help="paraphrase generator")
    training: AveragedArguments = argument(
        AveragedArguments(epochs=15, learning_rate=5e-5, batch_size=64, label_smoothing=0.0),
        help="objective and optimization",
    )
    run: ParaphraseRunArguments = argument(
        ParaphraseRunArguments(), help="checkpoints, logs and model selection"
    )
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_recipe(self)
        check_marks(self.tokenizer, "end", "a paraphrase needs an end token")
        model = self.model
        refuse_keys_of_others(self, OWNERS, "model.kind")
        is_plain = model.kind == PARAPHRASER
        if is_plain and (model.template, model.writes) != (NONE, SENTENCE):
            raise must_be(
                "with model.kind paraphraser, model.template and model.writes",
                (model.template, model.writes),
                "none and sentence (or set model.kind to scpn)",
            )
        if model.writes != SENTENCE and model.template != TEMPLATE:
            raise must_be("model.template with model.writes parse", model.template, "template")
        if self.data.bpe is not None and model.writes != SENTENCE:
            raise must_be("data.bpe with model.writes parse", self.data.bpe, "left out")
        if self.start is not None:
            given = ParaphraserArguments(kind=SSRU, template=model.template, dropout=model.dropout)
            if (model, self.tokenizer) != (given, PLAIN_TOKENIZER):
                raise RecipeError(
                    f"The model given as start ({self.start}) already has a tokenizer and sizes. "
                    "Remove all keys of the sections tokenizer and model except model.kind, "
                    "model.template and model.dropout"
                )
        if model.tie and model.kind in STOCK:
            raise must_be(
                f"model.tie with model.kind {model.kind}",
                model.tie,
                "left out, because this kind always shares its table",
            )
        check_chosen_by_score(self.training, self.data.held_out, self.run)
