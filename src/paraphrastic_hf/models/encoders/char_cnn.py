"""charCNN: convolution filters over characters with max pooling (thesis, 3.6.2; Kim, 2014).

    g(x) = max over positions of f(filters), or h(W [max of each filter] + b) with a dense layer

f and h are activations. With a word tokenizer this is the CNN of Kim (2014).
"""

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.convolution import PooledFilters
from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.product import Dense, initialize_dense
from paraphrastic_hf.models.base import check_choices
from paraphrastic_hf.models.table import TableConfig, TableModel


@strict
class CharCnnConfig(TableConfig):
    """Configuration of `CharCnnModel`, with the settings of `TableConfig`.

    Thesis 3.7.2.3 has two sets of filters: the default, and widths 1 to 6 with 25, 50, 75, 100, 125
    and 150 filters (Kim et al., 2015).

    Args:
        filter_widths: Width of the filters of each group, in tokens.
        filter_counts: Number of filters in each group.
        activation: Activation of the filters (f above), `tanh` or `relu`.
        dense_activation: Activation of the dense layer (h above), `tanh`, `relu` or `linear`.
            `none` for no dense layer.
    """

    model_type = "paraphrastic-char-cnn"

    filter_widths: list[int] | tuple[int, ...] = (2, 3, 4)
    filter_counts: list[int] | tuple[int, ...] = (175, 175, 175)
    activation: str = "tanh"
    dense_activation: str = "linear"

    def validate_filters(self) -> None:
        if not self.filter_widths or len(self.filter_widths) != len(self.filter_counts):
            raise ValueError(
                f"filter_counts {self.filter_counts} and filter_widths differ in length"
            )
        if min(*self.filter_widths, *self.filter_counts) < 1:
            raise ValueError(
                "filter_widths and filter_counts must be at least 1, got "
                f"{self.filter_widths} and {self.filter_counts}"
            )
        check_choices(self, activation=("tanh", "relu"))

    def validate_dense_layer(self) -> None:
        if self.dense_activation == "none" and sum(self.filter_counts) != self.hidden_size:
            raise ValueError(
                "Without a dense layer, hidden_size must equal the number of filters, "
                f"{sum(self.filter_counts)}, got {self.hidden_size}. Change hidden_size or set "
                "dense_activation"
            )
        check_choices(self, dense_activation=("none", *ACTIVATIONS))


class CharCnnModel(TableModel):
    """Convolution filters over token vectors, max pooling, and an optional dense layer.

    Initial weights are Glorot uniform, biases 0.

    Example:
        >>> config = CharCnnConfig(vocab_size=10, embedding_size=4, hidden_size=6)
        >>> CharCnnModel(config)(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 6])
    """

    config_class = CharCnnConfig
    card_sentence = (
        "the maximum output of each convolution filter over its {{ tokens }} (charCNN; thesis, "
        "3.7.2.3)"
    )

    def __init__(self, config: CharCnnConfig) -> None:
        super().__init__(config)
        widths, counts = config.filter_widths, config.filter_counts
        self.filters = PooledFilters(config.table_size, widths, counts, config.activation)
        has_layer = config.dense_activation != "none"
        self.dense = Dense(sum(counts), config.hidden_size) if has_layer else None
        self.post_init()

    def initialize_composition(self, module: nn.Module) -> None:
        initialize_dense(module)

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        rows, places = self.distinct_rows(ids)
        return self.pool_rows(rows, lengths, places)

    def pool_rows(self, states: Tensor, lengths: Tensor, places: Tensor | None = None) -> Tensor:
        vectors = self.filters(states, lengths, places)
        if self.dense is not None:
            vectors = ACTIVATIONS[self.config.dense_activation](self.dense(vectors))
        return vectors * (lengths > 0).unsqueeze(1)
