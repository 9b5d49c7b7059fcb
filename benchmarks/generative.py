"""Pairs and tokens per second of training the bilingual generative transformer, beside a plain loop
and beside `Seq2SeqTrainer`, in one run, each with its loss after equal numbers of pairs.

* **ours** is `TrainingLoop` with `GenerativeObjective`.
* **plain** is the same model written as the equations are: every decoder scores the whole
  vocabulary from [state; v] token by token, Adam over every number, torch's own products and
  dropout, batches in random order padded to their longest sentence.
* **levers** are ours with one of them taken away: candidates, the latent's product once a
  sentence, batches by length, one encoder layer for two, row-sparse tables, products by oneDNN.
  **bfloat16** is one added: ours with products in bfloat16, for processors that have it.
* **Seq2SeqTrainer** trains a `MarianMTModel` of the same width, depth, heads, feed-forward size,
  vocabulary and tokens a step; ours is then Eng. Trans., the same model but for cross-attention.

All see the same pairs once, in fp32 but for what says bfloat16. Losses are nats a token of held-out
pairs over the whole vocabulary, in evaluation mode; for BGT the mean over its tasks.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    DataCollatorForSeq2Seq,
    MarianConfig,
    MarianMTModel,
    PrinterCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from paraphrastic_hf.generation.gauges import measure
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.layers import product
from paraphrastic_hf.layers.embedding import rows_of
from paraphrastic_hf.layers.latent_decoder import Scorer
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.training.data import batching, bitexts
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.engine.run_folder import new_accelerator
from paraphrastic_hf.training.generative.job import Generative
from paraphrastic_hf.training.kinds import Context, load_recipe

RECIPE = Path(__file__).parents[1] / "recipes" / "bilingual-generative-2020" / "small-bgt.yaml"
TRANSLATION = RECIPE.with_name("small-english-translation.yaml")
OURS, BFLOAT16 = ("ours", "ours, bfloat16"), ("--training.precision", "bf16")


class Timed(TrainingLoop):
    """Without checkpoints and evaluation, which the others do not have."""

    def _between_steps(self, *_: Any) -> None:
        pass


class Setting:
    """One recipe, its tokenized pairs and a model at its start."""

    def __init__(self, recipe: Path, work: Path, args: argparse.Namespace, *more: str) -> None:
        options = ["--held_out", "500", "--epochs", "1", "--development", "none", *more]
        options += ["--batch_tokens", str(args.batch_tokens), "--accumulate", "1"]
        options += ["--hidden_size", "512", "--state_size", "256", "--feed_forward", "512"]
        options += ["--warmup_steps", "20", "--schedule", "inverse_root", "--log_every", "1000"]
        self.recipe = load_recipe(recipe, options)
        self.kind = Generative(self.recipe, Context(data_root=args.data))
        self.kind.prepare(work)
        torch.manual_seed(1)
        self.model: LatentModel = self.kind.build(work)
        order = np.random.default_rng(0).permutation(len(self.kind.kept))
        self.kind.kept = self.kind.kept.select(order[: args.pairs])

    def loss(self) -> float:
        """Nats a token of held-out pairs."""
        kind = self.kind
        length = self.recipe.data.max_length
        held_out = kind.held_out.select(np.arange(200)).grouped()
        return -measure(self.model, kind.corpus.sentences, held_out, length).likelihood

    def tokens(self, side: int | None = None) -> int:
        """Tokens of the pairs, of both sides or one."""
        kept = self.kind.kept.sides
        sides = kept if side is None else kept[:, side]
        return int(self.kind.corpus.sentences.lengths(sides).sum())


def run_ours(setting: Setting, folder: Path) -> float:
    """Seconds to train once over the pairs."""
    recipe = setting.recipe
    accelerator = new_accelerator(recipe.training.precision)
    objective = setting.kind.objective(setting.model, accelerator)
    loop = Timed(
        setting.model,
        recipe.training,
        recipe.run,
        seed=1,
        directory=folder,
        accelerator=accelerator,
        show_progress=False,
    )
    started = time.perf_counter()
    loop.train(objective)
    loop._settle()
    return time.perf_counter() - started


def run_plain(setting: Setting, folder: Path) -> float:
    """Seconds of the plain loop over the same pairs."""
    model, kind, recipe = setting.model, setting.kind, setting.recipe
    rate, warm_up = recipe.training.learning_rate, recipe.training.warmup_steps
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    order = np.random.default_rng(1).permutation(len(kind.kept))
    model.train()
    started = time.perf_counter()
    batches = list(_random_batches(kind, order, recipe.training.batch_tokens))
    for step, batch in enumerate(batches):
        sides = []
        for side in range(2):
            ids, mask = kind.corpus.sentences.padded(batch[:, side], recipe.data.max_length)
            sides.append((torch.from_numpy(ids), torch.from_numpy(mask > 0)))
        weight = recipe.training.kl_weight * (step + 1) / len(batches)
        loss = _plain_loss(model, sides, weight, recipe.training.label_smoothing) / len(batch)
        for group in optimizer.param_groups:
            group["lr"] = rate * min((step + 1) / warm_up, (warm_up / (step + 1)) ** 0.5)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 25)
        optimizer.step()
    return time.perf_counter() - started


def _random_batches(kind: Any, order: np.ndarray, tokens: int) -> Iterator[np.ndarray]:
    """Batches of random pairs within the budget, padding included."""
    batch: list[int] = []
    longest = np.zeros(2, np.int64)
    for pair in order:
        lengths = np.maximum(longest, kind.corpus.sentences.lengths(kind.kept.sides[pair]))
        if batch and (len(batch) + 1) * lengths.sum() > tokens:
            yield kind.kept.sides[batch]
            batch, lengths = [], kind.corpus.sentences.lengths(kind.kept.sides[pair])
        batch.append(int(pair))
        longest = lengths
    yield kind.kept.sides[batch]


def _plain_loss(
    model: LatentModel, sides: Sequence[tuple[Tensor, Tensor]], kl_weight: float, smoothing: float
) -> Tensor:
    """The loss as the thesis writes it, a sum over the batch."""
    flat = [(ids[mask], mask.sum(1)) for ids, mask in sides]
    semantic = [model.posterior("semantic", *side) for side in flat]
    draws = [of.sample() for of in semantic]
    chosen = (torch.arange(len(sides[0][0])) % 2)[:, None].bool()
    shared = torch.where(chosen, draws[1], draws[0])
    total = kl_weight * sum(of.kl().sum() for of in semantic) / 2
    for number, language in enumerate(model.config.languages):
        ids, mask = sides[number]
        own = model.posterior(language, *flat[number])
        total = total + kl_weight * own.kl().sum()
        for task, latent, share in (
            (f"reconstruct_{language}", torch.cat([own.sample(), shared], 1), 0.0),
            (f"translate_{language}", draws[1 - number], smoothing),
        ):
            decoder = model.decoder_of(task)
            states = decoder(model.shifted(ids, task), latent)
            beside = latent[:, None].expand(-1, ids.shape[1], -1)
            logits = torch.cat([states, beside], -1)[mask] @ decoder.scorer.weight.weight.T
            total = total + F.cross_entropy(
                logits, ids[mask], reduction="sum", label_smoothing=share
            )
    return total


def run_marian(setting: Setting, folder: Path, batch_tokens: int) -> tuple[float, float]:
    """Seconds of `Seq2SeqTrainer` over the same English to French pairs, and nats a token."""
    config, kind = setting.model.config, setting.kind
    end = config.decoder_start_token_id
    torch.manual_seed(1)
    marian = MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.width,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.num_attention_heads,
            decoder_attention_heads=config.num_attention_heads,
            encoder_ffn_dim=config.intermediate_size,
            decoder_ffn_dim=config.intermediate_size,
            dropout=config.dropout,
            max_position_embeddings=128,
            pad_token_id=0,
            eos_token_id=end,
            decoder_start_token_id=end,
            forced_eos_token_id=end,
        )
    )

    def rows(pairs: np.ndarray) -> list[dict[str, list[int]]]:
        texts, most = kind.corpus.sentences, setting.recipe.data.max_length
        cut = [(texts[a][:most].tolist(), texts[b][:most].tolist()) for a, b in pairs]
        return [{"input_ids": a, "labels": b, "length": len(a)} for a, b in cut]

    data = rows(kind.kept.sides)
    mean = np.mean([len(row["input_ids"]) + len(row["labels"]) for row in data])
    batch = max(1, round(batch_tokens / mean))
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=1,
        per_device_train_batch_size=batch,
        learning_rate=setting.recipe.training.learning_rate,
        warmup_steps=20,
        lr_scheduler_type="inverse_sqrt",
        label_smoothing_factor=setting.recipe.training.label_smoothing,
        train_sampling_strategy="group_by_length",
        max_grad_norm=25.0,
        adam_beta2=0.98,
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
        dataloader_num_workers=0,
        remove_unused_columns=True,
        seed=1,
    )
    collator = DataCollatorForSeq2Seq(Padder(), model=marian)
    trainer = Seq2SeqTrainer(marian, arguments, train_dataset=data, data_collator=collator)
    trainer.remove_callback(PrinterCallback)
    started = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - started
    marian.eval()
    nats = tokens = 0.0
    with torch.no_grad():
        for row in rows(kind.held_out.sides[:200]):
            labels = torch.tensor([row["labels"]])
            loss = marian(torch.tensor([row["input_ids"]]), labels=labels).loss
            nats, tokens = nats + float(loss) * labels.numel(), tokens + labels.numel()
    return seconds, nats / tokens


class Padder:
    """As much of a tokenizer as the collator asks for."""

    padding_side, model_input_names = "right", ["input_ids", "attention_mask"]

    def pad(self, features: Any, **_: Any) -> dict[str, Tensor]:
        longest = {
            key: max(len(row[key]) for row in features)
            for key in ("input_ids", "labels")
            if key in features[0]
        }
        ids = [
            row["input_ids"] + [0] * (longest["input_ids"] - len(row["input_ids"]))
            for row in features
        ]
        batch = {"input_ids": torch.tensor(ids)}
        batch["attention_mask"] = (batch["input_ids"] != 0).long()
        if "labels" in longest:
            labels = [list(row["labels"]) for row in features]
            labels = [row + [-100] * (longest["labels"] - len(row)) for row in labels]
            batch["labels"] = torch.tensor(labels)
        return batch


def scores_by_token(
    self: Scorer, states: Tensor, latent: Tensor, sentence: Tensor, tokens: Tensor | None = None
) -> Tensor:
    """`Scorer.forward` as the thesis writes it: W [state; v] at every token."""
    rows = self.weight.weight if tokens is None else rows_of(self.weight, tokens)
    rows = rows[:, : self.dim + latent.shape[1]]  # less what zeros of v would meet
    return product.linear(torch.cat([states, latent[sentence]], 1), rows)


def plan_in_random_order(
    lengths: np.ndarray, *, max_tokens: int, max_examples: int, random: np.random.Generator
) -> list[np.ndarray]:
    """`plan_pair_batches` without regard to length: padding counts as tokens, as there."""
    order = random.permutation(len(lengths))
    return batching._cut(order, lengths, max_tokens, max_examples, random)


def torch_products() -> AbstractContextManager[Any]:
    """Dense layers as torch computes them."""
    return patch.object(product, "ONEDNN", None)


# what each lever is taken away by: options, and what stands in for a part of ours
LEVERS: dict[str, tuple[tuple[str, ...], Callable[[], AbstractContextManager[Any]]]] = {
    OURS[0]: ((), nullcontext),
    OURS[1]: (BFLOAT16, nullcontext),
    "ours, whole vocabulary": (("--candidates", "null"), nullcontext),
    "ours, latent's product by token": (
        (),
        lambda: patch.object(Scorer, "forward", scores_by_token),
    ),
    "ours, batches in random order": (
        (),
        lambda: patch.object(bitexts, "plan_pair_batches", plan_in_random_order),
    ),
    "ours, two encoder layers": (("--encoder_layers", "2"), nullcontext),
    "ours, dense tables": ((), lambda: patch.object(LatentModel, "sparse_tables", lambda _: [])),
    "ours, products by torch": ((), torch_products),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="the folder of all data")
    parser.add_argument("--pairs", type=int, default=6000, help="pairs that each sees once")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="tokens a step, both sides")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", help="folder that keeps the tokenized pairs")
    parser.add_argument("--parts", nargs="+", default=["bgt", "levers", "marian"])
    parser.add_argument("--output", required=True, help="folder of the results")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    results: dict[str, Any] = {
        "pairs": args.pairs,
        "batch_tokens": args.batch_tokens,
        "threads": args.threads,
        "load_average_before": os.getloadavg()[0],
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "machine": platform.processor() or platform.machine(),
        "runs": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        work = Path(args.work or folder) / "work"

        def note(
            name: str, setting: Setting, seconds: float, loss: float, side: int | None
        ) -> None:
            results["runs"][name] = {
                "pairs_per_second": round(len(setting.kind.kept) / seconds, 1),
                "tokens_per_second": round(setting.tokens(side) / seconds),
                "seconds": round(seconds, 1),
                "held_out_nats_per_token": round(loss, 3),
            }
            print(name, results["runs"][name], flush=True)

        Setting(RECIPE, work, args)  # tokenizes, where that has not been done
        if "bgt" in args.parts or "levers" in args.parts:
            for name, (options, without) in LEVERS.items():
                if name in OURS or "levers" in args.parts:
                    with without():
                        setting = Setting(RECIPE, work, args, *options)
                        seconds = run_ours(setting, Path(folder) / name)
                    note(name, setting, seconds, setting.loss(), None)
        if "bgt" in args.parts:
            setting = Setting(RECIPE, work, args)
            with torch_products():
                seconds = run_plain(setting, Path(folder))
            note("plain", setting, seconds, setting.loss(), None)
        if "marian" in args.parts:
            for name, more in zip(OURS, ((), BFLOAT16), strict=True):
                setting = Setting(TRANSLATION, work, args, *more)
                seconds = run_ours(setting, Path(folder) / f"translation {name}")
                note(f"{name}, Eng. Trans.", setting, seconds, setting.loss(), 1)
            setting = Setting(TRANSLATION, work, args)
            seconds, loss = run_marian(setting, Path(folder) / "marian", args.batch_tokens)
            note("Seq2SeqTrainer, Marian", setting, seconds, loss, 1)
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / "generative.json", results)
    print(json.dumps(results["runs"], indent=1))


if __name__ == "__main__":
    main()
