"""Recurrent encoders (thesis, 3.1.2, 3.6.2, 4.4, 4.9.2, 5.1.1; Wieting and Gimpel, 2017).

    g(x) = h_{-1}             last
    g(x) = 1/n sum_t h_t      mean
    g(x)_d = max_t h_{t,d}    max

`layers/recurrent.py` has the equations of the cells. The tokenizer distinguishes LSTM-AVG (words),
BLSTM-SP (sentencepieces) and charLSTM (characters).
"""

from collections.abc import Iterator
from typing import Any

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.pooling import POOLINGS
from paraphrastic_hf.layers.product import Dense, initialize_dense
from paraphrastic_hf.layers.recurrent import (
    CELLS,
    LSTM,
    RNN,
    IdentityRNN,
    PeepholeLSTM,
    initialize_cell,
    run_directions,
)
from paraphrastic_hf.models.base import check_choices
from paraphrastic_hf.models.table import TableConfig, TableModel

CELL_NAMES = ("lstm", "rnn", "identity_rnn")
MERGES = ("add", "tanh", "concatenate")


@strict
class RecurrentConfig(TableConfig):
    """Configuration of `RecurrentModel`, with the settings of `TableConfig`.

    Args:
        cell: `lstm`, `rnn` or `identity_rnn`.
        activation: `tanh` or `relu`, for an RNN.
        peepholes: Whether an LSTM's gates read its cell, as in the papers. Without peepholes a GPU
            uses torch's faster kernel.
        output_gate: Whether an LSTM has an output gate. Results are better without (thesis,
            Table 2).
        bidirectional: Whether a second cell reads from the last token to the first.
        merge: How to merge the states of two directions. `add` (thesis, 4.4), a `tanh` layer over
            both (Wieting and Gimpel, 2017), or `concatenate` with `hidden_size` / 2 dimensions per
            direction (thesis, 4.9.2).
        pooling: `last`, `mean` or `max` of the states.
        recurrent_std: Standard deviation of initial recurrent weights. Biases start at 0.
    """

    model_type = "paraphrastic-recurrent"

    cell: str = "lstm"
    activation: str = "tanh"
    peepholes: bool = True
    output_gate: bool = True
    bidirectional: bool = False
    merge: str = "add"
    pooling: str = "mean"
    recurrent_std: float | int = 0.1

    def validate_names(self) -> None:
        check_choices(self, cell=CELL_NAMES, merge=MERGES, pooling=POOLINGS)

    def validate_cell(self) -> None:
        if self.cell != "lstm" and not self.output_gate:
            raise ValueError(
                f"output_gate must be true for cell {self.cell}. Omit it, or set cell to lstm"
            )
        if self.cell != "rnn" and self.activation != "tanh":
            raise ValueError(f"activation ({self.activation!r}) requires cell rnn, got {self.cell}")
        if self.cell == "rnn" and self.activation not in ("tanh", "relu"):
            raise ValueError(
                f"activation of an RNN must be tanh or relu, got {self.activation!r}. For a "
                "linear recurrence set cell to identity_rnn"
            )
        if self.cell != "identity_rnn":
            return
        self.require_equal_sizes("an identity-RNN")
        if self.pooling != "last" or self.bidirectional:
            raise ValueError(
                "pooling must be last and bidirectional false for an identity-RNN, got "
                f"{self.pooling!r} and {self.bidirectional}"
            )

    def validate_directions(self) -> None:
        check_merge(self)
        if self.bidirectional and self.pooling == "last":
            raise ValueError("pooling 'last' requires one direction. Set pooling to mean or max")
        if self.bidirectional and self.merge == "concatenate" and self.hidden_size % 2:
            raise ValueError(f"hidden_size must be even for two directions, got {self.hidden_size}")


def check_merge(config: Any) -> None:
    """Raise ValueError if `merge` is set although there is only one direction."""
    if config.merge in MERGES[1:] and not config.bidirectional:
        raise ValueError(
            f"merge ({config.merge!r}) requires two directions. Omit merge or set bidirectional"
        )


class RecurrentModel(TableModel):
    """Encoder with one or two recurrences over token vectors, and pooling of the states.

    Example:
        >>> config = RecurrentConfig(vocab_size=10, embedding_size=4, hidden_size=6)
        >>> RecurrentModel(config)(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 6])
    """

    config_class = RecurrentConfig
    card_sentence = (
        "the {{ {'last': 'last', 'mean': 'mean', 'max': 'elementwise maximum'}[pooling] }} of the "
        "states of {{ 'a bidirectional' if bidirectional else 'an' }} "
        "{{ {'lstm': 'LSTM', 'rnn': 'RNN', 'identity_rnn': 'identity-RNN'}[cell] }} over its "
        "{{ tokens }} (thesis, 4.4)"
    )

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        directions = 2 if config.bidirectional else 1
        self.cells = nn.ModuleList(_new_cell(config) for _ in range(directions))
        has_layer = config.bidirectional and config.merge == "tanh"
        self.merge_layer = Dense(2 * config.hidden_size, config.hidden_size) if has_layer else None
        self.post_init()

    def initialize_composition(self, module: nn.Module) -> None:
        if isinstance(module, CELLS):
            initialize_cell(module, self.config.recurrent_std)
        else:
            initialize_dense(module)

    def states_of(self, ids: Tensor, lengths: Tensor) -> Tensor:
        rows, places = self.distinct_rows(ids)
        merging = self.config.merge, self.merge_layer
        return run_directions(self.cells, rows, lengths, *merging, places)

    def pool_rows(self, states: Tensor, lengths: Tensor) -> Tensor:
        vectors = POOLINGS[self.config.pooling](states, lengths)
        if self.config.cell == "identity_rnn":
            return vectors / lengths.clamp(min=1).unsqueeze(1)
        return vectors

    def composition(self) -> Iterator[tuple[nn.Parameter, bool]]:
        for parameter, _ in super().composition():
            yield parameter, self.config.cell == "identity_rnn"


def _new_cell(config: RecurrentConfig) -> nn.Module:
    is_half = config.bidirectional and config.merge == "concatenate"
    sizes = config.table_size, config.hidden_size // (2 if is_half else 1)
    if config.cell == "rnn":
        return RNN(*sizes, config.activation)
    if config.cell == "identity_rnn":
        return IdentityRNN(config.hidden_size)
    if config.peepholes or not config.output_gate:
        return PeepholeLSTM(*sizes, peepholes=config.peepholes, output_gate=config.output_gate)
    return LSTM(*sizes)
