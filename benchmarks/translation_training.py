"""How fast translators train, beside `Seq2SeqTrainer` on the same Marian: target tokens a second of
the same German-English pairs, and what each then makes of held-out pairs, in one run.

* **marian** and **gated_conv** are `TrainingLoop` with `kind: translation`.
* **trainer** is `Seq2SeqTrainer` with batches by length and a collator, its Marian of the same
  width, depth, vocabulary and start.

All train in float32 once over the pairs, with as many tokens of both sides in a batch on average,
and score the whole vocabulary. They take turns in each repetition; figures are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from accelerate import Accelerator
from benchmarks.generative import Padder, Timed
from transformers import (
    DataCollatorForSeq2Seq,
    MarianMTModel,
    PrinterCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.training.kinds import Context, load_recipe
from paraphrastic_hf.training.translation.job import Translation
from paraphrastic_hf.training.translation.objective import nats_of_targets

RECIPES = Path(__file__).parents[1] / "recipes" / "beyond-bleu-2019"
NAMES = {"marian": "small-marian.yaml", "gated_conv": "small-mle.yaml"}
HELD_OUT = 200


class Setting:
    """One recipe, its tokenized pairs and a model at its start."""

    def __init__(self, name: str, args: argparse.Namespace, work: Path) -> None:
        options = [
            "--epochs",
            "1",
            "--average",
            "1",
            "--development",
            "none",
            "--log_every",
            "1000",
        ]
        options += ["--schedule", "inverse_root", "--warmup_steps", "20"]
        options += ["--anneal", "null", "--anneal_from", "null"]
        options += ["--batch_tokens", str(args.batch_tokens)]
        self.recipe = load_recipe(RECIPES / NAMES[name], options)
        self.kind = Translation(self.recipe, Context(data_root=args.data))
        self.kind.prepare(work)
        torch.manual_seed(1)
        self.model = self.kind.build(work)
        order = np.random.default_rng(0).permutation(len(self.kind.kept))[: args.pairs]
        self.kind.kept = self.kind.kept[order]

    def nats(self) -> float:
        """Nats a token of held-out pairs."""
        kind = self.kind
        pairs = kind.held_out[:HELD_OUT]
        nats = nats_of_targets(self.model, kind.corpus.sentences, pairs, kind.start, 2000)
        return float(nats.sum() / kind.corpus.sentences.lengths(pairs[:, 1]).sum())

    def target_tokens(self) -> int:
        """Tokens that are predicted in the run."""
        return int(self.kind.corpus.sentences.lengths(self.kind.kept)[:, 1].sum())


def train_ours(setting: Setting, folder: Path) -> None:
    """Train once over the pairs by this package's loop."""
    accelerator = Accelerator(cpu=True)
    objective = setting.kind.objective(setting.model, accelerator)
    loop = Timed(
        setting.model,
        setting.recipe.training,
        setting.recipe.run,
        seed=1,
        directory=folder,
        accelerator=accelerator,
        show_progress=False,
    )
    loop.train(objective)


def train_theirs(setting: Setting, folder: Path, batch_tokens: int) -> None:
    """Train a stock Marian once over the pairs by `Seq2SeqTrainer`, and put its weights in ours."""
    torch.manual_seed(1)
    marian = MarianMTModel(setting.model.config)
    texts = setting.kind.corpus.sentences
    rows = [
        {"input_ids": texts[a].tolist(), "labels": texts[b].tolist(), "length": len(texts[a])}
        for a, b in setting.kind.kept
    ]
    mean = np.mean([len(row["input_ids"]) + len(row["labels"]) for row in rows])
    given = setting.recipe.training
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=1,
        per_device_train_batch_size=max(1, round(batch_tokens / float(mean))),
        learning_rate=given.learning_rate,
        warmup_steps=20,
        lr_scheduler_type="inverse_sqrt",
        label_smoothing_factor=given.label_smoothing,
        train_sampling_strategy="group_by_length",
        max_grad_norm=given.clip or 1e9,
        adam_beta2=given.betas[1],
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
        seed=1,
    )
    collator = DataCollatorForSeq2Seq(Padder(), model=marian)
    trainer = Seq2SeqTrainer(marian, arguments, train_dataset=rows, data_collator=collator)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    setting.model.load_state_dict(marian.state_dict(), strict=False)


def measure(name: str, args: argparse.Namespace, place: Path) -> dict[str, float]:
    """The speed of one contender, and what it then makes of held-out pairs."""
    is_theirs = name == "trainer"
    setting = Setting("marian" if is_theirs else name, args, place.parent / "work")
    started, used = time.perf_counter(), time.process_time()
    if is_theirs:
        train_theirs(setting, place, args.batch_tokens)
    else:
        train_ours(setting, place)
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    return {
        "target_tokens_per_second": setting.target_tokens() / seconds,
        "target_tokens_per_cpu_second": setting.target_tokens() / processor,
        "held_out_nats_per_token": setting.nats(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="the folder of all data")
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--batch-tokens", type=int, default=2000, help="of both sides")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", required=True, help="folder of the results")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    results: dict[str, Any] = {
        "threads": args.threads,
        "pairs": args.pairs,
        "repetitions": args.repetitions,
        "load_average_before": os.getloadavg()[0],
        "machine": platform.processor() or platform.machine(),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for repetition in range(args.repetitions):
            for name in ("marian", "trainer", "gated_conv"):
                place = Path(folder) / f"{name}-{repetition}"
                place.mkdir()
                found.setdefault(name, []).append(measure(name, args, place))
                print(name, json.dumps(found[name][-1]), flush=True)
    for name, runs in found.items():
        results[name] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        speeds = [run["target_tokens_per_second"] for run in runs]
        results[name]["range"] = [min(speeds), max(speeds)]
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / "translation-training.json", results)


if __name__ == "__main__":
    main()
