"""Base of generative models of sentence pairs (thesis, 5.4, 5.5 and 5.10).

A *variable* is a Gaussian vector that an encoder infers from a sentence. A sentence and its
translation share the variable `semantic`. Some models also have one variable per language. A *task*
writes a sentence from variables: `translate_fr` from `semantic`, `reconstruct_fr` from `semantic`
and the French variable.

The sentence embedding is the posterior mean of one variable, by default `semantic`. transformers'
`generate` runs any task, with the variables as the encoder's output, (batch, 1, latent). Training
minimizes the sum of `pair_terms` (thesis, 5.6.2).
"""

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
from paraphrastic_hf.layers.packing import Padding, padded_from_flat
from paraphrastic_hf.layers.pooling import mean_rows
from paraphrastic_hf.layers.product import initialize_dense
from paraphrastic_hf.losses.likelihood import cross_entropy_parts
from paraphrastic_hf.losses.vocabulary import Candidates
from paraphrastic_hf.models.base import NO_LABEL, SentenceEncoderModel, takes_cache
from paraphrastic_hf.models.generative.latent_parts import (
    SEMANTIC,
    Addition,
    Decoder,
    Inference,
    LatentConfig,
    Scorer,
)

logger = logging.get_logger(__name__)


@dataclass(frozen=True)
class Side:
    """One side of a batch of sentence pairs."""

    language: str
    ids: Tensor  # (batch, seq), including end marks, padded on the right
    lengths: Tensor  # (batch,) numbers of tokens. On the CPU, so that no step waits for a GPU
    candidates: Candidates | None = None  # tokens to score. None for the whole vocabulary

    @cached_property
    def padding(self) -> Padding:
        return Padding.of(self.lengths, self.ids.device, self.ids.shape[1])

    @property
    def flat(self) -> tuple[Tensor, Tensor]:
        """Concatenated ids, (tokens,), and lengths, (batch,)."""
        return self.padding.flat(self.ids), self.lengths


@dataclass(frozen=True)
class PairTerms:
    """Loss terms of a batch of pairs, in nats, as sums over the batch.

    For translations with label smoothing e, `nll` is (1 - e) times -ln p, and `smoothing` is e
    times the mean -ln p of the whole vocabulary. If both sentences of a pair are encoded, the KL
    divergence of `semantic` is the weighted average of two.
    """

    nll: dict[str, Tensor]  # -ln p of the written sentences, by task
    smoothing: dict[str, Tensor]  # by translation task. Empty without smoothing
    kl: dict[str, Tensor]  # KL(posterior || prior), by variable
    posteriors: dict[tuple[str, int], Gaussian]  # by variable and index of the side
    tokens: dict[str, int]  # number of predicted tokens, by task

    @property
    def semantic(self) -> list[Tensor | None]:
        """Means of the semantic variable on each side, (batch, dim), None if not encoded."""
        found = (self.posteriors.get((SEMANTIC, side)) for side in (0, 1))
        return [None if of is None else of.mean for of in found]


@dataclass
class LatentOutput(Seq2SeqLMOutput):
    """Output of `LatentModel`. As an encoder, it sets the fields of `SentenceEncoderOutput`."""

    last_hidden_state: Tensor | None = None
    sentence_embedding: Tensor | None = None
    pooler_output: Tensor | None = None


def language_of(task: str) -> str:
    return task.split("_", 1)[1]


class LatentModel(SentenceEncoderModel, GenerationMixin):
    """Base of generative models of sentence pairs. Subclasses add encoders and decoders."""

    is_resizable = False
    accepts_loss_kwargs = False
    most_tokens = 2**15  # 2**18 tokens of width 1,024 would take 1 GB per layer
    further_auto_classes = ("AutoModelForSeq2SeqLM",)
    # Whether translations into each language have equal weight (5.13.1).
    balances_translations = False
    scores_part = True  # whether training scores only a sample of the vocabulary

    def __init__(self, config: LatentConfig) -> None:
        if config.decoder_kind == "lstm":
            config.use_cache = False  # with a cache, `generate` passes only the last token
        super().__init__(config)
        center = torch.zeros(config.hidden_size) if config.is_centered else None
        self.register_buffer("center", center)

    def variables(self) -> list[str]:
        """Return the names of the latent variables, `semantic` first."""
        has_own = self.config.has_language_variables
        return [SEMANTIC, *(self._languages("reconstructs") if has_own else ())]

    def tasks(self) -> list[str]:
        """Return the names of the tasks, translations first (as `tasks_of`)."""
        verbs = ("translate", "reconstruct")
        return [f"{verb}_{code}" for verb in verbs for code in self._languages(f"{verb}s")]

    def _languages(self, key: str) -> list[str]:
        """Return the languages in a setting of the configuration: a list, or true for all."""
        chosen, every = getattr(self.config, key, True), self.config.languages
        return [code for code in every if chosen is True or (chosen and code in chosen)]

    def variables_of(self, task: str) -> list[str]:
        """Return the names of the variables from which a task writes, in order."""
        verb, language = task.split("_", 1)
        has_own = verb == "reconstruct" and self.config.has_language_variables
        return [*([language] if has_own else ()), SEMANTIC]

    def encoder_of(self, variable: str) -> Inference:
        """Return the encoder of a variable, with the maps to mean and log-variance."""
        raise NotImplementedError

    def decoder_of(self, task: str) -> Decoder:
        raise NotImplementedError

    def scorer_of(self, task: str) -> Scorer:
        """Return the output layer of a task, by default the layer of its decoder."""
        return self.decoder_of(task).scorer

    def start_of(self, task: str) -> int:
        """Return the first input id of a task's decoder: the end mark, as in the released code."""
        return int(self.config.decoder_start_token_id)

    @property
    def variable(self) -> str:
        """Name of the variable whose posterior mean is the embedding."""
        return str(self.config.variable)

    def read_variable(self, name: str) -> None:
        """Make the posterior mean of this variable the embedding. Saving keeps this setting."""
        if name not in self.variables():
            raise ValueError(f"variable must be one of {', '.join(self.variables())}, got {name!r}")
        self.config.variable = name

    def reading(self, name: str) -> Self:
        """Return an encoder of another variable that shares this model's weights."""
        other = copy.copy(self)
        other.__dict__.pop("forward", None)  # accelerate's wrapper would run the original model
        other.config = copy.copy(self.config)
        other._buffers = dict(self._buffers)  # the center is not shared
        other.read_variable(name)
        return other

    def posterior(self, variable: str, ids: Tensor, lengths: Tensor) -> Gaussian:
        """Return the posterior of a variable for each text. An empty text gets mean 0.

        `ids`, (tokens,), are concatenated texts with end marks. `lengths`, (batch,), may be on any
        device.
        """
        inference = self.encoder_of(variable)
        padding = Padding.of(lengths, ids.device)
        lengths, text = padding.lengths, padding.text
        pooled = mean_rows(inference.states(ids, padding), lengths, text)  # (batch, width)
        mean = inference.mean(pooled)
        if (rows := inference.added_rows(ids)) is not None:
            mean = mean + mean_rows(rows, lengths, text)
        if inference.log_variance is None:
            return Gaussian(mean, torch.full_like(mean, -torch.inf))
        return Gaussian(mean, inference.log_variance(pooled))

    def center_on(self, center: Tensor) -> None:
        """Subtract a vector, (dim,), from all semantic embeddings. Saving keeps this setting.

        The vector is, for example, the mean embedding of many sentences. Decoders still read the
        uncentered variable. The papers do not center embeddings.
        """
        self.register_buffer("center", center.detach().to(self.device, self.dtype, copy=True))
        self.config.is_centered = True

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        mean = self.posterior(self.variable, ids, lengths).mean
        return mean if self._offset is None else mean - self._offset * (lengths > 0)[:, None]

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return each token's contribution to the posterior mean. Their average is the mean."""
        kept = attention_mask.bool()
        inference = self.encoder_of(self.variable)
        means = inference.mean(inference.states(input_ids[kept], Padding.of(kept.sum(1))))
        if (rows := inference.added_rows(input_ids[kept])) is not None:
            means = means + rows
        return padded_from_flat(means if self._offset is None else means - self._offset, kept)

    @property
    def _offset(self) -> Tensor | None:
        return self.center if self.variable == SEMANTIC else None

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder_of(self.variable).encoder.table

    def sparse_tables(self) -> list[nn.Embedding]:
        """Return the embedding tables, and the output layers if only sampled tokens are scored."""
        tables = [self.encoder_of(name).encoder.table for name in self.variables()]
        for task in self.tasks():
            tables.append(self.decoder_of(task).table)
            if self.scores_part:
                tables.append(self.scorer_of(task).weight)
        return list({id(table): table for table in tables}.values())

    def rows_used(self, inputs: Mapping[str, Any]) -> Iterator[tuple[nn.Embedding, Tensor]]:
        sides: Sequence[Side] | None = inputs.get("sides")
        if sides is None:
            for table in self.sparse_tables():  # outside training read every row
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

    def side_of(
        self, variable: str, languages: Sequence[str], tasks: Sequence[str] | None = None
    ) -> int:
        """Return the side of a pair, 0 or 1, from which a variable is inferred.

        For a semantic variable that is inferred from both sides, return the first side. `tasks` are
        the tasks that read the variable, by default all tasks between the languages.
        """
        if variable != SEMANTIC:
            return languages.index(variable)
        if tasks is None:
            tasks = self.tasks_between(languages)
        return min(side for task in tasks for side in self.sides_read(task, SEMANTIC, languages))

    def encoder_parameters(self, variable: str | None = None) -> Iterator[nn.Parameter]:
        """Return the parameters that infer one variable, or all variables."""
        raise NotImplementedError

    def decoder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of all decoders and output layers, each once."""
        parts = [part for of in self.tasks() for part in (self.decoder_of(of), self.scorer_of(of))]
        return list(dict.fromkeys(each for part in parts for each in part.parameters()))

    @property
    def reads_both_sides(self) -> bool:
        """Whether reconstruction alternates between the semantic variables of both sentences.

        A model that reconstructs a single language reads only that language.
        """
        return sum(task.startswith("reconstruct") for task in self.tasks()) > 1

    def pair_terms(
        self, sides: Sequence[Side], chosen: Tensor, *, smoothing: float = 0.0, sample: bool = True
    ) -> PairTerms:
        """Compute every loss term of a batch of pairs (thesis, 5.5 and 5.6.2).

        Unlike in the thesis, both sides are encoded, because translation needs both. Reconstruction
        reads only the side `chosen` for each pair, (batch,). The KL term weights each side by how
        often it is chosen, or both equally without reconstruction. `smoothing` applies to
        translation. With `sample`, variables are sampled from their posteriors. Otherwise their
        means are used, as in the released code.
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
            if len(found) == 2:  # the semantic variable of both sides
                second = chosen.float().mean() if self.reads_both_sides else 0.5
                kl[variable] = found[0] * (1 - second) + found[1] * second
            elif found:
                (kl[variable],) = found.values()
        return PairTerms(nll, smoothed, kl, posteriors, tokens)

    def tasks_between(self, languages: Sequence[str]) -> list[str]:
        """Return the names of the tasks that write one of the given languages."""
        return [task for task in self.tasks() if language_of(task) in languages]

    def sides_read(self, task: str, variable: str, languages: Sequence[str]) -> list[int]:
        """Return the indices of the sides from which a task infers a variable.

        * A language variable: the side in that language.
        * The semantic variable of a translation: the source side.
        * The semantic variable of a reconstruction: both sides. Each pair uses one of them.
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
        """Return the concatenated draws of the variables that a task reads, (batch, latent)."""
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
        """Return -ln p and smoothing term, summed over the tokens, and the number of tokens."""
        targets, weights = side.padding.flat(side.ids), None
        if side.candidates is not None:
            targets, weights = side.candidates.columns(targets), side.candidates.weights
        logits = self._logits(task, side, latent)
        right, everyone = cross_entropy_parts(logits, targets, smoothing, weights)
        count = len(targets)
        return right * count, None if everyone is None else everyone * count, count

    def nll_of_sentences(self, task: str, side: Side, latent: Tensor) -> Tensor:
        """Return -ln p of each sentence of a side without `candidates`, (batch,) nats."""
        logits, padding = self._logits(task, side, latent).float(), side.padding
        of_tokens = F.cross_entropy(logits, padding.flat(side.ids), reduction="none")
        return of_tokens.new_zeros(len(side.ids)).index_add(0, padding.text, of_tokens)

    def _logits(self, task: str, side: Side, latent: Tensor) -> Tensor:
        """Return the logits of a side's candidates or the vocabulary, (tokens, candidates)."""
        states = self.decoder_of(task)(self.shifted(side.ids, task), latent)
        only = () if side.candidates is None else (side.candidates.ids,)
        padding = side.padding
        return self.scorer_of(task)(padding.flat(states), latent, padding.text, *only)

    def shifted(self, ids: Tensor, task: str) -> Tensor:
        """Return the decoder inputs, (batch, seq): the start token, then all ids but the last."""
        start = ids.new_full((len(ids), 1), self.start_of(task))
        return torch.cat([start, ids[:, :-1]], 1)

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """Return the encoder for `generate`. It infers the variables that a task reads."""
        return VariableReader(self)

    def get_output_embeddings(self) -> None:
        return None

    def latent_of(
        self, task: str, input_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Return the concatenated means of the variables that a task reads, (batch, latent)."""
        kept = (torch.ones_like(input_ids) if attention_mask is None else attention_mask).bool()
        ids, lengths = input_ids[kept], kept.sum(1)
        names = self.variables_of(task)
        return torch.cat([self.posterior(name, ids, lengths).mean for name in names], 1)

    def prepare_decoder_input_ids_from_labels(
        self, labels: Tensor, task: str | None = None
    ) -> Tensor:
        """Return the decoder inputs for labels of a task (default: the first), (batch, seq)."""
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
        """Return sentence embeddings, or the logits of a task.

        With labels, the loss is the cross-entropy only, and decoders read the means of the
        variables. This is for training translators and autoencoders with `Seq2SeqTrainer`.
        `pair_terms` computes the full loss.

        Args:
            input_ids: (batch, seq) ids, or concatenated ids with `lengths`.
            attention_mask: (batch, seq), 1 for a token.
            pooled_only: Leave out `last_hidden_state`.
            return_dict: Return a tuple if False.
            lengths: (batch,) lengths of concatenated texts.
            task: Task of the decoder, one of `tasks` (default: the first). Ignored if none of the
                following arguments is given.
            encoder_outputs: Variables as `last_hidden_state`, (batch, 1, latent). Inferred from
                the input if None.
            decoder_input_ids: (batch, seq) first tokens of the output.
            decoder_attention_mask: (batch, seq). Ignored, because padding follows the output.
            labels: (batch, seq) target tokens, -100 for padding.
            cache: Cache of earlier generation steps.
            use_cache: Whether to return a cache.

        Returns:
            Sentence embeddings, (batch, dim). If an argument after `task` is given: logits, (batch,
            seq, vocab), and with labels the mean loss.
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
                raise ValueError("decoder_input_ids or labels must be given")
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
        decoder = self.decoder_of(task)
        if cache is not None and not decoder.has_cache:
            raise ValueError("cache is not supported by an LSTM decoder. Use use_cache=False")
        if cache is None and use_cache and decoder.has_cache:
            cache = DynamicCache(config=self.config)
        inner = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
        states = decoder(ids, latent, cache=inner)
        batch, seq = ids.shape
        sentence = torch.arange(batch, device=states.device).repeat_interleave(seq)
        logits = self.scorer_of(task)(states.flatten(0, 1), latent, sentence).view(batch, seq, -1)
        return logits, None if use_cache is False else cache

    def named_task(self, task: str | None) -> str:
        """Return `task` if the model has it. If None, return the first task and warn of others."""
        tasks = self.tasks()
        if task is None and len(tasks) > 1:
            logger.warning_once("task is not set. Using the first of %s", ", ".join(tasks))
        if task not in (None, *tasks):
            raise ValueError(f"task must be one of {', '.join(tasks)}, got {task!r}")
        return task or tasks[0]

    def _init_weights(self, module: nn.Module) -> None:
        """Initialize one module.

        Dense layers are Glorot uniform with bias 0. Rows of tables and output layers are normal,
        with length about 1, twice as long as the released code's output rows.
        """
        if isinstance(module, Addition):
            nn.init.zeros_(module.weight)
        elif isinstance(module, nn.Linear):
            initialize_dense(module)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.LayerNorm):
            module.reset_parameters()
        elif isinstance(module, nn.LSTM):
            module.reset_parameters()
            nn.init.zeros_(module.get_parameter("bias_hh_l0"))


class VariableReader(nn.Module):
    """Encoder for `generate`. It keeps the model in a list, so that torch does not register it."""

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
        """Return the variables that a task reads, (batch, 1, latent)."""
        model = self._model[0]
        latent = model.latent_of(model.named_task(task), input_ids, attention_mask)
        return BaseModelOutput(last_hidden_state=latent[:, None])
