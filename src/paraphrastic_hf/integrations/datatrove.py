"""datatrove."""

from typing import Any

from datatrove.data import DocumentsPipeline
from datatrove.pipeline.base import PipelineStep
from datatrove.utils.batching import batched

from paraphrastic_hf.integrations.columns import ColumnEncoder


class Embed(PipelineStep):
    """Step that adds embeddings to metadata. `options` are `ColumnEncoder`'s without `dtype`."""

    type, name = "EMBEDDER", "paraphrastic"

    def __init__(self, model: str = "english", *, key: str = "vector", **options: Any) -> None:
        super().__init__()
        self.encode, self.key = ColumnEncoder(model, dtype="float32", **options), key

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        for documents in batched(data, 1024):
            with self.track_time("batch"):
                vectors = self.encode.of_list([document.text for document in documents])
                for document, vector in zip(documents, vectors.tolist(), strict=True):
                    document.metadata[self.key] = vector
            self.stat_update("documents", value=len(documents))
            yield from documents
