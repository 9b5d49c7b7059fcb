"""Gated recurrent averaging networks (GRAN; Wieting and Gimpel, 2017).

    g(x) = 1/n sum_t a_t      GRAN, GRAN-2, GRAN-5, without a gate
    g(x) = a_{-1} / n         GRAN-3, GRAN-4

`layers/gated.py` has the equations of a_t.
"""

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.gated import UNGATED, VARIANTS, GatedRecurrence
from paraphrastic_hf.layers.pooling import last_rows, mean_rows
from paraphrastic_hf.layers.product import Dense, initialize_dense
from paraphrastic_hf.layers.recurrent import PeepholeLSTM, initialize_cell, run_directions
from paraphrastic_hf.models.base import check_choices
from paraphrastic_hf.models.encoders.recurrent import check_merge
from paraphrastic_hf.models.table import TableConfig, TableModel


@strict
class GatedConfig(TableConfig):
    """Configuration of `GatedModel`, with the settings of `TableConfig`.

    Args:
        variant: 1 for GRAN, 2 to 5 for GRAN-2 to GRAN-5, 0 without a gate (footnote 2).
        activation: `tanh` or `relu`, for variant 0 only.
        bidirectional: Whether a second GRAN reads from the last token to the first (BiGRAN).
        merge: How to merge the vectors a_t of two directions: `add`, or a `tanh` layer over both.
        recurrent_std: Standard deviation of initial gate weights. Biases start at 0.
    """

    model_type = "paraphrastic-gated"

    variant: int = 1
    activation: str = "tanh"
    bidirectional: bool = False
    merge: str = "add"
    recurrent_std: float | int = 0.1

    def validate_names(self) -> None:
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be 0 (no gate) to 5 (GRAN-5), got {self.variant}")
        check_choices(self, activation=("tanh", "relu"), merge=("add", "tanh"))
        if self.activation != "tanh" and self.variant != UNGATED:
            raise ValueError(
                f"activation ({self.activation!r}) requires variant 0, got {self.variant}"
            )
        check_merge(self)
        if self.bidirectional and self.variant in (3, 4):
            raise ValueError(
                f"bidirectional must be false for GRAN-{self.variant}, which uses the last state. "
                "Set bidirectional to false, or variant to 1, 2 or 5"
            )

    def validate_size(self) -> None:
        self.require_equal_sizes("a GRAN")


class GatedModel(TableModel):
    """A GRAN, or two GRANs that read in opposite directions (Wieting and Gimpel, 2017, 3.1).

    As in the paper, GRAN-3 and GRAN-4 divide the last a_t by the length. GRAN-5 averages. In the
    released code, GRAN-3 to GRAN-5 return the last a_t.

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
        else:
            initialize_dense(module)

    def states(self, rows: Tensor, lengths: Tensor) -> Tensor:
        return run_directions(self.cells, rows, lengths, self.config.merge, self.merge_layer)

    def pool_rows(self, states: Tensor, lengths: Tensor) -> Tensor:
        if self.config.variant in (3, 4):
            return last_rows(states, lengths) / lengths.clamp(min=1).unsqueeze(1)
        return mean_rows(states, lengths)
