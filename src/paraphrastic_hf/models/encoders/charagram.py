"""CHARAGRAM and CHARAGRAM-PHRASE: sums of character n-gram vectors (thesis, 3.6.2).

    g(x) = h(b + sum over the n-grams of x that are in V of W[n-gram])

h is an activation. CHARAGRAM is trained on words, CHARAGRAM-PHRASE on phrases. The tokenizer
(`text/char_ngram.py`) defines the vocabulary V, the n-gram orders, and whether n-grams span spaces.
"""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.pooling import sum_rows
from paraphrastic_hf.models.base import check_choices
from paraphrastic_hf.models.table import TableConfig, TableModel


@strict
class CharagramConfig(TableConfig):
    """Configuration of `CharagramModel`, with the settings of `TableConfig`.

    Args:
        activation: Activation of the sum (h above), `tanh` or `linear`, or `relu` for tagging
            (thesis, 3.7.3).
        presence: Whether to count each distinct n-gram once, as in the released code. If False,
            count occurrences, as in the thesis's equation.
    """

    model_type = "paraphrastic-charagram"

    activation: str = "tanh"
    presence: bool = False

    def validate_activation(self) -> None:
        check_choices(self, activation=ACTIVATIONS)

    def validate_size(self) -> None:
        self.require_equal_sizes("a CHARAGRAM")


class CharagramModel(TableModel):
    """Activation of a bias plus the sum of n-gram vectors (thesis, section 3.6.2).

    The initial bias is 0. A text without known n-grams gets the zero vector.

    Example:
        >>> model = CharagramModel(CharagramConfig(vocab_size=10, hidden_size=4))
        >>> model(torch.tensor([[2, 3, 3]])).sentence_embedding.shape
        torch.Size([1, 4])
    """

    config_class = CharagramConfig
    card_sentence = (
        "{{ activation }} of the sum of the vectors of its {{ tokens }} (CHARAGRAM; thesis, 3.6.2)"
    )
    ignores_order = True
    tokenizer_kinds = ("char_ngram",)

    def __init__(self, config: CharagramConfig) -> None:
        super().__init__(config)
        self.bias = nn.Parameter(torch.zeros(config.hidden_size))
        self.post_init()

    def initialize_composition(self, module: nn.Module) -> None:
        if module is self:
            nn.init.zeros_(self.bias)

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the vectors to add up. With `presence`, repeated n-grams get zero vectors."""
        kept = attention_mask.bool()
        weights = self._counted(input_ids[kept], kept.sum(1))
        return padded_from_flat(self.token_rows(input_ids[kept]) * weights.unsqueeze(1), kept)

    def pool_rows(self, states: Tensor, lengths: Tensor) -> Tensor:
        return self._compose(sum_rows(states, lengths), lengths)

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self._compose(self.weighted_sum(ids, lengths, self._counted(ids, lengths)), lengths)

    def _counted(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the weight of each n-gram in the sum, 1 or 0, (tokens,)."""
        ones = self.embedding.weight.new_ones(len(ids))
        return ones * is_first(ids, lengths) if self.config.presence else ones

    def _compose(self, total: Tensor, lengths: Tensor) -> Tensor:
        vectors = ACTIVATIONS[self.config.activation](total + self.bias)
        return vectors * (lengths > 0).unsqueeze(1)


def is_first(ids: Tensor, lengths: Tensor) -> Tensor:
    """Return whether each token is the first occurrence of its id in its text, (tokens,)."""
    text = torch.repeat_interleave(lengths)
    key = text * (int(ids.max()) + 1 if len(ids) else 1) + ids
    order = torch.argsort(key, stable=True)
    ordered = key[order]
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    return torch.empty_like(starts).index_copy(0, order, starts)
