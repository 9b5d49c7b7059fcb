"""LlamaIndex."""

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from paraphrastic_hf.encoders.encoder import SentenceEncoder


class ParaphrasticEmbedding(BaseEmbedding):
    """Embedding model for LlamaIndex. `options` are passed to `BaseEmbedding`."""

    _encoder: Any = PrivateAttr()

    def __init__(self, model_name: str = "english", **options: Any) -> None:
        super().__init__(model_name=model_name, **{"embed_batch_size": 2048, **options})
        self._encoder = SentenceEncoder.from_pretrained(model_name)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._encoder.encode(texts, normalize_embeddings=True).tolist()
        return vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
