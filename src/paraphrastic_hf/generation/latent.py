"""Translation, reconstruction and style transfer with generative models (thesis, 5.7.3).

Texts without known tokens give empty texts.
"""

import logging
import os
from collections.abc import Sequence
from typing import Self, Unpack

import numpy as np
import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from paraphrastic_hf.encoders.batches import embed_texts, length_batches
from paraphrastic_hf.encoders.saved import SavedModel
from paraphrastic_hf.encoders.storage.directory import GENERATIVE
from paraphrastic_hf.encoders.storage.locate import HubOptions
from paraphrastic_hf.errors import ModelError, counted
from paraphrastic_hf.generation.search import (
    end_ids,
    generate_texts,
    generation_config,
    write_batches,
)
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions, listed
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import SEMANTIC
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged

logger = logging.getLogger(__name__)
MOST_READ = 10_000  # maximum tokens of a text, because attention takes quadratic time


def center_on_texts(
    model: LatentModel, texts: Ragged, which: np.ndarray, max_length: int | None = None
) -> None:
    """Subtract the mean embedding of texts from a model's semantic embeddings."""
    by_meaning = model.reading(SEMANTIC)
    by_meaning.center_on(torch.zeros(model.config.hidden_size))
    model.center_on(embed_texts(by_meaning, texts, which, max_length=max_length).mean(0))


class LatentGenerator(SavedModel):
    """A generative model of sentence pairs with its tokenizer, to generate text.

    Args:
        model: The model, in evaluation mode.
        tokenizer: Tokenizer of the model.
        batch_size: Maximum number of texts per batch, at least 1.

    Raises:
        ModelError: The sizes of model and tokenizer differ.

    Example:
        >>> generator = LatentGenerator.from_pretrained("runs/bgt")  # doctest: +SKIP
        >>> generator.translate(["a cat sleeps"], to="fr")[0][0].text  # doctest: +SKIP
        'un chat dort'
    """

    model: LatentModel
    layout = GENERATIVE
    noun = "generative model"

    def __init__(
        self, model: LatentModel, tokenizer: TextTokenizer, *, batch_size: int = 64
    ) -> None:
        super().__init__(model, tokenizer)
        self.batch_size = batch_size
        self._ends = end_ids(model)

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        device: str | torch.device | None = None,
        batch_size: int = 64,
        **hub: Unpack[HubOptions],
    ) -> Self:
        """Load a model directory or a Hub repository written by this package.

        Args:
            name: A directory, or a Hub repository, `someone/model`.
            device: Device to compute on. None means a GPU if available.
            batch_size: Maximum number of texts per batch, at least 1.
            **hub: `revision`, `token`, `cache_dir` and `local_files_only` of `local_directory`.
        """
        generator = super().from_pretrained(name, device=device, **hub)
        generator.batch_size = batch_size
        return generator

    def center_on(self, texts: Sequence[str]) -> None:
        """Subtract the mean embedding of texts from the model's sentence embeddings.

        Generated text does not change.

        Args:
            texts: Thousands of sentences like the training text.

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
            raise ValueError(
                "No text contains a token that the model knows. Use texts in the languages of "
                "the model"
            )
        center_on_texts(self.model, ids, known)

    def translate(
        self,
        texts: Sequence[str],
        *,
        to: str | None = None,
        writing: GenerationOptions | None = None,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Translate texts.

        Args:
            texts: Texts in any language of the model.
            to: Target language. Optional if the model translates into only one language.
            writing: Options of beam search or sampling. None means 5 beams.
            progress: Show a progress bar.

        Returns:
            The translations of each text, most likely first.
        """
        task, texts = self.task("translate", to), listed(texts)
        return self._write(task, self._latent(task, texts, texts), writing, progress)

    def reconstruct(
        self,
        texts: Sequence[str],
        *,
        language: str | None = None,
        writing: GenerationOptions | None = None,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Infer the latent variables of each text and generate it again from them.

        Args:
            texts: Texts in `language`.
            language: Language of the texts. Optional if the model reconstructs only one language.
            writing: Options of beam search or sampling. None means 5 beams.
            progress: Show a progress bar.
        """
        task, texts = self.task("reconstruct", language), listed(texts)
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
        """Rewrite each source in the style of another sentence (5.7.3).

        The semantic variable is inferred from the source, the language variable from the style
        sentence.

        Args:
            sources: Sentences to rewrite, in any language of the model.
            styles: Sentences in `language` whose style is used, one for each source.
            language: Language to write. Optional if the model reconstructs only one language.
            writing: Options of beam search or sampling. None means 5 beams.
            progress: Show a progress bar.

        Raises:
            ValueError: The lists differ in length, or the model has no language variables.
        """
        sources, styles = listed(sources), listed(styles)
        if len(sources) != len(styles):
            raise ValueError(
                f"sources and styles must have equal length, got {len(sources):,} and "
                f"{len(styles):,}"
            )
        task = self.task("reconstruct", language)
        if self.model.variables_of(task) == [SEMANTIC]:
            raise ValueError(
                "This model has no language variables for a style. Train one with "
                "model.language_variables, or use reconstruct"
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
        """Generate sentences from points on the line between the latent variables of two sentences.

        Args:
            first: Sentence at the start of the line, in `language`.
            second: Sentence at the end of the line, in `language`.
            language: Language to write. Optional if the model reconstructs only one language.
            steps: Number of points, including both ends, at least 2.
            writing: Options of beam search or sampling. None means 5 beams.

        Returns:
            The sentences generated from each point.

        Raises:
            ValueError: `steps` is below 2.
        """
        if steps < 2:
            raise ValueError(f"steps must be at least 2 (both ends), got {steps}")
        task = self.task("reconstruct", language)
        ends = self._latent(task, [first, second], [first, second])
        share = torch.linspace(0, 1, steps, device=ends.device)[:, None]
        return self._write(task, ends[:1] * (1 - share) + ends[1:] * share, writing, False)

    def task(self, verb: str, language: str | None) -> str:
        """Return the name of a task, such as `translate_fr`.

        Args:
            verb: `translate` or `reconstruct`.
            language: Language to write, or None if the model writes only one language.
        """
        return chosen_task(self.model.tasks(), verb, language)

    def _latent(self, task: str, sources: list[str], styles: list[str]) -> Tensor:
        """Return the concatenated latent variables of each text, (texts, latent), the semantic one
        inferred from the source, the others from the style. A row is NaN if one of the two texts
        has no known tokens.
        """
        found, known = [], np.ones(len(sources), bool)
        for variable in self.model.variables_of(task):
            texts = sources if variable == SEMANTIC else styles
            ids = self.tokenizer.encode_batch(texts)
            known &= np.diff(ids.offsets) > 0
            found.append(self._means(variable, ids))
        latent = torch.cat(found, 1)
        if not latent.isfinite().all():
            raise ModelError("The model computes NaN: its weights are damaged or training diverged")
        latent[torch.from_numpy(~known)] = torch.nan
        return latent

    @torch.no_grad()
    def _means(self, variable: str, ids: Ragged) -> Tensor:
        device = self.model.device
        means = torch.zeros(len(ids), self.model.config.hidden_size, device=device)
        lengths = np.diff(ids.offsets)
        if (lengths > MOST_READ).any():
            logger.warning(
                "Truncated %s to the maximum length of %d tokens",
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

    def _write(
        self, task: str, latent: Tensor, writing: GenerationOptions | None, progress: bool
    ) -> list[list[GeneratedText]]:
        how = GenerationOptions() if writing is None else writing
        known = torch.nonzero(~latent.isnan().any(1))[:, 0]

        def write(rows: Sequence[int], generator: torch.Generator) -> list[list[GeneratedText]]:
            config = generation_config(self.model, how, how.max_tokens)
            config.decoder_start_token_id = self.model.start_of(task)
            variables = latent[rows].to(self.model.dtype)[:, None]
            return generate_texts(
                self.model,
                BaseModelOutput(last_hidden_state=variables),
                how,
                generator,
                config=config,
                begin=1,
                ends=self._ends,
                decode=self.tokenizer.decode,
                task=task,
            )

        batches = known.split(self.batch_size) if len(known) else ()
        return write_batches(self.model, len(latent), batches, how, write, progress=progress)


def chosen_task(tasks: Sequence[str], verb: str, language: str | None) -> str:
    """Return the task of a verb that writes `language` (None: the model's only language)."""
    known = [task.split("_", 1) for task in tasks]
    able = [of for name, of in known if name == verb]
    if language is None and len(able) == 1:
        language = able[0]
    if language not in able:
        into = "translates into" if verb == "translate" else "reconstructs"
        if not able:
            trained = ", ".join(tasks) or "nothing"
            raise ValueError(f"This model {into} no language. Its tasks: {trained}")
        option = "to" if verb == "translate" else "language"
        asked = f"so choose one, such as --{option} {able[0]}"
        asked = asked if language is None else f"not {language!r}"
        raise ValueError(f"This model {into} {', '.join(able)}, {asked}")
    return f"{verb}_{language}"
