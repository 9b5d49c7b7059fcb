"""Every key that a contrastive recipe has alone: its objective, and how evenly languages are seen.

Defaults are the thesis's (5.2.1) unless a help text says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.engine.recipe import (
    DataArguments,
    OptimizationArguments,
    must_be,
)

HINGES = ("two_sided", "one_sided")


@dataclass(frozen=True)
class ContrastiveTraining(OptimizationArguments):
    """The contrastive objective and its optimization."""

    epochs: int = argument(
        10,
        help="passes over the data; 0 saves the random table as it is",
        at_least=0,
        at_most=1_000_000,
    )
    batch_size: int = argument(128, help="pairs in a mini-batch (at-scale release)", at_least=1)
    mega_batch: int = argument(
        60, help="mini-batches from whose sentences negatives are chosen", at_least=1
    )
    anneal_steps: int = argument(
        150,
        help="mini-batches before the mega-batch grows by one; 0 for full size at once",
        at_least=0,
    )
    negatives: str = argument("max", help="choice of negatives", choices=("max", "mix", "rand"))
    pool: str = argument(
        "partner_language",
        help="the sentences that an anchor's negative is chosen from: partner_language, all of "
        "the batch in its partner's language; opposite_side, those of the other column, whatever "
        "their language, as in the released code",
        choices=("partner_language", "opposite_side"),
    )
    exclude: str = argument(
        "duplicates",
        help="which sentences are never negatives of each other: duplicates, equal sentences; "
        "clusters, all that a chain of pairs links together; partners, a sentence and every "
        "sentence that it, or one equal to it, is paired with; partners_and_lemmas, also the "
        "lemmas of those (3.5.1)",
        choices=("duplicates", "clusters", "partners", "partners_and_lemmas"),
    )
    similarity: str = argument(
        "cosine",
        help="what the hinge and the choice of negatives compare by; dot products in 3.5.1",
        choices=("cosine", "dot"),
    )
    objective: str = argument(
        "margin",
        help="margin, a hinge on a chosen negative; infonce, a softmax over all of the mini-batch, "
        "which chooses no negatives; both, their sum",
        choices=("margin", "infonce", "both"),
    )
    margin: float = argument(0.4, help="margin of the hinge, in units of the similarity")
    hinge: str = argument(
        "two_sided",
        help="two_sided holds each side of a pair apart from a negative of its own, as 3.1.3 "
        "prints and all released code does; one_sided the first side alone, as 4.4, 5.1.1 and "
        "7.2.1 print",
        choices=HINGES,
    )
    temperature: float = argument(
        0.05, help="temperature of the softmax over cosines of infonce", above=0
    )
    matryoshka: list[int] = argument(
        [], help="leading dimensions that are trained as embeddings too, such as [64, 128, 256]"
    )
    scramble: float = argument(
        0.0,
        help="probability that the tokens of a pair's sentences are put in random order; an "
        "average does not see the order",
        at_least=0,
        at_most=1,
    )
    scramble_before_negatives: bool = argument(
        False,
        help="negatives are chosen among the sentences as they were scrambled, as in the 2017 "
        "paper (4.2); otherwise among sentences in their own order",
    )
    scramble_swaps: float = argument(
        0.0,
        help="how many pairs of tokens change places in a scrambled sentence, on average (Poisson; "
        "2017, footnote 5); 0 puts all tokens in random order",
        at_least=0,
    )
    scramble_sides: str = argument(
        "together",
        help="whether both sentences of a pair are scrambled together, or each by a chance of its "
        "own (2017, footnote 5)",
        choices=("together", "apart"),
    )
    first_epoch: str = argument(
        "shuffled",
        help="order of the first epoch; a file's own is a curriculum if its best pairs come first "
        "(3.7.2.4)",
        choices=("shuffled", "file_order"),
    )
    freeze: str = argument(
        "none",
        help="what stays as it starts: the tables of token vectors (3.2.2.1)",
        choices=("none", "tables"),
    )
    lambda_w: float = argument(
        0.0, help="weight of the L2 penalty that pulls token vectors to their start", at_least=0
    )
    lambda_c: float = argument(
        0.0,
        help="weight of the L2 penalty on all other parameters; those of an identity-RNN, and "
        "with `start` all, are pulled to their start",
        at_least=0,
    )
    lambda_all: float = argument(
        0.0, help="weight of the L2 penalty on every parameter (CHARAGRAM, 3.7.1)", at_least=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        cosine = self.similarity == "cosine"
        if not 0 <= self.margin <= (2 if cosine else math.inf):
            raise must_be("training.margin", self.margin, "from 0 to 2" if cosine else "0 or more")
        if self.objective != "margin" and self.mega_batch != 1:
            raise must_be(
                f"training.mega_batch with objective {self.objective}",
                self.mega_batch,
                "1: the softmax is over a mini-batch, and batch_size its width",
            )
        if self.objective == "infonce" and self.hinge != "two_sided":
            raise must_be(
                "training.hinge with objective infonce",
                self.hinge,
                "left out: infonce has no hinge",
            )
        if self.objective != "margin" and not cosine:
            raise must_be(
                f"training.similarity with objective {self.objective}", self.similarity, "cosine"
            )
        if not all((a < b for a, b in pairwise([0, *self.matryoshka]))):
            raise must_be(
                "training.matryoshka",
                self.matryoshka,
                "ascending numbers of dimensions, each at least 1",
            )
        if not self.scramble and (self.scramble_swaps or self.scramble_sides == "apart"):
            raise RecipeError(
                "training.scramble_swaps and scramble_sides say how sentences are scrambled, and "
                "training.scramble is 0: set it, to 1 for every sentence, or leave them out"
            )
        if self.lambda_w and self.freeze == "tables":
            raise RecipeError(
                "training.lambda_w regularizes what training.freeze tables keeps: leave one of "
                "them out"
            )


@dataclass(frozen=True)
class ContrastiveData(DataArguments):
    """Which pairs to train on."""

    language_exponent: float = argument(
        1.0,
        help="with several languages: an epoch has of every two, and of each alone, as many pairs "
        "as the weights of their sources give to this power, in proportion; 1 for just these, 0 "
        "for equally many",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True, kw_only=True)
class ContrastiveRecipe(EncoderRecipe):
    """A whole contrastive training run."""

    kind: str = argument(
        "contrastive", help="what is trained: a sentence encoder", choices=("contrastive",)
    )
    data: ContrastiveData = argument(ContrastiveData(), help="what to train on")
    training: ContrastiveTraining = argument(ContrastiveTraining(), help="the objective")

    def __post_init__(self) -> None:
        super().__post_init__()
        training, finish = self.training, self.finish
        if training.matryoshka and (finish.whiten or finish.dimension or finish.nested_dimensions):
            raise RecipeError(
                "training.matryoshka trains the leading dimensions, and finish.whiten, dimension "
                "and spread make others lead: leave one of them out"
            )
        if training.matryoshka and self.parts and self.combine == "concatenate":
            raise RecipeError(
                "the leading dimensions of parts side by side are the first part's alone: leave "
                "training.matryoshka out, or add the parts"
            )

    @property
    def keeps_tables(self) -> bool:
        """Whether the tables of token vectors stay as they start."""
        return self.training.freeze == "tables"
