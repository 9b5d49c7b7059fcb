"""Translation by any encoder-decoder model: those of this package, and whatever transformers'
`AutoModelForSeq2SeqLM` and `AutoTokenizer` load (thesis, 7.3 and 7.4).

Searching and sampling are transformers' `generate`. How likely a model finds a translation is here
too. Lists from which minimum risk chooses are `translate(..., outputs=8)`.
"""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.encoders.device import chosen_device
from paraphrastic_hf.encoders.languages import written_language
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.bounded import no_progress_bar
from paraphrastic_hf.encoders.storage.locate import HubOptions, local_directory
from paraphrastic_hf.errors import counted
from paraphrastic_hf.generation.languages import Languages, source_ids, told_language
from paraphrastic_hf.generation.loading import check_translator, load_stock_tokenizer, load_whole
from paraphrastic_hf.generation.search import (
    EndInTime,
    clear_errors,
    encoded_by,
    end_ids,
    is_out_of_memory,
    mean_log_probabilities,
    padded,
    search,
    target_ids,
    until_end,
    written_lists,
)
from paraphrastic_hf.generation.writing import NOTHING, GeneratedText, GenerationOptions, listed
from paraphrastic_hf.models.evaluating import evaluating

logger = logging.getLogger(__name__)

EXTRA_TOKENS = 5  # that a translation may have beyond its ratio to the source
MOST_TOKENS = 2**14  # of the sources of a batch, padding included


class TranslatorOptions(HubOptions, total=False):
    """What loading takes besides a name: settings of `Translator`, and of a Hub repository."""

    source: str | None
    to: str | None
    prefix: str
    batch_size: int
    max_ratio: float


class Translator(HubMixin):
    """An encoder-decoder model that translates lines of text.

    Args:
        model: Any model of `AutoModelForSeq2SeqLM`. It is left in training or evaluation mode as it
            was.
        tokenizer: Its tokenizer, as `AutoTokenizer` loads it.
        source: The language of the lines, for tokenizers that must be told (NLLB, M2M100, mBART).
        to: The language to write, for models of several: a code of their tokenizer, or of a mark
            `>>de<<` that it has.
        prefix: Text that goes before every line, as T5 wants it: "translate English to German: ".
        batch_size: The most lines translated at a time, at least 1; half as many, and so on, where
            memory runs out.
        max_ratio: A translation has at most so many tokens for each token of its source, and 5
            more, above 0; the thesis takes 1.5 for its candidates.

    Raises:
        ValueError: A number is out of range, or the tokenizer does not have such a language.

    Example:
        >>> translator = Translator.from_pretrained("runs/de-en")  # doctest: +SKIP
        >>> best = translator.translate(["ein Hund läuft"], beams=5)  # doctest: +SKIP
        >>> best[0][0].text  # doctest: +SKIP
        'a dog runs'
        >>> drawn = translator.translate(lines, outputs=64, sample=True)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        source: str | None = None,
        to: str | None = None,
        prefix: str = "",
        batch_size: int = 64,
        max_ratio: float = 2.0,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if not max_ratio > 0:
            raise ValueError(f"max_ratio must be above 0, got {max_ratio}")
        self.model, self.tokenizer = model, tokenizer
        self.languages = Languages.of(tokenizer, source, to)
        self.prefix, self.batch_size, self.max_ratio = prefix, batch_size, max_ratio
        self._ends = end_ids(model)
        # of models whose positions are learned or tabled; those of T5 have no end
        self._most_positions: int | None = getattr(model.config, "max_position_embeddings", None)

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        device: str | torch.device | None = None,
        trust_remote_code: bool = False,
        **options: Unpack[TranslatorOptions],
    ) -> Translator:
        """Load a model directory or a Hub repository that holds an encoder-decoder.

        Args:
            name: A directory, or a Hub repository, `someone/model`.
            device: Where to compute; a GPU if there is one, if None.
            trust_remote_code: Whether Python code that comes with the model may run; it can do
                whatever you can.
            **options: Those of the class, and `revision`, `token`, `cache_dir` and
                `local_files_only` of a repository.

        Raises:
            ModelError: It is not there, damaged, no encoder-decoder, or its tokenizer is of another
                model.
            ValueError: A number is out of range, the tokenizer does not have such a language, or
                there is no such device.
        """
        where = chosen_device(device)
        of_hub: Any = {k: value for k, value in options.items() if k in HubOptions.__annotations__}
        own: Any = {key: value for key, value in options.items() if key not in of_hub}
        path = local_directory(name, **of_hub)  # all files of one commit
        model = load_whole(path, trust_remote_code=trust_remote_code)
        tokenizer = load_stock_tokenizer(path, trust_remote_code=trust_remote_code)
        check_translator(name, model, tokenizer)
        own["to"] = told_language(tokenizer, own.get("to"), written_language(path))
        translator = cls(model.eval().to(where), tokenizer, **own)
        translator._directory = path
        return translator

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory that `from_pretrained` and transformers' Auto classes read.

        Args:
            directory: Where to write; made if need be.
        """
        with no_progress_bar():
            self.model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beams: int = 5,
        outputs: int = 1,
        sample: bool = False,
        top_p: float = 1.0,
        temperature: float = 1.0,
        length_penalty: float = 1.0,
        max_tokens: int = 200,
        seed: int = 0,
        scores: bool = True,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Translate lines of text.

        A line without text, or of which the tokenizer knows nothing, gives the empty string.

        Args:
            sentences: The lines, in any order of length.
            beams: Beginnings kept at each step; 1 takes the likeliest token each time.
            outputs: Translations of each line: the best of the beams, at most `beams`; or draws.
            sample: Draw each token instead of searching.
            top_p: With `sample`, draw among the likeliest tokens that share this much of the
                probability, above 0, at most 1.
            temperature: With `sample`, below 1 for likelier tokens, above 1 for others.
            length_penalty: A beam's log-probability is divided by its length to this power: 1 for
                the mean, 0 for the sum.
            max_tokens: Most tokens of a translation, its end included; `max_ratio` may say fewer.
            seed: Number that every draw follows from.
            scores: Whether to compute `nats` of each translation, by one more pass of the decoder.
            progress: Show a progress bar.

        Returns:
            For each line its translations, `outputs` of them, the likeliest first unless drawn.

        Raises:
            TypeError: `sentences` is no list of strings.
            ValueError: A number is out of range, or `outputs` is larger than `beams`.
        """
        how = GenerationOptions(
            beams=beams,
            sample=sample,
            top_p=top_p,
            temperature=temperature,
            outputs=outputs,
            max_tokens=max_tokens,
            seed=seed,
            length_penalty=length_penalty,
        )
        return self.write(self.encode(sentences), how, scores=scores, progress=progress)

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """The ids that the model reads of each line; none of a line without any known token.

        A line of more tokens than the model has positions is cut there.

        Args:
            sentences: The lines.

        Raises:
            TypeError: `sentences` is no list of strings.
        """
        lines = listed(sentences, "sentences")
        return source_ids(self.tokenizer, lines, self.languages, self.prefix, self._most_positions)

    def begin(self) -> list[int]:
        """The ids that every translation begins with, which say nothing of it."""
        forced = self.languages.forced
        with clear_errors(self.model):
            start = int(self.model.generation_config.decoder_start_token_id)
        return [start] if forced is None else [start, forced]

    @torch.no_grad()
    def write(
        self,
        ids: Sequence[Sequence[int]],
        writing: GenerationOptions,
        *,
        scores: bool = True,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Translate lines whose ids are known, in batches of lines of like length.

        Args:
            ids: What the model reads of each line, as `encode` gives it; nothing for nothing.
            writing: How to search or sample.
            scores: Whether to compute `nats` of each translation.
            progress: Show a progress bar.

        Returns:
            For each line its translations, `writing.outputs` of them.
        """
        lengths = np.array([len(line) for line in ids], np.int64)
        known = np.flatnonzero(lengths)
        found = [[NOTHING] * writing.outputs for _ in ids]
        generator = torch.Generator(self.model.device).manual_seed(int(writing.seed))
        with (
            clear_errors(self.model),
            evaluating(self.model),
            tqdm(total=len(known), unit=" lines", disable=not progress) as bar,
        ):
            for chosen in length_batches(lengths[known], self.batch_size, MOST_TOKENS):
                rows = known[chosen]
                batch = [ids[row] for row in rows]
                for row, written in zip(
                    rows, self._within_memory(batch, writing, generator, scores), strict=True
                ):
                    found[row] = written
                bar.update(len(rows))
        return found

    @torch.no_grad()
    def score(self, sentences: Sequence[str], translations: Sequence[str]) -> np.ndarray:
        """How likely the model finds translations that others made.

        Args:
            sentences: The lines.
            translations: One of each line.

        Returns:
            (lines,) float64, mean over the tokens of each translation, with its end, of ln of their
            probability; NaN where the line or the translation has no text.

        Raises:
            ValueError: The two are not equally many.
        """
        if len(sentences) != len(translations):
            raise ValueError(
                f"each line needs a translation: got {counted(len(sentences), 'line')} and "
                f"{counted(len(translations), 'translation')}"
            )
        nats = np.full(len(sentences), np.nan)
        if not len(sentences):
            return nats
        ids = self.encode(sentences)
        begin = self.begin()
        targets = target_ids(self.tokenizer, translations, begin, self._most_positions)
        pairs = zip(ids, translations, strict=True)
        known = np.flatnonzero([bool(line and text.strip()) for line, text in pairs])
        lengths = np.array([len(ids[row]) + len(targets[row]) for row in known], np.int64)
        with evaluating(self.model):
            for chosen in length_batches(lengths, self.batch_size, MOST_TOKENS):
                rows = known[chosen]
                sources = self._padded([ids[row] for row in rows])
                sequences = self._padded([begin + targets[row] for row in rows])
                found = mean_log_probabilities(
                    self.model,
                    encoded_by(self.model, sources),
                    sequences["input_ids"],
                    sequences["attention_mask"][:, len(begin) :].bool(),
                    attention_mask=sources["attention_mask"],
                )
                nats[rows] = found.double().cpu().numpy()
        return nats

    def _within_memory(
        self,
        batch: Sequence[Sequence[int]],
        writing: GenerationOptions,
        generator: torch.Generator,
        scores: bool,
    ) -> list[list[GeneratedText]]:
        """What is written from a batch, of fewer lines at a time where memory runs out."""
        found: list[list[GeneratedText]] = []
        while len(found) < len(batch):
            part = batch[len(found) : len(found) + self.batch_size]
            try:
                found += self._of_batch(part, writing, generator, scores)
                continue
            except Exception as error:
                if len(part) == 1 or not is_out_of_memory(error):
                    raise
            self.batch_size = len(part) // 2
            logger.warning(
                "no memory for %d lines at a time; trying %d", len(part), self.batch_size
            )
            torch.cuda.empty_cache()
        return found

    def _of_batch(
        self,
        batch: Sequence[Sequence[int]],
        writing: GenerationOptions,
        generator: torch.Generator,
        scores: bool,
    ) -> list[list[GeneratedText]]:
        sources = self._padded(batch)
        lengths = torch.tensor([len(line) for line in batch])
        most = (lengths * self.max_ratio).long() + EXTRA_TOKENS
        limit = min(writing.max_tokens, int(most.max()))
        if self._most_positions is not None:
            limit = min(limit, self._most_positions - 1)
        config = copy.deepcopy(self.model.generation_config)
        config.min_length = None
        config.forced_eos_token_id = None  # an end that costs nothing, at the longest's limit
        config.update(**writing.options(), max_length=limit + 1)  # the start is counted
        if config.max_new_tokens is not None:  # which counts where both are given, with a warning
            config.max_new_tokens = limit
        if self.languages.forced is not None:
            config.forced_bos_token_id = self.languages.forced
        rows = writing.outputs if writing.sample else writing.beams
        encoded = encoded_by(self.model, sources)
        sequences = search(
            self.model,
            encoded,
            writing,
            generator,
            config=config,
            processors=[EndInTime(most.repeat_interleave(rows), self._ends)],
            attention_mask=sources["attention_mask"],
        )
        written = sequences[:, len(self.begin()) :]
        is_written = until_end(written, self._ends)
        nats = [float("nan")] * len(sequences)
        if scores:
            nats = mean_log_probabilities(
                self.model,
                encoded,
                sequences,
                is_written,
                count=writing.outputs,
                attention_mask=sources["attention_mask"],
            ).tolist()
        return written_lists(written, is_written, nats, self.decode, writing.outputs)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a translation.

        Args:
            ids: Its tokens; marks are left out.
        """
        text: str = self.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text.strip()

    def _padded(self, batch: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        return padded(batch, self.tokenizer.pad_token_id, self.model.device)
