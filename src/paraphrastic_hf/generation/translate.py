"""Translation with any encoder-decoder of `AutoModelForSeq2SeqLM` (thesis, 7.3 and 7.4)."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import torch

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.encoders.device import chosen_device
from paraphrastic_hf.encoders.languages import written_language
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.bounded import no_progress_bar
from paraphrastic_hf.encoders.storage.locate import HubOptions, local_directory
from paraphrastic_hf.generation.languages import Languages, source_ids, told_language
from paraphrastic_hf.generation.loading import (
    check_translator,
    load_stock_tokenizer,
    load_translation_model,
)
from paraphrastic_hf.generation.search import (
    MOST_TOKENS,
    EndInTime,
    clear_errors,
    encoded_by,
    end_ids,
    generate_texts,
    generation_config,
    is_out_of_memory,
    padded,
    score_ids,
    target_ids,
    write_batches,
)
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions, listed

logger = logging.getLogger(__name__)

EXTRA_TOKENS = 5  # added to max_ratio x source length


class TranslatorOptions(HubOptions, total=False):
    """Options of `Translator.from_pretrained`: arguments of `Translator` and of Hub downloads."""

    source: str | None
    to: str | None
    prefix: str
    batch_size: int
    max_ratio: float


class Translator(HubMixin):
    """An encoder-decoder model that translates lines of text.

    Args:
        model: Any model of `AutoModelForSeq2SeqLM`. Each call restores its training mode.
        tokenizer: Tokenizer of the model, as `AutoTokenizer` loads it.
        source: Source language, for multilingual tokenizers (NLLB, M2M100, mBART).
        to: Target language, for multilingual models: the tokenizer's code, or `de` for the mark
            `>>de<<`.
        prefix: Text prepended to every line, such as "translate English to German: " for T5.
        batch_size: Maximum number of lines per batch, at least 1. A batch is split if memory runs
            out.
        max_ratio: A translation has at most `max_ratio` tokens per source token, plus 5. Above 0.
            The thesis uses 1.5 for candidates.

    Raises:
        ValueError: A number is out of range, or the tokenizer does not know a language.

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
        # None means no limit: models with relative positions, such as T5.
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
        """Load an encoder-decoder from a model directory or a Hub repository.

        Args:
            name: A directory, or a Hub repository, `someone/model`.
            device: Device to compute on. None means a GPU if available.
            trust_remote_code: Whether to allow Python code from the model's repository to run with
                all your permissions.
            **options: Arguments of `Translator`, and `revision`, `token`, `cache_dir` and
                `local_files_only` for the Hub.
        """
        where = chosen_device(device)
        of_hub: Any = {k: value for k, value in options.items() if k in HubOptions.__annotations__}
        own: Any = {key: value for key, value in options.items() if key not in of_hub}
        path = local_directory(name, **of_hub)  # all files of one commit
        model = load_translation_model(path, trust_remote_code=trust_remote_code)
        tokenizer = load_stock_tokenizer(path, trust_remote_code=trust_remote_code)
        check_translator(name, model, tokenizer)
        own["to"] = told_language(tokenizer, own.get("to"), written_language(path))
        translator = cls(model.eval().to(where), tokenizer, **own)
        translator._directory = path
        return translator

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory that `from_pretrained` and transformers' Auto classes can load.

        Args:
            directory: Directory to write, created if missing.
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

        A line without known tokens gives an empty translation.

        Args:
            sentences: Lines to translate.
            beams: Beam size, at least 1. 1 is greedy search.
            outputs: Number of translations per line, at most `beams` without `sample`.
            sample: Sample the tokens instead of beam search.
            top_p: With `sample`, probability mass of nucleus sampling, above 0, at most 1.
            temperature: With `sample`, softmax temperature, above 0.
            length_penalty: A beam's log-probability is divided by its length to this power. 1 gives
                the mean, 0 the sum.
            max_tokens: Maximum number of tokens in a translation, including the end mark.
                `max_ratio` may be stricter.
            seed: Seed of `sample`.
            scores: Whether to compute `nats`, which takes one more decoder pass.
            progress: Show a progress bar.

        Returns:
            `outputs` translations of each line. Without `sample`, the most likely comes first.
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
        """Return the input ids of each line. The list is empty for a line without known tokens.

        Lines longer than the model's maximum number of positions are cut.

        Args:
            sentences: Lines to encode.
        """
        lines = listed(sentences, "sentences")
        return source_ids(self.tokenizer, lines, self.languages, self.prefix, self._most_positions)

    def begin(self) -> list[int]:
        """Return the ids of the begin tokens of every translation."""
        forced = self.languages.forced
        with clear_errors(self.model):
            start = int(self.model.generation_config.decoder_start_token_id)
        return [start] if forced is None else [start, forced]

    def write(
        self,
        ids: Sequence[Sequence[int]],
        writing: GenerationOptions,
        *,
        scores: bool = True,
        progress: bool = False,
    ) -> list[list[GeneratedText]]:
        """Translate lines, given as ids, in batches of similar length.

        Args:
            ids: Input ids of each line from `encode`. Empty ids give empty translations.
            writing: Options of beam search or sampling.
            scores: Whether to compute `nats`.
            progress: Show a progress bar.

        Returns:
            `writing.outputs` translations of each line.
        """
        lengths = np.array([len(line) for line in ids], np.int64)
        known = np.flatnonzero(lengths)
        batches = length_batches(lengths[known], self.batch_size, MOST_TOKENS)
        return write_batches(
            self.model,
            len(ids),
            (known[chosen] for chosen in batches),
            writing,
            lambda rows, generator: self._within_memory(
                [ids[row] for row in rows], writing, generator, scores
            ),
            unit=" lines",
            progress=progress,
        )

    def score(self, sentences: Sequence[str], translations: Sequence[str]) -> np.ndarray:
        """Compute the likelihood of given translations.

        Args:
            sentences: Source lines.
            translations: One translation of each line.

        Returns:
            Mean log-probability of each translation's tokens, including the end mark, in nats,
            (lines,) float64. NaN if the line or the translation has no text.
        """
        if not len(sentences):
            return np.empty(0)
        begin, texts = self.begin(), list(translations)
        targets = target_ids(self.tokenizer, texts, begin, self._most_positions)
        targets = [ids if text.strip() else [] for ids, text in zip(targets, texts, strict=True)]
        return score_ids(
            self.model,
            self.encode(sentences),
            targets,
            begin,
            pad=self.tokenizer.pad_token_id,
            batch_size=self.batch_size,
        )

    def _within_memory(
        self,
        batch: Sequence[Sequence[int]],
        writing: GenerationOptions,
        generator: torch.Generator,
        scores: bool,
    ) -> list[list[GeneratedText]]:
        """Translate a batch. If memory runs out, translate it in smaller parts."""
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
                "Out of memory with batch_size %d. Retrying with %d", len(part), self.batch_size
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
        sources = padded(batch, self.tokenizer.pad_token_id, self.model.device)
        lengths = torch.tensor([len(line) for line in batch])
        most = (lengths * self.max_ratio).long() + EXTRA_TOKENS
        limit = min(writing.max_tokens, int(most.max()))
        if self._most_positions is not None:
            limit = min(limit, self._most_positions - 1)
        config = generation_config(self.model, writing, limit)
        config.min_length = None
        config.forced_eos_token_id = None  # would end the longest translation at no cost
        if self.languages.forced is not None:
            config.forced_bos_token_id = self.languages.forced
        rows = writing.outputs if writing.sample else writing.beams
        return generate_texts(
            self.model,
            encoded_by(self.model, sources),
            writing,
            generator,
            config=config,
            begin=len(self.begin()),
            ends=self._ends,
            decode=self.decode,
            scores=scores,
            processors=[EndInTime(most.repeat_interleave(rows), self._ends)],
            attention_mask=sources["attention_mask"],
        )

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a translation, without special tokens.

        Args:
            ids: Token ids of the translation.
        """
        text: str = self.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text.strip()
