"""What a generative model of sentence pairs writes: translations, reconstructions, and one
sentence's meaning in the style of another (thesis, 5.7.3).

Searching and sampling are transformers' `generate`. A text without a known token says nothing, and
so does what is written from it: the empty string.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm
from transformers.modeling_outputs import BaseModelOutput

from paraphrastic_hf.encoders.batches import embed_texts, length_batches
from paraphrastic_hf.encoders.device import chosen_device
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.directory import GENERATIVE, load_pretrained, save_model
from paraphrastic_hf.encoders.storage.locate import HubOptions, check_hub_options, local_directory
from paraphrastic_hf.errors import ModelError, counted
from paraphrastic_hf.generation.languages import warn_of_other_language
from paraphrastic_hf.generation.loading import check_tokenizer
from paraphrastic_hf.generation.search import (
    clear_errors,
    end_ids,
    mean_log_probabilities,
    search,
    until_end,
    written_lists,
)
from paraphrastic_hf.generation.tasks import chosen_task
from paraphrastic_hf.generation.writing import NOTHING, GeneratedText, GenerationOptions, listed
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import SEMANTIC
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.ragged import Ragged

logger = logging.getLogger(__name__)
MOST_READ = 10_000  # tokens of a text; what attends takes its square in time


def center_on_texts(
    model: LatentModel, texts: Ragged, which: np.ndarray, max_length: int | None = None
) -> None:
    """Take the mean of the meanings of texts from a model's embeddings by meaning.

    Args:
        model: The model; a center that it has is replaced.
        which: The positions of the texts that count, (n,), 1 or more.
        max_length: How many tokens each text is cut at; None for no limit.
    """
    by_meaning = model.reading(SEMANTIC)
    by_meaning.center_on(torch.zeros(model.config.hidden_size))
    model.center_on(embed_texts(by_meaning, texts, which, max_length=max_length).mean(0))


class LatentGenerator(HubMixin):
    """A generative model of sentence pairs that writes.

    Args:
        model: The model, in evaluation mode.
        tokenizer: Its tokenizer.
        batch_size: The most texts written at a time, at least 1.

    Raises:
        ValueError: `batch_size` is below 1.

    Example:
        >>> generator = LatentGenerator.from_pretrained("runs/bgt")  # doctest: +SKIP
        >>> generator.translate(["a cat sleeps"], to="fr")[0][0].text  # doctest: +SKIP
        'un chat dort'
    """

    def __init__(
        self, model: LatentModel, tokenizer: TextTokenizer, *, batch_size: int = 64
    ) -> None:
        self.model, self.tokenizer, self.batch_size = model, tokenizer, batch_size
        self._ends = end_ids(model)
        self._has_warned = False  # of text in another language, once

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        device: str | torch.device | None = None,
        batch_size: int = 64,
        **hub: Unpack[HubOptions],
    ) -> LatentGenerator:
        """Load a model directory or a Hub repository written by this package.

        Args:
            name: A directory, or a Hub repository, `someone/model`.
            device: Where to compute; a GPU if there is one, if None.
            batch_size: The most texts written at a time, at least 1.
            **hub: `revision`, `token`, `cache_dir` and `local_files_only`, as `local_directory`
                takes them.

        Raises:
            ModelError: It is not there, damaged, or no model that writes sentences from variables.
            TypeError: There is no option of a name.
            ValueError: There is no such device.
        """
        check_hub_options(hub, cls.from_pretrained)
        where = chosen_device(device)
        directory = local_directory(name, **hub)
        model: Any = load_pretrained(directory, GENERATIVE)
        tokenizer = load_tokenizer(directory)
        check_tokenizer(name, model, tokenizer.vocab_size)
        generator = cls(model.to(where), tokenizer, batch_size=batch_size)
        generator._directory = directory
        return generator

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory that `from_pretrained` and transformers' Auto classes read.

        Args:
            directory: Where to write; made if need be.

        Raises:
            OSError: The disk is full or the directory cannot be written.
        """
        save_model(self.model, self.tokenizer, Path(directory), GENERATIVE)

    def center_on(self, texts: Sequence[str]) -> None:
        """Take the mean vector of texts from the vectors that the model gives as a sentence encoder
        (`LatentModel.center_on`); what it writes stays as it is.

        Args:
            texts: Thousands of sentences such as it was trained on.

        Raises:
            ValueError: No text has a known token.

        Example:
            >>> generator = LatentGenerator.from_pretrained("runs/bgt")  # doctest: +SKIP
            >>> generator.center_on(open("train.txt").read().splitlines())  # doctest: +SKIP
            >>> generator.save_pretrained("runs/bgt-centered")  # doctest: +SKIP
        """
        ids = self.tokenizer.encode_batch(list(texts))
        known = np.flatnonzero(np.diff(ids.offsets))
        if not len(known):
            raise ValueError("no text has a known token: give sentences of the model's languages")
        center_on_texts(self.model, ids, known)

    def translate(
        self,
        texts: Sequence[str],
        *,
        to: str | None = None,
        writing: GenerationOptions | None = None,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Write the meaning of texts in a language.

        Args:
            texts: Texts in any language of the model.
            to: The language to write; may be left out where the model translates into one alone.
            writing: How to search or sample; 5 beams if None.
            progress: Show a progress bar.

        Returns:
            The sentences written from each text, the likeliest first.

        Raises:
            ModelError: The model gives NaN.
            ValueError: The model does not translate into that language, or into several and none
                is named.
        """
        task = self.task("translate", to)
        texts = listed(texts)
        return self._write(task, self._latent(task, texts, texts), writing, progress)

    def reconstruct(
        self,
        texts: Sequence[str],
        *,
        language: str | None = None,
        writing: GenerationOptions | None = None,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Write texts again from their own variables, what is left of them being what these hold.

        Args:
            texts: Texts in `language`.
            language: The language of the texts; may be left out where the model reconstructs one
                alone.
            writing: How to search or sample; 5 beams if None.
            progress: Show a progress bar.

        Raises:
            ModelError: The model gives NaN.
            ValueError: The model does not reconstruct that language, or several and none is named.
        """
        task = self.task("reconstruct", language)
        texts = listed(texts)
        return self._write(task, self._latent(task, texts, texts), writing, progress)

    def transfer(
        self,
        sources: Sequence[str],
        styles: Sequence[str],
        *,
        language: str | None = None,
        writing: GenerationOptions | None = None,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Write the meaning of each source in the style of the sentence beside it (5.7.3).

        The semantic variable is the source's, the language variable that of the style.

        Args:
            sources: Sentences whose meaning is written, in any language of the model.
            styles: One sentence in `language` for each source.
            language: The language to write; may be left out where the model reconstructs one alone.
            writing: How to search or sample; 5 beams if None.
            progress: Show a progress bar.

        Raises:
            ModelError: The model gives NaN.
            ValueError: The two are not equally many, the model has no variable for style, or it
                does not reconstruct that language, or several and none is named.
        """
        sources, styles = listed(sources), listed(styles)
        if len(sources) != len(styles):
            raise ValueError(
                f"each source needs a style: got {counted(len(sources), 'source')} and "
                f"{counted(len(styles), 'style')}"
            )
        task = self.task("reconstruct", language)
        if self.model.variables_of(task) == [SEMANTIC]:
            raise ValueError(
                "this model has no language variables, so a style has nowhere to go: train one "
                "with model.language_variables, or reconstruct"
            )
        return self._write(task, self._latent(task, sources, styles), writing, progress)

    def interpolate(
        self,
        first: str,
        second: str,
        *,
        language: str | None = None,
        steps: int = 5,
        writing: GenerationOptions | None = None,
    ) -> list[list[GeneratedText]]:
        """Write from points on the line between the variables of two sentences.

        Args:
            first: Where the line begins, a sentence in `language`.
            second: Where it ends.
            language: The language of both, which is written; may be left out where the model
                reconstructs one alone.
            steps: Number of points, both ends among them; at least 2.
            writing: How to search or sample; 5 beams if None.

        Returns:
            What is written from each point; nothing where a sentence has no known token.

        Raises:
            ModelError: The model gives NaN.
            ValueError: `steps` is below 2, or the model does not reconstruct that language, or
                several and none is named.

        Example:
            >>> generator = LatentGenerator.from_pretrained("runs/bgt")  # doctest: +SKIP
            >>> generator.interpolate("a cat sleeps", "it rains", language="en")  # doctest: +SKIP
        """
        if steps < 2:
            raise ValueError(f"steps must be at least 2, both ends, got {steps}")
        task = self.task("reconstruct", language)
        ends = self._latent(task, [first, second], [first, second])
        share = torch.linspace(0, 1, steps, device=ends.device)[:, None]
        return self._write(task, ends[:1] * (1 - share) + ends[1:] * share, writing, False)

    def task(self, verb: str, language: str | None) -> str:
        """The name of a task: `translate_fr`.

        Args:
            verb: `translate` or `reconstruct`.
            language: The language that is written; None where the model writes one alone.

        Raises:
            ValueError: The model has no such task, or several and none is named.
        """
        return chosen_task(self.model.tasks(), verb, language)

    def _latent(self, task: str, sources: list[str], styles: list[str]) -> Tensor:
        """v of each text, (texts, latent): the meaning of a source, all else of a style; NaN where
        one of them has no known token."""
        found, known = [], np.ones(len(sources), bool)
        variables = self.model.variables_of(task)
        if not self._has_warned and variables != [SEMANTIC]:  # else any language may be read
            self._has_warned = warn_of_other_language(styles, task.rpartition("_")[2])
        for variable in variables:
            texts = sources if variable == SEMANTIC else styles
            ids = self.tokenizer.encode_batch(texts)
            known &= np.diff(ids.offsets) > 0
            found.append(self._means(variable, ids))
        latent = torch.cat(found, 1)
        if not latent.isfinite().all():
            raise ModelError("the model gives NaN: its weights or the training were damaged")
        latent[torch.from_numpy(~known)] = torch.nan
        return latent

    @torch.no_grad()
    def _means(self, variable: str, ids: Ragged) -> Tensor:
        size, device = self.model.config.hidden_size, self.model.device
        means = torch.zeros(len(ids), size, device=device)
        lengths = np.diff(ids.offsets)
        if (lengths > MOST_READ).any():
            logger.warning(
                "%s cut: of a text its first %d tokens are read",
                counted(int((lengths > MOST_READ).sum()), "text"),
                MOST_READ,
            )
        short = np.minimum(lengths, MOST_READ)
        for chosen in length_batches(short, self.batch_size, self.model.most_tokens):
            batch = ids.select(chosen, MOST_READ)
            flat = torch.from_numpy(batch.ids).to(device).long()
            sizes = torch.from_numpy(np.diff(batch.offsets)).to(device)
            posterior = self.model.posterior(variable, flat, sizes)
            means[torch.from_numpy(chosen).to(device)] = posterior.mean.float()
        return means

    @torch.no_grad()
    def _write(
        self, task: str, latent: Tensor, writing: GenerationOptions | None, progress: bool
    ) -> list[list[GeneratedText]]:
        how = GenerationOptions() if writing is None else writing
        known = torch.nonzero(~latent.isnan().any(1))[:, 0]
        found = [[NOTHING] * how.outputs for _ in range(len(latent))]
        generator = torch.Generator(latent.device).manual_seed(int(how.seed))
        with (
            clear_errors(self.model),
            tqdm(total=len(known), unit=" texts", disable=not progress) as bar,
        ):
            for rows in known.split(self.batch_size) if len(known) else ():
                for row, written in zip(
                    rows.tolist(), self._of_batch(task, latent[rows], how, generator), strict=True
                ):
                    found[row] = written
                bar.update(len(rows))
        return found

    def _of_batch(
        self, task: str, latent: Tensor, how: GenerationOptions, generator: torch.Generator
    ) -> list[list[GeneratedText]]:
        variables = BaseModelOutput(last_hidden_state=latent.to(self.model.dtype)[:, None])
        sequences = search(
            self.model,
            variables,
            how,
            generator,
            task=task,
            max_new_tokens=how.max_tokens,
            **how.options(),
        )
        written = sequences[:, 1:]  # the first begins every sentence
        is_written = until_end(written, self._ends)
        nats = mean_log_probabilities(
            self.model, variables, sequences, is_written, count=how.outputs, task=task
        )
        decode = self.tokenizer.decode
        return written_lists(written, is_written, nats.tolist(), decode, how.outputs)
