"""Training speed, compared with sentence-transformers' own trainer.

Both train the same averaging encoder on a CPU for one epoch: the same initial table, sentencepiece
tokenizer, pairs, batch size, threads and constant learning rate; Adam without weight decay or
clipping, float32, no dropout, evaluation, logs or checkpoints. Negatives come from the batch.

* Ours is `TrainingLoop` with `ContrastiveObjective`. It tokenizes once, before training, so it has
  two figures: training alone, and with `build_corpus`.
* The peer is `SentenceTransformerTrainer` with the stock `StaticEmbedding` and fused AdamW. It
  tokenizes in every epoch, so its figure starts from text. It runs with 0 and 1 data loader
  workers, and the better median counts.

Losses of the peer: `hinge` is our `margin_loss` with the hardest negative in the batch, the same
task, so `mean_loss` in the JSON should agree with ours to about a percent. `MegaBatchMarginLoss` is
the peer's most similar loss, `MultipleNegativesRankingLoss` its most common choice.

`--vocabulary 20000 100000` also trains tables of that many rows for `--growth-batches` batches: the
rows of the text, then random ones that no sentence uses, so a batch needs the same work at every
size. Our optimizer's cost depends on the rows used, the peer's on the size of the table.

Contenders take turns, after a warm-up of four batches. Imports, tokenizer training and building
models are not timed. Figures are medians, with the range. Use an idle machine.

Quick test: --pairs 5000 --repetitions 1
"""

import argparse
import itertools
import json
import math
import os
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from accelerate import Accelerator
from common.report import Table, options, save, settings, times
from common.timing import in_turns, spread, timed
from common.training import QUIET, LoopWithoutCheckpoints
from datasets import Dataset
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
from transformers import PrinterCallback

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
from paraphrastic_hf.training.engine.recipe import DataArguments, SourceArguments

OURS, OURS_FROM_TEXT = "ours, training alone", "ours, with tokenization"
PEER_WORKERS = (0, 1)
WARM_UP_BATCHES = 4


class Setting(NamedTuple):
    """The inputs of both trainers."""

    recipe: ContrastiveRecipe
    tokenizer: SubwordTokenizer
    tokenizer_file: str
    table: Tensor  # (vocab, dim)


class Run(NamedTuple):
    """One epoch of one contender."""

    rates: dict[str, float]  # pairs per second by figure
    mean_loss: float


class HingeLoss(nn.Module):
    """Our margin loss, with the hardest in-batch negative in both directions, for the peer's
    trainer."""

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


def make_recipe(batch_size: int) -> ContrastiveRecipe:
    """Return our defaults without mega-batches, dropout and development set.

    `opposite_side` is the peer's pool of negatives. For bitext it equals our default.
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
    """Return the tokenizer of all text, the initial table and a sample of the pairs."""
    recipe = make_recipe(1)
    pairs = [p for file in args.data for p in read_pairs(file, max_words=recipe.data.max_words)]
    text = (side for pair in pairs for side in pair)
    train_tokenizer(recipe.tokenizer, text, recipe.seed).save(directory)
    model_bytes = (directory / SubwordTokenizer.file).read_bytes()
    tokenizer = SubwordTokenizer(model_bytes, num_threads=args.threads)
    pairs = random.Random(recipe.seed).sample(pairs, min(args.pairs, len(pairs)))
    ids = tokenizer.encode_batch([side for pair in pairs for side in pair])
    # Our trainer drops pairs with a side without known tokens, and the peer does not.
    is_known = np.diff(ids.offsets).reshape(-1, 2).min(1) > 0
    torch.manual_seed(recipe.seed)
    table = build_model(recipe, tokenizer).get_input_embeddings().weight.detach()
    setting = Setting(recipe, tokenizer, str(directory / "tokenizer.json"), table)
    return setting, list(itertools.compress(pairs, is_known))


def train_ours(setting: Setting, pairs: list[Pair]) -> Run:
    """Train one epoch with our loop, timing tokenization separately."""
    recipe = setting.recipe
    one_log_line = math.ceil(len(pairs) / recipe.training.batch_size)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        source = SourcePairs(recipe.data.sources[0], pairs)
        files = directory / "corpus"
        tokenizing, corpus = timed(build_corpus, [source], setting.tokenizer, files)
        model = build_model(recipe, setting.tokenizer)
        model.set_input_embeddings(
            nn.Embedding.from_pretrained(setting.table.clone(), freeze=False)
        )
        accelerator = Accelerator(cpu=True)
        loop = LoopWithoutCheckpoints(
            model,
            replace(recipe, run=replace(recipe.run, log_every=one_log_line)),
            directory=directory,
            accelerator=accelerator,
            show_progress=False,
        )
        objective = ContrastiveObjective(recipe, corpus, model, accelerator)
        training, _ = timed(loop.train, objective)
        log = json.loads((directory / "logs" / "train.jsonl").read_text(encoding="utf-8"))
    rates = {OURS: len(pairs) / training, OURS_FROM_TEXT: len(pairs) / (training + tokenizing)}
    return Run(rates, log["loss"])


def train_peer(setting: Setting, pairs: list[Pair], loss: str, workers: int) -> Run:
    """Train one epoch from text with sentence-transformers' trainer, timing only `train()`."""
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
            **QUIET,
        )
        trainer = SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict({"anchor": first, "positive": second}),
            loss=PEER_LOSSES[loss](model, training.margin),
        )
        trainer.remove_callback(PrinterCallback)
        seconds, output = timed(trainer.train)
    return Run({peer_name(loss, workers): len(pairs) / seconds}, output.training_loss)


def peer_name(loss: str, workers: int) -> str:
    return f"peer, {loss}, workers: {workers}"


def measure(
    setting: Setting, pairs: list[Pair], repetitions: int, peer_losses: Sequence[str]
) -> dict[str, Any]:
    """Return all rates, the peer's better one for each loss, and the mean losses."""
    contenders: dict[str, Callable[[list[Pair]], Run]] = {"ours": lambda p: train_ours(setting, p)}
    for loss, workers in itertools.product(peer_losses, PEER_WORKERS):
        contenders[peer_name(loss, workers)] = lambda p, loss=loss, workers=workers: train_peer(
            setting, p, loss, workers
        )
    batch_size = setting.recipe.training.batch_size
    print(f"batch size {batch_size}, {len(setting.table):,} rows", flush=True)
    runs: dict[str, list[float]] = {}
    mean_loss: dict[str, float] = {}
    for number, name in in_turns(contenders, repetitions, warm_up=True):
        run = contenders[name](pairs[: WARM_UP_BATCHES * batch_size] if number < 0 else pairs)
        if number >= 0:
            mean_loss[name] = run.mean_loss
            for figure, rate in run.rates.items():
                runs.setdefault(figure, []).append(rate)
    rates = {name: spread(each) for name, each in runs.items()}
    best = [
        max((peer_name(loss, each) for each in PEER_WORKERS), key=lambda n: rates[n]["median"])
        for loss in peer_losses
    ]
    return {"pairs_per_second": rates, "best_of_peer": best, "mean_loss": mean_loss}


def widen(table: Tensor, rows: int, seed: int) -> Tensor:
    """Return the table with additional random rows, (rows, dim)."""
    more = rows - len(table)
    if more < 0:
        raise SystemExit(
            f"--vocabulary must be at least {len(table):,}, as in the text, got {rows:,}"
        )
    generator = torch.Generator().manual_seed(seed)
    return torch.cat([table, torch.randn(more, table.shape[1], generator=generator)])


def table_of(result: dict[str, Any], title: str) -> Table:
    """Return our rates and the peer's best ones, with their ratios."""
    rates = result["pairs_per_second"]
    rows = {}
    for name in (OURS, OURS_FROM_TEXT, *result["best_of_peer"]):
        over = {f"{own}, over it": times(rates[own], rates[name]) for own in (OURS, OURS_FROM_TEXT)}
        rows[name] = {"pairs/s": rates[name], **over}
    return Table(title, rows)


def main() -> None:
    parser = options(__doc__, repetitions=3)
    option = parser.add_argument
    option("--data", type=Path, nargs="+", required=True, help="TSV files of pairs")
    option("--pairs", type=int, default=50_000, help="sample size from all files")
    option("--batch-size", type=int, nargs="+", default=[128, 1024], help="pairs per batch")
    option("--vocabulary", type=int, nargs="*", default=[], help="rows of additional tables")
    option("--growth-batches", type=int, default=40, help="batches for each additional table")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # read by `tokenizers` at its first use
    torch.set_num_threads(args.threads)
    transformers.logging.set_verbosity_error()
    described = settings(args, "torch", "transformers", "sentence-transformers")
    results: dict[str, Any] = {"settings": described, "measured": {}}
    with tempfile.TemporaryDirectory() as folder:
        setting, pairs = prepare(args, Path(folder))
        described |= {"vocab_and_dim": list(setting.table.shape), "pairs_kept": len(pairs)}
        for size in args.batch_size:
            sized = setting._replace(recipe=make_recipe(size))
            title = f"batch size {size}"
            found = {title: measure(sized, pairs, args.repetitions, tuple(PEER_LOSSES))}
            few = pairs[: args.growth_batches * size]
            for rows in args.vocabulary:
                wide = sized._replace(table=widen(setting.table, rows, setting.recipe.seed))
                found[f"{title}, {rows:,} rows"] = measure(wide, few, args.repetitions, ["hinge"])
            results["measured"] |= found
    save(args, results, *(table_of(each, title) for title, each in results["measured"].items()))


if __name__ == "__main__":
    main()
