"""LanceDB. Importing this module registers `paraphrastic`."""

from typing import Any

from lancedb.embeddings import TextEmbeddingFunction, register
from pydantic import PrivateAttr

from paraphrastic_hf.encoders.encoder import SentenceEncoder


@register("paraphrastic")  # type: ignore[untyped-decorator]
class ParaphrasticEmbeddings(TextEmbeddingFunction):
    """Embedding function of a LanceDB table.

    Attributes:
        name: Model directory, packaged model or Hub repository.
        max_retries: How often LanceDB repeats a failed call. Its default, 7, waits for minutes.
    """

    name: str = "english"
    max_retries: int = 0
    _encoder: Any = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._encoder = SentenceEncoder.from_pretrained(self.name)

    def generate_embeddings(self, texts: Any, *_: Any, **options: Any) -> list[list[float]]:
        vectors = self._encoder.encode(list(texts), normalize_embeddings=True)
        return vectors.tolist()  # type: ignore[no-any-return]

    def ndims(self) -> int:
        return int(self._encoder.dimension)
