"""The contract that every encoder of the papers keeps (thesis, 3.1.2; Wieting and Gimpel, 2017):
padded ids and a mask in, one vector a text out.

Ids may also come flat, text after text, with the lengths: what padding would be added for and then
taken out again. A family is one file in `encoders/`: its config, then its model. A model
implements `token_states`, `pool` where the mean is not what it does, and `embed_flat` where it can
do without padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from paraphrastic_hf.io.remote_code import write_remote_code
from paraphrastic_hf.layers.pooling import masked_mean

NO_LABEL = -100  # of a target that does not count, as transformers has it


@dataclass
class SentenceEncoderOutput(ModelOutput):
    """What every encoder returns.

    Attributes:
        last_hidden_state: (batch, seq, dim) token vectors; None if `pooled_only` was asked for.
        sentence_embedding: (batch, dim), any scale; the zero vector for a text without tokens.
        pooler_output: The same tensor, under the name transformers uses.
    """

    last_hidden_state: Tensor | None = None
    sentence_embedding: Tensor | None = None
    pooler_output: Tensor | None = None


class ParaphrasticModel(PreTrainedModel):
    """What every model of this package has: tables of token vectors, and the code it is saved
    with."""

    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    auto_class: ClassVar[str] = "AutoModel"
    further_auto_classes: ClassVar[tuple[str, ...]] = ()  # that load the same class
    is_resizable: ClassVar[bool] = True
    # How it computes, for its model card: a Jinja template over the configuration and `tokens`. An
    # encoder's goes on from "The vector of a sentence is"; others' are sentences.
    card_sentence: ClassVar[str] = ""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """As in transformers, whose loading has every parameter train; a recurrence has one bias,
        and the second of torch's cells stays as it is."""
        loaded = super().from_pretrained(*args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        for module in model.modules():
            if isinstance(module, nn.RNNBase):
                module.bias_hh_l0.requires_grad_(False)
        return loaded

    def resize_token_embeddings(self, new_num_tokens: int | None = None, **kwargs: Any) -> Any:
        """As in transformers, for models whose config has the one table's size.

        Raises:
            ValueError: The model has its rows counted in several places.
        """
        if new_num_tokens is not None and not self.is_resizable:
            raise ValueError(
                f"the table of a {type(self).__name__} cannot be resized in place: train or "
                "convert one with the tokenizer wanted"
            )
        return super().resize_token_embeddings(new_num_tokens, **kwargs)

    def _to_tuple(self, output: ModelOutput, return_dict: bool | None) -> Any:
        """Return an output of `forward`, as a tuple if the call or the configuration says so."""
        is_dict = self.config.return_dict if return_dict is None else return_dict
        return output.to_tuple() if is_dict is False else output

    def tables(self) -> list[nn.Embedding]:
        """The tables of token vectors; the ids of each begin where those of the one before end."""
        return [self.get_input_embeddings()]

    def sparse_tables(self) -> list[nn.Embedding]:
        """The tables that want gradients of the rows a batch uses alone, on a CPU.

        That pays where the vocabulary costs more than all the rest, and asks that the model reads
        its table through `layers.embedding.lookup` and names the rows it reads in `rows_used`.
        """
        return []

    def before_reading(self, inputs: Mapping[str, Any]) -> None:
        """What is to happen before the table rows of `inputs` are read: nothing, but where an
        optimizer that leaves rows behind has put its own function here
        (`training/engine/row_adam.py`).

        Args:
            inputs: The arguments of `forward` by name.
        """

    def rows_used(self, inputs: Mapping[str, Any]) -> Iterator[tuple[nn.Embedding, Tensor]]:
        """The table rows that a forward pass over `inputs` reads.

        Args:
            inputs: The arguments of `forward` by name; `input_ids`, of any shape, may be padded,
                since a row that is named without being read does no harm.

        Yields:
            Each of `tables` with the numbers of its rows, (rows read,) int64; a row that is read
            several times is there as often.
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
        """As in transformers, with the Python files that `trust_remote_code=True` loads."""
        model_class = write_remote_code(type(self), save_directory)
        config_class = write_remote_code(type(self.config), save_directory)
        auto_classes = (self.auto_class, *self.further_auto_classes)
        known = {"AutoConfig": config_class, **dict.fromkeys(auto_classes, model_class)}
        self.config.auto_map = {name: code for name, code in known.items() if code}
        super().save_pretrained(save_directory, **kwargs)


class SentenceEncoderModel(ParaphrasticModel):
    """Base of every encoder of this package."""

    ignores_order: ClassVar[bool] = False  # whether the order of tokens never counts
    tokenizer_kinds: ClassVar[tuple[str, ...]] = ()  # of recipes that it takes; () for any
    most_tokens: ClassVar[int] = 2**18  # of a batch of several texts to encode, with its padding

    def sparse_tables(self) -> list[nn.Embedding]:
        return self.tables()

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Token vectors, (batch, seq, dim), from ids and mask, (batch, seq)."""
        raise TypeError(f"{type(self).__name__} must define token_states")

    def pool(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """Sentence vectors, (batch, dim), from token vectors; the mean unless a model says
        otherwise."""
        return masked_mean(states, attention_mask)

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Sentence vectors, (batch, dim), from ids, (tokens,), text after text, and lengths,
        (batch,), 0 allowed; from a padded batch unless a model says otherwise."""
        longest = int(lengths.max()) if lengths.any() else 1  # no batch is without columns
        mask = torch.arange(longest, device=ids.device) < lengths.unsqueeze(1)
        padded = torch.zeros_like(mask, dtype=ids.dtype).masked_scatter(mask, ids)
        return self.states_and_embedding(padded, mask.long())[1]

    def states_and_embedding(
        self, input_ids: Tensor, attention_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Token vectors and sentence vectors, (batch, seq, dim) and (batch, dim)."""
        states = self.token_states(input_ids, attention_mask)
        return states, self.pool(states, attention_mask)

    def composition(self) -> Iterator[tuple[nn.Parameter, bool]]:
        """The trained parameters that are no table (W_c; thesis, 3.1.2), each with whether
        `lambda_c` pulls it to its start, not to zero."""
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
        """Encode a padded batch, or a flat one.

        Args:
            input_ids: (batch, seq) ids; whatever stands at masked positions is ignored.
            attention_mask: (batch, seq), 1 for a token, wherever tokens stand; all ones if absent.
            pooled_only: Leave `last_hidden_state` out, which some models can skip computing.
            return_dict: A tuple instead, if False.
            lengths: (batch,) where `input_ids` is flat, (tokens,), text after text without padding;
                then there is neither mask nor `last_hidden_state`.

        Returns:
            Sentence vectors, (batch, dim), and token vectors, (batch, seq, dim).

        Raises:
            ValueError: If the two shapes differ, or lengths do not add up to the flat ids.

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
                    f"with lengths, ids are flat and have no mask: the lengths add up to "
                    f"{int(lengths.sum())} and input_ids has shape {tuple(input_ids.shape)}"
                )
            embedding = self.embed_flat(input_ids.long(), lengths)
            output = SentenceEncoderOutput(None, embedding, embedding)
            return self._to_tuple(output, return_dict)
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if input_ids.shape != attention_mask.shape:
            raise ValueError(
                f"input_ids and attention_mask must have one shape, got {tuple(input_ids.shape)} "
                f"and {tuple(attention_mask.shape)}"
            )
        input_ids = input_ids.long().masked_fill(attention_mask == 0, 0)
        if pooled_only:
            kept = attention_mask.bool()
            states, embedding = None, self.embed_flat(input_ids[kept], kept.sum(1))
        else:
            states, embedding = self.states_and_embedding(input_ids, attention_mask)
        output = SentenceEncoderOutput(states, embedding, embedding)
        return self._to_tuple(output, return_dict)
