"""Generation from sources and templates (thesis, 6.3).

The models are SCPN, parse generators, and stock encoder-decoders, which read source and template as
one text.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch

from paraphrastic_hf.encoders.device import chosen_device
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.directory import TRANSLATION, save_model
from paraphrastic_hf.encoders.storage.locate import HubOptions, check_hub_options, local_directory
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.generation.loading import (
    check_tokenizer,
    load_stock_tokenizer,
    load_translation_model,
)
from paraphrastic_hf.generation.search import (
    generate_texts,
    generation_config,
    padded,
    score_ids,
    write_batches,
)
from paraphrastic_hf.generation.templates import (
    NONE,
    SENTENCE,
    TEMPLATES,
    load_templates,
    save_templates,
)
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import NOTHING, GeneratedText, GenerationOptions
from paraphrastic_hf.models.seq2seq.base import Seq2SeqModel
from paraphrastic_hf.models.seq2seq.ssru import SsruModel
from paraphrastic_hf.syntax.parse_tokens import parse_tokenizer, with_template
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer

Outputs = list[list[list[GeneratedText]]]  # for each source, for each of its templates


class TemplatedWriter(HubMixin):
    """A model of recipe kind `paraphrase`, which generates text from a source and a template."""

    def __init__(
        self, model: Any, tokenizer: TextTokenizer, *, directory: Any = None, batch_size: int = 64
    ) -> None:
        self.model, self.tokenizer, self.batch_size = model.eval(), tokenizer, batch_size
        self.templates = parse_tokenizer()
        self.is_own = isinstance(model, Seq2SeqModel)
        self.joined: Translator | None = None
        if not self.is_own:
            stock = load_stock_tokenizer(directory)
            self.joined = Translator(model, stock, batch_size=batch_size)
        check_tokenizer(directory or type(model).__name__, model, tokenizer.vocab_size)
        known = getattr(model.config, "template_vocab_size", self.templates.vocab_size)
        if self.is_own and self.reads != NONE and known != self.templates.vocab_size:
            raise ModelError(
                f"The model has a parse vocabulary of {known} entries, but this version of "
                f"paraphrastic_hf has {self.templates.vocab_size}. Train the model again"
            )

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        device: str | torch.device | None = None,
        batch_size: int = 64,
        **hub: Unpack[HubOptions],
    ) -> TemplatedWriter:
        """Load a model that a recipe of kind `paraphrase` trained, from a directory or the Hub."""
        check_hub_options(hub, cls.from_pretrained)
        where = chosen_device(device)
        directory = local_directory(name, **hub)
        tokenizer = load_tokenizer(directory)
        model = load_translation_model(directory)
        if not (isinstance(model, Seq2SeqModel) or hasattr(model.config, "template")):
            raise ModelError(
                f"{directory} contains a {type(model).__name__}, not a model trained with a "
                "recipe of kind paraphrase"
            )
        writer = cls(model.to(where), tokenizer, directory=directory, batch_size=batch_size)
        writer._directory = directory
        return writer

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory that `from_pretrained` and transformers' Auto class can load."""
        known = self._directory
        counts = load_templates(known) if known and (known / TEMPLATES).exists() else {}
        save_model(self.model, self.tokenizer, Path(directory), TRANSLATION)
        if counts:
            save_templates(Path(directory), counts.items())

    @property
    def reads(self) -> str:
        """Second input of the model: `parse`, `template` or `none`."""
        return str(getattr(self.model.config, "template", NONE))

    @property
    def needs_template(self) -> bool:
        """Whether every source needs a template."""
        return self.reads != NONE and not isinstance(self.model, SsruModel)

    @property
    def writes(self) -> str:
        """Output of the model: `sentence` or `parse`."""
        return str(getattr(self.model.config, "writes", SENTENCE))

    def count_tokens(self, sources: Sequence[str]) -> list[int]:
        """Return the number of tokens of each source with the end mark, or 0 if none is known."""
        return np.diff(self.tokenizer.encode_batch(list(sources)).offsets).tolist()

    def write(
        self,
        sources: Sequence[str],
        templates: Sequence[Sequence[str]],
        writing: GenerationOptions,
        *,
        scores: bool = True,
    ) -> Outputs:
        """Generate texts from each source with each of its templates, `[""]` for a model without
        templates. Parses are in the form of `parse_text`. The texts are empty if the source has no
        known tokens or a template is missing.
        """
        ids = self._ids(sources)
        wanted = [
            (number, place)
            for number in range(len(ids))
            if ids[number]
            for place, text in enumerate(templates[number])
            if text or not self.needs_template
        ]
        if self.joined is None:
            wanted.sort(key=lambda each: len(ids[each[0]]))
            texts = [templates[number][place] for number, place in wanted]
            outputs = self._write([ids[number] for number, _ in wanted], texts, writing, scores)
        else:
            texts = [with_template(sources[n], templates[n][place]) for n, place in wanted]
            outputs = self.joined.write(self.joined.encode(texts), writing, scores=scores)
        found: Outputs = [[[NOTHING] * writing.outputs for _ in each] for each in templates]
        for (number, place), written in zip(wanted, outputs, strict=True):
            found[number][place] = written
        return found

    def free_likelihoods(self, sources: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return each text's mean log-probability per token without template, or -inf."""
        begin = [self.model.config.decoder_start_token_id]
        read, written, size = self._ids(sources), self._ids(texts), self.batch_size
        nats = score_ids(self.model, read, written, begin, pad=0, batch_size=size)
        return np.nan_to_num(nats, nan=-np.inf).tolist()

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        ids = self.tokenizer.encode_batch(list(texts))
        return [ids[number].tolist() for number in range(len(ids))]

    def _write(
        self,
        sources: Sequence[Sequence[int]],
        templates: Sequence[str],
        writing: GenerationOptions,
        scores: bool,
    ) -> list[list[GeneratedText]]:
        """Generate texts from source ids with one template each, in batches."""

        def write(rows: Sequence[int], generator: torch.Generator) -> list[list[GeneratedText]]:
            return generate_texts(
                self.model,
                self._encoded([sources[n] for n in rows], [templates[n] for n in rows]),
                writing,
                generator,
                config=generation_config(self.model, writing, writing.max_tokens),
                begin=1,
                ends=torch.tensor(list(self.tokenizer.special.end)),
                decode=self._decode,
                scores=scores,
            )

        starts = range(0, len(sources), self.batch_size)
        batches = (range(len(sources))[start : start + self.batch_size] for start in starts)
        return write_batches(self.model, len(sources), batches, writing, write)

    def _decode(self, ids: list[int]) -> str:
        return self.tokenizer.decode([number for number in ids if number]).strip()

    def _encoded(self, sources: Sequence[Sequence[int]], templates: Sequence[str]) -> Any:
        read = padded(sources, 0, self.model.device)
        if self.reads != NONE:
            ids = self.templates.encode_batch(list(templates))
            lists = [ids[number].tolist() for number in range(len(ids))]
            asked = padded(lists, 0, self.model.device)
            read["template_ids"] = asked["input_ids"]
            read["template_attention_mask"] = asked["attention_mask"]
        return self.model.encoder(**read)
