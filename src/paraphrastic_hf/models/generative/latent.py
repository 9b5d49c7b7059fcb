"""What generative models of pairs of sentences share: latent variables in, sentences out (thesis,
5.4, 5.5 and 5.10).

A *variable* is a Gaussian vector that an encoder infers from a sentence: `semantic`, what a
sentence and its translation have in common, and in some models one for each language. A *task*
writes a sentence from variables: `translate_fr` from the semantic variable alone,
`reconstruct_fr` from the French one beside the semantic one. A model says which it has (`bgt.py`).

As an encoder the model gives the posterior mean of one variable, `semantic` unless told otherwise
(`read_variable`). transformers' `generate` runs any task: the variables take the place of the
encoder's output, (batch, 1, numbers), so beams and caches work as for other models. Training
minimizes `pair_terms`: the terms of the evidence lower bound, and of translation (thesis, 5.6.2).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.utils import logging

from paraphrastic_hf.layers.gaussian import Gaussian
from paraphrastic_hf.layers.latent import Scorer
from paraphrastic_hf.layers.packing import Padding, padded_from_flat
from paraphrastic_hf.layers.pooling import mean_rows
from paraphrastic_hf.losses.smoothing import cross_entropy_parts
from paraphrastic_hf.losses.vocabulary import Candidates
from paraphrastic_hf.models.base import NO_LABEL, SentenceEncoderModel
from paraphrastic_hf.models.generative.latent_parts import (
    SEMANTIC,
    AnyInference,
    Decoder,
    LatentConfig,
    added_rows,
    start_weights,
)
from paraphrastic_hf.models.seq2seq.cache import takes_cache

logger = logging.get_logger(__name__)


@dataclass(frozen=True)
class Side:
    """One side of the pairs of a batch, as training gives it to a model.

    Attributes:
        language: Code of its language.
        ids: (batch, seq), each sentence with its end mark, padding after it.
        lengths: (batch,) tokens of each sentence, end mark included; best kept on the CPU, since a
            GPU is waited for where it holds them.
        candidates: The tokens of the vocabulary to be scored; None for all.
    """

    language: str
    ids: Tensor
    lengths: Tensor
    candidates: Candidates | None = None

    @cached_property
    def padding(self) -> Padding:
        """Where the tokens stand among `ids`, found once."""
        return Padding.of(self.lengths, self.ids.device, self.ids.shape[1])

    @property
    def flat(self) -> tuple[Tensor, Tensor]:
        """The ids, text after text, (tokens,), and how many each text has, (batch,)."""
        return self.padding.flat(self.ids), self.lengths


@dataclass(frozen=True)
class PairTerms:
    """What a model makes of the pairs of a batch.

    Attributes:
        nll: Sums over the batch of -ln p of every sentence a task writes, in nats, by task; that of
            a translation times 1 - e where labels are smoothed by e.
        smoothing: The other part of a smoothed translation's loss, e times the mean of -ln p of
            all tokens, summed, by task; empty without smoothing.
        kl: Sums over the batch of KL(posterior || prior), in nats, by variable; for the semantic
            one the mean of both sides' where both are read.
        posteriors: Of every variable that was inferred, by its name and the number of the side.
        tokens: Tokens that each task predicted, by task.
    """

    nll: dict[str, Tensor]
    smoothing: dict[str, Tensor]
    kl: dict[str, Tensor]
    posteriors: dict[tuple[str, int], Gaussian]
    tokens: dict[str, int]

    @property
    def semantic(self) -> list[Tensor | None]:
        """Means of the semantic variable of each side, (batch, dim); None for a side that was not
        encoded."""
        found = (self.posteriors.get((SEMANTIC, side)) for side in (0, 1))
        return [None if of is None else of.mean for of in found]


@dataclass
class LatentOutput(Seq2SeqLMOutput):
    """The output of `LatentModel`: of a decoder that writes, or of the model as a sentence encoder.

    Attributes:
        last_hidden_state: As of every encoder (`SentenceEncoderOutput`); None from a decoder.
        sentence_embedding: The same.
        pooler_output: The same.
    """

    last_hidden_state: Tensor | None = None
    sentence_embedding: Tensor | None = None
    pooler_output: Tensor | None = None


def language_of(task: str) -> str:
    """The language that a task writes."""
    return task.split("_", 1)[1]


class LatentModel(SentenceEncoderModel, GenerationMixin):
    """Base of generative models of sentence pairs; a model adds its encoders and decoders."""

    is_resizable = False
    accepts_loss_kwargs = False
    most_tokens = 2**15  # a state of each token at every layer: 2**18 of width 1,024 take 1 GB each
    further_auto_classes = ("AutoModelForSeq2SeqLM",)
    evens_translation = False  # whether translations into each language weigh alike (5.13.1)
    scores_part = True  # whether training scores a part of the vocabulary, and so reads few rows

    def __init__(self, config: LatentConfig) -> None:
        if config.decoder_kind == "lstm":
            config.use_cache = False  # `generate` would give it the last token alone
        super().__init__(config)
        center = torch.zeros(config.hidden_size) if config.is_centered else None
        self.register_buffer("center", center)

    # -- what a model must say of itself -----------------------------------------------------------

    def variables(self) -> list[str]:
        """Names of the latent variables, `semantic` first."""
        raise TypeError(f"{type(self).__name__} must define variables")

    def tasks(self) -> list[str]:
        """Names of what the model can write."""
        raise TypeError(f"{type(self).__name__} must define tasks")

    def variables_of(self, task: str) -> list[str]:
        """Names of the variables that a task writes from, side by side."""
        raise TypeError(f"{type(self).__name__} must define variables_of")

    def encoder_of(self, variable: str) -> AnyInference:
        """What infers a variable: `layers.latent_encoder`, and maps to mean and log-variance."""
        raise TypeError(f"{type(self).__name__} must define encoder_of")

    def decoder_of(self, task: str) -> Decoder:
        """What writes: one of `layers.latent_decoder`."""
        raise TypeError(f"{type(self).__name__} must define decoder_of")

    def scorer_of(self, task: str) -> Scorer:
        """What scores the tokens that a task could write next: the decoder's own."""
        return self.decoder_of(task).scorer

    def start_of(self, task: str) -> int:
        """What a decoder reads before the first token: the end mark, as in the released code."""
        return int(self.config.decoder_start_token_id)

    # -- a sentence encoder ------------------------------------------------------------------------

    @property
    def variable(self) -> str:
        """Name of the variable whose mean is the embedding; the config keeps it."""
        return str(self.config.variable)

    def read_variable(self, name: str) -> None:
        """Have the model embed by the mean of this variable from now on, also once saved.

        Raises:
            ValueError: The model has none of this name.
        """
        if name not in self.variables():
            raise ValueError(
                f"this model infers {', '.join(self.variables())}, and has no variable {name!r}"
            )
        self.config.variable = name

    def reading(self, name: str) -> Self:
        """Return this model as an encoder by another variable; its weights are this one's.

        Raises:
            ValueError: The model has none of this name.
        """
        other = copy.copy(self)
        other.__dict__.pop("forward", None)  # one of accelerate's would run this model, not that
        other.config = copy.copy(self.config)
        other._buffers = dict(self._buffers)  # a center of its own
        other.read_variable(name)
        return other

    def posterior(self, variable: str, ids: Tensor, lengths: Tensor) -> Gaussian:
        """Infer a variable of each text.

        Args:
            variable: One of `variables`.
            ids: (tokens,), text after text, with end marks.
            lengths: (batch,), 0 allowed: such a text has mean 0. They may be on the CPU.
        """
        inference = self.encoder_of(variable)
        padding = Padding.of(lengths, ids.device)
        lengths, text = padding.lengths, padding.text
        pooled = mean_rows(inference.encoder(ids, padding), lengths, text)  # (batch, width)
        mean = inference.mean(pooled)
        if (rows := added_rows(inference, ids)) is not None:
            mean = mean + mean_rows(rows, lengths, text)
        if inference.log_variance is None:
            return Gaussian(mean, torch.full_like(mean, -torch.inf))
        return Gaussian(mean, inference.log_variance(pooled))

    def center_on(self, center: Tensor) -> None:
        """Take a vector from embeddings by meaning from now on, also once saved, and not from what
        decoders read, who may use what all sentences share as a bias. No paper does so.

        Args:
            center: (dim,), such as the mean vector of many sentences; zeros for none.

        Raises:
            ValueError: It is of another shape.

        Example:
            >>> from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
            >>> sizes = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2}
            >>> model, ids = BGTModel(BGTConfig(**sizes)).eval(), torch.tensor([[5, 6, 19]])
            >>> model.center_on(model(ids).sentence_embedding[0].detach())
            >>> round(model(ids).sentence_embedding.abs().sum().item(), 4)
            0.0
        """
        size, given = (int(self.config.hidden_size),), tuple(center.shape)
        if given != size:
            raise ValueError(f"center must have the shape {size}, got {given}")
        self.register_buffer("center", center.detach().to(self.device, self.dtype, copy=True))
        self.config.is_centered = True

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        mean = self.posterior(self.variable, ids, lengths).mean
        return mean if self._shared is None else mean - self._shared * (lengths > 0)[:, None]

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The mean's own map of each token's state, so that their mean is the sentence vector."""
        kept = attention_mask.bool()
        inference = self.encoder_of(self.variable)
        states = inference.encoder(input_ids[kept], Padding.of(kept.sum(1)))
        means = inference.mean(states)
        if (rows := added_rows(inference, input_ids[kept])) is not None:
            means = means + rows
        return padded_from_flat(means if self._shared is None else means - self._shared, kept)

    @property
    def _shared(self) -> Tensor | None:
        """What embeddings are less of: `center`, if they are by meaning."""
        return self.center if self.variable == SEMANTIC else None

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder_of(self.variable).encoder.table

    def sparse_tables(self) -> list[nn.Embedding]:
        """Every table of an encoder or decoder, and every output layer that is read by rows."""
        tables = [self.encoder_of(name).encoder.table for name in self.variables()]
        for task in self.tasks():
            tables.append(self.decoder_of(task).table)
            if self.scores_part:
                tables.append(self.scorer_of(task).weight)
        return list({id(table): table for table in tables}.values())

    def rows_used(self, inputs: Mapping[str, Any]) -> Iterator[tuple[nn.Embedding, Tensor]]:
        sides: Sequence[Side] | None = inputs.get("sides")
        if sides is None:
            for table in self.sparse_tables():  # all of them: this is no step of training
                yield table, torch.arange(len(table.weight), device=table.weight.device)
            return
        used: dict[nn.Embedding, list[Tensor]] = {}
        read = torch.cat([side.ids.reshape(-1) for side in sides])
        languages = [side.language for side in sides]
        for task in self.tasks_between(languages):
            for variable in self.variables_of(task):
                used[self.encoder_of(variable).encoder.table] = [read]
        for task in self.tasks_between(languages):
            side = sides[languages.index(language_of(task))]
            ids = [side.ids.reshape(-1), read.new_tensor([self.start_of(task)])]
            used.setdefault(self.decoder_of(task).table, []).extend(ids)
            if side.candidates is not None:
                used.setdefault(self.scorer_of(task).weight, []).append(side.candidates.ids)
        for table, rows in used.items():
            yield table, torch.cat(rows)

    def home_of(
        self, variable: str, languages: Sequence[str], tasks: Sequence[str] | None = None
    ) -> int:
        """Number of the side of a pair that a variable is inferred from; for the semantic one the
        first of those that training infers it from.

        Args:
            variable: One of `variables`.
            languages: The languages of both sides.
            tasks: What it is inferred for; all tasks between the languages if None.
        """
        if variable != SEMANTIC:
            return languages.index(variable)
        if tasks is None:
            tasks = self.tasks_between(languages)
        return min(side for task in tasks for side in self.sides_read(task, SEMANTIC, languages))

    def encoder_parameters(self, variable: str | None = None) -> Iterator[nn.Parameter]:
        """What infers variables, or what one of them is inferred by."""
        raise TypeError(f"{type(self).__name__} must define encoder_parameters")

    def decoder_parameters(self) -> Iterator[nn.Parameter]:
        """What writes."""
        for task in self.tasks():
            yield from self.decoder_of(task).parameters()

    @property
    def reads_both_sides(self) -> bool:
        """Whether the semantic variable of a pair is inferred from either side in turn."""
        return True

    # -- training ----------------------------------------------------------------------------------

    def pair_terms(
        self,
        sides: Sequence[Side],
        chosen: Tensor,
        *,
        smoothing: float = 0.0,
        sample: bool = True,
    ) -> PairTerms:
        """Compute every term of the loss of a batch of pairs (thesis, 5.5 and 5.6.2).

        The thesis feeds one side of a pair to the semantic encoder, each in turn. Translation needs
        both sides, so both are encoded. Reconstruction reads one of them in turn, as in the thesis.
        The prior pulls at each side as often as it is chosen, which is what taking turns comes to,
        or at both equally if nothing is reconstructed. Translation and reconstruction share one
        draw per sentence; the released code gives both the mean.

        Args:
            sides: Both sides of the pairs.
            chosen: (batch,) number of the side whose semantic variable serves reconstruction.
            smoothing: Label smoothing of the tasks that translate, 0 to below 1.
            sample: Draw variables from their posteriors; else take the means, as released.
        """
        self.before_reading({"sides": sides})
        languages = [side.language for side in sides]
        tasks = self.tasks_between(languages)
        posteriors = self._posteriors(sides, tasks)
        draws = {
            key: of.sample() if sample and self.config.is_variational else of.mean
            for key, of in posteriors.items()
        }
        nll: dict[str, Tensor] = {}
        tokens: dict[str, int] = {}
        smoothed: dict[str, Tensor] = {}
        for task in tasks:
            latent = self._drawn_latent(task, languages, draws, chosen)
            share = smoothing if task.startswith("translate") else 0.0
            side = sides[languages.index(language_of(task))]
            right, everyone, count = self._score(task, side, latent, share)
            nll[task], tokens[task] = right, count
            if everyone is not None:
                smoothed[task] = everyone
        kl: dict[str, Tensor] = {}
        for variable in self.variables() if self.config.is_variational else ():
            found = {
                side: of.kl().sum() for (name, side), of in posteriors.items() if name == variable
            }
            if len(found) == 2:  # the meaning of both sides
                second = chosen.float().mean() if self.reads_both_sides else 0.5
                kl[variable] = found[0] * (1 - second) + found[1] * second
            elif found:
                (kl[variable],) = found.values()
        return PairTerms(nll, smoothed, kl, posteriors, tokens)

    def tasks_between(self, languages: Sequence[str]) -> list[str]:
        """What the model writes for a pair of sentences of these languages."""
        return [task for task in self.tasks() if language_of(task) in languages]

    def sides_read(self, task: str, variable: str, languages: Sequence[str]) -> list[int]:
        """The sides that a task infers a variable from: its own one for a language variable, the
        other for a translation, both in turn for the meaning that it reconstructs from.

        Args:
            task: One of `tasks`, which writes one of the languages.
            variable: One that the task writes from.
            languages: Those of both sides.
        """
        own = languages.index(language_of(task))
        if variable != SEMANTIC:
            return [own]
        if task.startswith("translate"):
            return [1 - own]
        return [0, 1] if self.reads_both_sides else [own]

    def _posteriors(
        self, sides: Sequence[Side], tasks: Sequence[str]
    ) -> dict[tuple[str, int], Gaussian]:
        """Posteriors of the variables that some task reads, by variable and side."""
        languages = [side.language for side in sides]
        needed = dict.fromkeys(
            (variable, side)
            for task in tasks
            for variable in self.variables_of(task)
            for side in self.sides_read(task, variable, languages)
        )
        found: dict[tuple[str, int], Gaussian] = {}
        for variable in dict.fromkeys(variable for variable, _ in needed):
            wanted = [side for name, side in needed if name == variable]
            flat = [sides[side].flat for side in wanted]
            joint = self.posterior(
                variable, torch.cat([ids for ids, _ in flat]), torch.cat([n for _, n in flat])
            )
            count = len(sides[0].ids)
            for side, mean, log_variance in zip(
                wanted, joint.mean.split(count), joint.log_variance.split(count), strict=True
            ):
                found[variable, side] = Gaussian(mean, log_variance)
        return found

    def _drawn_latent(
        self,
        task: str,
        languages: Sequence[str],
        draws: Mapping[tuple[str, int], Tensor],
        chosen: Tensor,
    ) -> Tensor:
        """v, (batch, latent), that a task writes from."""
        parts = []
        for variable in self.variables_of(task):
            read = self.sides_read(task, variable, languages)
            if len(read) == 1:
                parts.append(draws[variable, read[0]])
            else:
                is_second = chosen[:, None].bool()
                parts.append(torch.where(is_second, draws[variable, 1], draws[variable, 0]))
        return torch.cat(parts, 1)

    def _score(
        self, task: str, side: Side, latent: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor | None, int]:
        """Sums of -ln p and of the smoothing term over a side's tokens, and how many there are."""
        states = self.decoder_of(task)(self.shifted(side.ids, task), latent)
        scorer = self.scorer_of(task)
        padding = side.padding
        kept, targets = padding.flat(states), padding.flat(side.ids)
        weights = None
        if side.candidates is None:
            logits = scorer(kept, latent, padding.text)
        else:
            logits = scorer(kept, latent, padding.text, side.candidates.ids)
            targets, weights = side.candidates.columns(targets), side.candidates.weights
        right, everyone = cross_entropy_parts(logits, targets, smoothing, weights)
        count = len(targets)
        return right * count, None if everyone is None else everyone * count, count

    def nll_of_sentences(self, task: str, side: Side, latent: Tensor) -> Tensor:
        """-ln p of each sentence of a side, (batch,) nats, over the whole vocabulary."""
        states = self.decoder_of(task)(self.shifted(side.ids, task), latent)
        padding = side.padding
        logits = self.scorer_of(task)(padding.flat(states), latent, padding.text).float()
        of_tokens = F.cross_entropy(logits, padding.flat(side.ids), reduction="none")
        return of_tokens.new_zeros(len(side.ids)).index_add(0, padding.text, of_tokens)

    def shifted(self, ids: Tensor, task: str) -> Tensor:
        """The tokens before each, (batch, seq), of sentences that a task writes."""
        start = ids.new_full((len(ids), 1), self.start_of(task))
        return torch.cat([start, ids[:, :-1]], 1)

    # -- transformers' generate --------------------------------------------------------------------

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """What turns a text into the variables of a task, for `generate`."""
        return VariableReader(self)

    def get_output_embeddings(self) -> None:
        return None

    def latent_of(
        self, task: str, input_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """The means, (batch, latent), of the variables of one text that a task writes from."""
        kept = (torch.ones_like(input_ids) if attention_mask is None else attention_mask).bool()
        ids, lengths = input_ids[kept], kept.sum(1)
        names = self.variables_of(task)
        return torch.cat([self.posterior(name, ids, lengths).mean for name in names], 1)

    def prepare_decoder_input_ids_from_labels(
        self, labels: Tensor, task: str | None = None
    ) -> Tensor:
        """What the decoder reads to predict labels, (batch, seq), by a task, the first if None."""
        known = labels.masked_fill(labels == NO_LABEL, self.config.pad_token_id)
        return self.shifted(known, self.named_task(task))

    @takes_cache
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        pooled_only: bool = False,
        return_dict: bool | None = None,
        lengths: Tensor | None = None,
        task: str | None = None,
        encoder_outputs: Any = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        cache: Any = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> LatentOutput | tuple[Any, ...]:
        """Encode texts, or write one text from another.

        With labels, as from `Seq2SeqTrainer`, decoders read the means of the variables, without a
        prior: that trains translation or an autoencoder. `pair_terms` has the whole loss.

        Args:
            input_ids: (batch, seq) ids, or flat with `lengths`, as of every encoder.
            attention_mask: (batch, seq), 1 for a token.
            pooled_only: Leave `last_hidden_state` out.
            return_dict: A tuple instead, if False.
            lengths: (batch,) where `input_ids` is flat.
            task: What to write, one of `tasks`; the first if None. Only with what follows.
            encoder_outputs: The variables, `last_hidden_state` of (batch, 1, latent); inferred from
                the input if None.
            decoder_input_ids: (batch, seq) tokens that the output begins with.
            decoder_attention_mask: Ignored, (batch, seq): padding follows the output.
            labels: (batch, seq) tokens to be written; -100 for padding.
            cache: The cache of earlier steps of generation.
            use_cache: Whether to return a cache.

        Returns:
            The mean loss if there are labels, and logits (batch, seq, vocab), if any of the
            arguments after `task` is given; else the sentence embeddings, (batch, dim).

        Raises:
            ValueError: The model has no such task, shapes do not go together, or the decoder takes
                no such cache.

        Example:
            >>> from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
            >>> sizes = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2}
            >>> model = BGTModel(BGTConfig(**sizes, eos_token_id=19, decoder_start_token_id=19))
            >>> ids = torch.tensor([[5, 6, 19]])
            >>> model(ids, labels=ids, task="translate_fr").logits.shape
            torch.Size([1, 3, 20])
        """
        if encoder_outputs is None and decoder_input_ids is None and labels is None:
            assert input_ids is not None
            encoded: Any = super().forward(input_ids, attention_mask, pooled_only, True, lengths)
            return self._to_tuple(LatentOutput(**encoded), return_dict)
        task = self.named_task(task)
        if encoder_outputs is not None:
            latent = encoder_outputs[0][:, 0]
        else:
            assert input_ids is not None
            latent = self.latent_of(task, input_ids, attention_mask)
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("Give decoder_input_ids or labels: what the decoder reads.")
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels, task)
        logits, cache = self._next_tokens(task, latent, decoder_input_ids, cache, use_cache)
        loss = None
        if labels is not None:
            predicted = logits.flatten(0, 1).float()
            loss = F.cross_entropy(predicted, labels.reshape(-1).long(), ignore_index=NO_LABEL)
        output = LatentOutput(loss, logits, cache, encoder_last_hidden_state=latent[:, None])
        return self._to_tuple(output, return_dict)

    def _next_tokens(
        self, task: str, latent: Tensor, ids: Tensor, cache: Any, use_cache: bool | None
    ) -> tuple[Tensor, Any]:
        """Logits of the token after each of `ids`, (batch, seq, vocab), and the cache to return."""
        decoder = self.decoder_of(task)
        if cache is not None and not decoder.has_cache:
            raise ValueError("an LSTM decoder takes no cache: generate with use_cache=False")
        if cache is None and use_cache and decoder.has_cache:
            cache = DynamicCache(config=self.config)
        inner = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
        states = decoder(ids, latent, cache=inner)
        batch, seq = ids.shape
        sentence = torch.arange(batch, device=states.device).repeat_interleave(seq)
        logits = self.scorer_of(task)(states.flatten(0, 1), latent, sentence).view(batch, seq, -1)
        return logits, None if use_cache is False else cache

    def named_task(self, task: str | None) -> str:
        """A task, the first if None, which is said where there are others.

        Raises:
            ValueError: The model has none of this name.
        """
        tasks = self.tasks()
        if task is None and len(tasks) > 1:
            logger.warning_once("no task is named, so it is the first of %s", ", ".join(tasks))
        if task not in (None, *tasks):
            raise ValueError(f"this model writes {', '.join(tasks)}, and has no task {task!r}")
        return task or tasks[0]

    def _init_weights(self, module: nn.Module) -> None:
        start_weights(module)


class VariableReader(nn.Module):
    """The encoder as `generate` calls it. It holds the model without being its parent."""

    main_input_name = "input_ids"

    def __init__(self, model: LatentModel) -> None:
        super().__init__()
        self._model: Any = [model]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        task: str | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """The variables that a task writes from.

        Args:
            input_ids: (batch, seq).
            attention_mask: (batch, seq), 1 for a token.
            task: What is to be written, one of the model's `tasks`; the first if None.
            **kwargs: Ignored.

        Returns:
            (batch, 1, numbers), as if one token had been read.

        Raises:
            ValueError: The model has no such task.
        """
        model = self._model[0]
        latent = model.latent_of(model.named_task(task), input_ids, attention_mask)
        return BaseModelOutput(last_hidden_state=latent[:, None])
