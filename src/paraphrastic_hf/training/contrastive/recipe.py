"""Recipe keys of contrastive training: objective and sampling of languages.

Defaults follow the thesis (5.2.1) unless a help text says otherwise.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.engine.recipe import DataArguments, OptimizationArguments, must_be


@dataclass(frozen=True)
class ContrastiveTraining(OptimizationArguments):
    batch_size: int = argument(
        128, help="number of pairs per mini-batch (value of the at-scale release)", at_least=1
    )
    mega_batch: int = argument(
        60,
        help="number of mini-batches in a mega-batch, from which negatives are selected",
        at_least=1,
    )
    anneal_steps: int = argument(
        150, help="steps until the mega-batch grows by a mini-batch (0: full size)", at_least=0
    )
    negatives: str = argument(
        "max",
        help="negative of a sentence: most similar (max), random (rand) or either (mix) candidate",
        choices=("max", "mix", "rand"),
    )
    pool: str = argument(
        "partner_language",
        help="mega-batch sentences that can be negatives. partner_language: those in the partner's "
        "language. opposite_side: those in the partner's column, as in the released code",
        choices=("partner_language", "opposite_side"),
    )
    exclude: str = argument(
        "duplicates",
        help="sentences that are never negatives of each other. duplicates: equal sentences. "
        "partners: duplicates, and partners of equal sentences. partners_and_lemmas: partners, and "
        "sentences equal to the lemmas of a partner (thesis 3.5.1). clusters: all that are "
        "connected by a chain of pairs",
        choices=("duplicates", "clusters", "partners", "partners_and_lemmas"),
    )
    similarity: str = argument(
        "cosine",
        help="similarity for the hinge and to choose negatives (3.5.1: dot)",
        choices=("cosine", "dot"),
    )
    objective: str = argument(
        "margin",
        help="loss: hinge against a selected negative (margin), softmax over the mini-batch "
        "(infonce), or their sum (both). The last two require training.mega_batch 1",
        choices=("margin", "infonce", "both"),
    )
    margin: float = argument(0.4, help="margin of the hinge, in units of the similarity")
    hinge: str = argument(
        "two_sided",
        help="sentences that get a negative: both of a pair (thesis 3.1.3, released code), or "
        "only the first (thesis 4.4, 5.1.1, 7.2.1)",
        choices=("two_sided", "one_sided"),
    )
    temperature: float = argument(0.05, help="infonce: temperature of the softmax", above=0)
    matryoshka: list[int] = argument(
        [],
        help="sizes of prefixes of the embedding to train too, ascending, such as [64, 128, 256]",
    )
    scramble: float = argument(
        0.0, help="probability of shuffling the tokens of a pair", at_least=0, at_most=1
    )
    scramble_before_negatives: bool = argument(
        False, help="compare shuffled sentences to select negatives (2017 paper, 4.2)"
    )
    scramble_swaps: float = argument(
        0.0,
        help="mean number of token swaps in a scrambled sentence (2017 paper, footnote 5). 0 "
        "shuffles all tokens",
        at_least=0,
    )
    scramble_sides: str = argument(
        "together",
        help="scramble both sentences of a pair or neither, or decide for each (2017 paper, "
        "footnote 5)",
        choices=("together", "apart"),
    )
    first_epoch: str = argument(
        "shuffled",
        help="order of the pairs in the first epoch. file_order: a curriculum (thesis 3.7.2.4)",
        choices=("shuffled", "file_order"),
    )
    freeze: str = argument(
        "none",
        help="parameters to freeze (tables of token vectors: thesis 3.2.2.1)",
        choices=("none", "tables"),
    )
    lambda_w: float = argument(
        0.0, help="weight of the L2 penalty toward the initial token vectors", at_least=0
    )
    lambda_c: float = argument(
        0.0,
        help="weight of the L2 penalty on the other parameters, toward 0, or toward the initial "
        "values if `start` is set or the encoder is an identity-RNN",
        at_least=0,
    )
    lambda_all: float = argument(
        0.0, help="weight of the L2 penalty on all parameters (CHARAGRAM, thesis 3.7.1)", at_least=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        cosine = self.similarity == "cosine"
        if not 0 <= self.margin <= (2 if cosine else math.inf):
            raise must_be("training.margin", self.margin, "from 0 to 2" if cosine else "0 or more")
        if self.objective != "margin" and self.mega_batch != 1:
            key = f"training.mega_batch with training.objective {self.objective}"
            raise must_be(key, self.mega_batch, "1 (the softmax covers one mini-batch)")
        if self.objective == "infonce" and self.hinge != "two_sided":
            raise must_be("training.hinge with training.objective infonce", self.hinge, "left out")
        if self.objective != "margin" and not cosine:
            key = f"training.similarity with training.objective {self.objective}"
            raise must_be(key, self.similarity, "cosine")
        if not all(a < b for a, b in pairwise([0, *self.matryoshka])):
            raise must_be("training.matryoshka", self.matryoshka, "ascending, each at least 1")
        if not self.scramble and (self.scramble_swaps or self.scramble_sides == "apart"):
            raise RecipeError(
                "training.scramble_swaps and training.scramble_sides require training.scramble "
                "above 0. Set training.scramble, such as 1 (every sentence), or remove the other "
                "two keys"
            )
        if self.lambda_w and self.freeze == "tables":
            raise RecipeError(
                "training.lambda_w penalizes tables that training.freeze keeps fixed. Remove one"
            )


@dataclass(frozen=True)
class ContrastiveData(DataArguments):
    language_exponent: float = argument(
        1.0,
        help="exponent for balancing language pairs (1: in proportion to the data, 0: uniform)",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True, kw_only=True)
class ContrastiveRecipe(EncoderRecipe):
    kind: str = argument(
        "contrastive", help="kind of training: sentence encoder, on pairs", choices=("contrastive",)
    )
    data: ContrastiveData = argument(ContrastiveData(), help="training data")
    training: ContrastiveTraining = argument(
        ContrastiveTraining(), help="objective and optimization"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        training, finish = self.training, self.finish
        if training.matryoshka and (finish.whiten or finish.dimension or finish.nested_dimensions):
            raise RecipeError(
                "training.matryoshka orders the dimensions of an embedding, but finish.whiten, "
                "finish.dimension and finish.nested_dimensions would change this order. Remove "
                "training.matryoshka or the finish keys"
            )
        if training.matryoshka and self.parts and self.combine == "concatenate":
            raise RecipeError(
                "training.matryoshka would train only the first of the concatenated parts. "
                "Remove training.matryoshka, or set combine to add"
            )

    @property
    def keeps_tables(self) -> bool:
        return self.training.freeze == "tables"
