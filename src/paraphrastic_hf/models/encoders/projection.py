"""Dense layers over an average (thesis, 3.1.2): projection and deep averaging network (DAN).

projection:  g(x) = W_p (1/n sum_i W[x_i]) + b
DAN:         with an activation f after each layer (Iyyer et al., 2015)
"""

from itertools import pairwise

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.pooling import mean_rows
from paraphrastic_hf.layers.product import Dense, initialize_dense
from paraphrastic_hf.models.base import check_choices
from paraphrastic_hf.models.table import TableConfig, TableModel


@strict
class ProjectionConfig(TableConfig):
    """Configuration of `ProjectionModel`, with the settings of `TableConfig`.

    Args:
        layers: Number of layers, 1 or 2, with `hidden_size` units each.
        activation: Activation f, `linear` for a projection, `tanh` or `relu` for a DAN.
    """

    model_type = "paraphrastic-projection"

    layers: int = 1
    activation: str = "linear"

    def validate_layers(self) -> None:
        check_choices(self, activation=ACTIVATIONS)
        if self.layers not in (1, 2):
            raise ValueError(f"layers must be 1 or 2, got {self.layers}")
        if self.layers == 2 and self.activation == "linear":
            raise ValueError(
                "layers must be 1 with a linear activation, got 2. Set layers or activation"
            )


class ProjectionModel(TableModel):
    """One or two dense layers over the mean of a text's table rows (thesis, section 3.1.2).

    Initial weights are Glorot uniform, biases 0.

    Example:
        >>> config = ProjectionConfig(vocab_size=10, embedding_size=4, hidden_size=6)
        >>> ProjectionModel(config)(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 6])
    """

    config_class = ProjectionConfig
    card_sentence = (
        "{{ 'a dense layer' if layers == 1 else 'two dense layers' }} ({{ activation }}) over the "
        "mean of the vectors of its {{ tokens }} (thesis, 3.1.2)"
    )
    ignores_order = True

    def __init__(self, config: ProjectionConfig) -> None:
        super().__init__(config)
        sizes = [config.table_size] + [config.hidden_size] * config.layers
        self.dense = nn.ModuleList(Dense(a, b) for a, b in pairwise(sizes))
        self.post_init()

    def initialize_composition(self, module: nn.Module) -> None:
        initialize_dense(module)

    def pool_rows(self, states: Tensor, lengths: Tensor) -> Tensor:
        vectors = mean_rows(states, lengths)
        for layer in self.dense:
            vectors = ACTIVATIONS[self.config.activation](layer(vectors))
        return vectors * (lengths > 0).unsqueeze(1)
