"""Recipe keys of generative models of sentence pairs (thesis, 5.4 to 5.9).

Defaults follow the thesis (5.6.2) unless a help text says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from paraphrastic_hf.config.recipe import FILE, argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.recipe import DEVELOPMENT_SETS
from paraphrastic_hf.training.encoder.settings import TokenizerArguments, check_marks, check_recipe
from paraphrastic_hf.training.engine.recipe import (
    HELD_OUT,
    MORE_THAN_ONCE,
    DataArguments,
    RunArguments,
    TokenBatchArguments,
    must_be,
    seed_argument,
)


@dataclass(frozen=True)
class GenerativeData(DataArguments):
    ignored: ClassVar[Mapping[str, str]] = {
        "weight": MORE_THAN_ONCE,
        "swap": "Leave it out, because the languages determine the sides",
    }
    held_out: int = argument(
        2000,
        help="number of pairs to hold out. Pairs that share a sentence with them are not trained "
        "on. Likelihood and mutual information of the held-out pairs are logged",
        at_least=0,
    )
    language_exponent: float = argument(
        1.0,
        help="exponent for balancing language pairs. A pair of languages is sampled in proportion "
        "to its number of sentence pairs to this power (1: as in the data, 0: uniformly)",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True)
class LatentArguments:
    kind: str = argument(
        "bgt",
        help="bgt: separate encoders and decoders for each of two languages. mgt: one encoder and "
        "one decoder for any number of languages",
        choices=("bgt", "mgt"),
    )
    hidden_size: int = argument(
        1024, help="number of dimensions of a latent variable and of an embedding", at_least=1
    )
    state_size: int | None = argument(
        None, help="number of dimensions of a state, even (default: model.hidden_size)", at_least=2
    )
    encoder: str = argument(
        "transformer",
        help="architecture of the encoders: transformer, lstm (bidirectional, thesis 5.9) or "
        "average (mean token vector as in SP, not in the papers)",
        choices=("transformer", "lstm", "average"),
    )
    encoder_layers: int | None = argument(
        None,
        help="transformer: number of blocks of an encoder (default: 5). A single block scores 0.3 "
        "points lower (thesis Table 55)",
        at_least=1,
    )
    decoder: str = argument(
        "transformer", help="architecture of the decoders", choices=("transformer", "lstm")
    )
    decoder_layers: int = argument(1, help="transformer: number of blocks of a decoder", at_least=1)
    heads: int | None = argument(
        None, help="transformer: number of attention heads (default: bgt 8, mgt 16)", at_least=1
    )
    feed_forward: int | None = argument(
        None, help="transformer: feed-forward units (default: bgt 1024, mgt 2048)", at_least=1
    )
    dropout: float = argument(
        0.3, help="dropout probability (default: value of the released code)", at_least=0, below=1
    )
    latent_at: list[str] | None = argument(
        None,
        help="places where latent variables enter a decoder: any of word, hidden, attention and "
        "logit (thesis 5.9.1, Table 54). Default: bgt attention and logit, mgt logit",
    )
    reconstructs: list[str] | None = argument(
        None, help="languages to reconstruct, [] for none (default: all). mgt: all or none"
    )
    translates: list[str] | None = argument(
        None, help="bgt: languages to translate into, [] for none (default: both)"
    )
    translation_scorer: bool = argument(
        False,
        help="mgt: a translation has no language variable. true: it has its own output layer. "
        "false: it has the common one, with zeros in place of the variable",
    )
    language_variables: bool = argument(
        True, help="use one latent variable per language, for reconstruction"
    )
    variational: bool = argument(
        True,
        help="true: latent variables have a prior and are sampled from posteriors. false: they "
        "are plain vectors (BGT without prior, autoencoder, translation)",
    )
    adds_average: bool = argument(
        False,
        help="add the average token vector, as in SP, to the semantic mean. The encoder's own "
        "output is 0 at first (not in the papers)",
    )
    vectors: str | None = argument(
        None,
        help="trained encoder with the same vocabulary, such as SP. Its token vectors initialize "
        "the semantic encoder",
        names="weights",
    )


@dataclass(frozen=True)
class GenerativeTraining(TokenBatchArguments):
    label_smoothing: float = argument(
        0.1, help="label smoothing of translation (released code)", at_least=0, below=1
    )
    translation_weight: float = argument(
        1.0, help="weight of the translation loss, relative to the evidence lower bound", at_least=0
    )
    kl_weight: float = argument(
        1.0, help="final weight of KL(posterior || prior), 1 for the ELBO", at_least=0
    )
    kl_rise: float = argument(
        1.0,
        help="share of the run in which the KL weight rises linearly from 0 (thesis: in 65,536 "
        "steps, three to seven times the length of its runs)",
        at_least=0,
        at_most=1,
    )
    sample: bool = argument(
        True,
        help="true: decode from samples of the latent variables (thesis). false: decode from "
        "their means (released code)",
    )
    contrastive: float = argument(
        0.0,
        help="weight of a hinge loss that makes the semantic vectors of a pair closer to each "
        "other than to the nearest other sentence in the batch (0: no hinge, as in the papers)",
        at_least=0,
    )
    margin: float = argument(
        0.4, help="margin of the hinge, in cosine units", at_least=0, at_most=2
    )
    center: int = argument(
        0,
        help="number of training sentences, such as 10000, whose mean vector is subtracted from "
        "all sentence vectors for scoring and saving (0: no subtraction, as in the papers)",
        at_least=0,
    )
    aggressive: bool = argument(
        False,
        help="aggressive training: train only the encoders before each decoder step, until the "
        "mutual information on held-out pairs stops rising (thesis 5.9.2)",
    )
    decoders_first: int = argument(
        0,
        help="number of initial steps in which the semantic encoder (mgt: the only encoder) is "
        "frozen. Useful if this encoder is already trained (model.vectors or start)",
        at_least=0,
    )
    candidates: int | None = argument(
        None,
        help="sampled softmax: number of random vocabulary entries that represent all entries not "
        "in the batch (default: the whole vocabulary, as in the papers)",
        at_least=1,
    )

    def key_set_by_length(self) -> str | None:
        return super().key_set_by_length() or ("training.kl_rise" if self.kl_rise else None)


@dataclass(frozen=True)
class GenerativeRunArguments(RunArguments):
    development: str = argument(
        HELD_OUT,
        help="score that selects the checkpoint. held_out: likelihood of held-out pairs. clean: "
        "pairs that occur in no reported test set. clean-and-bitext: also held-out translations, "
        "for several languages. none: keep the last checkpoint. Other values are as for sentence "
        "encoders, such as a file of scored pairs",
        choices=(HELD_OUT, *DEVELOPMENT_SETS, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class GenerativeRecipe:
    kind: str = argument("generative", help="kind of training", choices=("generative",))
    data: GenerativeData = argument(GenerativeData(), help="training data")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(marks="end"), help="tokenizer. `tokenizer.marks` must be `end`"
    )
    model: LatentArguments = argument(LatentArguments(), help="generative model")
    training: GenerativeTraining = argument(
        GenerativeTraining(
            epochs=20,
            learning_rate=5e-4,
            betas=[0.9, 0.98],
            schedule="inverse_root",
            warmup_steps=4000,
        ),
        help="objective and optimization",
    )
    start: str | None = argument(
        None,
        help="trained generative model to continue from, with its tokenizer and sizes: directory "
        "or Hub repository. An mgt can be extended by languages",
        names="model",
    )
    run: GenerativeRunArguments = argument(
        GenerativeRunArguments(), help="checkpoints, logs and model selection"
    )
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_recipe(self)
        check_marks(self.tokenizer, "end", "a decoder needs an end token")
        model, training = self.model, self.training
        if self.start is not None and (self.tokenizer, model) != (
            TokenizerArguments(marks="end"),
            LatentArguments(),
        ):
            raise RecipeError(
                f"start ({self.start}) has its own sizes. Remove the sections tokenizer and model"
            )
        if model.kind == "mgt" and model.reconstructs:
            key = "model.reconstructs with model.kind mgt"
            raise must_be(key, model.reconstructs, "left out or []")
        if model.kind == "mgt" and model.translates is not None:
            raise must_be("model.translates with model.kind mgt", model.translates, "left out")
        if model.kind == "bgt" and model.translation_scorer:
            raise RecipeError(
                "Remove model.translation_scorer: it requires model.kind mgt, not bgt"
            )
        written = (model.reconstructs, model.translates)
        if self.needs_both_sides and not any(of is None or len(of) == 2 for of in written):
            raise RecipeError(
                f"{self.needs_both_sides} requires the semantic vectors of both sentences of a "
                "pair. Set model.translates or model.reconstructs to both languages, or remove "
                "this setting"
            )
        if self.run.development == HELD_OUT and not self.data.held_out:
            raise must_be(
                "data.held_out with run.development held_out", self.data.held_out, "at least 1"
            )
        if model.encoder != "transformer" and model.encoder_layers is not None:
            key = f"model.encoder_layers with model.encoder {model.encoder}"
            raise must_be(key, model.encoder_layers, "left out")
        if model.decoder == "lstm" and model.decoder_layers != 1:
            raise must_be("model.decoder_layers with model.decoder lstm", model.decoder_layers, "1")
        if training.aggressive and (
            not model.variational or not self.data.held_out or self.run.development == "none"
        ):
            raise must_be(
                "training.aggressive", True, "omitted without model.variational and data.held_out"
            )
        if training.aggressive and training.decoders_first:
            raise must_be(
                "training.decoders_first with training.aggressive", training.decoders_first, "0"
            )
        if not model.variational and training.kl_weight not in (0.0, 1.0):
            raise must_be(
                "training.kl_weight without model.variational", training.kl_weight, "left out"
            )

    @property
    def needs_both_sides(self) -> str:
        """First key of the recipe that needs the semantic vectors of both sides, or ""."""
        found = "training.contrastive" if self.training.contrastive else ""
        is_both = self.run.development == "clean-and-bitext"
        return found or ("run.development clean-and-bitext" if is_both else "")
