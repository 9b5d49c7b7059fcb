"""Exports of encoders to model2vec, ONNX and sentence-transformers."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.export import FORMATS, export
from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, save_model
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.encoders.window import WindowConfig, WindowModel
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.cli.conftest import run  # noqa: F401
from tests.made import recurrent, with_rows
from tests.texts import SENTENCES

TEXTS = [*SENTENCES, "", "  \n", "<pad> <unk>", "\u2581", "\U000f0041", "猫 xyzzy", "a" * 200]
ATOL = 1e-5  # other libraries sum in float32


@pytest.fixture
def char():
    return CharTokenizer.train(SENTENCES[:20], vocab_size=40)


@pytest.fixture(params=["subword", "word", "char"])
def encoder(request):
    return with_rows(request.getfixturevalue(request.param), 7)


@pytest.fixture
def run_graph():
    """Return a function that runs a graph by the reference implementation, for its two outputs."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx.reference import ReferenceEvaluator

    def run_graph(folder: Path, name: str, texts: list[str]) -> list[np.ndarray]:
        graph = onnx.load(folder / "onnx" / f"{name}.onnx")
        onnx.checker.check_model(graph, full_check=True)
        inputs = dict(zip(("input_ids", "attention_mask"), padded(folder, texts), strict=True))
        return ReferenceEvaluator(graph).run(None, inputs)

    return run_graph


def padded(folder: Path, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the token ids of an export's tokenizer, and their mask, (texts, seq) int64."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0, pad_token="<pad>")
    batch = tokenizer.encode_batch(texts)
    ids = np.array([text.ids for text in batch], np.int64)
    return ids, np.array([text.attention_mask for text in batch], np.int64)


def test_model2vec_gives_the_same_vectors(encoder, tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    export(encoder, "model2vec", tmp_path / "copy")
    stock = model2vec.StaticModel.from_pretrained(tmp_path / "copy")
    for unit in (False, True):
        expected = encoder.encode(TEXTS, normalize_embeddings=unit)
        np.testing.assert_allclose(stock.encode(TEXTS, normalize=unit), expected, atol=ATOL)


def test_the_graph_gives_the_same_vectors(encoder, run_graph, tmp_path):
    export(encoder, "onnx", tmp_path / "copy")
    tokens, vectors = run_graph(tmp_path / "copy", "model", TEXTS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=ATOL)
    assert tokens.shape[::2] == vectors.shape
    alone = run_graph(tmp_path / "copy", "model", [""])[1]
    np.testing.assert_array_equal(alone, np.zeros((1, 7)))


@pytest.mark.parametrize(("window", "hidden"), [(1, 11), (2, 0)])
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_the_graph_reads_windows(window, hidden, precision, run_graph, word, tmp_path):
    sizes = {"hidden_size": 6, "features": 5, "context_rows": 20, "hidden": hidden}
    config = WindowConfig(vocab_size=word.vocab_size, window=window, **sizes)
    save_model(WindowModel(config), word, tmp_path / "model", SENTENCE_ENCODER, precision=precision)
    encoder = SentenceEncoder.from_pretrained(tmp_path / "model")
    export(encoder, "onnx", tmp_path / "copy")
    expected = encoder.encode(TEXTS)
    for name in ("model", "model_quantized"):
        tokens, vectors = run_graph(tmp_path / "copy", name, TEXTS)
        np.testing.assert_allclose(vectors, expected, atol=ATOL * np.abs(expected).max())
        _, mask = padded(tmp_path / "copy", TEXTS)
        means = (tokens * mask[..., None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]
        np.testing.assert_allclose(means, vectors, atol=ATOL * np.abs(expected).max())
    with pytest.raises(ModelError):
        export(encoder, "model2vec", tmp_path / "other")


@pytest.mark.parametrize("precision", ["int4", "int8"])
@pytest.mark.parametrize("dimension", [6, 7])
def test_the_quantized_graph_rounds_like_the_table(precision, dimension, run_graph, word, tmp_path):
    rounded = with_rows(word, dimension).with_precision(precision)
    export(rounded, "onnx", tmp_path / "copy")
    _, vectors = run_graph(tmp_path / "copy", "model_quantized", TEXTS)
    # int8 rows are rounded again, to steps that differ in the last digit
    np.testing.assert_allclose(vectors, rounded.encode(TEXTS), atol=ATOL)


def test_sentence_transformers_gives_the_same_vectors(word, tmp_path):
    encoder = with_rows(word)
    export(encoder, "sentence-transformers", tmp_path / "copy")
    stock = SentenceTransformer(str(tmp_path / "copy"), device="cpu")
    np.testing.assert_allclose(stock.encode(TEXTS), encoder.encode(TEXTS), atol=ATOL)


@pytest.mark.parametrize("to", ["model2vec", "onnx"])
def test_what_a_format_cannot_express_is_refused(to, word, char_ngram, tmp_path):
    kept = WordTokenizer.train(SENTENCES, vocab_size=50, keep_unknown=True)
    encoders = [with_rows(MarkedTokenizer(word, "both")), recurrent(word), with_rows(char_ngram)]
    for encoder in [*encoders, with_rows(kept)] if to == "model2vec" else encoders:
        with pytest.raises(ModelError):
            export(encoder, to, tmp_path / "copy")
    with pytest.raises(ValueError, match="onxx"):
        export(with_rows(word), "onxx", tmp_path / "copy")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("to", FORMATS)
def test_the_command_writes_a_new_folder(to, run, tmp_path):  # noqa: F811
    if to == "onnx":
        pytest.importorskip("onnx", reason="onnx is not installed")
    command = ["export", "tiny", "--to", to, "--dimension", "8", "--output", tmp_path / "copy"]
    assert str(tmp_path / "copy") in run(*command).out
    assert (tmp_path / "copy" / "tokenizer.json").is_file()
    assert str(tmp_path / "copy") in run(*command, status=2).err
