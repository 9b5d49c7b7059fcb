"""Chroma."""

from __future__ import annotations

from typing import Any

from chromadb import Documents, EmbeddingFunction, Embeddings
from chromadb.utils.embedding_functions import register_embedding_function

from paraphrastic_hf.encoders.encoder import SentenceEncoder


@register_embedding_function  # type: ignore[untyped-decorator]
class ParaphrasticEmbeddingFunction(EmbeddingFunction[Documents]):
    """Embedding function of a Chroma collection."""

    def __init__(self, model: str = "english") -> None:
        self.model = model
        self._encoder = SentenceEncoder.from_pretrained(model)

    def __call__(self, input: Documents) -> Embeddings:
        return list(self._encoder.encode(input, normalize_embeddings=True))

    @staticmethod
    def name() -> str:
        return "paraphrastic"

    def get_config(self) -> dict[str, Any]:
        return {"model": self.model}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> ParaphrasticEmbeddingFunction:
        return ParaphrasticEmbeddingFunction(**config)
