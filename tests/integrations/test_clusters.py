"""Ray Data, Daft, Spark and datatrove give the vectors of `encode`."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from paraphrastic_hf import SentenceEncoder  # noqa: E402
from paraphrastic_hf.integrations.columns import ColumnEncoder  # noqa: E402
from tests.texts import SENTENCES  # noqa: E402

TEXTS = [*SENTENCES[:5], "", "zażółć gęślą jaźń 猫"]
ENCODER = SentenceEncoder.from_pretrained("tiny")
VECTORS = ENCODER.encode(TEXTS, normalize_embeddings=True)
# warnings of other libraries are not errors of ours
pytestmark = pytest.mark.filterwarnings("default")


def check(texts: list[str | None], vectors: list[Any]) -> None:
    """Check the rows of `[*TEXTS, None]`, in any order."""
    found = dict(zip(texts, vectors, strict=True))
    assert found.pop(None) is None
    np.testing.assert_allclose([found[text] for text in TEXTS], VECTORS, atol=1e-6)
    assert len(texts) == len(TEXTS) + 1


def test_a_pickle_holds_no_model():
    encode = ColumnEncoder("tiny")
    encode(pa.array(TEXTS))
    assert len(pickle.dumps(encode)) < 300
    assert pickle.loads(pickle.dumps(encode)).encoder is encode.encoder


def test_an_unknown_dtype_is_named():
    with pytest.raises(ValueError, match="float64"):
        ColumnEncoder("tiny", "float64")


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
def test_ray(ray_data, is_actor):
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
def test_daft(dtype):
    daft = pytest.importorskip("daft")
    from paraphrastic_hf.integrations.daft import embed

    vector = embed("tiny", dtype=dtype, dimension=16)(daft.col("text"))
    table = daft.from_pydict({"text": [*TEXTS, None]}).with_column("vector", vector)
    column = table.to_arrow()["vector"].combine_chunks()
    expected = ColumnEncoder("tiny", dtype, 16)(pa.array([*TEXTS, None]))
    assert column.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_spark(tmp_path, dtype):
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
