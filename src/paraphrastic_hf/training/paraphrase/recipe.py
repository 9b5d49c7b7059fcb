"""Every key that the recipe of a paraphrase generator has alone (thesis, 4.6 and chapter 6).

Sizes and optimization are those of the released SCPN unless a help text says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from paraphrastic_hf.config.recipe import FILE, argument, check_bounds
from paraphrastic_hf.training.encoder.settings import (
    MOST_DIMENSIONS,
    TokenizerArguments,
    check_marks,
)
from paraphrastic_hf.training.engine.recipe import (
    HELD_OUT,
    MORE_THAN_ONCE,
    NONE,
    DataArguments,
    RunArguments,
    check_source,
    must_be,
    refuse_keys_of_others,
    seed_argument,
)
from paraphrastic_hf.training.seq2seq.recipe import AveragedArguments, check_chosen_by_score

SENTENCE, PARSE, TEMPLATE = "sentence", "parse", "template"
SCPN, PARAPHRASER, STOCK = "scpn", "paraphraser", ("marian", "bart")
RECURRENT = ("embedding_size", "template_embedding_size", "template_hidden_size", "copy")
TRANSFORMER = ("encoder_layers", "heads", "feed_forward", "positions")
OF_KIND = {
    SCPN: RECURRENT,
    PARAPHRASER: ("embedding_size",),
    **dict.fromkeys(STOCK, TRANSFORMER),
}


@dataclass(frozen=True)
class ParaphraseData(DataArguments):
    """Which pairs to train on: sentence1, sentence2, and tree1, tree2 where parses are read."""

    ignored: ClassVar[Mapping[str, str]] = {
        "weight": MORE_THAN_ONCE,
        "swap": "data.both_directions trains on each pair both ways; leave it out",
    }
    both_directions: bool = argument(
        True, help="train on each pair both ways (6.2.2); else the second sentence is written"
    )
    differing: bool = argument(
        True,
        help="leave out pairs whose parses are the same (released code); with false, and with "
        "model.template none, pairs need no parses",
    )
    max_template: int = argument(
        300, help="leave out pairs with a parse of more tokens", at_least=1, at_most=2**31 - 1
    )
    max_length: int = argument(
        100, help="leave out pairs with a sentence of more tokens", at_least=1, at_most=2**31 - 1
    )
    bpe: str | None = argument(
        None,
        help="a file of byte pair codes, such as the released scpn/bpe.codes, in the place of the "
        "tokenizer that is trained; relative to the data root",
    )
    held_out: int = argument(
        2000,
        help="pairs that are not trained on, nor is any other pair with one of their sentences; "
        "they choose the checkpoint",
        at_least=0,
    )


@dataclass(frozen=True)
class ParaphraserArguments:
    """The encoder-decoder."""

    kind: str = argument(
        SCPN,
        help="scpn, LSTMs steered by a parse; paraphraser, the same without parse and copies "
        "(4.6); marian or bart, transformers' own classes, which read a sentence, <sep> and the "
        "parse as one text",
        choices=(SCPN, PARAPHRASER, *STOCK),
    )
    writes: str = argument(
        SENTENCE,
        help="sentence; or parse, for a parse generator, which reads the parse of the sentence",
        choices=(SENTENCE, PARSE),
    )
    template: str = argument(
        PARSE,
        help="what is read beside the source, of what is written: its whole parse; its template, "
        "the top two levels; or none, which is the thesis's model without z",
        choices=(PARSE, TEMPLATE, NONE),
    )
    hidden_size: int = argument(512, help="numbers of a state", at_least=1, at_most=MOST_DIMENSIONS)
    decoder_layers: int = argument(2, help="layers that write", at_least=1, at_most=1000)
    dropout: float = argument(
        0.0,
        help="probability that a number is zeroed in training (the thesis states none)",
        at_least=0,
        below=1,
    )
    tie: bool = argument(False, help="one table of tokens for reading and for the output layer")
    copy: bool | None = argument(
        None, help="scpn: tokens of the source may be copied; true if absent"
    )
    embedding_size: int | None = argument(
        None,
        help="scpn, paraphraser: numbers of a token's vector; 300 if absent",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )
    template_embedding_size: int | None = argument(
        None,
        help="scpn: numbers of the vector of a parse's token; 56 if absent",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )
    template_hidden_size: int | None = argument(
        None,
        help="scpn: numbers of a state of what reads the parse; 128 if absent",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )
    encoder_layers: int | None = argument(
        None, help="marian, bart: blocks that read; as many as write if absent", at_least=1
    )
    heads: int | None = argument(
        None, help="marian, bart: attention heads of a block; 4 if absent", at_least=1
    )
    feed_forward: int | None = argument(
        None,
        help="marian, bart: units of a block's feed-forward layer; 4 times hidden_size if absent",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )
    positions: int | None = argument(
        None, help="marian, bart: most tokens of a text; 512 if absent", at_least=2
    )


@dataclass(frozen=True)
class ParaphraseTraining(AveragedArguments):
    """Negative log-likelihood and its optimization."""

    epochs: int = argument(15, help="passes over the data", at_least=0)
    label_smoothing: float = argument(
        0.0,
        help="share of the target probability that is spread over the vocabulary",
        at_least=0,
        below=1,
    )


@dataclass(frozen=True)
class ParaphraseRunArguments(RunArguments):
    """Checkpoints, logs and the choice of the weights that are kept."""

    development: str = argument(
        HELD_OUT,
        help="what picks the checkpoint: held_out, the likelihood of held-out pairs; a file, that "
        "of its pairs, which is read like the first source; none keeps the last",
        choices=(HELD_OUT, NONE, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class ParaphraseRecipe:
    """A whole training run of a paraphrase generator."""

    kind: str = argument(
        "paraphrase", help="what is trained: a paraphrase generator", choices=("paraphrase",)
    )
    data: ParaphraseData = argument(ParaphraseData(), help="what to train on")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(
            vocab_size=32_000, lowercase=True, marks="end", character_coverage=0.9999
        ),
        help="how sentences become ids; parses have a vocabulary of their own",
    )
    model: ParaphraserArguments = argument(ParaphraserArguments(), help="the model")
    training: ParaphraseTraining = argument(
        ParaphraseTraining(learning_rate=5e-5, batch_size=64), help="the objective"
    )
    run: ParaphraseRunArguments = argument(ParaphraseRunArguments(), help="checkpoints and logs")
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_bounds(self)
        for source in self.data.sources:
            check_source(source, self.data.ignored)
        check_marks(self.tokenizer, "end", "a paraphrase is written until its end")
        model, training, run = self.model, self.training, self.run
        refuse_keys_of_others("model", model, OF_KIND)
        is_plain = model.kind == PARAPHRASER
        if is_plain and (model.template, model.writes) != (NONE, SENTENCE):
            raise must_be(
                "model.template and model.writes of a paraphraser",
                (model.template, model.writes),
                "none and sentence: what is steered by a parse is kind scpn",
            )
        if model.writes != SENTENCE and model.template != TEMPLATE:
            raise must_be(
                "model.template with model.writes parse",
                model.template,
                "template: a parse generator fills a template",
            )
        if self.data.bpe is not None and model.writes != SENTENCE:
            raise must_be(
                "data.bpe with model.writes parse",
                self.data.bpe,
                "left out: parses have a vocabulary of their own",
            )
        if model.tie and model.kind in STOCK:
            raise must_be(f"model.tie of {model.kind}", model.tie, "left out: it has one table")
        check_chosen_by_score(training, self.data.held_out, run.development)
        if run.keep_checkpoints < training.average:
            raise must_be(
                f"run.keep_checkpoints with training.average {training.average}",
                run.keep_checkpoints,
                "at least as large",
            )
