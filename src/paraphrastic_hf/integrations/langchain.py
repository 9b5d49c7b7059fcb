"""LangChain."""

from langchain_core.embeddings import Embeddings

from paraphrastic_hf.encoders.encoder import SentenceEncoder


class ParaphrasticEmbeddings(Embeddings):
    """Embedding model for LangChain's vector stores and retrievers."""

    def __init__(self, model: str = "english") -> None:
        self.encoder = SentenceEncoder.from_pretrained(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.encoder.encode(texts, normalize_embeddings=True).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
