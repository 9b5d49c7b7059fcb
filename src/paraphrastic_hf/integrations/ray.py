"""Ray Data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraphrastic_hf.integrations.columns import ColumnEncoder

if TYPE_CHECKING:
    import pyarrow as pa


class Embed:
    """Callable for `ray.data.Dataset.map_batches` with `batch_format="pyarrow"`.

    It adds the column `output`. `options` are passed to `ColumnEncoder`.
    """

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
