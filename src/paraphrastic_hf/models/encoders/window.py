"""Average of token vectors that also reads each token's neighbors (not in the papers).

    f(x) = 1/n sum_i relu(b + sum_k T_k[x_{i+k}])    for k from -window to window
    m(x) = 1/n sum_i e[x_i]
    g(x) = m + V f + U relu(c + A m + B f)

f is the first layer of a convolution over token vectors. Its products with the token vectors are
folded into the tables T_k, so a text costs look-ups, additions and three small products. Beyond the
ends of a text, x is 0. The last term of g is a hidden layer over the averages, as in a DAN.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.embedding import bag_rows
from paraphrastic_hf.layers.pooling import mean_rows
from paraphrastic_hf.models.base import check_positive
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel

MEAN_SCALE = 8.0  # means are about an eighth of features in size
MOST_STEPS = 127  # largest integer of a packed context table, which stands for 1 in torch
MOST_BIAS = 2**14  # a sum over a window must fit in 16 bits
WIDEST = 64  # for the same reason
REACHES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # candidates for its largest value, as a share


@strict
class WindowConfig(AveragingConfig):
    """Configuration of `WindowModel`, with the settings of `AveragingConfig`.

    Args:
        window: Number of tokens read on each side of a token.
        features: Number of features that each window computes.
        context_rows: Rows of the tables T_k. Later ids, the rarer ones, share the last row.
        context_size: If set, T_k is the product of a table with this many columns and a matrix.
            If None, as in packed models, the tables T_k are the parameters.
        hidden: Units of the hidden layer. 0 for none.
        feature_dropout: Probability that a feature of a text is zeroed in training.
    """

    model_type = "paraphrastic-window"

    window: int = 1
    features: int = 256
    context_rows: int = 20000
    context_size: int | None = 64
    hidden: int = 512
    feature_dropout: float | int = 0.0

    def validate_window(self) -> None:
        check_positive(self, "window", "features", "context_rows")
        if self.window > WIDEST or self.hidden < 0 or (self.context_size or 1) < 1:
            raise ValueError(
                f"window must be at most {WIDEST}, hidden at least 0 and context_size at least 1, "
                f"got {self.window}, {self.hidden} and {self.context_size}"
            )


class WindowModel(AveragingModel):
    """Mean of table rows and of features of each token's window.

    Example:
        >>> model = WindowModel(WindowConfig(vocab_size=10, hidden_size=4)).eval()
        >>> one, other = model(torch.tensor([[2, 3, 4], [4, 3, 2]])).sentence_embedding
        >>> torch.equal(one, other)  # the order of tokens matters
        False
    """

    config_class = WindowConfig
    card_sentence = (
        "the mean of the vectors of its {{ tokens }}, plus the output of a small network over this "
        "mean and the mean features of all windows of {{ 2 * window + 1 }} {{ tokens }}"
    )
    ignores_order = False

    def __init__(self, config: WindowConfig) -> None:
        super().__init__(config)
        config = self.config
        rows, columns = min(config.context_rows, config.vocab_size), self.span * config.features
        self.context = nn.Embedding(rows, config.context_size or columns)
        size = config.context_size
        self.mix = nn.Linear(size, columns, bias=False) if size else nn.Identity()
        self.bias = nn.Parameter(torch.zeros(config.features))
        self.output = nn.Linear(config.features, config.hidden_size, bias=False)
        if config.hidden:
            self.from_mean = nn.Linear(config.hidden_size, config.hidden)
            self.from_features = nn.Linear(config.features, config.hidden, bias=False)
            self.from_hidden = nn.Linear(config.hidden, config.hidden_size, bias=False)
        self.post_init()

    @property
    def span(self) -> int:
        """Number of tokens in a window."""
        return 2 * self.config.window + 1

    def initialize_composition(self, module: nn.Module) -> None:
        if module is self.context:
            nn.init.normal_(module.weight, std=0.1)
        elif module is self.mix and isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif module is self:
            nn.init.zeros_(self.bias)
        elif module is self.output or module is getattr(self, "from_hidden", None):
            nn.init.normal_(module.weight, std=self.config.initializer_std)
        elif isinstance(module, nn.Linear):
            size = self.config.features + self.config.hidden_size
            nn.init.normal_(module.weight, std=size**-0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def states_of(self, ids: Tensor, lengths: Tensor) -> Tensor:
        states: Tensor = self.token_rows(ids) + self.output(self.features(ids, lengths))
        return states

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        features = mean_rows(self.features(ids, lengths), lengths)
        features = dropout(features, self.config.feature_dropout, self.training)
        mean = super().embed_flat(ids, lengths)
        embedding: Tensor = mean + self.output(features)
        if self.config.hidden:
            hidden = torch.relu(self.from_mean(MEAN_SCALE * mean) + self.from_features(features))
            embedding = embedding + self.from_hidden(hidden) * (lengths > 0).unsqueeze(1)
        return embedding

    def states_and_embedding(
        self, input_ids: Tensor, attention_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        kept = attention_mask.bool()
        embedding = self.embed_flat(input_ids[kept], kept.sum(1))
        return self.token_states(input_ids, attention_mask), embedding

    def features(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the features of each token's window, (tokens, features), 0 or above."""
        window, span = self.config.window, self.span
        text = torch.repeat_interleave(lengths)
        places = torch.arange(len(ids), device=ids.device) + (text + 1) * window
        padded = ids.new_zeros(len(ids) + (len(lengths) + 1) * window)  # zeros between texts
        padded[places] = ids.clamp(max=len(self.context.weight) - 1)
        distinct, rows = torch.unique(padded, return_inverse=True)
        table = self.mix(F.embedding(distinct, self.context.weight))
        steps = torch.arange(span, device=ids.device)
        bags = rows[places.unsqueeze(1) + steps - window] * span + steps
        sums = bag_rows(table.view(-1, self.config.features), bags)
        return torch.relu(sums + self.bias)

    def scaled(self, factor: float) -> WindowModel:
        """Return a copy whose embeddings are `factor` times as long, exact for powers of two."""
        copied = copy.deepcopy(self)
        with torch.no_grad():
            copied.embedding.weight.mul_(factor)
            copied.output.weight.mul_(factor)
            if self.config.hidden:
                copied.from_mean.weight.div_(factor)
                copied.from_hidden.weight.mul_(factor)
        return copied

    def with_integers(self) -> WindowModel:
        """Return a copy whose tables T_k and bias are multiples of 1/127, as in packed models.

        Each feature has its own scale, which later layers take over. Tables are from -1 to 1.
        """
        settings = copy.deepcopy(self.config)
        settings.context_size = None
        with torch.no_grad():
            tables = self.mix(self.context.weight).view(-1, self.config.features)
            if not all(bool(weight.isfinite().all()) for weight in self.parameters()):
                raise ValueError("the model has weights that are not finite")
            scale = torch.maximum(_scales(tables), self.bias.abs() * (MOST_STEPS / MOST_BIAS))
            if torch.equal(_stepped(tables), tables) and torch.equal(
                _stepped(self.bias), self.bias
            ):
                scale = torch.ones_like(scale)
            rounded = type(self)(settings)
            rounded.embedding.weight.copy_(self.embedding.weight)
            steps = _stepped((tables / scale).clamp(-1, 1))
            rounded.context.weight.copy_(steps.view_as(rounded.context.weight))
            rounded.bias.copy_(_stepped(self.bias / scale))
            rounded.output.weight.copy_(self.output.weight * scale)
            if settings.hidden:
                rounded.from_mean.load_state_dict(self.from_mean.state_dict())
                rounded.from_features.weight.copy_(self.from_features.weight * scale)
                rounded.from_hidden.load_state_dict(self.from_hidden.state_dict())
        return rounded.eval()

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor], config: Any) -> dict[str, Tensor]:
        kinds = tensors["context.packed"].dtype, tensors["bias.packed"].dtype
        if kinds != (torch.int8, torch.int16):
            raise ValueError(f"its window has the types {kinds}, expected int8 and int16")
        if ("from_mean.weight" in tensors) != bool(config.hidden):
            raise ValueError(f"its hidden layer does not fit config.json: hidden {config.hidden}")
        state = {
            name.replace("context.packed", "context.weight").replace("bias.packed", "bias"): value
            for name, value in tensors.items()
            if name != "embedding.packed"
        }
        state = {name: value.float() for name, value in state.items()}
        for name in ("context.weight", "bias"):
            state[name] = state[name] / MOST_STEPS
        return super().unpacked(tensors, config) | state

    def packed_state(self) -> dict[str, Tensor]:
        packed = {
            "context.packed": (self.context.weight.detach() * MOST_STEPS).round().to(torch.int8),
            "bias.packed": (self.bias.detach() * MOST_STEPS).round().to(torch.int16),
        }
        apart = ("embedding.weight", "context.weight", "bias")
        state = {name: value for name, value in self.state_dict().items() if name not in apart}
        return packed | {name: value.float().contiguous() for name, value in state.items()}


def _stepped(values: Tensor) -> Tensor:
    return (values * MOST_STEPS).round() / MOST_STEPS


def _scales(tables: Tensor) -> Tensor:
    """Return the scale of each feature that minimizes the squared error of its integers."""
    largest = tables.abs().amax(0).clamp(min=1e-12)
    best, error = largest, torch.full_like(largest, torch.inf)
    for reach in REACHES:
        scale = reach * largest
        off = (_stepped((tables / scale).clamp(-1, 1)) * scale - tables).square().sum(0)
        best, error = torch.where(off < error, scale, best), torch.minimum(off, error)
    return best
