"""A recipe from beginning to end: text to a finished model directory.

Beside the model (`encoding/directory.py`) it holds `recipe.yaml`, every setting of the run;
`run.json`, what happened; and `logs/`, `train.jsonl` and TensorBoard files. While the run lasts
there are `work/`, the tokenizer and the tokenized pairs, and `checkpoints/`; both go at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from paraphrastic_hf.encoding.directory import SENTENCE_ENCODER, save_model
from paraphrastic_hf.errors import CheckpointError, DataError, ParaphrasticError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.files import write_json
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.arguments import Recipe, resolve_path
from paraphrastic_hf.training.build import build_model, check_encoders
from paraphrastic_hf.training.contrastive import ContrastiveTask
from paraphrastic_hf.training.corpus import (
    PairCorpus,
    build_corpus,
    check_dataset,
    load_corpus,
    read_sources,
    train_tokenizers,
)
from paraphrastic_hf.training.development import development_scorer, read_development
from paraphrastic_hf.training.finish import finish
from paraphrastic_hf.training.loop import Progress, TrainingLoop
from paraphrastic_hf.training.output import (
    circumstances,
    claim,
    clear_work,
    give_up,
    new_accelerator,
    read_finished,
)
from paraphrastic_hf.training.start import resolve_vectors

logger = logging.getLogger(__name__)


def train(
    recipe: Recipe,
    output: str | Path,
    *,
    data_root: str | Path | None = None,
    datasets: Iterable[Any] = (),
    overwrite: bool = False,
    progress: bool = True,
    work: str | Path | None = None,
) -> Progress:
    """Train a sentence encoder and leave it, finished, in `output`.

    Run again after an interruption, with the same recipe, it goes on from the last checkpoint and,
    on CPU with the same number of threads, ends with the same weights bit for bit.

    Args:
        recipe: Every setting; `recipe.load_recipe` reads one.
        output: Directory of the finished model.
        data_root: Folder that recipe paths start from; else the variable PARAPHRASTIC_DATA, else
            the working folder.
        datasets: `datasets.Dataset` objects (or iterables of mappings) to train on besides the
            recipe's sources; `(dataset, SourceArguments)` gives one languages, a cap or a weight.
        overwrite: Start afresh where `output` holds another run.
        progress: Show progress bars.
        work: Where the tokenizer and the tokenized pairs go, and stay, for runs that share them;
            within `output`, and gone at the end, if absent.

    Returns:
        Steps, pairs, seconds and the best development score.

    Raises:
        RecipeError: A setting is wrong, or `output` holds another run.
        DataError: The data is missing, damaged or empty.
        CheckpointError: All checkpoints are damaged, or one could not be written.
    """
    output = Path(output)
    work = output / "work" if work is None else Path(work)
    check_encoders(recipe)
    accelerator = new_accelerator(recipe.training.precision)
    is_main = accelerator.is_main_process
    development = read_development(recipe.run.development, data_root)
    named = [path for source in recipe.data.sources for path in (source.path, source.second)]
    for path in filter(None, named):
        resolve_path(path, data_root)  # a wrong one is found before --overwrite removes anything
    for encoder in recipe.encoders:
        if encoder.model.vectors is not None:
            resolve_vectors(encoder.model.vectors, data_root)
    for source in recipe.data.sources:
        if source.dataset is not None:
            check_dataset(source.dataset, data_root)
    is_new = overwrite or not (output / "recipe.yaml").exists()
    if is_main:
        claim(output, recipe, overwrite)
    accelerator.wait_for_everyone()
    if (output / "run.json").exists():
        logger.info("%s is finished; nothing to do", output)
        return read_finished(output)
    if is_main:
        try:
            _prepare(recipe, work, data_root, datasets, progress)
        except ParaphrasticError:
            if is_new:
                give_up(output)
            raise
    accelerator.wait_for_everyone()
    tokenizer, corpus = load_tokenizer(work / "tokenizer"), load_corpus(work / "corpus")

    if recipe.training.epochs and not corpus.pairs_in_epoch():
        raise DataError("an epoch is empty: every source has weight 0")

    torch.manual_seed(recipe.seed)
    model = build_model(recipe, tokenizer, data_root).to(accelerator.device)
    for table in model.tables():
        table.weight.requires_grad_(recipe.training.freeze == "none")
    loop = TrainingLoop(
        model,
        recipe.training,
        recipe.run,
        seed=recipe.seed,
        directory=output,
        accelerator=accelerator,
        evaluate=development_scorer(tokenizer, development),
        show_progress=progress,
    )
    task = ContrastiveTask(recipe, corpus, model, accelerator)
    if loop.resume():
        logger.info("going on from step %s of %s", loop.progress.step, output)
    result = loop.train(task)
    if is_main:
        _finish(output, model, tokenizer, recipe, corpus, result, accelerator.num_processes)
    accelerator.wait_for_everyone()
    return result


def _prepare(
    recipe: Recipe,
    work: Path,
    data_root: str | Path | None,
    datasets: Iterable[Any],
    progress: bool,
) -> None:
    """Tokenizer and tokenized pairs in `work`, unless a run before has left them there."""
    if (work / "corpus" / "meta.json").exists():
        return
    sources = read_sources(recipe, data_root, datasets, progress=progress)
    logger.info("training a tokenizer")
    tokenizer = train_tokenizers(recipe.encoders, sources, recipe.seed)
    tokenizer.save(work / "tokenizer")
    build_corpus(
        sources, tokenizer, work / "corpus", exclude=recipe.training.exclude, progress=progress
    )


def _finish(
    output: Path,
    model: SentenceEncoderModel,
    tokenizer: TextTokenizer,
    recipe: Recipe,
    corpus: PairCorpus,
    result: Progress,
    processes: int,
) -> None:
    model, tokenizer = finish(model, tokenizer, corpus, recipe)
    try:
        precision = recipe.finish.precision
        save_model(model.to("cpu"), tokenizer, output, SENTENCE_ENCODER, precision=precision)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"cannot write the finished model to {output}: {error}. Its last checkpoint is intact; "
            "free some space and run the same command again"
        ) from error
    sources = {
        name: int((corpus.source == number).sum()) for number, name in enumerate(corpus.names)
    }
    write_json(
        output / "run.json",
        {
            "progress": result.__dict__,
            "pairs_per_second": round(result.pairs / result.seconds) if result.seconds else None,
            "development": recipe.run.development,
            "pairs_by_source": sources,
            "vocab_size": tokenizer.vocab_size,
            "processes": processes,
            **circumstances(),
        },
    )
    clear_work(output)
