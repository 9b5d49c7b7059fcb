"""Speed of minimum risk training and minimum Bayes risk decoding, compared with plain loops.

* **risk**: a step of minimum risk training (search, cost, one pass). The naive loop runs one
  `generate` per sentence, and a scoring call and a forward pass per candidate.
* **cost**: SimiLE, SIM, Half, chrF and BLEU as costs of n-best lists, in candidates per second,
  compared with sacrebleu's `sentence_score`, one candidate at a time.
* **mbr**: seconds per sentence to draw samples, and to choose among them by each metric, exactly
  and by the mean vector.

The model makes the lists of `cost` and `mbr`.

Quick test: --sentences 4 --naive 1 --lines 4 --samples 4 --mbr-lines 2
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from common.report import options, run_parts, save
from common.timing import timed
from torch.nn import functional as F

from paraphrastic_hf.generation.bayes_risk import minimum_bayes_risk
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.metrics.costs import make_cost
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.metrics.utilities import make_utility
from paraphrastic_hf.training.kinds import Context, load_recipe
from paraphrastic_hf.training.minimum_risk.job import MinimumRisk
from paraphrastic_hf.training.minimum_risk.objective import Translations

RECIPE = Path(__file__).parents[1] / "recipes" / "beyond-bleu-2019" / "small-minimum-risk.yaml"


def time_risk(args: argparse.Namespace) -> dict[str, Any]:
    """Time a step of ours, and the same sentences one by one."""
    more = ["--start", str(args.model), "--held_out", "0", "--development", "none"]
    more += ["--training.batch_size", str(args.sentences), "--batch_tokens", "100000"]
    more += ["--count", str(args.candidates)]
    recipe = load_recipe(RECIPE, more)
    found: dict[str, Any] = {"sentences": args.sentences, "candidates": args.candidates}
    with tempfile.TemporaryDirectory() as folder:
        kind = MinimumRisk(recipe, Context(data_root=str(args.data)))
        kind.prepare(Path(folder))
        model = kind.build(Path(folder))
        objective = kind.objective(model, Accelerator(cpu=True))
        objective.cache = None
        scorer = SimileScorer(similarity="sentences")
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

        def ours() -> np.ndarray:
            (step,) = objective.batches(0, 0, 0)
            (batch,) = step.batches
            objective.loss(model, batch, 0, 0).total.backward()
            optimizer.step()
            optimizer.zero_grad()
            return batch.own

        def naive(numbers: np.ndarray) -> None:
            for number in numbers:
                naive_loss(kind.translator, kind.kept, int(number), recipe, scorer).backward()
            optimizer.step()
            optimizer.zero_grad()

        chosen = ours()  # warm-up
        found["ours_seconds"], chosen = timed(ours)
        few = chosen[: args.naive]
        spent, _ = timed(naive, few)
        found["naive_seconds"] = spent / len(few) * len(chosen)
        found["naive_measured_on"] = len(few)
        found["times_as_fast"] = found["naive_seconds"] / found["ours_seconds"]
    return found


def naive_loss(
    translator: Translator, pairs: Translations, number: int, recipe: Any, scorer: SimileScorer
) -> torch.Tensor:
    """Return the loss of one sentence as in the equation, one candidate at a time."""
    model, tokenizer, args = translator.model, translator.tokenizer, recipe.training
    source = torch.tensor([pairs.sources[number].tolist()])
    (reference,) = pairs.references(np.array([number]))
    model.eval()
    count = recipe.candidates.count
    with torch.no_grad():
        written = model.generate(
            source,
            num_beams=count,
            num_return_sequences=count,
            do_sample=False,
            max_length=int(1.5 * source.shape[1]) + 6,
        )
    model.train()
    scores, costs = [], []
    for row in written:
        labels = row[None, 1:]
        text = tokenizer.decode(row, skip_special_tokens=True)
        costs.append(100 * (1 - float(scorer.score([text], [reference]).simile[0])))
        logits = model(source, labels=labels).logits
        is_token = labels[0] != tokenizer.pad_token_id
        scores.append(-F.cross_entropy(logits[0][is_token], labels[0][is_token]))
    risk = (torch.stack(scores).softmax(0) * torch.tensor(costs)).sum()
    target = torch.tensor([pairs.targets[number].tolist()])
    logits = model(source, labels=target).logits
    nats = F.cross_entropy(logits[0], target[0], label_smoothing=args.label_smoothing)
    return args.gamma * nats + (1 - args.gamma) * risk


def lines_of(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return sentences and references of the recipe's source."""
    from paraphrastic_hf.training.data.sources import read_sources

    (item,) = read_sources(load_recipe(RECIPE), str(args.data))
    english, german = zip(*item.pairs[-args.lines :], strict=True)
    return list(german), list(english)


def time_cost(args: argparse.Namespace) -> dict[str, Any]:
    """Return candidates per second of each cost."""
    from sacrebleu.metrics import BLEU, CHRF  # type: ignore[attr-defined]

    sources, references = lines_of(args)
    translator = Translator.from_pretrained(args.model, device="cpu")
    n = args.candidates
    found = translator.translate(sources, beams=n, outputs=n, max_tokens=40, scores=False)
    lists = [[each.text for each in one] for one in found]
    count = len(lists) * n
    results: dict[str, Any] = {"candidates": count}
    for name in ("simile", "sim", "half", "bleu", "chrf"):
        cost = make_cost(name)
        cost(lists[:4], references[:4])
        spent, _ = timed(cost, lists, references)
        results[f"{name}_per_second"] = round(count / spent)
    for name, metric in (("bleu", BLEU(effective_order=True)), ("chrf", CHRF())):

        def one_by_one(metric: Any = metric) -> None:
            for texts, reference in zip(lists, references, strict=True):
                for text in texts:
                    metric.sentence_score(text, [reference])

        spent, _ = timed(one_by_one)
        results[f"sacrebleu_{name}_per_second"] = round(count / spent)
    return results


def time_mbr(args: argparse.Namespace) -> dict[str, Any]:
    """Return seconds per sentence to draw `--samples`, and to choose among them."""
    sources, _ = lines_of(args)
    translator = Translator.from_pretrained(args.model, device="cpu")
    lines = sources[: args.mbr_lines]
    draw = partial(translator.translate, sample=True, max_tokens=40, scores=False)
    spent, found = timed(partial(draw, outputs=args.samples), lines)
    results: dict[str, Any] = {"samples": args.samples, "drawing": spent / len(lines)}
    lists = [[each.text for each in one] for one in found]
    for name in ("simile", "sim", "bleu", "chrf"):
        utility = make_utility(name)
        minimum_bayes_risk(lists[:1], utility)
        for aggregate in (False, True) if name in ("simile", "sim") else (False,):
            choose = partial(minimum_bayes_risk, aggregate=aggregate)
            spent, _ = timed(choose, lists, utility)
            results[f"{name}{' by the mean' if aggregate else ''}"] = spent / len(lines)
    return results


def main() -> None:
    parts = {"risk": time_risk, "cost": time_cost, "mbr": time_mbr}
    parser = options(__doc__, threads=2, parts=parts, data=True)
    option = parser.add_argument
    option("--model", type=Path, required=True, help="German to English encoder-decoder")
    option("--sentences", type=int, default=32, help="sentences per step")
    option("--naive", type=int, default=8, help="sentences for the naive loop")
    option("--candidates", type=int, default=8, help="candidates per sentence")
    option("--lines", type=int, default=200, help="sentences for cost")
    option("--samples", type=int, default=64, help="samples per sentence for mbr")
    option("--mbr-lines", type=int, default=20, help="sentences for mbr")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    save(args, run_parts(args, parts, "torch", "transformers", "sacrebleu"))


if __name__ == "__main__":
    main()
