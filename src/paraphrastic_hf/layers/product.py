"""Matrix products on a CPU with the faster of torch's two libraries, MKL and oneDNN.

**Library.** torch multiplies float32 matrices with MKL, which uses AVX-512 only on Intel
processors. On other processors with AVX-512, products of 16 rows and more go to oneDNN. This is 1.6
to 2.0 times as fast (EPYC of family 26, one thread, 512 rows and more). AMD's family 25 (Zen 4)
runs AVX-512 in two halves, so it keeps MKL. All other products use `F.linear`.

**Shapes.** oneDNN compiles code for every new shape in 2 to 10 ms. A product takes 0.1 to 1 ms, and
the number of tokens differs between batches. Therefore `linear` pads with zero rows to one of 8
sizes per octave (`rounded`). A small BGT trains 1.3 to 1.6 times as fast in bfloat16.
"""

import os
import re
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def _describe_processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as about:  # Linux
            return about.read(4096)
    except OSError:
        return os.environ.get("PROCESSOR_IDENTIFIER", "")  # Windows


def is_full_width(described: str) -> bool:
    """Whether oneDNN beats MKL on a processor with AVX-512: not on Intel and Zen 4.

    `described` is the text of `/proc/cpuinfo` (Linux) or PROCESSOR_IDENTIFIER (Windows).

    Example:
        >>> is_full_width("AMD64 Family 26 Model 2 Stepping 1, AuthenticAMD")
        True
        >>> is_full_width("vendor_id : AuthenticAMD cpu family : 25 ")
        False
    """
    in_halves = re.search(r"family\s*:?\s*25\b", described, re.IGNORECASE)
    return "GenuineIntel" not in described and not ("AuthenticAMD" in described and in_halves)


def _find_onednn() -> Any:
    if not torch.backends.mkldnn.is_available():
        return None
    if not torch.backends.cpu.get_cpu_capability().startswith("AVX512"):
        return None
    if not is_full_width(_describe_processor()):
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


ONEDNN = _find_onednn()
FEWEST_ROWS = 16  # below this, MKL is faster


def product(left: Tensor, right: Tensor, plus: Tensor | None = None) -> Tensor:
    """Compute left right^T + plus, (rows, columns), without a gradient.

    The factors have the same type. A transposed view is equally fast. `plus` is (columns,) or
    (rows, columns).
    """
    if not _use_onednn(left):
        return left @ right.T if plus is None else torch.addmm(plus, left, right.T)
    left, right = _contiguous(left), _contiguous(right)
    if plus is None or plus.dim() == 1:
        return ONEDNN(left, right, plus, "none", [], "")
    return ONEDNN.binary(left, plus, right, None, "add")


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute rows W^T + b, (*places, output), like `F.linear`, with gradients."""
    kind = rows.dtype
    if torch.is_autocast_enabled("cpu") and kind != torch.float64:  # autocast skips float64
        kind = torch.get_autocast_dtype("cpu")
    if not _use_onednn(rows, kind) or weight.dim() != 2:
        return F.linear(rows, weight, bias)
    flat = rows.flatten(0, -2).to(kind)
    count, output = len(flat), len(weight)
    flat = _pad_rows(flat, rounded(count))
    if bias is None and not weight.is_leaf:  # a varying number of rows, selected for this batch
        weight = _pad_rows(weight, rounded(output))
    if kind == torch.bfloat16:
        found = F.linear(flat, weight, bias)  # autocast caches the rounded weight
    else:
        found = _Linear.apply(flat, weight, bias)  # type: ignore[no-untyped-call]
    found = found[:count, :output].contiguous()  # callers use `view`
    return found.view(*rows.shape[:-1], output)


def rounded(count: int) -> int:
    """Round up to a multiple of 16 that is one of 8 sizes per octave.

    The result is at most 12.5 % larger (more for counts below 128).

    Example:
        >>> rounded(16), rounded(17), rounded(1000), rounded(1025)
        (16, 32, 1024, 1152)
    """
    step = max(16, 2 ** (count.bit_length() - 1) // 8)
    return -(-count // step) * step


class Dense(nn.Linear):
    """Dense layer W x + b, computed with `linear`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return W x + b, (*places, output)."""
        return linear(input, self.weight, self.bias)


def initialize_dense(module: nn.Module) -> None:
    """Draw weights of a dense or convolution layer uniformly (Glorot). Set biases to 0."""
    if isinstance(module, nn.Linear | nn.Conv1d):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _contiguous(matrix: Tensor) -> Tensor:
    """Copy a slice of a wider matrix. oneDNN multiplies such slices slowly."""
    return matrix if matrix.is_contiguous() or matrix.T.is_contiguous() else matrix.contiguous()


def _pad_rows(matrix: Tensor, rows: int) -> Tensor:
    return F.pad(matrix, (0, 0, 0, rows - len(matrix))) if rows > len(matrix) else matrix


def _use_onednn(left: Tensor, kind: torch.dtype = torch.float32) -> bool:
    if left.device.type != "cpu" or not left.is_floating_point():
        return False
    is_large = left.numel() >= FEWEST_ROWS * left.shape[-1] > 0
    if kind == torch.bfloat16:  # torch has only oneDNN for bfloat16
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
            product(rows.T, grad.T).T if of_weight else None,
            grad.sum(0) if of_bias else None,
        )
