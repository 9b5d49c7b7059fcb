"""Every key that the recipe of minimum risk training has alone (thesis, 7.3).

Defaults are the thesis's unless a help text says otherwise. It trains with Nesterov's gradient;
Adam, which is the default here, needs no rate of its own for every model that training starts from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.config.recipe import FILE, argument, check_bounds
from paraphrastic_hf.generation.writing import MOST_BEAMS
from paraphrastic_hf.metrics.costs import METRICS
from paraphrastic_hf.metrics.names import SIMILARITIES
from paraphrastic_hf.metrics.scorer import DEFAULT_MODEL
from paraphrastic_hf.metrics.semantic import ALPHA, PENALTIES
from paraphrastic_hf.training.encoder.settings import TokenizerArguments
from paraphrastic_hf.training.engine.recipe import (
    RunArguments,
    check_source,
    must_be,
    seed_argument,
)
from paraphrastic_hf.training.seq2seq.recipe import (
    AnnealedArguments,
    ParallelArguments,
    check_chosen_by_score,
)

PROBABILITIES = ("sequence", "token", "released")  # as in `losses/minimum_risk.py`, without torch
REFERENCES = ("as_found", "excluded", "added")
DEVELOPMENT = ("expected_cost", "first", "none")


@dataclass(frozen=True)
class RiskData(ParallelArguments):
    """Which translations to train on."""

    held_out: int = argument(
        500,
        help="pairs that are not trained on, nor is any other pair with one of their sentences; "
        "the costs of their candidates are logged",
        at_least=0,
    )
    max_length: int = argument(
        100, help="leave out pairs with a side of more tokens", at_least=2, at_most=2**31 - 1
    )


@dataclass(frozen=True)
class CandidateArguments:
    """The translations of a sentence among which risk is shared."""

    count: int = argument(8, help="candidates of a sentence", at_least=2, at_most=1024)
    search: str = argument(
        "beam",
        help="beam for the best of a beam search, sample to draw them; a sentence that is drawn "
        "twice is one candidate",
        choices=("beam", "sample"),
    )
    beams: int | None = argument(
        None,
        help="beam: beginnings kept at each step; count if absent",
        at_least=2,
        at_most=MOST_BEAMS,
    )
    top_p: float = argument(
        1.0,
        help="sample: draw among the likeliest tokens that share this much of the probability",
        above=0,
        at_most=1,
    )
    temperature: float = argument(
        1.0,
        help="sample: below 1 for likelier tokens, above 1 for others",
        at_least=0.001,
        at_most=1000,
    )
    max_ratio: float = argument(
        1.5,
        help="a candidate has at most so many tokens for each token of its source, and 5 more "
        "(released code)",
        above=0,
    )
    reference: str = argument(
        "as_found",
        help="what becomes of the reference: as_found, a candidate where the search finds it; "
        "excluded, taken out there; added, a candidate always",
        choices=REFERENCES,
    )
    batch_size: int = argument(
        64,
        help="sentences that are searched at a time; half as many where memory runs out",
        at_least=1,
    )
    refresh_steps: int = argument(
        1,
        help="steps whose candidates are made at once, by the weights at the first of them",
        at_least=1,
        at_most=1000,
    )


@dataclass(frozen=True)
class CostArguments:
    """What a candidate costs, from 0 for the best to 1."""

    metric: str = argument(
        "simile",
        help="simile, sim, bleu (of sentences, smoothed), half (of bleu and simile), chrf; or "
        "function and evaluate, any other",
        choices=METRICS,
    )
    model: str = argument(
        DEFAULT_MODEL,
        help="simile, sim, half: the model of SIM, as `paraphrastic simile` takes it",
        names="weights",
    )
    similarity: str = argument(
        "sentences",
        help="simile, sim, half: what SIM compares, as `paraphrastic simile` takes it; sentences, "
        "as in the thesis, or windows",
        choices=SIMILARITIES,
    )
    alpha: float = argument(
        ALPHA, help="simile, half: weight of the length penalty (7.2.1)", at_least=0
    )
    penalty: str = argument(
        "both",
        help="simile, half: which candidates are marked down for their length: both, shorter and "
        "longer ones; excess, longer ones; brevity, shorter ones; none, which is sim (7.2.1)",
        choices=PENALTIES,
    )
    name: str | None = argument(
        None,
        help="function: module:function, which gets candidates and as many references and gives a "
        "number for each; evaluate: what evaluate.load takes",
    )
    field: str | None = argument(
        None, help="evaluate: the key of its result that has a number for each candidate"
    )
    options: dict[str, Any] = argument({}, help="evaluate: further arguments of its compute")
    limits: list[float] = argument(
        [0.0, 1.0], help="function, evaluate: the least and the greatest number it gives"
    )
    higher_is_better: bool = argument(
        True, help="function, evaluate: whether the greatest number is of the best candidates"
    )


@dataclass(frozen=True)
class MinimumRiskTraining(AnnealedArguments):
    """The mixture of risk and likelihood, and its optimization."""

    batch_size: int = argument(
        32, help="most sentences in a batch; each has all its candidates beside it", at_least=1
    )
    batch_tokens: int = argument(
        1000,
        help="most tokens in a batch, sources and references with their padding; candidates come "
        "beside them (released code)",
        at_least=1,
    )
    learning_rate: float = argument(
        1e-4, help="size of a step of the optimizer, where warm-up ends", above=0
    )
    clip: float = argument(
        1.0,
        help="largest norm of the whole gradient, which is scaled down to it; 0 for no clipping",
        at_least=0,
    )
    gamma: float = argument(
        0.3,
        help="share of the likelihood of the references in the loss; the thesis chooses among 0.2, "
        "0.3 and 0.4, and the released code has 0.3",
        at_least=0,
        below=1,
    )
    cost_scale: float = argument(
        100.0, help="what costs are multiplied with, as in released code", above=0
    )
    probability: str = argument(
        "sequence",
        help="what the share of a candidate goes by: sequence, its probability (7.3); token, the "
        "mean of its tokens' logarithms; released, the exponential of that",
        choices=PROBABILITIES,
    )


@dataclass(frozen=True)
class MinimumRiskRunArguments(RunArguments):
    """Checkpoints, logs and the choice of the weights that are kept."""

    evaluate_every: int = argument(
        200, help="mini-batches between evaluations; the end of an epoch evaluates too", at_least=1
    )
    checkpoint_every: int = argument(200, help="mini-batches between checkpoints", at_least=1)
    log_every: int = argument(20, help="mini-batches between log lines", at_least=1)
    development: str = argument(
        "expected_cost",
        help="what picks the checkpoint, among held-out pairs: expected_cost of their candidates; "
        "first, what the likeliest candidate costs; a file, the expected cost of its pairs, which "
        "is read like the first source; or none, which keeps the last",
        choices=(*DEVELOPMENT, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class MinimumRiskRecipe:
    """A whole training run of a translation model by the risk of its own translations."""

    kind: str = argument(
        "minimum_risk",
        help="what is trained: any encoder-decoder, by the expected cost of its translations",
        choices=("minimum_risk",),
    )
    start: str | None = argument(
        None,
        help="the model that training starts from, with its tokenizer: a directory or a Hub "
        "repository that AutoModelForSeq2SeqLM loads",
        names="model",
    )
    from_code: str | None = argument(
        None, help="of tokenizers that must be told the language of a text: that of the sources"
    )
    to_code: str | None = argument(
        None, help="of models that write several languages: the one to write, by its code"
    )
    prefix: str = argument(
        "", help="text before every source, as T5 wants it: 'translate German to English: '"
    )
    data: RiskData = argument(RiskData(), help="what to train on")
    candidates: CandidateArguments = argument(CandidateArguments(), help="how they are found")
    cost: CostArguments = argument(CostArguments(), help="what a candidate costs")
    training: MinimumRiskTraining = argument(MinimumRiskTraining(), help="the objective")
    run: MinimumRiskRunArguments = argument(MinimumRiskRunArguments(), help="checkpoints and logs")
    seed: int = seed_argument()

    @property
    def tokenizer(self) -> TokenizerArguments:
        """Nothing is asked of reading the sources: the tokenizer is the start's."""
        return TokenizerArguments()

    def __post_init__(self) -> None:
        check_bounds(self)
        for source in self.data.sources:
            check_source(source, self.data.ignored)
        candidates, cost = self.candidates, self.cost
        beams = candidates.beams
        needs_name = cost.metric in ("function", "evaluate")
        if beams is not None and beams < candidates.count:
            raise must_be(
                f"candidates.beams with {candidates.count} candidates",
                beams,
                f"at least {candidates.count}: no n-best list is longer than the beam; or sample",
            )
        if candidates.count > MOST_BEAMS and candidates.search != "sample":
            raise must_be(
                "candidates.count with candidates.search beam",
                candidates.count,
                f"at most {MOST_BEAMS:,}",
            )
        if beams is not None and candidates.search != "beam":
            raise must_be("candidates.beams with candidates.search sample", beams, "left out")
        if needs_name != (cost.name is not None):
            raise must_be(
                f"cost.name with cost.metric {cost.metric}",
                cost.name,
                "given" if needs_name else "left out",
            )
        if len(cost.limits) != 2 or not cost.limits[0] < cost.limits[1]:
            raise must_be("cost.limits", cost.limits, "two numbers, the least and the greatest")
        check_chosen_by_score(self.training, self.data.held_out, self.run.development)
