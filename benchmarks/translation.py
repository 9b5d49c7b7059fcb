"""What minimum risk costs, beside the ways it would be written without this package, in one run.

* **risk**: a step of minimum risk training, beside the naive loop: for each sentence one
  `generate`, and for each candidate a scoring call and a forward pass; then the step.
* **cost**: SimiLE, SIM, Half, chrF and BLEU as costs of n-best lists, in candidates a second,
  beside sacrebleu's `sentence_score`, one candidate at a time.
* **mbr**: minimum Bayes risk over samples: seconds a sentence of the exact rule and of the mean
  vector, by each metric, and of drawing the samples.

The model is any encoder-decoder (`--model DIR`); the lists of `cost` and `mbr` are made by it. A
further part is a function in `PARTS`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from accelerate import Accelerator
from torch.nn import functional as F

from paraphrastic_hf.generation.bayes_risk import minimum_bayes_risk
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.metrics.costs import make_cost
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.metrics.utilities import make_utility
from paraphrastic_hf.training.kinds import Context, load_recipe
from paraphrastic_hf.training.minimum_risk.job import MinimumRisk
from paraphrastic_hf.training.minimum_risk.objective import Translations

RECIPE = Path(__file__).parents[1] / "recipes" / "beyond-bleu-2019" / "small-minimum-risk.yaml"


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long something takes, and what it gives."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def time_risk(args: argparse.Namespace) -> dict[str, Any]:
    """A step of ours over `--sentences`, and the same sentences one by one."""
    options = ["--start", args.model, "--held_out", "0", "--development", "none"]
    options += ["--training.batch_size", str(args.sentences), "--batch_tokens", "100000"]
    options += ["--count", str(args.candidates)]
    recipe = load_recipe(RECIPE, options)
    found: dict[str, Any] = {"sentences": args.sentences, "candidates": args.candidates}
    with tempfile.TemporaryDirectory() as folder:
        kind = MinimumRisk(recipe, Context(data_root=args.data))
        kind.prepare(Path(folder))
        model = kind.build(Path(folder))
        objective = kind.objective(model, Accelerator(cpu=True))
        objective.cache = None
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
                naive_loss(kind.translator, kind.kept, int(number), recipe).backward()
            optimizer.step()
            optimizer.zero_grad()

        chosen = ours()  # warm
        found["ours_seconds"], chosen = seconds_of(ours)
        few = chosen[: args.naive]
        spent, _ = seconds_of(lambda: naive(few))
        found["naive_seconds"] = spent / len(few) * len(chosen)
        found["naive_measured_on"] = len(few)
        found["times_as_fast"] = found["naive_seconds"] / found["ours_seconds"]
    return found


def naive_loss(
    translator: Translator, pairs: Translations, number: int, recipe: Any
) -> torch.Tensor:
    """The loss of one sentence as the equation reads: search, score each candidate, run each
    through the model."""
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
    scorer = naive_loss.__dict__.setdefault("scorer", SimileScorer(similarity="sentences"))
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
    """Sentences and references of the recipe's source."""
    from paraphrastic_hf.training.data.sources import read_sources

    (item,) = read_sources(load_recipe(RECIPE), args.data)
    english, german = zip(*item.pairs[-args.lines :], strict=True)
    return list(german), list(english)


def time_cost(args: argparse.Namespace) -> dict[str, Any]:
    """Candidates a second of each cost."""
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
        spent, _ = seconds_of(lambda cost=cost: cost(lists, references))  # type: ignore[misc]
        results[f"{name}_per_second"] = round(count / spent)
    for name, metric in (("bleu", BLEU(effective_order=True)), ("chrf", CHRF())):

        def one_by_one(metric: Any = metric) -> None:
            for texts, reference in zip(lists, references, strict=True):
                for text in texts:
                    metric.sentence_score(text, [reference])

        spent, _ = seconds_of(one_by_one)
        results[f"sacrebleu_{name}_per_second"] = round(count / spent)
    results["simile_times_sacrebleu_bleu"] = round(
        results["simile_per_second"] / results["sacrebleu_bleu_per_second"], 1
    )
    return results


def time_mbr(args: argparse.Namespace) -> dict[str, Any]:
    """Seconds a sentence to draw `--samples`, and to choose among them."""
    sources, _ = lines_of(args)
    translator = Translator.from_pretrained(args.model, device="cpu")
    lines = sources[: args.mbr_lines]
    spent, found = seconds_of(
        lambda: translator.translate(
            lines, outputs=args.samples, sample=True, max_tokens=40, scores=False
        )
    )
    results: dict[str, Any] = {"samples": args.samples, "drawing": spent / len(lines)}
    lists = [[each.text for each in one] for one in found]
    for name in ("simile", "sim", "bleu", "chrf"):
        utility = make_utility(name)
        minimum_bayes_risk(lists[:1], utility)
        for aggregate in (False, True) if name in ("simile", "sim") else (False,):
            spent, _ = seconds_of(
                lambda utility=utility, aggregate=aggregate: minimum_bayes_risk(  # type: ignore[misc]
                    lists, utility, aggregate=aggregate
                )
            )
            results[f"{name}{' by the mean' if aggregate else ''}"] = spent / len(lines)
    return results


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "risk": time_risk,
    "cost": time_cost,
    "mbr": time_mbr,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="the folder of all data")
    parser.add_argument("--model", required=True, help="an encoder-decoder of German to English")
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), default=list(PARTS))
    parser.add_argument("--sentences", type=int, default=32, help="of a step")
    parser.add_argument(
        "--naive", type=int, default=8, help="of them that the naive loop is run on"
    )
    parser.add_argument("--candidates", type=int, default=8, help="of a list")
    parser.add_argument("--lines", type=int, default=200, help="lists of part cost")
    parser.add_argument("--samples", type=int, default=64, help="of a sentence, for part mbr")
    parser.add_argument("--mbr-lines", type=int, default=20, help="sentences of part mbr")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", required=True, help="folder of the results")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    results: dict[str, Any] = {
        "threads": args.threads,
        "load_average_before": os.getloadavg()[0],
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "machine": platform.processor() or platform.machine(),
    }
    for name in args.parts:
        results[name] = PARTS[name](args)
        print(name, json.dumps(results[name], indent=1), flush=True)
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / "translation.json", results)


if __name__ == "__main__":
    main()
