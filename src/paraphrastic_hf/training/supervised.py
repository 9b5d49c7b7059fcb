"""A supervised recipe from beginning to end: a corpus with gold scores or labels to a finished
model and its scores on the test split (thesis, 3.2.4; Wieting and Gimpel, 2017, 4.3).

What a kind of task adds is in `problems.py`. Beside the model (`encoding/directory.py`) the output
holds `recipe.yaml`, `run.json` with the scores, and `logs/`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from safetensors import SafetensorError
from torch import Tensor, nn

from paraphrastic_hf.encoding.directory import SUPERVISED, TAGGER, save_model
from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.errors import CheckpointError
from paraphrastic_hf.losses.regularization import Penalty
from paraphrastic_hf.models.supervised import SupervisedModel
from paraphrastic_hf.models.tagger import TaggerModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.files import write_json
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.build import check_encoder
from paraphrastic_hf.training.build_supervised import build_supervised, load_start
from paraphrastic_hf.training.corpus import train_tokenizer
from paraphrastic_hf.training.encoder_arguments import EncoderArguments
from paraphrastic_hf.training.loop import Progress, TrainingLoop
from paraphrastic_hf.training.output import (
    circumstances,
    claim,
    clear_work,
    new_accelerator,
    read_finished,
)
from paraphrastic_hf.training.problems import PROBLEMS, Examples, Problem
from paraphrastic_hf.training.scramble import scramble
from paraphrastic_hf.training.start import resolve_vectors
from paraphrastic_hf.training.supervised_arguments import SPLITS, SupervisedRecipe

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Batch:
    """The rows of one optimizer step.

    Attributes:
        rows: This process's share of them.
        whole: All of them.
        weight: Factor of the loss: the share times the number of processes.
    """

    rows: np.ndarray
    whole: np.ndarray
    weight: float


class SupervisedTask:
    """Training on gold scores or labels, one mini-batch after the other.

    All randomness is a function of the seed and of the epoch or step, never of what ran before, so
    a resumed run repeats an unbroken one.

    Args:
        recipe: The whole recipe.
        examples: The training split.
        tokenizer: For the marks that scrambling leaves in place.
        model: The model, unwrapped, on its device, at its start.
        accelerator: For the number of processes.
    """

    def __init__(
        self,
        recipe: SupervisedRecipe,
        examples: Examples,
        tokenizer: TextTokenizer,
        model: SupervisedModel,
        accelerator: Accelerator,
    ) -> None:
        self.arguments, self.seed = recipe.training, recipe.seed
        self.examples, self.model, self.accelerator = examples, model, accelerator
        self.marks = getattr(tokenizer, "start_ids", []), getattr(tokenizer, "end_ids", [])
        self.penalty = Penalty(
            model.encoder,
            self.arguments.lambda_w,
            self.arguments.lambda_c,
            0.0,
            to_start=recipe.start is not None,
        )
        self._epoch: tuple[int, np.ndarray, np.ndarray] | None = None

    def pairs_in_epoch(self) -> int:
        """Examples an epoch sees."""
        return len(self.examples)

    def mega_batch(self, epoch: int, position: int, step: int) -> Iterator[Batch]:
        """The next mini-batch: there are no negatives to choose from more of them."""
        whole = self._plan(epoch)[0][position : position + self.arguments.batch_size]
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        rows = np.array_split(whole, world)[rank]
        own, all_of_them = (self.examples.labels_in(part) for part in (rows, whole))
        weight = own * world / max(1, all_of_them)  # processes are averaged
        yield Batch(rows if len(rows) else whole[:1], whole, weight)

    def loss(self, model: nn.Module, batch: Batch, epoch: int, step: int) -> Tensor:
        """The loss of one mini-batch, scalar."""
        inputs = self._inputs(batch.rows, epoch, step)
        loss: Tensor = model(**inputs).loss * batch.weight
        if self.penalty.is_active:
            if len(batch.whole) > len(batch.rows):
                inputs = self._inputs(batch.whole, epoch, step)
            ids = inputs["input_ids"]
            loss = loss + self.penalty(ids[inputs["attention_mask"].bool()])
        if self.arguments.lambda_s:
            squares = [weight.square().sum() for weight in self.model.head_parameters()]
            loss = loss + self.arguments.lambda_s * torch.stack(squares).sum()
        return loss

    def _plan(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """The epoch's examples in order, and, for each, whether it is scrambled this epoch."""
        if self._epoch is None or self._epoch[0] != epoch:
            size = len(self.examples)
            order = np.random.default_rng([self.seed, epoch]).permutation(size)
            coins = np.random.default_rng([self.seed, epoch, 1]).random(size)
            self._epoch = (epoch, order, coins < self.arguments.scramble)
        return self._epoch[1:]

    def _inputs(self, rows: np.ndarray, epoch: int, step: int) -> dict[str, Tensor]:
        if not self.arguments.scramble:
            return self.examples.inputs(rows, self.model.device)
        chosen = np.flatnonzero(self._plan(epoch)[1][rows])
        random = np.random.default_rng([self.seed, step, 2])

        def shuffle(ids: np.ndarray, mask: np.ndarray) -> None:
            scramble(ids, mask, chosen, random, *self.marks)

        return self.examples.inputs(rows, self.model.device, shuffle)


def train_supervised(
    recipe: SupervisedRecipe,
    output: str | Path,
    *,
    data_root: str | Path | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Progress:
    """Train a supervised model, leave it, finished, in `output`, and score it on the test split.

    Run again after an interruption, with the same recipe, it goes on from the last checkpoint and,
    on CPU with the same number of threads, ends with the same weights bit for bit.

    Args:
        recipe: Every setting; `recipe.load_recipe` reads one.
        output: Directory of the finished model.
        data_root: Folder that recipe paths start from; else the variable PARAPHRASTIC_DATA, else
            the working folder.
        overwrite: Start afresh where `output` holds another run.
        progress: Show progress bars.

    Returns:
        Steps, examples, seconds and the best score on the validation split.

    Raises:
        RecipeError: A setting is wrong, or `output` holds another run.
        DataError: The data is missing, damaged or empty.
        ModelError: `start` is no encoder of this package.
        CheckpointError: All checkpoints are damaged, or one could not be written.
    """
    output = Path(output)
    check_supervised(recipe)
    problem = PROBLEMS[recipe.task.kind](recipe, data_root)
    start = None if recipe.start is None else load_start(recipe.start, data_root)
    if recipe.model.vectors is not None:  # found before --overwrite removes anything
        resolve_vectors(recipe.model.vectors, data_root)
    accelerator = new_accelerator()
    is_main = accelerator.is_main_process
    if is_main:
        claim(output, recipe, overwrite)
    accelerator.wait_for_everyone()
    if (output / "run.json").exists():
        logger.info("%s is finished; nothing to do", output)
        return read_finished(output)
    if is_main:
        _prepare(recipe, problem, start, output / "work")
    accelerator.wait_for_everyone()
    tokenizer = load_tokenizer(output / "work" / "tokenizer")
    examples = {split: problem.examples(split, tokenizer) for split in SPLITS}

    torch.manual_seed(recipe.seed)
    model = build_supervised(recipe, problem, tokenizer, start, data_root).to(accelerator.device)
    loop = TrainingLoop(
        model,
        recipe.training,
        recipe.run,
        seed=recipe.seed,
        directory=output,
        accelerator=accelerator,
        evaluate=lambda model: problem.scores(model, examples["validation"])[problem.measure],
        show_progress=progress,
    )
    task = SupervisedTask(recipe, examples["train"], tokenizer, model, accelerator)
    if loop.resume():
        logger.info("going on from step %s of %s", loop.progress.step, output)
    result = loop.train(task)
    if is_main:
        scores = {split: problem.scores(model, examples[split]) for split in SPLITS[1:]}
        sizes = {split: len(rows) for split, rows in examples.items()}
        record = {
            "progress": result.__dict__,
            "task": recipe.task.kind,
            "measure": problem.measure,
            **scores,
            "examples": sizes,
            "vocab_size": tokenizer.vocab_size,
            "processes": accelerator.num_processes,
        }
        _finish(output, model, tokenizer, record)
    accelerator.wait_for_everyone()
    return result


def check_supervised(recipe: SupervisedRecipe) -> None:
    """Refuse an encoder without a meaning before any text is read.

    Raises:
        RecipeError: A setting its family does not have, or a combination that is none.
    """
    if recipe.start is None:
        check_encoder(EncoderArguments(recipe.tokenizer, recipe.model))


def _prepare(
    recipe: SupervisedRecipe, problem: Problem, start: SentenceEncoder | None, work: Path
) -> None:
    """The tokenizer in `work`, unless a run before has left it there."""
    if (work / "ready").exists():
        return
    if start is not None:
        tokenizer = start.tokenizer
    else:
        # Given vectors are the vocabulary in the papers; a table at random knows what it trains on.
        splits = SPLITS[:1] if recipe.model.vectors is None else SPLITS
        tokenizer = train_tokenizer(recipe.tokenizer, problem.lines(splits), recipe.seed)
    tokenizer.save(work / "tokenizer")
    (work / "ready").touch()


def _finish(
    output: Path, model: SupervisedModel, tokenizer: TextTokenizer, record: dict[str, Any]
) -> None:
    try:
        layout = TAGGER if isinstance(model, TaggerModel) else SUPERVISED
        save_model(model.to("cpu"), tokenizer, output, layout)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"cannot write the finished model to {output}: {error}. Its last checkpoint is intact; "
            "free some space and run the same command again"
        ) from error
    write_json(output / "run.json", {**record, **circumstances()})
    clear_work(output)
