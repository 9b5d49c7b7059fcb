"""Attention with several heads, to a sequence itself or to another (Vaswani et al., 2017; thesis,
5.4).

There is no dropout of attention weights, since torch's fused kernel of a CPU has none.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from paraphrastic_hf.layers.product import Dense

LONGEST = 128  # keys; of more, the fused kernel is the faster in bfloat16 too


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Compute softmax(scale Q K') V by the faster way; what may look nowhere gathers zeros.

    That is torch's fused kernel, but for training in bfloat16 on a CPU. There the kernel's backward
    pass starts a product anew for every head of every sentence, so that over sentences of ten to
    twenty tokens it takes seven times as long as products of whole batches. These round Q K' to
    eight binary digits, which the kernel does not.

    Args:
        queries: Q, (batch, heads, seq, size).
        keys: K, (batch, heads, keys, size).
        values: V, (batch, heads, keys, size).
        mask: True where a query may look, to be broadcast to (batch, heads, seq, keys); everywhere
            if None.
        is_causal: Let no query look at keys after its own; without a mask, and of as many keys as
            queries.
        scale: What the products of queries and keys are multiplied by; 1 / sqrt(size) if None.

    Returns:
        (batch, heads, seq, size).

    Example:
        >>> one = torch.ones(1, 1, 2, 4)
        >>> attend(one, one, one, is_causal=True).shape
        torch.Size([1, 1, 2, 4])
    """
    if not _is_for_products(queries, keys, mask):
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
    """Compute softmax(Q K' / sqrt(size of a head)) V for each head, and a linear map of all heads.

    Args:
        dim: Number of dimensions of a state, a multiple of `heads`.
        heads: Number of heads, each of which has dim / heads of the dimensions.

    Raises:
        ValueError: `dim` is not a multiple of `heads`.

    Example:
        >>> attention = Attention(8, heads=2)
        >>> attention(torch.randn(3, 5, 8), is_causal=True).shape
        torch.Size([3, 5, 8])
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
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        is_causal: bool = False,
        cache: Any = None,
        layer: int = 0,
    ) -> Tensor:
        """Return what each state gathers from those that it may attend to, (batch, seq, dim).

        A state that may attend to none gathers zeros.

        Args:
            states: The states that attend, (batch, seq, dim); the queries are made of them.
            memory: The states that they attend to, (batch, keys, dim); themselves if None.
            mask: True where a state may attend, (batch, keys) or (batch, seq, keys); everywhere if
                None.
            is_causal: Let no state attend to later ones. With a mask, both conditions hold.
            cache: Keys and values of earlier steps of generation: its `update(keys, values, layer)`
                returns all keys and values so far, the new ones last.
            layer: Number of this layer in the cache, from 0.
        """
        asked = states if memory is None else memory
        queries = self._split(self.query(states))  # (batch, heads, seq, size)
        keys, values = map(self._split, self.key_value(asked).chunk(2, -1))
        if cache is not None:
            keys, values = cache.update(keys, values, layer)
        seq, known = queries.shape[2], keys.shape[2]
        if is_causal and (mask is not None or known > seq):
            if seq > 1 or mask is not None:
                mask = _both(mask, _causal(seq, known, states.device))
            is_causal = False
        if mask is not None:
            mask = mask[:, None, None] if mask.ndim == 2 else mask[:, None]  # (batch, 1, *, keys)
        gathered = attend(queries, keys, values, mask=mask, is_causal=is_causal and seq > 1)
        return self.output(gathered.transpose(1, 2).flatten(2))

    def _split(self, states: Tensor) -> Tensor:
        """(batch, heads, seq, size) from (batch, seq, dim)."""
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _is_for_products(queries: Tensor, keys: Tensor, mask: Tensor | None) -> bool:
    """Whether this is training in bfloat16 on a CPU, over short sentences."""
    kind = queries.dtype
    if kind == torch.float32 and torch.is_autocast_enabled("cpu"):
        kind = torch.get_autocast_dtype("cpu")
    is_simple = mask is None or mask.dtype == torch.bool
    is_short = queries.device.type == "cpu" and keys.shape[2] <= LONGEST
    return is_simple and is_short and kind == torch.bfloat16 and queries.requires_grad


def _without_cudnn() -> AbstractContextManager[None]:
    """Leave torch the kernels for a GPU that are enabled, but for cuDNN's, which takes 12 ms to
    make ready for every new length of a batch."""
    settings = torch.backends.cuda
    others = {
        SDPBackend.FLASH_ATTENTION: settings.flash_sdp_enabled(),
        SDPBackend.EFFICIENT_ATTENTION: settings.mem_efficient_sdp_enabled(),
        SDPBackend.MATH: settings.math_sdp_enabled(),
    }
    kernels = [kernel for kernel, is_enabled in others.items() if is_enabled]
    return sdpa_kernel(kernels) if kernels and settings.cudnn_sdp_enabled() else nullcontext()


def _causal(seq: int, known: int, device: torch.device) -> Tensor:
    """(1, seq, known), True where the last `seq` of `known` states may look."""
    return torch.ones(seq, known, dtype=torch.bool, device=device).tril(known - seq)[None]


def _both(mask: Tensor | None, causal: Tensor) -> Tensor:
    if mask is None:
        return causal
    return causal & (mask[:, None] if mask.ndim == 2 else mask).bool()
