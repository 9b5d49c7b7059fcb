"""Trains our models, or a stock Marian with `Seq2SeqTrainer`, for one epoch."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    MarianMTModel,
    PrinterCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from common.timing import timed
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.engine.run_folder import new_accelerator
from paraphrastic_hf.training.kinds import Context, load_recipe

WARM_UP = 20  # steps of learning rate warm-up
QUIET: dict[str, Any] = {  # arguments for the peers' trainers: CPU, no logs, no checkpoints
    "use_cpu": True,
    "report_to": "none",
    "save_strategy": "no",
    "logging_strategy": "no",
    "disable_tqdm": True,
}


class LoopWithoutCheckpoints(TrainingLoop):
    """Our loop without checkpoints and evaluation, which the peers do not have either."""

    def _between_steps(self, *_: Any) -> None:
        pass


class Setting:
    """A recipe, its tokenized pairs and an untrained model. `chosen` is a sample of `--pairs`
    pairs."""

    def __init__(
        self, kind: Any, recipe: Path, options: list[str], work: Path, args: argparse.Namespace
    ) -> None:
        self.recipe = load_recipe(recipe, options)
        self.kind = kind(self.recipe, Context(data_root=str(args.data)))
        self.kind.prepare(work)
        torch.manual_seed(1)
        self.model = self.kind.build(work)
        self.chosen = np.random.default_rng(0).permutation(len(self.kind.kept))[: args.pairs]


def run_ours(setting: Setting, folder: Path) -> float:
    """Train one epoch with our loop, and return the seconds."""
    recipe = setting.recipe
    accelerator = new_accelerator(recipe.training.precision)
    objective = setting.kind.objective(setting.model, accelerator)
    loop = LoopWithoutCheckpoints(
        setting.model, recipe, directory=folder, accelerator=accelerator, show_progress=False
    )

    def train() -> None:
        loop.train(objective)
        loop._settle()

    return timed(train)[0]


def stock_trainer(
    marian: MarianMTModel,
    pairs: Sequence[tuple[list[int], list[int]]],
    training: Any,
    batch_tokens: int,
    folder: Path,
) -> Seq2SeqTrainer:
    """Return a trainer with batches by length and `batch_tokens` tokens per batch on average.

    Args:
        marian: The model to train.
        pairs: Token ids of sources and targets.
        training: Our recipe's section with learning rate, label smoothing, clipping and betas.
        batch_tokens: Number of tokens, counting both sides.
        folder: Output folder of the trainer.
    """
    pad = marian.config.pad_token_id

    def collate(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        ids, labels = (
            pad_sequence([torch.tensor(row[key]) for row in rows], True, value)
            for key, value in (("input_ids", pad), ("labels", -100))
        )
        shifted = marian.prepare_decoder_input_ids_from_labels(labels)
        batch = {"input_ids": ids, "attention_mask": (ids != pad).long()}
        return batch | {"labels": labels, "decoder_input_ids": shifted}

    mean = float(np.mean([len(source) + len(target) for source, target in pairs]))
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=1,
        per_device_train_batch_size=max(1, round(batch_tokens / mean)),
        learning_rate=training.learning_rate,
        warmup_steps=WARM_UP,
        lr_scheduler_type="inverse_sqrt",
        label_smoothing_factor=training.label_smoothing,
        train_sampling_strategy="group_by_length",
        max_grad_norm=training.clip or 1e9,
        adam_beta2=training.betas[1],
        seed=1,
        **QUIET,
    )
    rows = [{"input_ids": a, "labels": b, "length": len(a)} for a, b in pairs]
    trainer = Seq2SeqTrainer(marian, arguments, train_dataset=rows, data_collator=collate)
    trainer.remove_callback(PrinterCallback)
    return trainer
