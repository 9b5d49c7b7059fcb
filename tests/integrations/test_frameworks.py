"""Classes for other frameworks give the vectors of `encode`, scaled to unit length."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.export import export
from tests.texts import SENTENCES

TEXTS = [*SENTENCES[:5], "", "zażółć gęślą jaźń 猫"]
VECTORS = SentenceEncoder.from_pretrained("tiny").encode(TEXTS, normalize_embeddings=True)
NODE_MODULES = Path(__file__).parents[2] / ".venv-integrations" / "node_modules"
SCRIPT = """
import { AutoModel, AutoTokenizer, env } from "@huggingface/transformers";
env.localModelPath = "%s";
const tokenizer = await AutoTokenizer.from_pretrained("copy");
for (const dtype of ["fp32", "q8"]) {
  const model = await AutoModel.from_pretrained("copy", { dtype });
  const { sentence_embedding } = await model(tokenizer(%s, { padding: true }));
  console.log(JSON.stringify(sentence_embedding.normalize().tolist()));
}
"""
# warnings of other libraries are not errors of ours
pytestmark = pytest.mark.filterwarnings("default")


def close(found: object, expected: object = VECTORS) -> None:
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_langchain():
    pytest.importorskip("langchain_core")
    from paraphrastic_hf.integrations.langchain import ParaphrasticEmbeddings

    embeddings = ParaphrasticEmbeddings("tiny")
    close(embeddings.embed_documents(TEXTS))
    close(embeddings.embed_query(TEXTS[0]), VECTORS[0])
    close(asyncio.run(embeddings.aembed_query(TEXTS[0])), VECTORS[0])
    assert embeddings.embed_documents([]) == []


def test_llama_index():
    pytest.importorskip("llama_index.core")
    from paraphrastic_hf.integrations.llama_index import ParaphrasticEmbedding

    embedding = ParaphrasticEmbedding("tiny", embed_batch_size=3)
    close(embedding.get_text_embedding_batch(TEXTS))
    close(embedding.get_query_embedding(TEXTS[0]), VECTORS[0])
    close(asyncio.run(embedding.aget_query_embedding(TEXTS[0])), VECTORS[0])
    close(asyncio.run(embedding.aget_text_embedding_batch(TEXTS)))
    assert embedding.to_dict()["model_name"] == "tiny"


def test_haystack():
    pytest.importorskip("haystack")
    from haystack import Document, Pipeline

    from paraphrastic_hf.integrations.haystack import (
        ParaphrasticDocumentEmbedder,
        ParaphrasticTextEmbedder,
    )

    documents = [Document(content=text, meta={"row": row}) for row, text in enumerate(TEXTS)]
    embedded = ParaphrasticDocumentEmbedder("tiny").run([*documents, Document()])["documents"]
    close([document.embedding for document in embedded[:-1]])
    assert not any(embedded[-1].embedding)
    assert [document.id for document in embedded[:-1]] == [document.id for document in documents]
    assert documents[0].embedding is None
    pipeline = Pipeline()
    pipeline.add_component("query", ParaphrasticTextEmbedder("tiny"))
    trusted = ["paraphrastic_hf.integrations.haystack"]
    restored = Pipeline.from_dict(pipeline.to_dict(), allowed_modules=trusted)
    close(restored.run({"query": {"text": TEXTS[0]}})["query"]["embedding"], VECTORS[0])


def test_chroma(tmp_path):
    chromadb = pytest.importorskip("chromadb")
    from paraphrastic_hf.integrations.chroma import ParaphrasticEmbeddingFunction

    close(ParaphrasticEmbeddingFunction("tiny")(TEXTS))
    client = chromadb.PersistentClient(tmp_path)
    client.create_collection("texts", embedding_function=ParaphrasticEmbeddingFunction("tiny"))
    stored = client.get_collection("texts")  # builds the function from the stored name
    stored.add(ids=[str(row) for row in range(len(TEXTS))], documents=TEXTS)
    close(stored.get(include=["embeddings"])["embeddings"])
    assert stored.query(query_texts=[TEXTS[2]], n_results=1)["ids"] == [["2"]]


def test_lancedb(tmp_path):
    lancedb = pytest.importorskip("lancedb")
    from lancedb.embeddings import get_registry
    from lancedb.pydantic import LanceModel, Vector

    import paraphrastic_hf.integrations.lancedb  # noqa: F401

    tiny = get_registry().get("paraphrastic").create(name="tiny")
    kinds = {"text": str, "vector": Vector(tiny.ndims())}
    fields = {"text": tiny.SourceField(), "vector": tiny.VectorField()}
    schema = type("Row", (LanceModel,), {"__annotations__": kinds, **fields})
    table = lancedb.connect(tmp_path).create_table("texts", schema=schema)
    table.add([{"text": text} for text in TEXTS])
    reopened = lancedb.connect(tmp_path).open_table("texts")
    close(np.stack(reopened.to_pandas()["vector"]))
    (nearest,) = reopened.search(TEXTS[2]).limit(1).to_list()
    assert nearest["text"] == TEXTS[2]


def test_transformers_js(tmp_path):
    pytest.importorskip("onnx")
    if shutil.which("node") is None or not NODE_MODULES.is_dir():
        pytest.skip("needs Node and the packages of `make test-integrations`")
    export(SentenceEncoder.from_pretrained("tiny"), "onnx", tmp_path / "copy")
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT % (f"{tmp_path}/", json.dumps(TEXTS))],
        cwd=NODE_MODULES.parent, stdout=subprocess.PIPE, check=True, timeout=120,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        found = np.nan_to_num(np.array(json.loads(line), float))  # JavaScript divides 0 by 0
        close(found)
    assert len(done.stdout.splitlines()) == 2
