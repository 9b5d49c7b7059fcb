"""Base classes of every model, and the interface of encoders (thesis, 3.1.2).

An encoder maps padded ids and a mask to one vector per text. A batch may also be flat: the ids of
all texts concatenated, and the length of each text.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from paraphrastic_hf.io.remote_code import write_remote_code
from paraphrastic_hf.layers.pooling import mean_rows

NO_LABEL = -100  # label that the loss ignores, as in transformers


def check_choices(config: Any, **choices: Collection[str]) -> None:
    """Raise ValueError if a setting has a value that is not in its list of choices."""
    for name, known in choices.items():
        if (value := getattr(config, name)) not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def check_positive(config: Any, *names: str) -> None:
    """Raise ValueError if a setting is below 1."""
    for name in names:
        if (value := getattr(config, name)) < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch a model to evaluation mode (no dropout). Restore its former mode on exit."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def takes_cache(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Let a model's `forward` accept its `cache` as `past_key_values` too.

    transformers 5.24 calls the argument `cache`, earlier versions `past_key_values`. Caches of
    fixed size are not supported.
    """

    @wraps(forward)
    def named(model: Any, *args: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
        if past_key_values is not None:
            if kwargs.get("cache") is not None:
                raise ValueError("past_key_values is another name of cache. Pass only one")
            kwargs["cache"] = past_key_values
        if getattr(kwargs.get("cache"), "is_compileable", False):
            raise ValueError(
                f"{type(model).__name__} needs a dynamic cache. Omit cache_implementation"
            )
        return forward(model, *args, **kwargs)

    return named


@dataclass
class SentenceEncoderOutput(ModelOutput):
    """Output of a sentence encoder."""

    last_hidden_state: Tensor | None = None  # token vectors, (batch, seq, dim)
    # (batch, dim), any scale. The zero vector for a text without tokens.
    sentence_embedding: Tensor | None = None
    pooler_output: Tensor | None = None  # `sentence_embedding` under transformers' name


class ParaphrasticModel(PreTrainedModel):
    """Base class of every model of this package, with methods to read and save it."""

    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    auto_class: ClassVar[str] = "AutoModel"
    further_auto_classes: ClassVar[tuple[str, ...]] = ()  # other Auto classes that load the model
    is_resizable: ClassVar[bool] = True
    # Description for the model card, a Jinja template over the configuration and `tokens`. For an
    # encoder it completes "The vector of a sentence is ...". For other models it is a sentence.
    card_sentence: ClassVar[str] = ""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load as in transformers, and freeze the second bias of torch's recurrences.

        The papers' recurrences have one bias.
        """
        loaded = super().from_pretrained(*args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        for module in model.modules():
            if isinstance(module, nn.RNNBase):
                module.bias_hh_l0.requires_grad_(False)
        return loaded

    def resize_token_embeddings(self, new_num_tokens: int | None = None, **kwargs: Any) -> Any:
        if new_num_tokens is not None and not self.is_resizable:
            raise ValueError(
                f"Cannot resize the table of {type(self).__name__}. Train with the new tokenizer"
            )
        return super().resize_token_embeddings(new_num_tokens, **kwargs)

    def _to_tuple(self, output: ModelOutput, return_dict: bool | None) -> Any:
        is_dict = self.config.return_dict if return_dict is None else return_dict
        return output.to_tuple() if is_dict is False else output

    def tables(self) -> list[nn.Embedding]:
        """Return the embedding tables. The ids of each table follow those of the previous table."""
        return [self.get_input_embeddings()]

    def sparse_tables(self) -> list[nn.Embedding]:
        """Return the tables whose gradients, on a CPU, should contain only the rows of a batch.

        The model must read these tables through `layers.embedding.lookup`.
        """
        return []

    def before_reading(self, inputs: Mapping[str, Any]) -> None:
        """Hook that the forward pass calls before it reads the table rows of `inputs`.

        `training/engine/row_adam.py` replaces it to update these rows first. `inputs` are the
        arguments of `forward` by name.
        """

    def rows_used(self, inputs: Mapping[str, Any]) -> Iterator[tuple[nn.Embedding, Tensor]]:
        """Yield each table with the rows that `forward(**inputs)` reads, (rows,) int64.

        Rows may repeat. Rows that are not read may be included. `input_ids` may have any shape.
        """
        tables, rows = self.tables(), inputs["input_ids"].reshape(-1).long()
        if len(tables) == 1:
            yield tables[0], rows
            return
        first = 0
        for table in tables:
            last = first + len(table.weight)
            yield table, rows[(rows >= first) & (rows < last)] - first
            first = last

    def save_pretrained(self, save_directory: Any, **kwargs: Any) -> None:
        """Save as in transformers, and add the Python files that `trust_remote_code=True` loads."""
        model_class = write_remote_code(type(self), save_directory)
        config_class = write_remote_code(type(self.config), save_directory)
        auto_classes = (self.auto_class, *self.further_auto_classes)
        known = {"AutoConfig": config_class, **dict.fromkeys(auto_classes, model_class)}
        self.config.auto_map = {name: code for name, code in known.items() if code}
        super().save_pretrained(save_directory, **kwargs)


class SentenceEncoderModel(ParaphrasticModel):
    """Base class of sentence encoders. Subclasses define `token_states`."""

    ignores_order: ClassVar[bool] = False  # whether the order of tokens is irrelevant
    tokenizer_kinds: ClassVar[tuple[str, ...]] = ()  # tokenizers allowed in recipes, () for all
    most_tokens: ClassVar[int] = 2**18  # limit of an encoding batch with padding, in tokens

    def sparse_tables(self) -> list[nn.Embedding]:
        return self.tables()

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return token vectors, (batch, seq, dim), for padded ids and their mask, (batch, seq)."""
        raise TypeError(f"{type(self).__name__} must define token_states")

    def pool(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """Return sentence vectors, (batch, dim), from token vectors. By default the mean."""
        kept = attention_mask.bool()
        return mean_rows(states[kept], kept.sum(1))

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return sentence vectors, (batch, dim), from flat ids, (tokens,), and lengths, (batch,).

        Lengths may be 0. The default pads the batch.
        """
        longest = int(lengths.max()) if lengths.any() else 1  # at least one column
        mask = torch.arange(longest, device=ids.device) < lengths.unsqueeze(1)
        padded = torch.zeros_like(mask, dtype=ids.dtype).masked_scatter(mask, ids)
        return self.states_and_embedding(padded, mask.long())[1]

    def states_and_embedding(
        self, input_ids: Tensor, attention_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return token vectors, (batch, seq, dim), and sentence vectors, (batch, dim)."""
        states = self.token_states(input_ids, attention_mask)
        return states, self.pool(states, attention_mask)

    def composition(self) -> Iterator[tuple[nn.Parameter, bool]]:
        """Yield the trained parameters other than tables (W_c; thesis, 3.1.2), each with a flag.

        If the flag is true, `lambda_c` pulls the parameter toward its initial value, otherwise
        toward zero.
        """
        tables = {id(table.weight) for table in self.tables()}
        for parameter in self.parameters():
            if parameter.requires_grad and id(parameter) not in tables:
                yield parameter, False

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        pooled_only: bool = False,
        return_dict: bool | None = None,
        lengths: Tensor | None = None,
        **kwargs: Any,
    ) -> SentenceEncoderOutput | tuple[Tensor, ...]:
        """Encode a padded or a flat batch.

        Args:
            input_ids: (batch, seq) ids, or with `lengths` (tokens,) ids, texts concatenated.
            attention_mask: (batch, seq), 1 for a token, at any positions. All ones if absent.
            pooled_only: Leave out `last_hidden_state`, which saves time in some models.
            return_dict: Return a tuple if False.
            lengths: (batch,) number of tokens of each text of a flat batch. Excludes a mask.
                `last_hidden_state` is then None.

        Returns:
            Sentence vectors, (batch, dim), and token vectors, (batch, seq, dim).

        Raises:
            ValueError: If ids and mask differ in shape, or the sum of `lengths` is not the number
                of flat ids.

        Example:
            >>> from paraphrastic_hf import AveragingConfig, AveragingModel
            >>> model = AveragingModel(AveragingConfig(vocab_size=10, hidden_size=4))
            >>> output = model(torch.tensor([2, 3, 5]), lengths=torch.tensor([2, 1]))
            >>> output.sentence_embedding.shape
            torch.Size([2, 4])
        """
        if lengths is not None:
            if input_ids.shape != (int(lengths.sum()),) or attention_mask is not None:
                raise ValueError(
                    f"lengths requires flat input_ids of shape ({int(lengths.sum())},) and no "
                    f"attention_mask, got input_ids of shape {tuple(input_ids.shape)}"
                )
            embedding = self.embed_flat(input_ids.long(), lengths)
            output = SentenceEncoderOutput(None, embedding, embedding)
            return self._to_tuple(output, return_dict)
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if input_ids.shape != attention_mask.shape:
            raise ValueError(
                f"attention_mask {[*attention_mask.shape]} must fit input_ids {[*input_ids.shape]}"
            )
        input_ids = input_ids.long().masked_fill(attention_mask == 0, 0)
        if pooled_only:
            kept = attention_mask.bool()
            states, embedding = None, self.embed_flat(input_ids[kept], kept.sum(1))
        else:
            states, embedding = self.states_and_embedding(input_ids, attention_mask)
        output = SentenceEncoderOutput(states, embedding, embedding)
        return self._to_tuple(output, return_dict)
