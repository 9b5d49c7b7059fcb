"""Haystack."""

from dataclasses import replace
from typing import Any

from haystack import Document, component

from paraphrastic_hf.encoders.encoder import SentenceEncoder


@component
class ParaphrasticTextEmbedder:
    """Component that embeds a query."""

    def __init__(self, model: str = "english") -> None:
        self.model = model
        self._encoder = SentenceEncoder.from_pretrained(model)

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": self._encoder.encode(text, normalize_embeddings=True).tolist()}


@component
class ParaphrasticDocumentEmbedder:
    """Component that adds embeddings to documents."""

    def __init__(self, model: str = "english") -> None:
        self.model = model
        self._encoder = SentenceEncoder.from_pretrained(model)

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, Any]:
        texts = [document.content or "" for document in documents]
        vectors = self._encoder.encode(texts, normalize_embeddings=True).tolist()
        pairs = zip(documents, vectors, strict=True)
        return {"documents": [replace(document, embedding=vector) for document, vector in pairs]}
