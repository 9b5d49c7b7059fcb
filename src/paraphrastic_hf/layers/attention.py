"""Multi-head self-attention (Vaswani et al., 2017; thesis, 5.4), and LSTMs with attention (6.3.1).

Attention weights have no dropout: torch's fused CPU kernel does not support it.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from paraphrastic_hf.layers.product import Dense

LONGEST = 128  # keys. With more keys, the fused kernel is faster in bfloat16 too


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Compute softmax(scale Q K') V, (batch, heads, seq, size).

    Training in bfloat16 on a CPU uses matrix products instead of torch's fused kernel. They are up
    to seven times faster there, but round Q K' to bfloat16.

    `mask` is True where a query may attend, broadcast to (batch, heads, seq, keys). A query that
    may not attend to any key gets zeros. `is_causal` hides keys after the query's position, and
    needs as many keys as queries and no mask. `scale` is 1 / sqrt(size) if None.
    """
    if not _use_products(queries, keys, mask):
        with _without_cudnn() if queries.is_cuda else nullcontext():
            return F.scaled_dot_product_attention(
                queries, keys, values, attn_mask=mask, is_causal=is_causal, scale=scale
            )
    if is_causal:
        mask = _causal(queries.shape[2], keys.shape[2], queries.device)
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    batch, heads = queries.shape[:2]
    queries, keys, values = (part.flatten(0, 1).bfloat16() for part in (queries, keys, values))
    scores = torch.bmm(queries, keys.transpose(1, 2)).float() * scale
    if mask is None:
        weights = scores.softmax(-1)
    else:
        hidden = mask.logical_not().expand(batch, heads, *scores.shape[1:]).flatten(0, 1)
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(hidden, lowest).softmax(-1).masked_fill(hidden, 0.0)
    return torch.bmm(weights.to(values.dtype), values).unflatten(0, (batch, heads))


class Attention(nn.Module):
    """Compute softmax(Q K' / sqrt(head size)) V for each head, then a linear map of all heads.

    Each of the `heads` has dim / heads dimensions.
    """

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        if dim % heads:
            raise ValueError(f"dim must be a multiple of heads ({heads}), got {dim}")
        self.heads = heads
        self.query = Dense(dim, dim)
        self.key_value = Dense(dim, 2 * dim)
        self.output = Dense(dim, dim)

    def forward(
        self,
        states: Tensor,
        *,
        mask: Tensor | None = None,
        is_causal: bool = False,
        cache: Any = None,
        layer: int = 0,
    ) -> Tensor:
        """Return the attention output for each state, (batch, seq, dim).

        For a state that may not attend to any key, all heads give zeros.

        Args:
            mask: True where a state may attend, (batch, keys) or (batch, seq, keys).
            is_causal: Hide later states. With a mask, both conditions hold.
            cache: Keys and values of earlier generation steps, as in transformers.
            layer: Index of this layer in the cache.
        """
        queries = self._split(self.query(states))
        keys, values = map(self._split, self.key_value(states).chunk(2, -1))
        if cache is not None:
            keys, values = cache.update(keys, values, layer)
        seq, known = queries.shape[2], keys.shape[2]
        if mask is not None and mask.ndim == 2:
            mask = mask[:, None]  # (batch, 1, keys)
        if is_causal and (mask is not None or known > seq > 1):
            causal = _causal(seq, known, states.device)
            mask = causal if mask is None else causal & mask.bool()
        is_causal = is_causal and mask is None and known == seq > 1
        mask = None if mask is None else mask[:, None]  # of all heads
        gathered = attend(queries, keys, values, mask=mask, is_causal=is_causal)
        return self.output(gathered.transpose(1, 2).flatten(2))

    def _split(self, states: Tensor) -> Tensor:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (batch, heads, seq, size)


def _use_products(queries: Tensor, keys: Tensor, mask: Tensor | None) -> bool:
    kind = queries.dtype
    if kind == torch.float32 and torch.is_autocast_enabled("cpu"):
        kind = torch.get_autocast_dtype("cpu")
    is_simple = mask is None or mask.dtype == torch.bool
    is_short = queries.device.type == "cpu" and keys.shape[2] <= LONGEST
    return is_simple and is_short and kind == torch.bfloat16 and queries.requires_grad


def _without_cudnn() -> AbstractContextManager[None]:
    """Disable cuDNN's kernel, which takes 12 ms to set up for every new sequence length."""
    settings = torch.backends.cuda
    others = {
        SDPBackend.FLASH_ATTENTION: settings.flash_sdp_enabled(),
        SDPBackend.EFFICIENT_ATTENTION: settings.mem_efficient_sdp_enabled(),
        SDPBackend.MATH: settings.math_sdp_enabled(),
    }
    kernels = [kernel for kernel, is_enabled in others.items() if is_enabled]
    return sdpa_kernel(kernels) if kernels and settings.cudnn_sdp_enabled() else nullcontext()


def _causal(seq: int, known: int, device: torch.device) -> Tensor:
    """Return a mask, (1, seq, known), True where each of the last `seq` positions may attend."""
    return torch.ones(seq, known, dtype=torch.bool, device=device).tril(known - seq)[None]


State = tuple[Tensor, Tensor]  # hidden state and cell of a layer, (batch, dim) each


class BilinearAttention(nn.Module):
    """Weights softmax_j(u' W v_j) of vectors v_j, and their weighted sum (thesis, 6.3.1).

    u has `query_dim` dimensions, v `dim`.
    """

    def __init__(self, query_dim: int, dim: int) -> None:
        super().__init__()
        self.bilinear = Dense(dim, query_dim, bias=False)

    def keys(self, vectors: Tensor) -> Tensor:
        """Return W v of vectors v, (batch, count, query_dim). Call it once per batch."""
        keys: Tensor = self.bilinear(vectors)
        return keys

    def forward(
        self, queries: Tensor, keys: Tensor, vectors: Tensor, is_token: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return weighted sums, (batch, seq, dim), and weights, (batch, seq, count).

        `queries` are u, (batch, seq, query_dim), `keys` the result of the method `keys`, and
        `vectors` v, (batch, count, dim). `is_token` is False for padding, (batch, count). Without
        any vectors, weights and sums are 0.
        """
        scores = torch.bmm(queries, keys.transpose(1, 2))
        scores = scores.masked_fill(~is_token[:, None], torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1) * is_token[:, None]
        return torch.bmm(weights, vectors), weights


class AttentiveLSTM(nn.Module):
    """LSTM whose first layer also reads z_t, which summarizes a template (thesis, 6.3.1).

    z_t is the bilinear attention of d_{t-1}, the last layer's previous state, to the template. Thus
    the template can influence every word. With `template_size` 0 this is a plain LSTM.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, layers: int, template_size: int = 0
    ) -> None:
        super().__init__()
        sizes = [input_size] + [hidden_size] * (layers - 1)
        self.inputs = nn.ModuleList(Dense(size, 4 * hidden_size) for size in sizes)
        self.recurrences = nn.ModuleList(
            Dense(hidden_size, 4 * hidden_size, bias=False) for _ in sizes
        )
        self.attention = BilinearAttention(hidden_size, template_size) if template_size else None
        self.of_template = (
            Dense(template_size, 4 * hidden_size, bias=False) if template_size else None
        )

    def forward(
        self,
        words: Tensor,
        start: Sequence[State],
        template: Tensor | None = None,
        is_token: Tensor | None = None,
    ) -> tuple[Tensor, list[State]]:
        """Return the last layer's states, (batch, seq, hidden), and every layer's final state.

        `words` are (batch, seq, input). `start` has the state and cell of every layer before the
        first step. z_t attends to `template`, (batch, count, template), at the places in
        `is_token`.
        """
        states, outputs = list(start), []
        first = self.inputs[0](words)
        keys = None
        if self.attention is not None:
            assert template is not None
            keys = self.attention.keys(template)
        for read in first.unbind(1):
            if self.attention is not None and self.of_template is not None:
                gathered, _ = self.attention(
                    states[-1][0][:, None], keys, template, is_token
                )  # z_t
                read = read + self.of_template(gathered[:, 0])
            for layer, (hidden, cell) in enumerate(states):
                if layer:
                    read = self.inputs[layer](read)
                gates = read + self.recurrences[layer](hidden)
                read, cell = lstm_cell(gates, cell)
                states[layer] = (read, cell)
            outputs.append(read)
        return torch.stack(outputs, 1), states


def lstm_cell(gates: Tensor, cell: Tensor) -> State:
    """Return state and cell of an LSTM after one step, (batch, dim) each.

    `gates` are W_x x + W_h h + b for i, f, c and o, concatenated, (batch, 4 dim).
    """
    hidden, after = _Cell.apply(gates, cell)  # type: ignore[no-untyped-call]
    return hidden, after


class _Cell(torch.autograd.Function):
    """LSTM step as one operation, where autograd would record ten small operations."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, cell: Tensor) -> Any:
        dim = cell.shape[1]
        open_gates = torch.empty_like(gates)
        torch.sigmoid(gates[:, : 2 * dim], out=open_gates[:, : 2 * dim])
        torch.tanh(gates[:, 2 * dim : 3 * dim], out=open_gates[:, 2 * dim : 3 * dim])
        torch.sigmoid(gates[:, 3 * dim :], out=open_gates[:, 3 * dim :])
        enter, forget, new, leave = open_gates.split(dim, 1)
        after = torch.mul(forget, cell).addcmul_(enter, new)
        shown = torch.tanh(after)
        ctx.save_for_backward(open_gates, cell, shown)
        return leave * shown, after

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_hidden: Tensor, of_after: Tensor) -> Any:  # type: ignore[override]
        open_gates, cell, shown = ctx.saved_tensors
        dim = cell.shape[1]
        enter, forget, new, leave = open_gates.split(dim, 1)
        of_cell = of_after + of_hidden * leave * (1 - shown * shown)
        slope = open_gates * (1 - open_gates)
        slope[:, 2 * dim : 3 * dim] = 1 - new * new
        grad = torch.cat([of_cell * new, of_cell * cell, of_cell * enter, of_hidden * shown], 1)
        return grad.mul_(slope), of_cell * forget
