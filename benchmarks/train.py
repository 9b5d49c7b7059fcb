"""Training throughput, in pairs per second, beside sentence-transformers' own trainer in one run.

Both sides train the same averaging encoder on CPU, one epoch: the same initial table, sentencepiece
tokenizer, pairs, batch size, threads and constant learning rate, Adam without weight decay or
clipping, fp32, no dropout, evaluation, logs or checkpoints. Negatives come from the mini-batch.

* Ours is `TrainingLoop` with `ContrastiveObjective`. It tokenizes once, before training, so it has
  two figures: training alone, and together with `build_corpus`.
* The peer is `SentenceTransformerTrainer` with the stock `StaticEmbedding`. It tokenizes in the
  collator, in every epoch, so its figure is from text. Every loss runs with 0 and with 1 data
  loader worker (a process besides `--threads`), and the better median counts.

Losses of the peer: `hinge`, our `margin_loss` with the hardest in-batch negative in both
directions, is the same task. `MegaBatchMarginLoss` is the nearest it ships: one direction, two
margins, and not in its mini-batched form, which refuses StaticEmbedding.
`MultipleNegativesRankingLoss` is its most common choice. Only ours keeps equal sentences from being
each other's negatives.

With `--vocabulary`, ours and the peer's `hinge` also train larger tables (`train_growth.py`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sentence_transformers
import torch
import transformers
from accelerate import Accelerator
from datasets import Dataset
from matplotlib.figure import Figure
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from sentence_transformers.util import cos_sim
from tokenizers import Tokenizer
from torch import Tensor, nn
from tqdm.auto import tqdm
from train_growth import plot_growth, show_growth, widen
from transformers import PrinterCallback

from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.io.pairs import Pair, read_pairs
from paraphrastic_hf.losses.margin import margin_loss
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.contrastive.recipe import (
    ContrastiveRecipe,
    ContrastiveTraining,
)
from paraphrastic_hf.training.data.corpus import build_corpus
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.encoder.build import build_model
from paraphrastic_hf.training.encoder.recipe import EncoderRunArguments
from paraphrastic_hf.training.encoder.settings import ModelArguments
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.engine.recipe import DataArguments, SourceArguments

OURS, OURS_FROM_TEXT = "ours, training alone", "ours, with tokenization"
PEER_WORKERS = (0, 1)
WARM_UP_BATCHES = 4


class Setting(NamedTuple):
    """What both sides are given."""

    recipe: ContrastiveRecipe
    tokenizer: SubwordTokenizer
    tokenizer_file: str
    table: Tensor  # (vocab, dim)


class Run(NamedTuple):
    """One epoch of one contender."""

    rates: dict[str, float]  # pairs per second by figure
    mean_loss: float


class HingeLoss(nn.Module):
    """Our margin loss, hardest in-batch negative in both directions, for the peer's trainer."""

    def __init__(self, model: SentenceTransformer, margin: float) -> None:
        super().__init__()
        self.model, self.margin = model, margin

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        first, second = (self.model(side)["sentence_embedding"] for side in sentence_features)
        with torch.no_grad():
            similarity = cos_sim(first, second).fill_diagonal_(-torch.inf)  # (batch, batch)
        of_first, of_second = second[similarity.argmax(1)], first[similarity.argmax(0)]
        return margin_loss(first, second, of_first, of_second, self.margin)


PEER_LOSSES: dict[str, Callable[[SentenceTransformer, float], nn.Module]] = {
    "hinge": HingeLoss,
    "MegaBatchMarginLoss": lambda model, _: losses.MegaBatchMarginLoss(
        model, use_mini_batched_version=False
    ),
    "MultipleNegativesRankingLoss": lambda model, _: losses.MultipleNegativesRankingLoss(model),
}


class LoopWithoutCheckpoints(TrainingLoop):
    """The peer writes no checkpoint, so neither do we; `train` still brings all rows up to date."""

    def _between_steps(self, *_: Any) -> None:
        pass


def make_recipe(batch_size: int) -> ContrastiveRecipe:
    """Our defaults, but for mega-batches, dropout and development set.

    `opposite_side` is the peer's pool of negatives; for bitext it equals our default.
    """
    return ContrastiveRecipe(
        data=DataArguments(sources=[SourceArguments(path="pairs", languages=["en", "fr"])]),
        model=ModelArguments(embedding_dropout=0.0),
        training=ContrastiveTraining(
            epochs=1, batch_size=batch_size, mega_batch=1, anneal_steps=0, pool="opposite_side"
        ),
        run=EncoderRunArguments(development="none"),
    )


def prepare(args: argparse.Namespace, directory: Path) -> tuple[Setting, list[Pair]]:
    """The tokenizer of all the text, the initial table, a sample of the pairs; nothing is timed."""
    recipe = make_recipe(1)
    pairs = [p for file in args.data for p in read_pairs(file, max_words=recipe.data.max_words)]
    lines = (side for pair in pairs for side in pair)
    train_tokenizer(recipe.tokenizer, lines, recipe.seed).save(directory)
    model_bytes = (directory / SubwordTokenizer.file).read_bytes()
    tokenizer = SubwordTokenizer(model_bytes, num_threads=args.threads)
    pairs = random.Random(recipe.seed).sample(pairs, min(args.pairs, len(pairs)))
    ids = tokenizer.encode_batch([side for pair in pairs for side in pair])
    # We leave out pairs with a side of no known token, the peer does not: let neither see them.
    is_known = np.diff(ids.offsets).reshape(-1, 2).min(1) > 0
    torch.manual_seed(recipe.seed)
    table = build_model(recipe, tokenizer).get_input_embeddings().weight.detach()
    setting = Setting(recipe, tokenizer, str(directory / "tokenizer.json"), table)
    return setting, list(itertools.compress(pairs, is_known))


def train_ours(setting: Setting, pairs: list[Pair]) -> Run:
    """One epoch of our trainer; tokenization is timed apart."""
    recipe, num_pairs = setting.recipe, len(pairs)
    one_log_line = math.ceil(num_pairs / recipe.training.batch_size)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        started = time.perf_counter()
        source = SourcePairs(recipe.data.sources[0], pairs)
        corpus = build_corpus([source], setting.tokenizer, directory / "corpus")
        tokenizing = time.perf_counter() - started
        model = build_model(recipe, setting.tokenizer)
        model.set_input_embeddings(
            nn.Embedding.from_pretrained(setting.table.clone(), freeze=False)
        )
        accelerator = Accelerator(cpu=True)
        loop = LoopWithoutCheckpoints(
            model,
            recipe.training,
            replace(recipe.run, log_every=one_log_line),
            seed=recipe.seed,
            directory=directory,
            accelerator=accelerator,
            show_progress=False,
        )
        task = ContrastiveObjective(recipe, corpus, model, accelerator)
        started = time.perf_counter()
        loop.train(task)
        training = time.perf_counter() - started
        log = json.loads((directory / "logs" / "train.jsonl").read_text(encoding="utf-8"))
    rates = {OURS: num_pairs / training, OURS_FROM_TEXT: num_pairs / (training + tokenizing)}
    return Run(rates, log["loss"])


def train_peer(setting: Setting, pairs: list[Pair], loss: str, workers: int) -> Run:
    """One epoch of sentence-transformers' trainer, from text; only `train()` is timed."""
    training = setting.recipe.training
    tokenizer = Tokenizer.from_file(setting.tokenizer_file)
    tokenizer.enable_truncation(setting.recipe.data.max_length)
    module = StaticEmbedding(tokenizer, embedding_weights=setting.table.clone())
    model = SentenceTransformer(modules=[module], device="cpu")
    first, second = zip(*pairs, strict=True)
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            num_train_epochs=training.epochs,
            per_device_train_batch_size=training.batch_size,
            learning_rate=training.learning_rate,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            weight_decay=0.0,
            max_grad_norm=0.0,
            dataloader_num_workers=workers,
            dataloader_pin_memory=False,
            seed=setting.recipe.seed,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            eval_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict({"anchor": first, "positive": second}),
            loss=PEER_LOSSES[loss](model, training.margin),
        )
        trainer.remove_callback(PrinterCallback)
        started = time.perf_counter()
        output = trainer.train()
        seconds = time.perf_counter() - started
    return Run({peer_name(loss, workers): len(pairs) / seconds}, output.training_loss)


def peer_name(loss: str, workers: int) -> str:
    """Of the peer with one loss and number of data loader workers."""
    return f"peer, {loss}, workers: {workers}"


def measure(
    setting: Setting,
    pairs: list[Pair],
    repetitions: int,
    bar: tqdm,
    peer_losses: Sequence[str] = tuple(PEER_LOSSES),
) -> dict[str, Any]:
    """All contenders in turn: once on a few batches to warm up, then `repetitions` times."""
    contenders: dict[str, Callable[[list[Pair]], Run]] = {"ours": lambda p: train_ours(setting, p)}
    for loss, workers in itertools.product(peer_losses, PEER_WORKERS):
        contenders[peer_name(loss, workers)] = lambda p, loss=loss, workers=workers: train_peer(
            setting, p, loss, workers
        )
    batch_size = setting.recipe.training.batch_size
    rates: dict[str, list[float]] = {}
    mean_loss: dict[str, float] = {}
    for repetition, (name, train) in itertools.product(range(-1, repetitions), contenders.items()):
        bar.set_description(f"batch {batch_size}, {len(setting.table):,} rows: {name}")
        is_warm_up = repetition < 0
        run = train(pairs[: WARM_UP_BATCHES * batch_size] if is_warm_up else pairs)
        if not is_warm_up:
            mean_loss[name] = run.mean_loss
            for figure, rate in run.rates.items():
                rates.setdefault(figure, []).append(rate)
        bar.update()
    return summarize(rates, peer_losses) | {"mean_loss": mean_loss}


def summarize(rates: dict[str, list[float]], peer_losses: Sequence[str]) -> dict[str, Any]:
    """Median and range of every figure; ours over the peer's, with its better number of workers."""
    median = {name: statistics.median(runs) for name, runs in rates.items()}
    best = [
        max((peer_name(loss, workers) for workers in PEER_WORKERS), key=median.__getitem__)
        for loss in peer_losses
    ]
    return {
        "pairs_per_second": {
            name: {"median": median[name], "lowest": min(runs), "highest": max(runs), "runs": runs}
            for name, runs in rates.items()
        },
        "best_of_peer": best,
        "ratios": {
            f"{ours} / {peer}": median[ours] / median[peer]
            for ours, peer in itertools.product((OURS, OURS_FROM_TEXT), best)
        },
    }


def plot(results: dict[int, dict[str, Any]], path: Path) -> None:
    """Median pairs per second with the range of the repetitions, one panel a batch size."""
    figure = Figure(figsize=(7 * len(results), 3.5), layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for axes, (batch_size, result) in zip(panels, results.items(), strict=True):
        names = [OURS, OURS_FROM_TEXT, *result["best_of_peer"]]
        found = [result["pairs_per_second"][name] for name in names]
        median, lowest, highest = (
            np.array([value[key] for value in found]) for key in ("median", "lowest", "highest")
        )
        colors = ["C0" if name.startswith("ours") else "C1" for name in names]
        axes.barh(names, median, xerr=[median - lowest, highest - median], color=colors, capsize=3)
        axes.invert_yaxis()
        axes.set(title=f"batch size {batch_size}", xlabel="pairs per second")
    figure.savefig(path, dpi=150)


def describe(args: argparse.Namespace, setting: Setting, num_pairs: int) -> dict[str, Any]:
    """The settings a number needs beside it."""
    modules = (torch, transformers, sentence_transformers)
    return {
        "data": [Path(file).name for file in args.data],
        "pairs": num_pairs,
        "vocab_size": setting.tokenizer.vocab_size,
        "hidden_size": setting.table.shape[1],
        "seed": setting.recipe.seed,
        "repetitions": args.repetitions,
        "growth_batches": args.growth_batches,
        "threads": args.threads,
        "cores": os.cpu_count(),
        "load_average_before": os.getloadavg()[0],
        "machine": platform.platform(),
        "versions": {module.__name__: module.__version__ for module in modules},
    }


def show(results: dict[int, dict[str, Any]]) -> None:
    """Print every figure and ratio."""
    for batch_size, result in results.items():
        print(f"\nbatch size {batch_size}, pairs per second: median (lowest to highest)")
        for name, value in result["pairs_per_second"].items():
            spread = f"({value['lowest']:,.0f} to {value['highest']:,.0f})"
            print(f"  {value['median']:>8,.0f}  {spread:<20}  {name}")
        for name, ratio in result["ratios"].items():
            print(f"  {ratio:>7.2f}x  {name}")


def main() -> None:
    """Measure, then write `train.json` and `train.png`."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument(
        "--data", nargs="+", required=True, help="TSV files of pairs; also .gz, .xz"
    )
    parser.add_argument("--pairs", type=int, default=50_000, help="pairs drawn from all files")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batch-size", type=int, nargs="+", default=[128, 1024])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument(
        "--vocabulary", type=int, nargs="*", default=[], help="rows of further tables to train"
    )
    parser.add_argument("--growth-batches", type=int, default=40, help="of a run with such a table")
    parser.add_argument("--output", type=Path, required=True, help="folder of the two results")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # the peer's tokenizer, at its first use
    torch.set_num_threads(args.threads)
    transformers.logging.set_verbosity_error()
    args.output.mkdir(parents=True, exist_ok=True)
    contenders = 1 + len(PEER_LOSSES) * len(PEER_WORKERS)
    contenders += len(args.vocabulary) * (1 + len(PEER_WORKERS))
    runs = len(args.batch_size) * (1 + args.repetitions) * contenders
    results, by_rows = {}, {}
    with tempfile.TemporaryDirectory() as folder, tqdm(total=runs, unit=" runs") as bar:
        bar.set_description("training the tokenizer")
        setting, pairs = prepare(args, Path(folder))
        settings = describe(args, setting, len(pairs))
        for batch_size in args.batch_size:
            sized = setting._replace(recipe=make_recipe(batch_size))
            results[batch_size] = measure(sized, pairs, args.repetitions, bar)
            by_rows[batch_size] = {
                rows: measure(
                    sized._replace(table=widen(setting.table, rows, setting.recipe.seed)),
                    pairs[: args.growth_batches * batch_size],
                    args.repetitions,
                    bar,
                    ["hinge"],
                )
                for rows in args.vocabulary
            }
    everything = {"settings": settings, "by_batch_size": results, "by_vocabulary": by_rows}
    write_json(args.output / "train.json", everything)
    plot(results, args.output / "train.png")
    show(results)
    if args.vocabulary:
        plot_growth(by_rows, args.output / "train-vocabulary.png", OURS)
        show_growth(by_rows, OURS)


if __name__ == "__main__":
    main()
