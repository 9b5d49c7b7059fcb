"""Recipe keys of translation models (thesis, 7.3).

Sizes follow the thesis unless a help text says otherwise. The optimizer is Adam. The thesis uses
Nesterov's method with renormalized gradients, as in `recipes/beyond-bleu-2019/mle.yaml`.
"""

from __future__ import annotations

from dataclasses import dataclass

from paraphrastic_hf.config.recipe import FILE, argument
from paraphrastic_hf.training.encoder.settings import (
    TokenizerArguments,
    check_marks,
    check_recipe,
    size_argument,
)
from paraphrastic_hf.training.engine.recipe import (
    HELD_OUT,
    NONE,
    RunArguments,
    must_be,
    refuse_keys_of_others,
    seed_argument,
)
from paraphrastic_hf.training.seq2seq.recipe import (
    AveragedArguments,
    ParallelArguments,
    check_chosen_by_score,
)

BLEU = "bleu"
OWNERS = {
    **dict.fromkeys(("model.embedding_size", "model.kernel_width"), ("gated_conv",)),
    **dict.fromkeys(("model.heads", "model.feed_forward"), ("marian",)),
}


@dataclass(frozen=True)
class TranslationData(ParallelArguments):
    held_out: int = argument(
        2000,
        help="number of pairs to hold out for selecting the checkpoint and annealing. Pairs that "
        "share a sentence with them are not trained on",
        at_least=0,
    )
    max_length: int = argument(
        100, help="maximum tokens per side of a pair to keep", at_least=1, at_most=2**31 - 1
    )


@dataclass(frozen=True)
class TranslatorArguments:
    kind: str = argument(
        "gated_conv",
        help="architecture. gated_conv: gated convolutions with attention in every decoder layer. "
        "marian: MarianMTModel of transformers, which CTranslate2 can convert",
        choices=("gated_conv", "marian"),
    )
    hidden_size: int = size_argument(256, help="number of dimensions of a hidden state")
    encoder_layers: int = argument(4, help="number of encoder layers", at_least=1, at_most=1000)
    decoder_layers: int = argument(3, help="number of decoder layers", at_least=1, at_most=1000)
    dropout: float = argument(0.2, help="dropout (not stated in the papers)", at_least=0, below=1)
    positions: int = argument(
        1024, help="maximum number of tokens that the model can read or write", at_least=2
    )
    tie: bool = argument(
        True,
        help="share one embedding table between encoder, decoder and output layer (thesis: three "
        "tables, marian: always shared)",
    )
    embedding_size: int | None = size_argument(
        None, help="gated_conv: number of dimensions of a token vector (default: model.hidden_size)"
    )
    kernel_width: int | None = argument(
        None, help="gated_conv: width of the convolutions in tokens, odd (default: 3)", at_least=1
    )
    heads: int | None = argument(
        None, help="marian: number of attention heads of a block (default: 4)", at_least=1
    )
    feed_forward: int | None = size_argument(
        None, help="marian: feed-forward units (default: 4 times model.hidden_size)"
    )


@dataclass(frozen=True)
class TranslationRunArguments(RunArguments):
    development: str = argument(
        HELD_OUT,
        help="score that selects the checkpoint. held_out: likelihood of held-out pairs. bleu: "
        "BLEU of greedy translations of 500 held-out pairs. FILE: likelihood of the pairs in a "
        "file, which has the columns of the first source. none: keep the last checkpoint",
        choices=(HELD_OUT, BLEU, NONE, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class TranslationRecipe:
    kind: str = argument("translation", help="kind of training", choices=("translation",))
    data: TranslationData = argument(TranslationData(), help="training data")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(
            vocab_size=40_000, lowercase=False, marks="end", character_coverage=0.9999
        ),
        help="tokenizer of both sides (tokenizer.marks must be end)",
    )
    model: TranslatorArguments = argument(TranslatorArguments(), help="translation model")
    training: AveragedArguments = argument(
        AveragedArguments(epochs=20, schedule="inverse_root", warmup_steps=1000, clip=1.0),
        help="objective and optimization",
    )
    run: TranslationRunArguments = argument(
        TranslationRunArguments(), help="checkpoints, logs and model selection"
    )
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_recipe(self)
        check_marks(self.tokenizer, "end", "a translation needs an end token")
        model, training, run = self.model, self.training, self.run
        refuse_keys_of_others(self, OWNERS, "model.kind")
        check_chosen_by_score(training, self.data.held_out, run)
        if self.data.max_length > model.positions:
            raise must_be("data.max_length", self.data.max_length, "at most model.positions")
