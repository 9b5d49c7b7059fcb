"""Every key that the recipe of a generative model of sentence pairs has alone (thesis, 5.4 to 5.9).

Defaults are the thesis's (5.6.2) unless a help text says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from paraphrastic_hf.config.recipe import FILE, argument, check_bounds
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.recipe import DEVELOPMENT_SETS
from paraphrastic_hf.training.encoder.settings import TokenizerArguments, check_marks
from paraphrastic_hf.training.engine.recipe import (
    HELD_OUT,
    MORE_THAN_ONCE,
    DataArguments,
    RunArguments,
    TokenBatchArguments,
    check_source,
    must_be,
    seed_argument,
)


@dataclass(frozen=True)
class GenerativeData(DataArguments):
    """Which translations to train on."""

    ignored: ClassVar[Mapping[str, str]] = {
        "weight": MORE_THAN_ONCE,
        "swap": "sides go by their languages; leave it out",
    }
    held_out: int = argument(
        2000,
        help="pairs that are not trained on, nor is any other pair with one of their sentences; "
        "how well the model predicts them is logged, and what its variables hold",
        at_least=0,
    )
    language_exponent: float = argument(
        1.0,
        help="with several pairs of languages: an epoch has of each as many translations as there "
        "are to this power, in proportion; 1 for all of them once, 0 for equally many of each",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True)
class LatentArguments:
    """The generative model."""

    kind: str = argument(
        "bgt",
        help="bgt, encoders and decoders for each of two languages; or mgt, one encoder and one "
        "decoder for any number of languages",
        choices=("bgt", "mgt"),
    )
    hidden_size: int = argument(
        1024, help="dimensions of a latent variable, and so of a sentence vector", at_least=1
    )
    state_size: int | None = argument(
        None,
        help="dimensions of the states of encoders and decoders; hidden_size if absent",
        at_least=2,
    )
    encoder: str = argument(
        "transformer",
        help="architecture of the encoders; an LSTM reads both ways (5.9); an average is that of "
        "the tokens' vectors, as of SP, and no paper has it",
        choices=("transformer", "lstm", "average"),
    )
    encoder_layers: int | None = argument(
        None,
        help="transformer: blocks of an encoder; 5 if absent, one costs 0.3 points (Table 55)",
        at_least=1,
    )
    decoder: str = argument(
        "transformer", help="architecture of the decoders", choices=("transformer", "lstm")
    )
    decoder_layers: int = argument(1, help="transformer: blocks of a decoder", at_least=1)
    heads: int | None = argument(
        None, help="transformer: attention heads; 8 if absent, of an mgt 16", at_least=1
    )
    feed_forward: int | None = argument(
        None,
        help="transformer: units of the feed-forward layer; 1024 if absent, of an mgt 2048",
        at_least=1,
    )
    dropout: float = argument(
        0.3,
        help="probability that a number is zeroed in training (released code)",
        at_least=0,
        below=1,
    )
    latent_at: list[str] | None = argument(
        None,
        help="where the variables enter a decoder: word, hidden, attention, logit, or several "
        "(5.9.1, Table 54); attention and logit if absent, of an mgt logit",
    )
    reconstructs: list[str] | None = argument(
        None,
        help="languages that are written from the sentence itself; all if absent, [] for none; of "
        "an mgt all or none",
    )
    translates: list[str] | None = argument(
        None,
        help="bgt: languages that are translated into; all if absent, [] for none",
    )
    translation_scorer: bool = argument(
        False,
        help="mgt: score the tokens of translations by an output layer of their own; if not, zeros "
        "stand in for the language variable that they lack",
    )
    language_variables: bool = argument(
        True, help="a variable for each language, beside the semantic one, to reconstruct from"
    )
    variational: bool = argument(
        True,
        help="variables are drawn from a posterior that is pulled to a prior; if not, each is a "
        "vector (BGT without prior, autoencoder, translation)",
    )
    adds_average: bool = argument(
        False,
        help="the mean of the semantic variable is the average of the tokens' vectors, as in SP, "
        "and what the encoder adds to it, at first nothing; no paper has this",
    )
    vectors: str | None = argument(
        None,
        help="a trained model of pieces, such as an SP, whose vectors the semantic encoder's table "
        "starts from",
        names="weights",
    )


@dataclass(frozen=True)
class GenerativeTraining(TokenBatchArguments):
    """The evidence lower bound, what is added to it, and their optimization."""

    epochs: int = argument(20, help="passes over the data", at_least=0, at_most=1_000_000)
    learning_rate: float = argument(
        5e-4, help="size of a step of the optimizer, where warm-up ends", above=0
    )
    betas: list[float] = argument(
        [0.9, 0.98],
        help="adam: decay of the averages of the gradient and of its square",
        at_least=0,
        below=1,
    )
    label_smoothing: float = argument(
        0.1, help="of translation; reconstruction has none (released code)", at_least=0, below=1
    )
    translation_weight: float = argument(
        1.0, help="weight of the translations beside the lower bound", at_least=0
    )
    kl_weight: float = argument(
        1.0,
        help="weight of KL(posterior || prior) at the end of its rise; 1 is the lower bound itself",
        at_least=0,
    )
    kl_rise: float = argument(
        1.0,
        help="share of the run in which that weight rises from 0, in a straight line; in the "
        "thesis it rises to 1 in 65,536 steps, of which a run has a seventh to a third",
        at_least=0,
        at_most=1,
    )
    sample: bool = argument(
        True, help="decoders read a draw of each variable (thesis); if not, its mean (released)"
    )
    contrastive: float = argument(
        0.0,
        help="weight of a hinge on the semantic variables of a pair and of the nearest other "
        "sentence of the batch, beside the lower bound; the papers have none",
        at_least=0,
    )
    margin: float = argument(
        0.4, help="margin of that hinge, in units of the cosine", at_least=0, at_most=2
    )
    center: int = argument(
        0,
        help="sentences of training whose mean vector is taken from all sentence vectors when the "
        "model is scored and saved, such as 10000; the papers take none",
        at_least=0,
    )
    aggressive: bool = argument(
        False,
        help="let the encoders take steps alone before each step of the decoders, until held-out "
        "pairs show no more information in the variables (5.9.2)",
    )
    decoders_first: int = argument(
        0,
        help="steps at the start in which the encoder of the meaning (of an mgt, its one encoder) "
        "stays as it is, while decoders learn to read it: for one that begins trained, by vectors "
        "or start",
        at_least=0,
    )
    candidates: int | None = argument(
        None,
        help="score the pieces of the batch and a random sample of so many others, which stand "
        "for the rest; all of the vocabulary if absent, as in the papers",
        at_least=1,
    )

    def key_set_by_length(self) -> str | None:
        return super().key_set_by_length() or ("training.kl_rise" if self.kl_rise else None)


@dataclass(frozen=True)
class GenerativeRunArguments(RunArguments):
    """Checkpoints, logs and the choice of the weights that are kept."""

    development: str = argument(
        "clean",
        help="what picks the checkpoint: held_out, the likelihood of the held-out pairs; or scored "
        "sentence pairs, of which clean has none that is reported; clean-and-bitext, also "
        "translations that are held out of training, for models of several languages; or a file of "
        "your own pairs, as `evaluate --pairs` takes it",
        choices=(HELD_OUT, *DEVELOPMENT_SETS, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class GenerativeRecipe:
    """A whole training run of a generative model of sentence pairs."""

    kind: str = argument(
        "generative",
        help="what is trained: a generative model of translations",
        choices=("generative",),
    )
    data: GenerativeData = argument(GenerativeData(), help="what to train on")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(marks="end"), help="how text becomes ids; sentences must have an end"
    )
    model: LatentArguments = argument(LatentArguments(), help="the model")
    training: GenerativeTraining = argument(
        GenerativeTraining(schedule="inverse_root", warmup_steps=4000), help="the objective"
    )
    start: str | None = argument(
        None,
        help="a trained generative model to go on from, a directory or a Hub repository, with its "
        "tokenizer and its sizes; an mgt takes in the languages that it lacks",
        names="model",
    )
    run: GenerativeRunArguments = argument(GenerativeRunArguments(), help="checkpoints and logs")
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_bounds(self)
        for source in self.data.sources:
            check_source(source, self.data.ignored)
        check_marks(self.tokenizer, "end", "a decoder begins after the end of the sentence before")
        model, training = self.model, self.training
        if self.start is not None and (self.tokenizer, model) != (
            TokenizerArguments(marks="end"),
            LatentArguments(),
        ):
            raise RecipeError(
                f"start ({self.start}) has a tokenizer and a model of its own: leave tokenizer and "
                "model out"
            )
        if model.kind == "mgt":
            _refuse_of_mgt(model)
        elif model.translation_scorer:
            raise RecipeError(
                "model.translation_scorer is a key of mgt: decoders of a bgt have one each"
            )
        written = (model.reconstructs, model.translates)
        if self.needs_both_sides and not any(of is None or len(of) == 2 for of in written):
            raise RecipeError(
                f"{self.needs_both_sides} needs the meaning of both sides of a pair: translate "
                "into both languages, or reconstruct both, or leave it out"
            )
        if self.run.development == HELD_OUT and not self.data.held_out:
            raise must_be(
                "data.held_out with run.development held_out",
                self.data.held_out,
                "at least 1, or set run.development to none",
            )
        if model.encoder != "transformer" and model.encoder_layers is not None:
            raise must_be(
                f"model.encoder_layers of an {model.encoder}",
                model.encoder_layers,
                "absent or null: it has one, in both directions"
                if model.encoder == "lstm"
                else "absent or null: it has none",
            )
        if model.decoder == "lstm" and model.decoder_layers != 1:
            raise must_be("model.decoder_layers of an lstm", model.decoder_layers, "1: it has one")
        if model.state_size is not None and model.state_size % 2 != 0:
            raise must_be("model.state_size", model.state_size, "even")
        if training.aggressive and (
            not model.variational or not self.data.held_out or self.run.development == "none"
        ):
            raise must_be(
                "training.aggressive",
                True,
                "left out, unless model.variational, data.held_out and run.development tell when "
                "to end it",
            )
        if training.aggressive and training.decoders_first:
            raise must_be(
                "training.decoders_first beside aggressive",
                training.decoders_first,
                "0: there encoders and decoders take turns",
            )
        if not model.variational and training.kl_weight not in (0.0, 1.0):
            raise must_be(
                "training.kl_weight without model.variational",
                training.kl_weight,
                "left out: variables that are vectors have no prior",
            )

    @property
    def needs_both_sides(self) -> str:
        """The first setting that needs the meaning of both sides of a pair; nothing if none is."""
        found = "training.contrastive" if self.training.contrastive else ""
        is_both = self.run.development == "clean-and-bitext"
        return found or ("run.development clean-and-bitext" if is_both else "")


def _refuse_of_mgt(model: LatentArguments) -> None:
    """Refuse what one encoder and decoder of several languages have no use for."""
    if model.reconstructs:
        raise must_be(
            "model.reconstructs of an mgt",
            model.reconstructs,
            "absent, for all languages, or [], for none",
        )
    if model.translates is not None:
        raise must_be(
            "model.translates of an mgt",
            model.translates,
            "left out: it translates into all its languages",
        )
    if "lstm" in (model.encoder, model.decoder):
        raise must_be(
            "model.encoder and model.decoder of an mgt",
            f"{model.encoder}, {model.decoder}",
            "transformer, or the encoder average",
        )
