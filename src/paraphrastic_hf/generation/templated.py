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
from paraphrastic_hf.generation.loading import check_weights, load_stock_tokenizer, load_whole
from paraphrastic_hf.generation.search import (
    clear_errors,
    generate_texts,
    generation_config,
    mean_log_probabilities,
    padded,
    until_end,
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
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.models.seq2seq.base import Seq2SeqModel
from paraphrastic_hf.models.seq2seq.paraphraser import SourceEncoding
from paraphrastic_hf.models.seq2seq.ssru import SsruModel
from paraphrastic_hf.syntax.parse_tokens import parse_tokenizer, with_template
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer

Outputs = list[list[list[GeneratedText]]]  # for each source, for each of its templates


class TemplatedWriter(HubMixin):
    """A model that generates text from a source and a template.

    `model` is a `ScpnModel`, a `ParaphraserModel`, or a stock encoder-decoder trained with this
    package.
    """

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
        rows = model.get_input_embeddings().num_embeddings
        if tokenizer.vocab_size > rows:
            raise ModelError(
                f"The tokenizer has {tokenizer.vocab_size:,} entries, but the model has "
                f"{rows:,}. Load both from one directory"
            )
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
        model = load_whole(directory)
        if not (isinstance(model, Seq2SeqModel) or hasattr(model.config, "template")):
            raise ModelError(
                f"{directory} contains a {type(model).__name__}, not a model trained with a "
                "recipe of kind paraphrase"
            )
        check_weights(directory, model)
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

    @torch.no_grad()
    def write(
        self,
        sources: Sequence[str],
        templates: Sequence[Sequence[str]],
        writing: GenerationOptions,
        *,
        scores: bool = True,
    ) -> Outputs:
        """Generate texts from each source with each of its templates.

        Args:
            sources: Sentences, or parses from `parse_text`.
            templates: Templates or parses from `parse_text`, for each source. `[""]` for a model
                without templates.
            scores: Whether to compute `nats`.

        Returns:
            `writing.outputs` texts for each source and template. They are empty if the source has
            no known tokens or a template is missing.
        """
        found: Outputs = [[[NOTHING] * writing.outputs for _ in each] for each in templates]
        if self.joined is not None:
            return self._joined(sources, templates, writing, found, scores)
        ids = self.tokenizer.encode_batch(list(sources))
        wanted = [
            (number, place)
            for number in sorted(range(len(ids)), key=lambda number: len(ids[number]))
            if len(ids[number])
            for place, text in enumerate(templates[number])
            if text or not self.needs_template
        ]
        generator = torch.Generator(self.model.device).manual_seed(int(writing.seed))
        with clear_errors(self.model), evaluating(self.model):
            for start in range(0, len(wanted), self.batch_size):
                rows = wanted[start : start + self.batch_size]
                texts = [templates[number][place] for number, place in rows]
                batch = [ids[number].tolist() for number, _ in rows]
                for (number, place), written in zip(
                    rows, self._batch(batch, texts, writing, generator, scores), strict=True
                ):
                    found[number][place] = written
        return found

    @torch.no_grad()
    def free_likelihoods(self, sources: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log-probability of each text's tokens, given its source and no template.

        The model must not need a template. Texts without known tokens get minus infinity.
        """
        ends = torch.tensor(list(self.tokenizer.special.end))
        start = self.model.config.decoder_start_token_id
        read, written = (self.tokenizer.encode_batch(list(each)) for each in (sources, texts))
        found = [float("-inf")] * len(texts)
        known = [n for n in range(len(texts)) if len(read[n]) and len(written[n])]
        known.sort(key=lambda number: len(written[number]))
        with evaluating(self.model):
            for first in range(0, len(known), self.batch_size):
                rows = known[first : first + self.batch_size]
                source = padded([read[n].tolist() for n in rows], 0, self.model.device)
                text = padded([[start, *written[n].tolist()] for n in rows], 0, self.model.device)
                ids = text["input_ids"]
                nats = mean_log_probabilities(
                    self.model, self.model.encoder(**source), ids, until_end(ids[:, 1:], ends)
                )
                for row, value in zip(rows, nats.tolist(), strict=True):
                    found[row] = value
        return found

    def _joined(
        self,
        sources: Sequence[str],
        templates: Sequence[Sequence[str]],
        writing: GenerationOptions,
        found: Outputs,
        scores: bool,
    ) -> Outputs:
        assert self.joined is not None
        wanted = [
            (s, t)
            for s, each in enumerate(templates)
            for t, text in enumerate(each)
            if sources[s].strip() and (text or self.reads == NONE)
        ]
        texts = [with_template(sources[s], templates[s][t]) for s, t in wanted]
        written = self.joined.write(self.joined.encode(texts), writing, scores=scores)
        for (s, t), outputs in zip(wanted, written, strict=True):
            found[s][t] = outputs
        return found

    def _batch(
        self,
        batch: Sequence[Sequence[int]],
        templates: Sequence[str],
        writing: GenerationOptions,
        generator: torch.Generator,
        scores: bool,
    ) -> list[list[GeneratedText]]:
        encoded, inputs = self._encoded(batch, templates)
        return generate_texts(
            self.model,
            encoded,
            writing,
            generator,
            config=generation_config(self.model, writing, writing.max_tokens),
            begin=1,
            ends=torch.tensor(list(self.tokenizer.special.end)),
            decode=self._decode,
            scores=scores,
            **inputs,
        )

    def _decode(self, ids: list[int]) -> str:
        return self.tokenizer.decode([number for number in ids if number]).strip()

    def _encoded(
        self, batch: Sequence[Sequence[int]], templates: Sequence[str]
    ) -> tuple[Any, dict[str, Any]]:
        """Return encoder output and masks."""
        if not isinstance(self.model, SsruModel):
            return self._encoded_apart(batch, templates)
        device = self.model.device
        read = padded(batch, 0, device)
        if self.reads != NONE:
            ids = self.templates.encode_batch(list(templates))
            wanted = padded([ids[number].tolist() for number in range(len(ids))], 0, device)
            read["template_ids"] = wanted["input_ids"]
            read["template_attention_mask"] = wanted["attention_mask"]
        return self.model.encoder(**read), {}

    def _encoded_apart(
        self, batch: Sequence[Sequence[int]], templates: Sequence[str]
    ) -> tuple[SourceEncoding, dict[str, Any]]:
        """Return encoder output and masks. Each distinct source and template is encoded once."""
        device, encoder = self.model.device, self.model.get_encoder()
        distinct = list(dict.fromkeys(map(tuple, batch)))
        which = torch.tensor([distinct.index(tuple(each)) for each in batch], device=device)
        sources = padded(distinct, 0, device)
        read = encoder(**sources)
        encoding = {
            "last_hidden_state": read.last_hidden_state[which],
            "source_ids": read.source_ids[which],
        }
        inputs: dict[str, Any] = {"attention_mask": sources["attention_mask"][which]}
        if self.reads != NONE:
            texts = list(dict.fromkeys(templates))
            ids = self.templates.encode_batch(texts)
            given = padded([ids[number].tolist() for number in range(len(ids))], 0, device)
            states = encoder.read_template(given["input_ids"], given["attention_mask"])
            chosen = torch.tensor([texts.index(text) for text in templates], device=device)
            encoding["template_states"] = states[chosen]
            inputs["template_attention_mask"] = given["attention_mask"][chosen]
        return SourceEncoding(**encoding), inputs
