"""Generation of one batch with an encoder-decoder, and likelihoods of generated text."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    TemperatureLogitsWarper,
    TopPLogitsWarper,
)
from transformers.utils import ModelOutput

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.errors import ModelError, ParaphrasticError, in_a_line
from paraphrastic_hf.generation.writing import NOTHING, GeneratedText, GenerationOptions
from paraphrastic_hf.models.base import evaluating

MOST_SCORES = 2**26  # maximum number of logits in memory
MOST_TOKENS = 2**14  # maximum number of tokens in a batch, with padding


def generate_texts(
    model: Any,
    encoded: ModelOutput,
    writing: GenerationOptions,
    generator: torch.Generator,
    *,
    config: GenerationConfig,
    begin: int,
    ends: Tensor,
    decode: Callable[[list[int]], str],
    scores: bool = True,
    processors: Sequence[LogitsProcessor] = (),
    **inputs: Any,
) -> list[list[GeneratedText]]:
    """Generate `writing.outputs` texts for each source, by beam search or sampling.

    `config` replaces the model's own. `begin` is the number of begin tokens, and `ends` are the ids
    of end marks, (ends,). `inputs` are further arguments of `generate` and `forward`, whose tensors
    have one row per source. Sampling uses `generator` in a logits processor, because transformers'
    `generate` would use torch's global random state, which all threads share.
    """
    # `generate` completes a config from the model's own. Other threads may use the model.
    writer = copy.copy(model)
    writer.generation_config = config
    rows = torch.arange(len(next(iter(encoded.values()))), device=generator.device)
    if writing.sample:
        rows = rows.repeat_interleave(writing.outputs)
        processors = [*processors, Draw(writing, generator)]
    sequences = writer.generate(
        encoder_outputs=rows_of(encoded, rows),
        generation_config=config,
        logits_processor=list(processors),
        **{name: of[rows] if isinstance(of, Tensor) else of for name, of in inputs.items()},
    )
    written = sequences[:, begin:]
    is_written = until_end(written, ends)
    nats, count = [float("nan")] * len(sequences), writing.outputs
    if scores:
        nats = mean_log_probabilities(
            model, encoded, sequences, is_written, count=count, **inputs
        ).tolist()
    lengths = is_written.sum(1).tolist()
    found = [
        GeneratedText(decode(ids[:length]), of_text, tuple(ids[:length]))
        for ids, length, of_text in zip(written.tolist(), lengths, nats, strict=True)
    ]
    return [found[first : first + count] for first in range(0, len(found), count)]


def generation_config(model: Any, writing: GenerationOptions, limit: int) -> GenerationConfig:
    """Return the model's generation config with the given options and at most `limit` tokens."""
    config = copy.deepcopy(model.generation_config)
    config.update(**writing.options(), max_length=limit + 1)  # counts the begin token
    if config.max_new_tokens is not None:  # takes precedence over max_length, with a warning
        config.max_new_tokens = limit
    return config


@contextmanager
def clear_errors(model: Any) -> Iterator[None]:
    """Convert any error of `generate` to a `ModelError`."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ParaphrasticError) or is_out_of_memory(error):
            raise
        raise ModelError(
            f"{model.name_or_path or 'the model'} cannot generate ({type(error).__name__}: "
            f"{in_a_line(error)}). Check its generation_config.json"
        ) from error


def end_ids(model: Any) -> Tensor:
    """Return the end-of-sequence ids of a model, (ends,) int64."""
    with clear_errors(model):
        return torch.tensor([model.generation_config.eos_token_id]).flatten().long()


def write_batches(
    model: Any,
    texts: int,
    batches: Iterable[Any],
    writing: GenerationOptions,
    write: Callable[[Sequence[int], torch.Generator], list[list[GeneratedText]]],
    *,
    unit: str = " texts",
    progress: bool = False,
) -> list[list[GeneratedText]]:
    """Generate texts for batches of indices, and return those of all `texts` sources."""
    found = [[NOTHING] * writing.outputs for _ in range(texts)]
    generator = torch.Generator(model.device).manual_seed(int(writing.seed))
    chosen = [list(map(int, rows)) for rows in batches]
    with (
        torch.no_grad(),
        clear_errors(model),
        evaluating(model),
        tqdm(total=sum(map(len, chosen)), unit=unit, disable=not progress) as bar,
    ):
        for rows in chosen:
            for row, written in zip(rows, write(rows, generator), strict=True):
                found[row] = written
            bar.update(len(rows))
    return found


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the machine or the accelerator ran out of memory."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def padded(batch: Sequence[Sequence[int]], pad: int, device: torch.device) -> dict[str, Tensor]:
    """Return `input_ids` and `attention_mask`, (lines, longest), padded on the right."""
    ids = torch.full((len(batch), max(map(len, batch))), pad)
    mask = torch.zeros_like(ids)
    for row, line in enumerate(batch):
        ids[row, : len(line)] = torch.tensor(line)
        mask[row, : len(line)] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}


def target_ids(
    tokenizer: Any, texts: Sequence[str], begin: Sequence[int], most: int | None = None
) -> list[list[int]]:
    """Return the ids of translations with the end mark, without a language token in `begin`."""
    ids = tokenizer(text_target=list(texts), truncation=most is not None, max_length=most)
    return [each[each[:1] == list(begin[1:]) :] for each in ids["input_ids"]]


def until_end(written: Tensor, ends: Tensor) -> Tensor:
    """Return a mask of the tokens up to and including the first end mark, (lines, seq)."""
    is_end = torch.isin(written, ends.to(written.device)).long()
    return is_end.cumsum(1) - is_end == 0


def encoded_by(model: Any, inputs: Mapping[str, Tensor]) -> ModelOutput:
    """Run the encoder of a model. The tensors in its output have one row per source."""
    read = model.get_encoder()(**inputs, return_dict=True)
    return type(read)(**{name: of for name, of in read.items() if isinstance(of, Tensor)})


def rows_of(encoded: ModelOutput, rows: Tensor) -> ModelOutput:
    """Select rows of all tensors in an encoder output."""
    return type(encoded)(**{name: of[rows] for name, of in encoded.items()})


def mean_log_probabilities(
    model: Any,
    encoded: ModelOutput,
    sequences: Tensor,
    is_written: Tensor,
    *,
    count: int = 1,
    **inputs: Any,
) -> Tensor:
    """Return the mean log-probability of the tokens of each translation in nats, (lines,).

    `sequences`, (lines, seq), are ids with the begin tokens, `count` adjacent lines of each source.
    `is_written` is a mask of the last ids that count, (lines, at most seq - 1). `inputs` are
    further arguments of `forward`, whose tensors have one row per source.
    """
    seq = is_written.shape[1]
    output = model.get_output_embeddings()
    vocab = model.config.vocab_size if output is None else len(output.weight)
    at_a_time = max(1, MOST_SCORES // (vocab * sequences.shape[1]))
    found = []
    for lines in torch.arange(len(sequences), device=sequences.device).split(at_a_time):
        source = lines // count
        logits = model(
            encoder_outputs=rows_of(encoded, source),
            decoder_input_ids=sequences[lines, :-1],
            use_cache=False,
            **{n: of[source] if isinstance(of, Tensor) else of for n, of in inputs.items()},
        ).logits[:, -seq:]
        of_tokens = F.cross_entropy(
            logits.flatten(0, 1).float(), sequences[lines, -seq:].flatten(), reduction="none"
        )
        kept = is_written[lines]
        # `where` is needed because padding may have probability 0.
        found.append(-of_tokens.view_as(kept).where(kept, 0).sum(1) / kept.sum(1))
    return torch.cat(found)


@torch.no_grad()
def score_ids(
    model: Any,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    begin: Sequence[int],
    *,
    pad: int,
    batch_size: int,
) -> np.ndarray:
    """Return each target's mean log-probability per token in nats, (lines,) float64, or NaN."""
    nats = np.full(len(sources), np.nan)
    lengths = np.array([[len(a), len(b)] for a, b in zip(sources, targets, strict=True)], np.int64)
    lengths = lengths.reshape(-1, 2)
    known = np.flatnonzero(lengths.all(1))
    with evaluating(model):
        for chosen in length_batches(lengths[known].sum(1), batch_size, MOST_TOKENS):
            rows = known[chosen]
            read = padded([sources[row] for row in rows], pad, model.device)
            written = padded([[*begin, *targets[row]] for row in rows], pad, model.device)
            found = mean_log_probabilities(
                model,
                encoded_by(model, read),
                written["input_ids"],
                written["attention_mask"][:, len(begin) :].bool(),
                attention_mask=read["attention_mask"],
            )
            nats[rows] = found.double().cpu().numpy()
    return nats


class EndInTime(LogitsProcessor):  # type: ignore[misc]
    """Logits processor that ends each sequence at its own limit in tokens, `most` (sequences,)."""

    def __init__(self, most: Tensor, ends: Tensor) -> None:
        self.most, self.ends = most, ends

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        is_over = self.most.to(scores.device) <= input_ids.shape[1]  # the next is its last token
        if not is_over.any():
            return scores
        ended = torch.full_like(scores, -torch.inf)
        ended[:, self.ends] = scores[:, self.ends].clamp(min=torch.finfo(scores.dtype).min)
        return torch.where(is_over[:, None], ended, scores)


class Draw(LogitsProcessor):  # type: ignore[misc]
    """Logits processor that samples the next token. Its score becomes 0, all other scores -inf."""

    def __init__(self, writing: GenerationOptions, generator: torch.Generator) -> None:
        self.warpers: list[LogitsProcessor] = []
        if writing.temperature != 1:
            self.warpers.append(TemperatureLogitsWarper(float(writing.temperature)))
        if writing.top_p < 1:
            self.warpers.append(TopPLogitsWarper(writing.top_p))
        self.generator = generator

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        for warper in self.warpers:
            scores = warper(input_ids, scores)
        drawn = torch.multinomial(scores.softmax(-1), 1, generator=self.generator)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0)
