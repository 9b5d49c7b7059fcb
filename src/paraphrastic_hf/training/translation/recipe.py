"""Recipe keys of translation models (thesis, 7.3).

Sizes follow the thesis unless a help text says otherwise. The optimizer is Adam. The thesis uses
Nesterov's method with renormalized gradients, as in `recipes/beyond-bleu-2019/mle.yaml`.
"""

from dataclasses import dataclass

from paraphrastic_hf.config.recipe import FILE, argument
from paraphrastic_hf.training.encoder.settings import (
    TokenizerArguments,
    check_marks,
    check_recipe,
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
    Seq2SeqArguments,
    check_chosen_by_score,
)

BLEU = "bleu"
OWNERS = {
    **dict.fromkeys(("model.embedding_size", "model.kernel_width"), ("gated_conv",)),
    **dict.fromkeys(("model.heads", "model.feed_forward"), ("marian",)),
}


@dataclass(frozen=True)
class TranslatorArguments(Seq2SeqArguments):
    kind: str = argument(
        "gated_conv",
        help="architecture. gated_conv: gated convolutions with attention in every decoder layer "
        "(thesis: model.tie false). marian: MarianMTModel of transformers, which CTranslate2 can "
        "convert",
        choices=("gated_conv", "marian"),
    )
    kernel_width: int | None = argument(
        None, help="gated_conv: width of the convolutions in tokens, odd (default: 3)", at_least=1
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
    data: ParallelArguments = argument(ParallelArguments(), help="training data")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(
            vocab_size=40_000, lowercase=False, marks="end", character_coverage=0.9999
        ),
        help="tokenizer of both sides (tokenizer.marks must be end)",
    )
    model: TranslatorArguments = argument(
        TranslatorArguments(
            hidden_size=256,
            encoder_layers=4,
            decoder_layers=3,
            dropout=0.2,
            tie=True,
            positions=1024,
        ),
        help="translation model",
    )
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
        refuse_keys_of_others(self, OWNERS, "model.kind")
        check_chosen_by_score(self.training, self.data.held_out, self.run)
        positions = self.model.positions
        if positions is not None and self.data.max_length > positions:
            raise must_be("data.max_length", self.data.max_length, "at most model.positions")
