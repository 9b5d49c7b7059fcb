"""A batch of an encoder-decoder's search: draws, padding, limits of length, what was written and
how likely the model finds it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    TemperatureLogitsWarper,
    TopPLogitsWarper,
)
from transformers.utils import ModelOutput

from paraphrastic_hf.errors import ModelError, ParaphrasticError, in_a_line
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions

MOST_SCORES = 2**26  # numbers at a time: one for each token and entry of the vocabulary


def search(
    model: Any,
    encoded: ModelOutput,
    writing: GenerationOptions,
    generator: torch.Generator,
    *,
    config: GenerationConfig | None = None,
    processors: Sequence[LogitsProcessor] = (),
    **inputs: Any,
) -> Tensor:
    """Search or sample with transformers' `generate`.

    `generate` samples with torch's global random state, which all threads share. So samples are
    drawn here, with `generator`, and `generate` takes the token that was drawn.

    Args:
        config: Settings of `generate` that replace the model's own.
        **inputs: What else `generate` takes: tensors of a row a source, and what is no tensor.

    Returns:
        Ids, (sources * outputs, seq), with those that each sequence begins with.
    """
    if config is not None:
        # `generate` fills gaps of a config from the model's own; other threads may use the model
        model = copy.copy(model)
        model.generation_config = inputs["generation_config"] = config
    processors = list(processors)
    rows = torch.arange(len(next(iter(encoded.values()))), device=generator.device)
    if writing.sample:
        rows = rows.repeat_interleave(writing.outputs)
        processors.append(Draw(writing, generator))
    return model.generate(
        encoder_outputs=rows_of(encoded, rows),
        logits_processor=processors,
        **{name: of[rows] if isinstance(of, Tensor) else of for name, of in inputs.items()},
    )


@contextmanager
def clear_errors(model: Any) -> Iterator[None]:
    """Turn what `generate` raises over odd settings of a model into one error of this package."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ParaphrasticError) or is_out_of_memory(error):
            raise
        raise ModelError(
            f"{model.name_or_path or 'the model'} cannot write ({type(error).__name__}: "
            f"{in_a_line(error)}); is its generation_config.json damaged?"
        ) from error


def end_ids(model: Any) -> Tensor:
    """The ids that end what a model writes, (ends,) int64."""
    with clear_errors(model):
        return torch.tensor([model.generation_config.eos_token_id]).flatten().long()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory, of the machine or of an accelerator, was not to be had."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def padded(batch: Sequence[Sequence[int]], pad: int, device: torch.device) -> dict[str, Tensor]:
    """`input_ids` and `attention_mask` of some lines, (lines, longest), padded on the right."""
    ids = torch.full((len(batch), max(map(len, batch))), pad)
    mask = torch.zeros_like(ids)
    for row, line in enumerate(batch):
        ids[row, : len(line)] = torch.tensor(line)
        mask[row, : len(line)] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}


def target_ids(
    tokenizer: Any, texts: Sequence[str], begin: Sequence[int], most: int | None = None
) -> list[list[int]]:
    """The ids of translations that others made, with the end.

    Args:
        tokenizer: As `AutoTokenizer` loads it.
        begin: Ids that every translation of the model begins with; of these a tokenizer may write
            the language, which is left out.
    """
    ids = tokenizer(text_target=list(texts), truncation=most is not None, max_length=most)
    return [each[each[:1] == list(begin[1:]) :] for each in ids["input_ids"]]


def until_end(written: Tensor, ends: Tensor) -> Tensor:
    """True for the tokens up to the first end mark, which is one of them, (lines, seq).

    Args:
        written: Ids, (lines, seq).
        ends: The ids that end a sentence, (marks,).

    Example:
        >>> until_end(torch.tensor([[5, 2, 0, 2], [5, 5, 5, 5]]), torch.tensor([2]))
        tensor([[ True,  True, False, False],
                [ True,  True,  True,  True]])
    """
    is_end = torch.isin(written, ends.to(written.device)).long()
    return is_end.cumsum(1) - is_end == 0


def encoded_by(model: Any, inputs: Mapping[str, Tensor]) -> ModelOutput:
    """What a model's encoder makes of sources, for `generate` and `forward`.

    Returns:
        The tensors of its own output, a row a source.
    """
    read = model.get_encoder()(**inputs, return_dict=True)
    return type(read)(**{name: of for name, of in read.items() if isinstance(of, Tensor)})


def rows_of(encoded: ModelOutput, rows: Tensor) -> ModelOutput:
    """What an encoder gives, for some sources."""
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
    """Mean over the tokens of translations of ln of their probability, (lines,), in nats.

    Args:
        sequences: Ids of translations, (lines, seq), with the ids that each begins with; those of
            one source stand together.
        is_written: Which of the last ids are tokens that count, (lines, at most seq - 1).
        **inputs: What else the model's `forward` takes: tensors of a row a source, such as the mask
            of its tokens, and what is no tensor, such as a task.
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
        # padding may be of no probability at all
        found.append(-of_tokens.view_as(kept).where(kept, 0).sum(1) / kept.sum(1))
    return torch.cat(found)


def written_lists(
    written: Tensor,
    is_written: Tensor,
    nats: Sequence[float],
    decode: Callable[[list[int]], str],
    count: int,
) -> list[list[GeneratedText]]:
    """What was written from each source.

    Args:
        written: Ids, (lines, seq), without those that every sentence begins with; those of one
            source stand together.
        is_written: Which of them count, (lines, seq).
        nats: What `mean_log_probabilities` gives of each line.
    """
    found = []
    for ids, length, of_text in zip(
        written.tolist(), is_written.sum(1).tolist(), nats, strict=True
    ):
        found.append(GeneratedText(decode(ids[:length]), of_text, tuple(ids[:length])))
    return [found[first : first + count] for first in range(0, len(found), count)]


class EndInTime(LogitsProcessor):  # type: ignore[misc]
    """Lets a translation that has reached its own limit only end, at the cost of that end.

    Args:
        most: Most tokens of each sequence of the search, its end included, (sequences,).
        ends: The ids that end a sentence, (marks,).
    """

    def __init__(self, most: Tensor, ends: Tensor) -> None:
        self.most, self.ends = most, ends

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores of the next token, (sequences, vocab), of which too long a sequence has one.

        Args:
            input_ids: What each sequence has so far, (sequences, seq), its begin included.
            scores: Scores of the next token, (sequences, vocab).
        """
        is_over = self.most.to(scores.device) <= input_ids.shape[1]  # the next is its last token
        if not is_over.any():
            return scores
        ended = torch.full_like(scores, -torch.inf)
        ended[:, self.ends] = scores[:, self.ends].clamp(min=torch.finfo(scores.dtype).min)
        return torch.where(is_over[:, None], ended, scores)


class Draw(LogitsProcessor):  # type: ignore[misc]
    """Draws the next token of each sequence, and leaves only this one possible.

    Args:
        writing: Temperature and `top_p`.
    """

    def __init__(self, writing: GenerationOptions, generator: torch.Generator) -> None:
        self.warpers: list[LogitsProcessor] = []
        if writing.temperature != 1:
            self.warpers.append(TemperatureLogitsWarper(float(writing.temperature)))
        if writing.top_p < 1:
            self.warpers.append(TopPLogitsWarper(writing.top_p))
        self.generator = generator

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores of the next token, (sequences, vocab): 0 for the one drawn, -inf for all others.

        Args:
            input_ids: What each sequence has so far, (sequences, seq).
            scores: Scores of the next token, (sequences, vocab).
        """
        for warper in self.warpers:
            scores = warper(input_ids, scores)
        drawn = torch.multinomial(scores.softmax(-1), 1, generator=self.generator)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0)
