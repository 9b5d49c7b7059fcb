"""Recipe keys of minimum risk training (thesis, 7.3).

Defaults follow the thesis unless a help text says otherwise. The optimizer is Adam, not Nesterov's
method as in the thesis, because Adam's learning rate suits any initial model.
"""

from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.config.recipe import FILE, argument
from paraphrastic_hf.generation.writing import MOST_BEAMS
from paraphrastic_hf.metrics.costs import METRICS
from paraphrastic_hf.metrics.names import SIMILARITIES
from paraphrastic_hf.metrics.scorer import DEFAULT_MODEL
from paraphrastic_hf.metrics.semantic import ALPHA, PENALTIES
from paraphrastic_hf.training.encoder.settings import TokenizerArguments, check_recipe
from paraphrastic_hf.training.engine.recipe import RunArguments, must_be, seed_argument
from paraphrastic_hf.training.seq2seq.recipe import (
    AnnealedArguments,
    ParallelArguments,
    check_chosen_by_score,
)

PROBABILITIES = ("sequence", "token", "released")
REFERENCES = ("as_found", "excluded", "added")
DEVELOPMENT = ("expected_cost", "first", "none")


@dataclass(frozen=True)
class CandidateArguments:
    count: int = argument(8, help="number of candidates per sentence", at_least=2, at_most=1024)
    search: str = argument(
        "beam",
        help="generation of candidates: beam search (beam) or random sampling without duplicates "
        "(sample)",
        choices=("beam", "sample"),
    )
    beams: int | None = argument(
        None, help="beam: beam size (default: candidates.count)", at_least=2, at_most=MOST_BEAMS
    )
    top_p: float = argument(
        1.0, help="sample: probability mass of nucleus sampling", above=0, at_most=1
    )
    temperature: float = argument(
        1.0, help="sample: softmax temperature", at_least=0.001, at_most=1000
    )
    max_ratio: float = argument(
        1.5, help="maximum length of a candidate: this times the source length, plus 5", above=0
    )
    reference: str = argument(
        "as_found",
        help="whether the reference is a candidate. as_found: if it is generated. excluded: never. "
        "added: always",
        choices=REFERENCES,
    )
    batch_size: int = argument(
        64, help="number of sentences for which candidates are generated together", at_least=1
    )


@dataclass(frozen=True)
class CostArguments:
    """Settings of the cost of a candidate, from 0 (best) to 1."""

    metric: str = argument(
        "simile",
        help="metric: simile, sim, bleu (smoothed, per sentence), half (mean of bleu and simile), "
        "chrf, or function or evaluate for any other metric",
        choices=METRICS,
    )
    model: str = argument(
        DEFAULT_MODEL,
        help="SIM model of the metrics simile, sim and half, as in `paraphrastic simile`",
        names="weights",
    )
    similarity: str = argument(
        "sentences",
        help="what SIM compares in the metrics simile, sim and half: whole sentences (thesis), or "
        "windows of tokens",
        choices=SIMILARITIES,
    )
    alpha: float = argument(
        ALPHA, help="exponent of the length penalty, for `simile` and `half` (7.2.1)", at_least=0
    )
    penalty: str = argument(
        "both",
        help="candidates whose length the metrics simile and half penalize (thesis 7.2.1): shorter "
        "and longer ones (both), longer (excess), shorter (brevity), or none, which makes simile "
        "equal to sim",
        choices=PENALTIES,
    )
    name: str | None = argument(
        None,
        help="with metric `function`: `module:name` of a function that scores a list of "
        "candidates and their references. With metric `evaluate`: argument of evaluate.load",
    )
    field: str | None = argument(
        None,
        help="with metric `evaluate`: key of the result that contains one score per candidate",
    )
    options: dict[str, Any] = argument(
        {}, help="with metric `evaluate`: additional arguments of compute"
    )
    limits: list[float] = argument(
        [0.0, 1.0], help="lowest and highest score of the metrics function and evaluate"
    )
    higher_is_better: bool = argument(
        True, help="whether higher is better, for the metrics function and evaluate"
    )


@dataclass(frozen=True)
class MinimumRiskTraining(AnnealedArguments):
    batch_size: int = argument(
        32, help="maximum number of sentences in a batch, not counting candidates", at_least=1
    )
    batch_tokens: int = argument(
        1000,
        help="maximum tokens of sources and references per batch, padding included",
        at_least=1,
    )
    gamma: float = argument(
        0.3,
        help="weight of the likelihood of the references. The risk has weight 1 - training.gamma "
        "(thesis: 0.2 to 0.4, released code: 0.3)",
        at_least=0,
        below=1,
    )
    cost_scale: float = argument(
        100.0, help="factor of the costs in the loss (released code: 100, thesis: 1)", above=0
    )
    probability: str = argument(
        "sequence",
        help="score in the softmax over candidates. sequence: log probability (thesis 7.3). "
        "token: log probability per token. released: exponential of the log probability per "
        "token, as in the released code",
        choices=PROBABILITIES,
    )


@dataclass(frozen=True)
class MinimumRiskRunArguments(RunArguments):
    development: str = argument(
        "expected_cost",
        help="score that selects the checkpoint. expected_cost: expected cost on held-out pairs. "
        "first: cost of the most likely candidates. FILE: expected cost on the pairs of a file, "
        "which has the columns of the first source. none: keep the last checkpoint",
        choices=(*DEVELOPMENT, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class MinimumRiskRecipe:
    kind: str = argument(
        "minimum_risk", help="kind of training: minimum risk", choices=("minimum_risk",)
    )
    start: str | None = argument(
        None, help="translation model to improve: directory or Hub repository", names="model"
    )
    from_code: str | None = argument(None, help="source language, for tokenizers that need one")
    to_code: str | None = argument(None, help="target language, for models that write several")
    prefix: str = argument(
        "", help="text to prepend to every source, such as 'translate German to English: ' for T5"
    )
    data: ParallelArguments = argument(
        ParallelArguments(held_out=500),
        help="training data. The costs of the candidates for held-out pairs are logged and select "
        "the checkpoint",
    )
    candidates: CandidateArguments = argument(CandidateArguments(), help="candidate translations")
    cost: CostArguments = argument(CostArguments(), help="cost of a candidate")
    training: MinimumRiskTraining = argument(
        MinimumRiskTraining(learning_rate=1e-4, clip=1.0), help="objective and optimization"
    )
    run: MinimumRiskRunArguments = argument(
        MinimumRiskRunArguments(evaluate_every=200, checkpoint_every=200, log_every=20),
        help="checkpoints, logs and model selection",
    )
    seed: int = seed_argument()

    @property
    def tokenizer(self) -> TokenizerArguments:
        """Unused default settings. The tokenizer is the one of `start`."""
        return TokenizerArguments()

    def __post_init__(self) -> None:
        check_recipe(self)
        candidates, cost = self.candidates, self.cost
        beams = candidates.beams
        needs_name = cost.metric in ("function", "evaluate")
        if beams is not None and beams < candidates.count:
            raise must_be("candidates.beams", beams, f"at least {candidates.count}")
        if candidates.count > MOST_BEAMS and candidates.search != "sample":
            raise must_be(
                "candidates.count with `candidates.search: beam`",
                candidates.count,
                f"at most {MOST_BEAMS:,}",
            )
        if beams is not None and candidates.search != "beam":
            raise must_be("candidates.beams with `candidates.search: sample`", beams, "left out")
        if needs_name != (cost.name is not None):
            raise must_be(
                f"cost.name with `cost.metric: {cost.metric}`",
                cost.name,
                "given" if needs_name else "left out",
            )
        if len(cost.limits) != 2 or not cost.limits[0] < cost.limits[1]:
            raise must_be("cost.limits", cost.limits, "the lowest and the highest number")
        check_chosen_by_score(self.training, self.data.held_out, self.run)
