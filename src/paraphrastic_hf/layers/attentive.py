"""Bilinear attention, and an LSTM that attends while it writes (thesis, 4.6 and 6.3.1).

The states of such a decoder depend on what its last state attended to, so it goes step by step, in
training too. What does not depend on that, products with the words that are read, is computed for
all steps at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from paraphrastic_hf.layers.product import Dense

State = tuple[Tensor, Tensor]  # hidden state and cell of a layer, (batch, dim) each


class BilinearAttention(nn.Module):
    """The weights softmax_j(u' W v_j) of vectors v_j, and their weighted sum (thesis, 6.3.1).

    Args:
        query_dim: Number of dimensions of u.
        dim: Number of dimensions of v.

    Example:
        >>> attention = BilinearAttention(4, 6)
        >>> vectors, is_token = torch.randn(2, 3, 6), torch.ones(2, 3, dtype=torch.bool)
        >>> keys = attention.keys(vectors)
        >>> gathered, weights = attention(torch.randn(2, 5, 4), keys, vectors, is_token)
        >>> gathered.shape, weights.shape
        (torch.Size([2, 5, 6]), torch.Size([2, 5, 3]))
    """

    def __init__(self, query_dim: int, dim: int) -> None:
        super().__init__()
        self.bilinear = Dense(dim, query_dim, bias=False)

    def keys(self, vectors: Tensor) -> Tensor:
        """Return W v of every vector, (batch, count, query_dim), which is computed once.

        Args:
            vectors: v, (batch, count, dim).
        """
        keys: Tensor = self.bilinear(vectors)
        return keys

    def forward(
        self, queries: Tensor, keys: Tensor, vectors: Tensor, is_token: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what each query gathers, (batch, seq, dim), and its weights, (batch, seq, count).

        Where there is no vector at all, weights are 0.

        Args:
            queries: u, (batch, seq, query_dim).
            keys: What `keys` gives, (batch, count, query_dim).
            vectors: v, (batch, count, dim).
            is_token: False for padding, (batch, count).
        """
        scores = torch.bmm(queries, keys.transpose(1, 2))
        scores = scores.masked_fill(~is_token[:, None], torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1) * is_token[:, None]
        return torch.bmm(weights, vectors), weights


class AttentiveLSTM(nn.Module):
    """An LSTM of several layers whose first one also reads z_t (thesis, 6.3.1).

    z_t is what the last layer's state d_{t-1} gathers by bilinear attention, so that a template
    can steer every word. Without a template this is a plain LSTM.

    Args:
        input_size: Number of dimensions of the words that are read.
        hidden_size: Number of dimensions of a state.
        layers: Number of layers, at least 1.
        template_size: Number of dimensions of the vectors that z_t is gathered from; 0 for no z_t.

    Example:
        >>> lstm = AttentiveLSTM(4, 6, layers=2, template_size=3)
        >>> template, is_token = torch.randn(2, 5, 3), torch.ones(2, 5, dtype=torch.bool)
        >>> start = [(torch.zeros(2, 6), torch.zeros(2, 6))] * 2
        >>> states, ends = lstm(torch.randn(2, 7, 4), start, template, is_token)
        >>> states.shape, len(ends)
        (torch.Size([2, 7, 6]), 2)
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
        """Return the last layer's states, (batch, seq, hidden), and all layers' at the end.

        Args:
            words: What is read at each step, (batch, seq, input).
            start: State and cell of every layer before the first step, (batch, hidden) each.
            template: The vectors that z_t is gathered from, (batch, count, template).
            is_token: False for padding of the template, (batch, count).
        """
        states, known = list(start), []
        first = self.inputs[0](words)
        keys = None
        if self.attention is not None:
            assert template is not None
            keys = self.attention.keys(template)
        for read in first.unbind(1):
            if self.attention is not None and self.of_template is not None:
                asked = states[-1][0][:, None]
                gathered, _ = self.attention(asked, keys, template, is_token)  # z_t
                read = read + self.of_template(gathered[:, 0])
            for layer, (hidden, cell) in enumerate(states):
                if layer:
                    read = self.inputs[layer](read)
                gates = read + self.recurrences[layer](hidden)
                read, cell = lstm_cell(gates, cell)
                states[layer] = (read, cell)
            known.append(read)
        return torch.stack(known, 1), states


def lstm_cell(gates: Tensor, cell: Tensor) -> State:
    """Return state and cell of an LSTM after a step, (batch, dim) each.

    Args:
        gates: W_x x + W_h h + b for i, f, c and o, one beside the other, (batch, 4 dim).
        cell: The cell before, (batch, dim).

    Example:
        >>> [each.item() for each in lstm_cell(torch.zeros(1, 4), torch.zeros(1, 1))]
        [0.0, 0.0]
    """
    hidden, after = _Cell.apply(gates, cell)  # type: ignore[no-untyped-call]
    return hidden, after


class _Cell(torch.autograd.Function):
    """A step with its gradient written out: autograd would record ten small operations."""

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
