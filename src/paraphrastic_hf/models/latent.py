"""What generative models of pairs of sentences share: latent variables in, sentences out (thesis,
5.4, 5.5 and 5.10).

A *variable* is a Gaussian vector that an encoder infers from a sentence: `semantic`, what a
sentence and its translation have in common, and in some models one for each language. A *task*
writes a sentence from variables: `translate_fr` from the semantic variable alone,
`reconstruct_fr` from the French one beside the semantic one. Which variables and tasks there are
is the model's own (`bgt.py`).

As an encoder the model gives the posterior mean of one variable, `semantic` unless told otherwise
(`read_variable`). transformers' `generate` runs any task: the variables take the place of the
encoder's output, (batch, 1, numbers), so beams and caches work as for other models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import EncoderDecoderCache, GenerationMixin, PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from paraphrastic_hf.layers.gaussian import Gaussian
from paraphrastic_hf.layers.latent_decoder import PLACES, LstmDecoder, Scorer, TransformerDecoder
from paraphrastic_hf.layers.latent_encoder import LstmEncoder, TransformerEncoder
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.pooling import mean_rows
from paraphrastic_hf.losses.smoothing import cross_entropy_parts
from paraphrastic_hf.losses.vocabulary import Candidates
from paraphrastic_hf.models.base import SentenceEncoderModel, SentenceEncoderOutput

SEMANTIC = "semantic"
ARCHITECTURES = ("transformer", "lstm")
NO_LABEL = -100
Decoder = TransformerDecoder | LstmDecoder


@strict
class LatentConfig(PreTrainedConfig):
    """Settings of every generative model of sentence pairs.

    Args:
        vocab_size: Tokens, with padding and the end mark.
        languages: Their codes, in the order of the sides of a pair.
        hidden_size: Dimensions of a latent variable, and so of a sentence vector.
        state_size: Dimensions of the states of encoders and decoders; `hidden_size` if None. Even,
            and in transformers a multiple of `num_attention_heads`.
        encoder_kind: Architecture of the encoders, `transformer` or `lstm` (in both directions).
        encoder_layers: Blocks of a transformer that encodes; the thesis takes 5.
        decoder_kind: Architecture of the decoders.
        decoder_layers: Blocks of a transformer that decodes; the thesis takes 1.
        num_attention_heads: Attention heads of a block.
        intermediate_size: Units of the feed-forward layer of a block.
        dropout: Probability that a number is zeroed in training, 0 to below 1.
        latent_at: Where the variables enter a decoder, of `word`, `hidden`, `attention`, `logit`
            (thesis, 5.9.1).
        is_variational: Whether variables are drawn from their posteriors in training; if not, each
            is its mean.

    Raises:
        ValueError: Sizes that do not go together, or an unknown name.
    """

    attribute_map = {"num_hidden_layers": "decoder_layers"}

    vocab_size: int = 20000
    languages: list[str] = field(default_factory=lambda: ["en", "fr"])
    hidden_size: int = 1024
    state_size: int | None = None
    encoder_kind: str = "transformer"
    encoder_layers: int = 5
    decoder_kind: str = "transformer"
    decoder_layers: int = 1
    num_attention_heads: int = 8
    intermediate_size: int = 1024
    dropout: float | int = 0.3
    latent_at: list[str] = field(default_factory=lambda: ["attention", "logit"])
    is_variational: bool = True
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None

    @property
    def width(self) -> int:
        """Dimensions of the states of encoders and decoders."""
        return self.hidden_size if self.state_size is None else self.state_size

    def validate_latent(self) -> None:
        """Refuse sizes and names without a meaning."""
        for name in ("encoder_kind", "decoder_kind"):
            if getattr(self, name) not in ARCHITECTURES:
                raise ValueError(
                    f"{name} must be {' or '.join(ARCHITECTURES)}, got {getattr(self, name)!r}"
                )
        uses_heads = "transformer" in (self.encoder_kind, self.decoder_kind)
        if self.width % 2 or (uses_heads and self.width % self.num_attention_heads):
            raise ValueError(
                f"state_size must be even and a multiple of num_attention_heads "
                f"({self.num_attention_heads}), got {self.width}"
            )
        unknown = [place for place in self.latent_at if place not in PLACES]
        if unknown or not self.latent_at:
            raise ValueError(
                f"latent_at must name some of {', '.join(PLACES)}, got {list(self.latent_at)}"
            )
        if len(set(self.languages)) != len(self.languages):
            raise ValueError(f"languages must differ, got {list(self.languages)}")


@dataclass(frozen=True)
class Side:
    """One side of the pairs of a batch, as training gives it to a model.

    Attributes:
        ids: (batch, seq), each sentence with its end mark, padding after it.
        is_token: (batch, seq) bool.
        candidates: The tokens of the vocabulary to be scored; None for all.
    """

    ids: Tensor
    is_token: Tensor
    candidates: Candidates | None = None

    @property
    def flat(self) -> tuple[Tensor, Tensor]:
        """The ids, text after text, (tokens,), and how many each text has, (batch,)."""
        return self.ids[self.is_token], self.is_token.sum(1)


@dataclass(frozen=True)
class PairTerms:
    """What a model makes of the pairs of a batch.

    Attributes:
        nll: Sums over the batch of -ln p of every sentence a task writes, in nats, by task.
        smoothing: The part of the translations' loss that is label smoothing, summed; None if none.
        kl: Sums over the batch of KL(posterior || prior), in nats, by variable.
        semantic: Means of the semantic variable of each side, (batch, dim); None for a side that
            was not encoded.
        tokens: Tokens that each task predicted, by task.
    """

    nll: dict[str, Tensor]
    smoothing: Tensor | None
    kl: dict[str, Tensor]
    semantic: list[Tensor | None]
    tokens: dict[str, int]


class LatentModel(SentenceEncoderModel, GenerationMixin):
    """Base of generative models of sentence pairs; a model adds its encoders and decoders."""

    is_resizable = False
    accepts_loss_kwargs = False
    variable: str = SEMANTIC
    further_auto_classes = ("AutoModelForSeq2SeqLM",)
    scores_part = True  # whether training scores a part of the vocabulary, and so reads few rows

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

    def encoder_of(self, variable: str) -> Inference:
        """What infers a variable: `layers.latent_encoder`, and maps to mean and log-variance."""
        raise TypeError(f"{type(self).__name__} must define encoder_of")

    def decoder_of(self, task: str) -> Decoder:
        """What writes: one of `layers.latent_decoder`."""
        raise TypeError(f"{type(self).__name__} must define decoder_of")

    # -- a sentence encoder ------------------------------------------------------------------------

    def read_variable(self, name: str) -> None:
        """Have the model embed by the mean of this variable from now on.

        Raises:
            ValueError: The model has none of this name.
        """
        if name not in self.variables():
            raise ValueError(
                f"this model infers {', '.join(self.variables())}, and has no variable {name!r}"
            )
        self.variable = name

    def posterior(self, variable: str, ids: Tensor, lengths: Tensor) -> Gaussian:
        """Infer a variable of each text.

        Args:
            variable: One of `variables`.
            ids: (tokens,), text after text, with end marks.
            lengths: (batch,), 0 allowed: such a text has mean 0.
        """
        inference = self.encoder_of(variable)
        states = inference.encoder(ids, lengths)
        pooled = mean_rows(states, lengths)  # (batch, width)
        mean = inference.mean(pooled)
        if inference.log_variance is None:
            return Gaussian(mean, torch.full_like(mean, -torch.inf))
        return Gaussian(mean, inference.log_variance(pooled))

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.posterior(self.variable, ids, lengths).mean

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The mean's own map of each token's state, so that their mean is the sentence vector."""
        kept = attention_mask.bool()
        inference = self.encoder_of(self.variable)
        states = inference.encoder(input_ids[kept], kept.sum(1))
        return padded_from_flat(inference.mean(states), kept)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder_of(self.variable).encoder.table

    def _encoder_tables(self) -> dict[str, nn.Embedding]:
        return {name: self.encoder_of(name).encoder.table for name in self.variables()}

    def sparse_tables(self) -> list[nn.Embedding]:
        """Every table of an encoder or decoder, and every output layer that is read by rows."""
        decoders = [self.decoder_of(task) for task in self.tasks()]
        tables = [*self._encoder_tables().values()]
        for decoder in decoders:
            tables += [decoder.table, *([decoder.scorer.weight] if self.scores_part else [])]
        return list({id(table): table for table in tables}.values())

    def rows_used(self, inputs: Mapping[str, Any]) -> Iterator[tuple[nn.Embedding, Tensor]]:
        sides: Sequence[Side] | None = inputs.get("sides")
        if sides is None:
            for table in self.sparse_tables():  # all of them: this is no step of training
                yield table, torch.arange(len(table.weight), device=table.weight.device)
            return
        read = torch.cat([side.ids.reshape(-1) for side in sides])
        for table in self._encoder_tables().values():
            yield table, read
        end = read.new_tensor([self.config.decoder_start_token_id])
        for task in self.tasks():
            decoder, side = self.decoder_of(task), sides[self.side_of(task)]
            yield decoder.table, torch.cat([side.ids.reshape(-1), end])
            if side.candidates is not None:
                yield decoder.scorer.weight, side.candidates.ids

    def side_of(self, task: str) -> int:
        """Number of the side of a pair that a task writes."""
        return list(self.config.languages).index(task.split("_", 1)[1])

    def home_of(self, variable: str) -> int:
        """Number of the side of a pair that a variable is inferred from; the first for the
        semantic one, which is inferred from either."""
        return 0 if variable == SEMANTIC else list(self.config.languages).index(variable)

    # -- training ----------------------------------------------------------------------------------

    def pair_terms(
        self, sides: Sequence[Side], chosen: Tensor, *, smoothing: float, sample: bool
    ) -> PairTerms:
        """The terms of the evidence lower bound, and of translation, for the pairs of a batch
        (thesis, 5.5 and 5.6.2).

        Args:
            sides: Both sides of the pairs.
            chosen: (batch,) number of the side whose semantic variable serves reconstruction.
            smoothing: Label smoothing of the tasks that translate, 0 to below 1.
            sample: Draw variables from their posteriors; else take the means, as released.
        """
        posteriors = self._infer(sides)
        draws = {
            key: of.sample() if sample and self.config.is_variational else of.mean
            for key, of in posteriors.items()
        }
        nll: dict[str, Tensor] = {}
        tokens: dict[str, int] = {}
        smoothed: list[Tensor] = []
        for task in self.tasks():
            latent = self._latent_of(task, draws, chosen)
            share = smoothing if task.startswith("translate") else 0.0
            right, everyone, count = self._score(task, sides[self.side_of(task)], latent, share)
            nll[task], tokens[task] = right, count
            if everyone is not None:
                smoothed.append(everyone)
        kl: dict[str, Tensor] = {}
        if self.config.is_variational:
            for variable in self.variables():
                found = [of.kl().sum() for (name, _), of in posteriors.items() if name == variable]
                kl[variable] = torch.stack(found).mean()  # of both sides, each as often
        semantic = [posteriors.get((SEMANTIC, side)) for side in range(len(sides))]
        return PairTerms(
            nll,
            torch.stack(smoothed).sum() if smoothed else None,
            kl,
            [None if of is None else of.mean for of in semantic],
            tokens,
        )

    def _infer(self, sides: Sequence[Side]) -> dict[tuple[str, int], Gaussian]:
        """Posteriors of the variables that some task reads, by variable and side."""
        needed = dict.fromkeys(
            (variable, side)
            for task in self.tasks()
            for variable in self.variables_of(task)
            for side in self._sides_read(task, variable)
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

    def _sides_read(self, task: str, variable: str) -> list[int]:
        """The sides that a task infers a variable from: its own one for a language variable, the
        other for a translation, both in turn for the meaning that it reconstructs from."""
        own = self.side_of(task)
        if variable != SEMANTIC:
            return [own]
        if task.startswith("translate"):
            return [1 - own]
        return [0, 1] if self.reads_both_sides else [own]

    @property
    def reads_both_sides(self) -> bool:
        """Whether the semantic variable of a pair is inferred from either side in turn."""
        return True

    def _latent_of(
        self, task: str, draws: Mapping[tuple[str, int], Tensor], chosen: Tensor
    ) -> Tensor:
        """v, (batch, latent), that a task writes from."""
        parts = []
        for variable in self.variables_of(task):
            read = self._sides_read(task, variable)
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
        decoder = self.decoder_of(task)
        states = decoder(self._shifted(side.ids), latent)
        scorer: Scorer = decoder.scorer
        sentence = torch.nonzero(side.is_token)[:, 0]
        kept, targets = states[side.is_token], side.ids[side.is_token]
        weights = None
        if side.candidates is None:
            logits = scorer(kept, latent, sentence)
        else:
            logits = scorer(kept, latent, sentence, side.candidates.ids)
            targets, weights = side.candidates.columns(targets), side.candidates.weights
        right, everyone = cross_entropy_parts(logits, targets, smoothing, weights)
        count = len(targets)
        return right * count, None if everyone is None else everyone * count, count

    def nll_of_sentences(self, task: str, side: Side, latent: Tensor) -> Tensor:
        """-ln p of each sentence of a side, (batch,) nats, over the whole vocabulary."""
        decoder = self.decoder_of(task)
        states = decoder(self._shifted(side.ids), latent)
        sentence = torch.nonzero(side.is_token)[:, 0]
        logits = decoder.scorer(states[side.is_token], latent, sentence).float()
        of_tokens = F.cross_entropy(logits, side.ids[side.is_token], reduction="none")
        return of_tokens.new_zeros(len(side.ids)).index_add(0, sentence, of_tokens)

    def _shifted(self, ids: Tensor) -> Tensor:
        """The tokens before each: the end mark begins a sentence, as in the released code."""
        start = ids.new_full((len(ids), 1), self.config.decoder_start_token_id)
        return torch.cat([start, ids[:, :-1]], 1)

    # -- transformers' generate --------------------------------------------------------------------

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """What turns a text into the variables of a task, for `generate`."""
        return _Reader(self)

    def get_output_embeddings(self) -> None:
        return None

    def latent_of(
        self, task: str, input_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """The means, (batch, latent), of the variables of one text that a task writes from."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        kept = mask.bool()
        ids, lengths = input_ids[kept], kept.sum(1)
        means = [self.posterior(name, ids, lengths).mean for name in self.variables_of(task)]
        return torch.cat(means, 1)

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """What the decoder reads to predict labels, (batch, seq)."""
        return self._shifted(labels.masked_fill(labels == NO_LABEL, self.config.pad_token_id))

    def forward(  # type: ignore[override]
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        pooled_only: bool = False,
        return_dict: bool | None = None,
        lengths: Tensor | None = None,
        sides: Sequence[Side] | None = None,
        chosen: Tensor | None = None,
        smoothing: float = 0.0,
        sample: bool = True,
        task: str | None = None,
        encoder_outputs: Any = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> SentenceEncoderOutput | Seq2SeqLMOutput | PairTerms | tuple[Any, ...]:
        """Encode texts; or write one text from another; or give the loss terms of pairs.

        Args:
            input_ids: (batch, seq) ids, or flat with `lengths`, as of every encoder.
            attention_mask: (batch, seq), 1 for a token.
            pooled_only: Leave `last_hidden_state` out.
            return_dict: A tuple instead, if False.
            lengths: (batch,) where `input_ids` is flat.
            sides: Pairs to train on; then the result is that of `pair_terms`.
            chosen: As of `pair_terms`.
            smoothing: As of `pair_terms`.
            sample: As of `pair_terms`.
            task: What to write, one of `tasks`; the first if None. Only with what follows.
            encoder_outputs: The variables, `last_hidden_state` of (batch, 1, latent); inferred from
                the input if None.
            decoder_input_ids: (batch, seq) tokens that what is written begins with.
            decoder_attention_mask: Ignored: padding follows what is written.
            labels: (batch, seq) what is to be written; -100 where nothing is.
            past_key_values: The cache of earlier steps of generation.
            use_cache: Whether to return a cache.

        Returns:
            `SentenceEncoderOutput`; `Seq2SeqLMOutput` if any of the last arguments is given, with
            logits (batch, seq, vocab); `PairTerms` if `sides` is.

        Raises:
            ValueError: The model has no such task, or shapes do not go together.
        """
        if sides is not None:
            assert chosen is not None
            return self.pair_terms(sides, chosen, smoothing=smoothing, sample=sample)
        if encoder_outputs is None and decoder_input_ids is None and labels is None:
            assert input_ids is not None
            return super().forward(input_ids, attention_mask, pooled_only, return_dict, lengths)
        task = self.named_task(task)
        if encoder_outputs is None:
            assert input_ids is not None
            latent = self.latent_of(task, input_ids, attention_mask)
        else:
            latent = encoder_outputs[0][:, 0]
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("decoder_input_ids or labels must say what the decoder reads")
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        decoder = self.decoder_of(task)
        cache = past_key_values if decoder.has_cache else None
        inner = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
        states = decoder(decoder_input_ids, latent, cache=inner)
        batch, seq = decoder_input_ids.shape
        sentence = torch.arange(batch, device=states.device).repeat_interleave(seq)
        logits = decoder.scorer(states.flatten(0, 1), latent, sentence).view(batch, seq, -1)
        loss = None
        if labels is not None:
            predicted = logits.flatten(0, 1).float()
            loss = F.cross_entropy(predicted, labels.reshape(-1).long(), ignore_index=NO_LABEL)
        output = Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            past_key_values=cache if use_cache is not False else None,
            encoder_last_hidden_state=latent[:, None],
        )
        return output if return_dict is not False else output.to_tuple()

    def named_task(self, task: str | None) -> str:
        """A task, the first if None.

        Raises:
            ValueError: The model has none of this name.
        """
        tasks = self.tasks()
        if task is not None and task not in tasks:
            raise ValueError(f"this model writes {', '.join(tasks)}, and has no task {task!r}")
        return tasks[0] if task is None else task

    def _init_weights(self, module: nn.Module) -> None:
        """Dense layers start Glorot uniform with bias 0; table rows normal, of length about 1."""
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.LayerNorm):
            module.reset_parameters()
        elif isinstance(module, nn.LSTM):
            module.reset_parameters()
            with torch.no_grad():
                module.bias_hh_l0.zero_()


class Inference(nn.Module):
    """What infers one variable: an encoder, and maps of its mean state to mean and log-variance,
    without bias, as released."""

    def __init__(self, config: LatentConfig) -> None:
        super().__init__()
        width, size = config.width, config.hidden_size
        self.encoder: TransformerEncoder | LstmEncoder
        if config.encoder_kind == "lstm":
            self.encoder = LstmEncoder(config.vocab_size, width, dropout=config.dropout)
        else:
            self.encoder = TransformerEncoder(
                config.vocab_size,
                width,
                layers=config.encoder_layers,
                heads=config.num_attention_heads,
                feed_forward=config.intermediate_size,
                dropout=config.dropout,
            )
        self.mean = nn.Linear(width, size, bias=False)
        self.log_variance = nn.Linear(width, size, bias=False) if config.is_variational else None


def make_decoder(config: LatentConfig, latent: int) -> Decoder:
    """A decoder of the architecture that a config names, from `latent` numbers."""
    shared: dict[str, Any] = {"dropout": config.dropout, "places": tuple(config.latent_at)}
    if config.decoder_kind == "lstm":
        return LstmDecoder(config.vocab_size, config.width, latent, **shared)
    return TransformerDecoder(
        config.vocab_size,
        config.width,
        latent,
        layers=config.decoder_layers,
        heads=config.num_attention_heads,
        feed_forward=config.intermediate_size,
        **shared,
    )


class _Reader(nn.Module):
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
        model = self._model[0]
        latent = model.latent_of(model.named_task(task), input_ids, attention_mask)
        return BaseModelOutput(last_hidden_state=latent[:, None])
