"""Objective and training job of a language model over sentences."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.encoders.storage.directory import LANGUAGE_MODEL, save_model
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.judged import Judged
from paraphrastic_hf.generation.likelihood import sentence_likelihoods
from paraphrastic_hf.io.lines import iterate_lines
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.corpus import read_columns, write_columns
from paraphrastic_hf.training.data.sources import read_sentences
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.engine.loop import Evaluation, Losses
from paraphrastic_hf.training.engine.memory import SMALLEST_TABLE, check_memory
from paraphrastic_hf.training.engine.paths import resolve_path
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.language_model.recipe import LanguageModelRecipe
from paraphrastic_hf.training.seq2seq.job import held_out_record, with_config
from paraphrastic_hf.training.seq2seq.objective import CrossEntropyObjective, TokenBatch


class LanguageModelObjective(CrossEntropyObjective):
    """Label-smoothed cross-entropy of every token in a sentence, given the tokens before it."""

    def __init__(
        self, recipe: LanguageModelRecipe, sentences: Ragged, accelerator: Accelerator
    ) -> None:
        self.sentences, self.max_length = sentences, recipe.data.max_length
        lengths = np.minimum(np.diff(sentences.offsets), self.max_length)
        super().__init__(recipe.training, recipe.seed, accelerator, lengths)

    def loss(self, model: nn.Module, batch: TokenBatch, epoch: int, step: int) -> Losses:
        ids, mask = self.sentences.padded(batch.own, self.max_length)
        device = self.accelerator.device
        inputs, targets = (torch.from_numpy(part).to(device) for part in (ids[:, :-1], ids[:, 1:]))
        is_predicted = torch.from_numpy(mask[:, 1:].astype(bool)).to(device)
        logits = model(input_ids=inputs, logits_at=is_predicted).logits  # (tokens, vocab)
        return self.smoothed(logits, targets[is_predicted], batch.weight)

    def predicted(self, examples: np.ndarray) -> int:
        return int(self.lengths[examples].sum()) - len(examples)  # all but the start tokens


class LanguageModeling:
    def __init__(self, recipe: LanguageModelRecipe, context: Context) -> None:
        self.recipe, self.context = recipe, context
        check_memory(*self._sized(SMALLEST_TABLE))

    def prepare(self, work: Path) -> None:
        recipe, context = self.recipe, self.context
        sentences = read_sentences(
            recipe, context.data_root, context.datasets, progress=context.progress
        )
        given: list[str] = []
        if names_file(recipe.run.development):
            path = resolve_path(recipe.run.development, context.data_root)
            given = list(dict.fromkeys(line for _, line in iterate_lines(path) if line.strip()))
            sentences = list(dict.fromkeys([*given, *sentences]))
        tokenizer = train_tokenizer(recipe.tokenizer, sentences, recipe.seed, context.data_root)
        tokenizer.save(work / "tokenizer")
        ids = tokenizer.encode_batch(sentences)
        order, count = np.flatnonzero(np.diff(ids.offsets) > 0), recipe.data.held_out
        if given:
            count = int(np.searchsorted(order, len(given)))
        else:
            order = np.random.default_rng([recipe.seed, 4]).permutation(order)
        if len(order) - count < max(1, 0 if given else count):
            key = "run.development" if given else "data.held_out"
            raise DataError(
                f"{key} ({count:,}) leaves too few of the {len(order):,} distinct sentences to "
                "train on. Hold out fewer sentences, or add text"
            )
        held_out, kept = (np.sort(part) for part in np.split(order, [count]))
        columns = {"sentences": ids.select(kept), "held_out": ids.select(held_out)}
        write_columns(work / "corpus", columns, {})

    def build(self, work: Path) -> LanguageModel:
        self.tokenizer = cast(MarkedTokenizer, load_tokenizer(work / "tokenizer"))
        self.columns, _ = read_columns(work / "corpus")
        special = self.tokenizer.special
        marks = {"bos_token_id": special.start[0], "eos_token_id": special.end[0]}
        _, config = self._sized(self.tokenizer.vocab_size, pad_token_id=special.pad, **marks)
        check_memory(LanguageModel, config)
        return LanguageModel(config)

    def _sized(self, vocab_size: int, **marks: int) -> tuple[Any, Any]:
        size = self.recipe.model
        return with_config(
            LanguageModel,
            vocab_size=vocab_size,
            hidden_size=size.hidden_size,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=size.feed_forward,
            dropout=size.dropout,
            **marks,
        )

    def objective(self, model: LanguageModel, accelerator: Accelerator) -> LanguageModelObjective:
        return LanguageModelObjective(self.recipe, self.columns["sentences"], accelerator)

    def development(self) -> Callable[[Any], Evaluation] | None:
        """Return a function that computes minus the held-out cross-entropy, in nats per token."""
        if not len(self.columns["held_out"]):
            return None
        return lambda model: Evaluation.of_parts([(-0.01, self._judged(model))])

    def save(self, model: LanguageModel, output: Path) -> dict[str, Any]:
        record: dict[str, Any] = {
            "development": self.recipe.run.development,
            "sentences": len(self.columns["sentences"]),
            "vocab_size": self.tokenizer.vocab_size,
        }
        if held_out := len(self.columns["held_out"]):
            nats = held_out_record(self._judged(model).score / 100)
            record["held_out"] = {"sentences": held_out, **nats}
        save_model(model.to("cpu"), self.tokenizer.for_prompts(), output, LANGUAGE_MODEL)
        return record

    def _judged(self, model: LanguageModel) -> Judged:
        found = sentence_likelihoods(model, self.columns["held_out"], self.recipe.data.max_length)
        measure = "nats a token"
        return Judged("held out", "sentences", measure, -found.nats[None], found.tokens[None])
