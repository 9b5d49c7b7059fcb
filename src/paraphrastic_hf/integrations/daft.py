"""Daft."""

from collections.abc import Callable
from typing import Any

import daft
from daft import DataType, Expression

from paraphrastic_hf.integrations.columns import ColumnEncoder


def embed(model: str = "english", **options: Any) -> Callable[[Expression], Expression]:
    """Return a function from a column of texts to embeddings. `options` are `ColumnEncoder`'s."""
    encode = ColumnEncoder(model, **options)
    kind = DataType.embedding(getattr(DataType, encode.dtype)(), encode.width)

    @daft.func.batch(return_dtype=kind)  # type: ignore[untyped-decorator]
    def embed_batch(texts: daft.Series) -> Any:
        return encode(texts.to_arrow())

    return embed_batch  # type: ignore[no-any-return]
