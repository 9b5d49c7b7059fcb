"""Ray Data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraphrastic_hf.integrations.columns import ColumnEncoder

if TYPE_CHECKING:
    import pyarrow as pa


class Embed:
    """Callable for `map_batches(batch_format="pyarrow")`. `options` are `ColumnEncoder`'s."""

    def __init__(
        self,
        model: str = "english",
        *,
        column: str = "text",
        output: str = "vector",
        **options: Any,
    ) -> None:
        self.encode = ColumnEncoder(model, **options)
        self.column, self.output = column, output

    def __call__(self, batch: pa.Table) -> pa.Table:
        return batch.append_column(self.output, self.encode(batch[self.column]))
