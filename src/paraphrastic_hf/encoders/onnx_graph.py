"""ONNX graph of an averaging model or a window encoder.

Inputs: `input_ids` and `attention_mask`, (batch, seq) int64. Outputs: `last_hidden_state`, (batch,
seq, dim), the token vectors, and `sentence_embedding`, (batch, dim), their mean. A text without
tokens has the zero vector. Only operators of opset 18 are used.

A token vector of a window encoder includes the output of the hidden layer, the same for all tokens
of a text.
"""

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, parser

from paraphrastic_hf.encoders.static.window import Window
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
  mask = Cast <to = 1> (attention_mask)
  weights = Unsqueeze (mask, second)
  count = ReduceSum (mask, second)
  divisor = Max (count, one)
  {states}
  sums = MatMul (weights, last_hidden_state)
  total = Squeeze (sums, second)
  sentence_embedding = Div (total, divisor)
}}
"""
EXACT = "{rows} = Gather (table, input_ids)"
SCALED = """
  scale = Gather (scales, input_ids)
  {rows} = Mul (steps, scale)
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
PLACE = """
  read_{place} = Slice (padded, from_{place}, to_{place}, second)
  codes_{place} = Gather (context_{place}, read_{place})
  summand_{place} = Cast <to = 1> (codes_{place})
"""
WINDOW = """
  known = Mul (input_ids, attention_mask)
  clipped = Min (known, last_row)
  padded = Pad (clipped, edges)
  {places}
  sum = Sum (bias, {summands})
  features = Relu (sum)
  read = Concat <axis = 2> (rows, features)
  read_sums = MatMul (weights, read)
  read_total = Squeeze (read_sums, second)
  read_mean = Div (read_total, divisor)
  product = MatMul (read_mean, inner)
  biased = Add (product, hidden_bias)
  hidden = Relu (biased)
  change = MatMul (hidden, from_hidden)
  changes = Unsqueeze (change, second)
  shifts = MatMul (features, output)
  shifted = Add (rows, shifts)
  last_hidden_state = Add (shifted, changes)
"""
LARGEST = 2**31 - 2**20  # bytes of a table in a protobuf message


def encoder_graph(numbers: np.ndarray, window: Window | None = None) -> onnx.ModelProto:
    """Build the graph of a token table, float32 or packed, and of a window encoder."""
    if numbers.nbytes > LARGEST:
        raise ModelError(
            f"A table of {numbers.nbytes / 1e9:.1f} GB exceeds ONNX's 2 GB. Keep fewer dimensions"
        )
    dim = width(numbers)
    values = {"table": numbers, "second": np.array([1]), "one": np.float32(1)}
    states = EXACT
    if has_scales(numbers):
        states = INT4 if numbers.dtype == np.uint8 else INT8
        values |= {"table": numbers[:, :-SCALE_BYTES], "scales": scales(numbers)}
    if states is INT4:
        values |= {"low_bits": np.uint8(15), "four": np.uint8(4), "no_steps": np.float32(NO_STEPS)}
        values |= {"start": np.array([0]), "dim": np.array([dim]), "last": np.array([2])}
    states = states.format(rows="last_hidden_state" if window is None else "rows")
    if window is not None:
        arrays, features = _features(window)
        values, states = values | arrays, states + features
    model = parser.parse_model(GRAPH.format(dim=dim, states=states))
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value, order="C"), name)
        for name, value in values.items()
    )
    return model


def _features(window: Window) -> tuple[dict[str, Any], str]:
    """Return the arrays of a window encoder, and the operators from `rows` to token vectors."""
    count, span, features = window.context.shape
    half = span // 2
    values = {
        "last_row": np.int64(count - 1),
        "edges": np.array([0, half, 0, half]),
        "bias": np.float32(window.bias),
        "inner": window.inner,
        "hidden_bias": window.hidden_bias,
        "output": window.outer[:features],
        "from_hidden": window.outer[features:],
    }
    for place in range(span):
        end = place - 2 * half or np.iinfo(np.int64).max  # negative ends count from the right
        values[f"context_{place}"] = window.context[:, place]
        values |= {f"from_{place}": np.array([place]), f"to_{place}": np.array([end])}
    places = "".join(PLACE.format(place=place) for place in range(span))
    summands = ", ".join(f"summand_{place}" for place in range(span))
    return values, WINDOW.format(places=places, summands=summands)


def quantized(rows: np.ndarray) -> np.ndarray:
    """Pack a table, (vocab, dim) float32, as int4 if that is exact, else as int8."""
    halves = packed(rows, "int4")
    return halves if np.array_equal(unpacked(halves), rows) else packed(rows, "int8")
