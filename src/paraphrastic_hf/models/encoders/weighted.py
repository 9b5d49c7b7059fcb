"""Average with one learned weight per word (thesis, 3.4, footnote 23).

    g(x) = 1/n sum_i a[x_i] W[x_i]

In the thesis W is frozen (`training.freeze: tables`). The learned weights alone explain most of the
gain of PARAGRAM-PHRASE.
"""

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.table import TableModel


@strict
class WeightedConfig(AveragingConfig):
    """Configuration of `WeightedModel`, with the settings of `AveragingConfig`."""

    model_type = "paraphrastic-weighted"


class WeightedModel(TableModel):
    """Weighted mean of a text's table rows (thesis, 3.4, footnote 23).

    Initial weights are 1, which is the plain average.

    Example:
        >>> model = WeightedModel(WeightedConfig(vocab_size=10, hidden_size=4)).eval()
        >>> model(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 4])
    """

    config_class = WeightedConfig
    card_sentence = (
        "the mean of the vectors of its {{ tokens }}, each scaled by a learned weight (thesis, 3.4)"
    )
    ignores_order = True
    is_resizable = False

    def __init__(self, config: WeightedConfig) -> None:
        super().__init__(config)
        self.importance = nn.Embedding(config.vocab_size, 1)
        self.post_init()

    def initialize_composition(self, module: nn.Module) -> None:
        if module is self.importance:
            nn.init.ones_(module.weight)

    def token_rows(self, ids: Tensor) -> Tensor:
        return super().token_rows(ids) * self.importance(ids)
