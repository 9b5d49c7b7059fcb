"""Classes for other frameworks and clusters give the vectors of `encode`, of unit length."""

import asyncio
import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.export import export
from paraphrastic_hf.integrations.columns import ColumnEncoder
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


@pytest.fixture(scope="module")
def pa():
    return pytest.importorskip("pyarrow")


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


def check(texts: list[str | None], vectors: list[Any]) -> None:
    """Check the rows of `[*TEXTS, None]`, in any order."""
    found = dict(zip(texts, vectors, strict=True))
    assert found.pop(None) is None
    np.testing.assert_allclose([found[text] for text in TEXTS], VECTORS, atol=1e-6)
    assert len(texts) == len(TEXTS) + 1


def test_a_pickle_holds_no_model(pa):
    encode = ColumnEncoder("tiny")
    encode(pa.array(TEXTS))
    assert len(pickle.dumps(encode)) < 300
    assert pickle.loads(pickle.dumps(encode)).encoder is encode.encoder


def test_an_unknown_dtype_is_named():
    with pytest.raises(ValueError, match="float64"):
        ColumnEncoder("tiny", "float64")


@pytest.mark.usefixtures("pa")
def test_encoding_a_column_imports_no_torch():
    script = """if True:
        import sys, pyarrow
        from paraphrastic_hf.integrations.ray import Embed
        Embed("tiny")(pyarrow.table({"text": ["a cat"]}))
        assert not {"torch", "transformers", "ray"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.fixture(scope="module")
def ray_data():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100_000_000)
    yield ray.data
    ray.shutdown()


@pytest.mark.parametrize("is_actor", [False, True])
def test_ray(pa, ray_data, is_actor):
    from paraphrastic_hf.integrations.ray import Embed

    table = ray_data.from_arrow(pa.table({"text": [*TEXTS, None]}))
    if is_actor:
        settings = {"fn_constructor_kwargs": {"model": "tiny"}, "concurrency": 1}
        table = table.map_batches(Embed, batch_format="pyarrow", batch_size=3, **settings)
    else:
        table = table.map_batches(Embed("tiny"), batch_format="pyarrow", batch_size=3)
    rows = table.take_all()
    check([row["text"] for row in rows], [row["vector"] for row in rows])


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_daft(pa, dtype):
    daft = pytest.importorskip("daft")
    from paraphrastic_hf.integrations.daft import embed

    vector = embed("tiny", dtype=dtype, dimension=16)(daft.col("text"))
    table = daft.from_pydict({"text": [*TEXTS, None]}).with_column("vector", vector)
    column = table.to_arrow()["vector"].combine_chunks()
    expected = ColumnEncoder("tiny", dtype, 16)(pa.array([*TEXTS, None]))
    assert column.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_spark(pa, tmp_path, dtype):
    sql = pytest.importorskip("pyspark.sql")
    from paraphrastic_hf.integrations.spark import embed

    with pytest.raises(ValueError, match="float16"):
        embed("tiny", dtype="float16")
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
    try:
        spark = builder.config("spark.sql.warehouse.dir", str(tmp_path)).getOrCreate()
    except Exception as error:
        if "JAVA" not in str(error):
            raise
        pytest.skip(f"Java is needed: {error}")
    try:
        table = spark.createDataFrame([(text,) for text in [*TEXTS, None]], "text string")
        rows = table.withColumn("vector", embed("tiny", dtype=dtype)("text")).collect()
    finally:
        spark.stop()
    expected = ColumnEncoder("tiny", dtype)(pa.array([row.text for row in rows])).to_pylist()
    assert [row.vector for row in rows] == expected
    assert len(rows) == len(TEXTS) + 1


def test_datatrove(tmp_path):
    pytest.importorskip("datatrove")
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    from paraphrastic_hf.integrations.datatrove import Embed

    documents = [Document(text, str(row)) for row, text in enumerate(TEXTS)]
    writer = JsonlWriter(str(tmp_path / "vectors"), compression=None)
    pipeline = [documents, Embed("tiny"), writer]
    LocalPipelineExecutor(pipeline, tasks=1, logging_dir=str(tmp_path / "logs")).run()
    read = list(JsonlReader(str(tmp_path / "vectors")).run())
    assert [each.text for each in read] == [*filter(None, TEXTS)]  # it reads no empty ones
    vectors = [each.metadata["vector"] for each in read]
    expected = VECTORS[[bool(text) for text in TEXTS]]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
