"""Spark 4.1 and later."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf

from paraphrastic_hf.encoders.vectors import check_dtype
from paraphrastic_hf.integrations.columns import ColumnEncoder

SPARK_TYPES = {"float32": "float", "int8": "tinyint"}  # Spark has no float16


def embed(model: str = "english", **options: Any) -> Callable[[Any], Column]:
    """Return a function from a column of texts to embeddings. `options` are `ColumnEncoder`'s."""
    encode = ColumnEncoder(model, **options)
    check_dtype(encode.dtype, SPARK_TYPES)
    kind = pa.list_(pa.type_for_alias(encode.dtype))

    @arrow_udf(f"array<{SPARK_TYPES[encode.dtype]}>")  # type: ignore[untyped-decorator]
    def embed_batch(texts: pa.Array) -> pa.Array:
        return encode(texts).cast(kind)

    return embed_batch  # type: ignore[no-any-return]
