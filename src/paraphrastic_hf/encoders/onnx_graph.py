"""ONNX graph of an averaging model.

Inputs: `input_ids` and `attention_mask`, (batch, seq) int64. Outputs: `last_hidden_state`, (batch,
seq, dim), the token vectors, and `sentence_embedding`, (batch, dim), their mean. A text without
tokens has the zero vector. Only operators of opset 18 are used.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper, parser

from paraphrastic_hf.encoders.storage.packing import (
    NO_STEPS,
    SCALE_BYTES,
    has_scales,
    packed,
    scales,
    unpacked,
    width,
)
from paraphrastic_hf.errors import ModelError

GRAPH = """
<ir_version: 8, opset_import: ["": 18]>
averaging (int64[batch, seq] input_ids, int64[batch, seq] attention_mask)
  => (float[batch, seq, {dim}] last_hidden_state, float[batch, {dim}] sentence_embedding)
{{
  {rows}
  mask = Cast <to = 1> (attention_mask)
  weights = Unsqueeze (mask, second)
  sums = MatMul (weights, last_hidden_state)
  total = Squeeze (sums, second)
  count = ReduceSum (mask, second)
  divisor = Max (count, one)
  sentence_embedding = Div (total, divisor)
}}
"""
EXACT = "last_hidden_state = Gather (table, input_ids)"
SCALED = """
  scale = Gather (scales, input_ids)
  last_hidden_state = Mul (steps, scale)
"""
INT8 = f"""
  codes = Gather (table, input_ids)
  steps = Cast <to = 1> (codes)
  {SCALED}
"""
INT4 = f"""
  pairs = Gather (table, input_ids)
  lower = BitwiseAnd (pairs, low_bits)
  upper = BitShift <direction = "RIGHT"> (pairs, four)
  both = Concat <axis = 2> (lower, upper)
  codes = Slice (both, start, dim, last)
  positive = Cast <to = 1> (codes)
  steps = Sub (positive, no_steps)
  {SCALED}
"""
LARGEST = 2**31 - 2**20  # bytes of a table in a protobuf message


def averaging_graph(numbers: np.ndarray) -> onnx.ModelProto:
    """Build the graph of a token table, (vocab, dim) float32, or packed as int8 or int4.

    Raises:
        ModelError: If the table exceeds 2 GB, the limit of an ONNX file.
    """
    if numbers.nbytes > LARGEST:
        raise ModelError(
            f"A table of {numbers.nbytes / 1e9:.1f} GB exceeds ONNX's 2 GB. Keep fewer dimensions"
        )
    values = {"table": numbers, "second": np.array([1]), "one": np.float32(1)}
    rows = EXACT
    if has_scales(numbers):
        rows = INT4 if numbers.dtype == np.uint8 else INT8
        values |= {"table": numbers[:, :-SCALE_BYTES], "scales": scales(numbers)}
    if rows is INT4:
        values |= {"low_bits": np.uint8(15), "four": np.uint8(4), "no_steps": np.float32(NO_STEPS)}
        values |= {"start": np.array([0]), "dim": np.array([width(numbers)]), "last": np.array([2])}
    model = parser.parse_model(GRAPH.format(dim=width(numbers), rows=rows))
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value, order="C"), name)
        for name, value in values.items()
    )
    return model


def quantized(rows: np.ndarray) -> np.ndarray:
    """Pack a table, (vocab, dim) float32, as int4 if that is exact, else as int8."""
    halves = packed(rows, "int4")
    return halves if np.array_equal(unpacked(halves), rows) else packed(rows, "int8")
