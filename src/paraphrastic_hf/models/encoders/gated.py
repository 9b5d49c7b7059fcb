"""Gated recurrent averaging networks: GRAN, GRAN-2 to GRAN-5, BiGRAN (Wieting and Gimpel, 2017),
and the one without a gate.

    g(x) = 1/n sum_t a_t      GRAN, GRAN-2, GRAN-5, without a gate
    g(x) = a_{-1} / n         GRAN-3, GRAN-4

The equations of a_t are in `layers/gated.py`. With all gates 1 a GRAN is PARAGRAM-PHRASE.
"""

from __future__ import annotations

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.gated import UNGATED, VARIANTS, GatedRecurrence
from paraphrastic_hf.layers.pooling import last_rows, mean_rows
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import PeepholeLSTM, initialize_cell
from paraphrastic_hf.models.encoders.recurrent import run_directions
from paraphrastic_hf.models.table import TableConfig, TableModel


@strict
class GatedConfig(TableConfig):
    """Configuration of `GatedModel`, beside the settings of `TableConfig`.

    Args:
        variant: 1 for GRAN, 2 to 5 for GRAN-2 to GRAN-5, 0 for none of the gates (footnote 2).
        activation: `tanh` or `relu` of variant 0.
        bidirectional: A second GRAN reads from the last token to the first (BiGRAN).
        merge: How the two directions' a_t become one: `add`, or a `tanh` layer over both.
        recurrent_std: Standard deviation of initial gate weights; biases start at 0.

    Raises:
        ValueError: Another variant or merge, or a width other than that of the token vectors.
    """

    model_type = "paraphrastic-gated"

    variant: int = 1
    activation: str = "tanh"
    bidirectional: bool = False
    merge: str = "add"
    recurrent_std: float | int = 0.1

    def validate_names(self) -> None:
        """Refuse what the paper does not have."""
        if self.variant not in VARIANTS:
            raise ValueError(
                f"variant must be 1 to 5, for GRAN to GRAN-5, or 0 for no gate, got {self.variant}"
            )
        if self.activation not in ("tanh", "relu"):
            raise ValueError(f"activation must be tanh or relu, got {self.activation!r}")
        if self.activation != "tanh" and self.variant != UNGATED:
            raise ValueError(
                f"activation ({self.activation!r}) is of variant 0, which has no gate, and variant "
                f"is {self.variant}: leave it out, or set variant to 0"
            )
        if self.merge not in ("add", "tanh"):
            raise ValueError(f"merge must be add or tanh, got {self.merge!r}")
        if self.merge != "add" and not self.bidirectional:
            raise ValueError(
                f"merge ({self.merge!r}) is of two directions: leave it out, or set bidirectional "
                "to true"
            )
        if self.bidirectional and self.variant in (3, 4):
            raise ValueError(
                f"GRAN-{self.variant} is its last state, and two directions end at different "
                "tokens: set bidirectional to false, or variant to 1, 2 or 5"
            )

    def validate_size(self) -> None:
        """Gates multiply token vectors number by number."""
        if self.table_size != self.hidden_size:
            raise ValueError(
                f"a GRAN is as wide as the token vectors it gates: hidden_size is "
                f"{self.hidden_size} and embedding_size {self.table_size}; make them equal"
            )


class GatedModel(TableModel):
    """A GRAN, or one in each direction (Wieting and Gimpel, 2017, section 3.1).

    The released code takes the last a_t undivided in GRAN-3 to GRAN-5; here the paper is followed,
    which divides by the length in GRAN-3 and GRAN-4 (nothing to a cosine) and averages in GRAN-5.

    Example:
        >>> model = GatedModel(GatedConfig(vocab_size=10, hidden_size=4))
        >>> model(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 4])
    """

    config_class = GatedConfig
    card_sentence = (
        "the output of a gated recurrent averaging network, {{ 'Bi' if bidirectional else '' }}GRAN"
        "{{ {0: ' without its gate', 1: ''}.get(variant, '-%s' % variant) }}, over its {{ tokens }}"
        " (Wieting and Gimpel, 2017)"
    )

    def __init__(self, config: GatedConfig) -> None:
        super().__init__(config)
        directions = 2 if config.bidirectional else 1
        size = config.hidden_size
        self.cells = nn.ModuleList(
            GatedRecurrence(size, config.variant, config.activation) for _ in range(directions)
        )
        has_layer = config.bidirectional and config.merge == "tanh"
        self.merge_layer = Dense(2 * size, size) if has_layer else None
        self.post_init()

    def initialize_composition(self, module: nn.Module) -> None:
        if isinstance(module, GatedRecurrence):
            module.initialize(self.config.recurrent_std)
        elif isinstance(module, PeepholeLSTM):
            initialize_cell(module, self.config.recurrent_std)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)

    def states(self, rows: Tensor, lengths: Tensor) -> Tensor:
        return run_directions(self.cells, rows, lengths, self.config.merge, self.merge_layer)

    def pool_rows(self, states: Tensor, lengths: Tensor) -> Tensor:
        if self.config.variant in (3, 4):
            return last_rows(states, lengths) / lengths.clamp(min=1).unsqueeze(1)
        return mean_rows(states, lengths)
