"""Matrix products on a CPU by the faster of torch's two libraries, in shapes that recur.

**Library.** torch multiplies float32 matrices by MKL, which does not use the AVX-512 instructions
of an AMD processor. oneDNN, which torch contains for convolutions and bfloat16, does. So products
of 16 rows and more go to oneDNN on a processor with AVX-512 that is not Intel's. The exception is
AMD's family 25 (Zen 4), which runs 512 bits in two halves: there MKL trains a tenth faster. All
other products are `F.linear`'s, by MKL in float32 and by oneDNN in bfloat16.

The choice stays because it was measured, both libraries in one run, in processor time of one thread
of an EPYC of family 26: products of 512 rows and more are 1.6 to 2.0 times as fast (140 to 196
GFLOP/s for 90 to 101), of 128 rows 1.1 times. `small-mle` and `small-marian` of beyond-bleu-2019
train 1.36 to 1.46 times as fast (`benchmarks/translation_training.py`, 600 pairs, two repetitions).

**Shapes.** oneDNN writes machine code for every new shape, which takes 2 to 10 ms, where the
product of a batch takes 0.1 to 1. Every batch of training has its own number of tokens. So `linear`
adds rows of zeros up to the next of 8 sizes an octave (`rounded`), which recur; in bfloat16 a small
BGT trains 1.3 to 1.6 times as fast.

No paper speaks of this. Every dense layer of this package is a `Dense`, and the recurrences,
filters and transformers of the thesis (3.1.2, 3.6.2, 5.4) spend most of their time here.
"""

from __future__ import annotations

import os
import re
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def _describe_processor() -> str:
    """What the system tells of the processor, such as its vendor and family."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as about:  # of Linux
            return about.read(4096)
    except OSError:
        return os.environ.get("PROCESSOR_IDENTIFIER", "")  # of Windows


def is_full_width(described: str) -> bool:
    """Whether a processor that has AVX-512 gains by it over MKL, which uses it on Intel's alone.

    Args:
        described: What `/proc/cpuinfo` of Linux or PROCESSOR_IDENTIFIER of Windows says.

    Example:
        >>> is_full_width("AMD64 Family 26 Model 2 Stepping 1, AuthenticAMD")
        True
        >>> is_full_width("vendor_id : AuthenticAMD\\ncpu family : 25\\n")
        False
    """
    in_halves = re.search(r"family\s*:?\s*25\b", described, re.IGNORECASE)
    return "GenuineIntel" not in described and not ("AuthenticAMD" in described and in_halves)


def _find_onednn() -> Any:
    """torch's operator for x W^T + b by oneDNN, which has no gradient; None where there is none."""
    if not torch.backends.mkldnn.is_available():
        return None
    if not torch.backends.cpu.get_cpu_capability().startswith("AVX512"):
        return None
    if not is_full_width(_describe_processor()):
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


ONEDNN = _find_onednn()
FEWEST_ROWS = 16  # with less, MKL is faster


def product(left: Tensor, right: Tensor, plus: Tensor | None = None) -> Tensor:
    """Compute left right^T + plus, (rows, columns), without a gradient.

    Args:
        left: The left matrix, (rows, inner); a transposed view costs no more.
        right: The right matrix, (columns, inner), of the same type.
        plus: What is added, (columns,) or (rows, columns); nothing if None.
    """
    if not _is_for_onednn(left):
        return left @ right.T if plus is None else torch.addmm(plus, left, right.T)
    left, right = _whole(left), _whole(right)
    if plus is None or plus.dim() == 1:
        return ONEDNN(left, right, plus, "none", [], "")
    return ONEDNN.binary(left, plus, right, None, "add")


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute rows W^T + b, (*places, output), as `F.linear` does, with its gradient.

    Args:
        rows: The vectors to multiply, (*places, input).
        weight: W, (output, input).
        bias: b, (output,); nothing is added if None.
    """
    kind = rows.dtype
    if torch.is_autocast_enabled("cpu") and kind != torch.float64:  # which autocast leaves alone
        kind = torch.get_autocast_dtype("cpu")
    if not _is_for_onednn(rows, kind) or weight.dim() != 2:
        return F.linear(rows, weight, bias)
    flat = rows.flatten(0, -2).to(kind)
    count, output = len(flat), len(weight)
    flat = _with_zeros(flat, rounded(count))
    if bias is None and not weight.is_leaf:  # chosen for a batch; a layer's own come back anyway
        weight = _with_zeros(weight, rounded(output))
    if kind == torch.bfloat16:
        found = F.linear(flat, weight, bias)  # autocast rounds a weight once a step
    else:
        found = _Linear.apply(flat, weight, bias)  # type: ignore[no-untyped-call]
    found = found[:count, :output].contiguous()  # callers take views
    return found.view(*rows.shape[:-1], output)


def rounded(count: int) -> int:
    """Round up to one of 8 sizes an octave, and to a multiple of 16.

    At most 12.5 % larger (more for counts below 128).

    Example:
        >>> rounded(16), rounded(17), rounded(1000), rounded(1025)
        (16, 32, 1024, 1152)
    """
    step = max(16, 2 ** (count.bit_length() - 1) // 8)
    return -(-count // step) * step


class Dense(nn.Linear):
    """A dense layer, W x + b, by the faster of the two libraries.

    Example:
        >>> Dense(4, 3)(torch.randn(2, 5, 4)).shape
        torch.Size([2, 5, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return W x + b, (*places, output).

        Args:
            input: x, (*places, input).
        """
        return linear(input, self.weight, self.bias)


def _whole(matrix: Tensor) -> Tensor:
    """A copy of what is cut out of a wider matrix, which is slow for oneDNN."""
    return matrix if matrix.is_contiguous() or matrix.T.is_contiguous() else matrix.contiguous()


def _with_zeros(matrix: Tensor, rows: int) -> Tensor:
    """A matrix of so many rows, the last of them zeros."""
    return F.pad(matrix, (0, 0, 0, rows - len(matrix))) if rows > len(matrix) else matrix


def _is_for_onednn(left: Tensor, kind: torch.dtype = torch.float32) -> bool:
    """Whether oneDNN is to multiply rows that are, or are to be rounded to, this type."""
    if left.device.type != "cpu" or not left.is_floating_point():
        return False
    is_large = left.numel() >= FEWEST_ROWS * left.shape[-1] > 0
    if kind == torch.bfloat16:  # torch has nothing else for it
        return is_large
    is_float = kind == left.dtype == torch.float32
    return is_float and ONEDNN is not None and is_large


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return product(rows, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        return (
            product(grad, weight.T) if of_rows else None,
            product(rows.T, grad.T).T if of_weight else None,  # the cheaper side is copied
            grad.sum(0) if of_bias else None,
        )
