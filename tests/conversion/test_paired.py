"""Converted PyTorch releases equal the released forward pass."""

import argparse
import io
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from paraphrastic_hf.errors import DataError
from tests.conversion.released import UNKNOWN, run
from tests.conversion.released import save_torch as save
from tests.texts import SENTENCES

DIM = 6
# lower case, without characters that the two normalizations treat differently
TEXTS = [*[text.replace("’", "'") for text in SENTENCES][:20], "the", "A cat: sleeps?!"]


def trained_pieces(texts: list[str], **settings: Any) -> bytes:
    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=stream, vocab_size=300,
        hard_vocab_limit=False, minloglevel=2, **settings,
    )  # fmt: skip
    return stream.getvalue()


@pytest.fixture(scope="module")
def released_model():
    """A sentencepiece model like the releases', with other specials and some unknown characters."""
    return trained_pieces([text.lower() for text in SENTENCES], character_coverage=0.98)


def released_pieces(model: bytes, text: str) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return " ".join(processor.encode_as_pieces(text.lower())).split()


def released_vocabulary(model: bytes) -> dict[str, int]:
    """Pieces by frequency, unknown characters unchanged, and the unknown token last."""
    pieces = [piece for text in TEXTS for piece in released_pieces(model, text)]
    ranked = sorted(dict.fromkeys(pieces), key=pieces.count, reverse=True)
    return {piece: row for row, piece in enumerate([*ranked, UNKNOWN])}


@pytest.fixture
def vocabulary(released_model, tmp_path):
    """The released vocabulary. The sentencepiece model lies where the checkpoint names it."""
    (tmp_path / "sp.model").write_bytes(released_model)
    return released_vocabulary(released_model)


@pytest.fixture
def exact_texts(released_model):
    """Texts without a run of several unknown characters."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=released_model)
    known = {processor.id_to_piece(i) for i in range(processor.get_piece_size())}
    return [
        text
        for text in TEXTS
        if all(p in known or len(p) == 1 for p in released_pieces(released_model, text))
    ]


def checkpoint(vocabulary: dict[str, int], **args: Any) -> dict[str, Any]:
    torch.manual_seed(3)
    table = torch.nn.Embedding(len(vocabulary), DIM)
    given = {"model": "avg", "pool": "mean", "zero_unk": 1, "ngrams": 0, "lower_case": 1, **args}
    return {
        "state_dict": {"embedding.weight": table.weight.detach()},
        "vocab": vocabulary,
        "vocab_fr": None,
        "args": argparse.Namespace(sp_model="data/sp.model", **given),
        "optimizer": torch.optim.Adam(table.parameters()).state_dict(),
        "epoch": 10,
    }


@pytest.mark.parametrize("is_zip", [True, False])
def test_the_average_of_pieces(tmp_path, released_model, vocabulary, exact_texts, is_zip):
    saved = checkpoint(vocabulary)
    path = save(tmp_path / "m.pt", saved, is_zip)
    assert len(exact_texts) > 15
    converted, vectors = run(path, exact_texts)
    table = saved["state_dict"]["embedding.weight"].numpy()
    for text, ours in zip(exact_texts, vectors, strict=True):
        ids = [vocabulary[piece] for piece in released_pieces(released_model, text)]
        np.testing.assert_allclose(ours, table[ids].mean(0), atol=1e-6, err_msg=text)
    assert converted.kind == "pieces"


@pytest.mark.parametrize("zero_unk", [0, 1])
def test_a_piece_without_a_row_shares_one_or_keeps_the_direction(
    zero_unk, tmp_path, released_model, vocabulary
):
    text = TEXTS[0]
    saved = checkpoint(vocabulary, zero_unk=zero_unk)
    pieces = released_pieces(released_model, text)
    left = saved["vocab"] = {piece: row for piece, row in vocabulary.items() if piece != pieces[1]}
    converted, (ours,) = run(save(tmp_path / "m.pt", saved), [text])
    ids = [left.get(piece, left[UNKNOWN]) for piece in pieces if not zero_unk or piece in left]
    theirs = saved["state_dict"]["embedding.weight"].numpy()[ids].mean(0)
    if zero_unk:
        ours, theirs = (vector / np.linalg.norm(vector) for vector in (ours, theirs))
        assert any(" pieces " in difference for difference in converted.differences)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_characters_without_pieces_keep_their_rows(tmp_path, released_model, vocabulary):
    processor = sentencepiece.SentencePieceProcessor(model_proto=released_model)
    pieces = {processor.id_to_piece(i) for i in range(processor.get_piece_size())}
    single = [piece for piece in vocabulary if len(piece) == 1 and piece not in pieces]
    assert single
    saved = checkpoint(vocabulary)
    _, vectors = run(save(tmp_path / "m.pt", saved), [f"the {single[0]} cat"])
    ids = [vocabulary[p] for p in released_pieces(released_model, f"the {single[0]} cat")]
    expected = saved["state_dict"]["embedding.weight"].numpy()[ids].mean(0)
    np.testing.assert_allclose(vectors[0], expected, atol=1e-6)


def test_sim_treats_row_0_as_unknown(tmp_path, released_model, vocabulary):
    weights = checkpoint(vocabulary)["state_dict"]
    args = argparse.Namespace(dim=DIM, gpu=0)
    path = save(
        tmp_path / "sim.pt", {"state_dict": weights, "vocab_words": vocabulary, "args": args}
    )
    with pytest.raises(DataError):  # its args do not name the sentencepiece model
        run(path, TEXTS)
    texts, table = TEXTS[:8], weights["embedding.weight"].numpy()
    _, vectors = run(path, texts, vocabulary=str(tmp_path / "sp.model"))
    has_zero = 0
    for text, ours in zip(texts, vectors, strict=True):
        ids = [vocabulary[piece] for piece in released_pieces(released_model, text)]
        has_zero += 0 in ids
        theirs = table[[row for row in ids if row]].mean(0)
        cosine = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
        assert cosine == pytest.approx(1, abs=1e-5)
    assert has_zero


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_the_blstm(tmp_path, released_model, vocabulary, exact_texts, pool):
    saved = checkpoint(vocabulary, pool=pool, model="lstm")
    lstm = torch.nn.LSTM(DIM, 5, bidirectional=True, batch_first=True)
    torch.nn.init.normal_(lstm.bias_hh_l0)  # torch's two biases, both trained
    saved["state_dict"] |= {f"lstm.{name}": value for name, value in lstm.state_dict().items()}
    converted, vectors = run(save(tmp_path / "m.pt", saved), exact_texts)
    assert converted.kind == "pieces-blstm"
    for text, ours in zip(exact_texts, vectors, strict=True):
        ids = [vocabulary[piece] for piece in released_pieces(released_model, text)]
        with torch.no_grad():
            states = lstm(saved["state_dict"]["embedding.weight"][ids][None])[0][0]
        theirs = states.mean(0) if pool == "mean" else states.max(0).values
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5, err_msg=text)


def test_trigrams(tmp_path):
    trigrams = [" th", "the", "he ", " ca", "cat", "at ", UNKNOWN]
    vocabulary = {trigram: row for row, trigram in enumerate(trigrams)}
    saved = checkpoint(vocabulary, ngrams=3)
    _, vectors = run(save(tmp_path / "m.pt", saved), ["The cat", "a cat", "dog"])
    table = saved["state_dict"]["embedding.weight"].numpy()
    for text, ours in zip(["the cat", "a cat"], vectors, strict=False):
        padded = f" {text} "
        found = [padded[i : i + 3] for i in range(len(padded) - 2)]
        ids = [vocabulary[trigram] for trigram in found if trigram in vocabulary]
        np.testing.assert_allclose(ours, table[ids].mean(0), atol=1e-6)
    assert not vectors[2].any()


def test_words_of_one_or_two_languages(tmp_path):
    saved = checkpoint({"the": 0, "cat": 1, "n't": 2, UNKNOWN: 3})
    path = save(tmp_path / "m.pt", saved)
    table = saved["state_dict"]["embedding.weight"].numpy()
    _, vectors = run(path, ["the cat does n't"], kind="words", spaced=True)
    np.testing.assert_allclose(vectors[0], table[:3].mean(0), atol=1e-6)
    saved["state_dict"]["embedding_fr.weight"] = torch.full((3, DIM), 2.0)
    saved["vocab_fr"] = {"chat": 0, "le": 1, UNKNOWN: 2}
    save(path, saved)
    with pytest.raises(DataError):
        run(path, [], kind="words")
    _, second = run(path, ["le chat", "the cat"], kind="words", side="second")
    np.testing.assert_array_equal(second, [[2.0] * DIM, [0.0] * DIM])
    _, first = run(path, ["the cat"], kind="words", side="first")
    np.testing.assert_allclose(first[0], table[:2].mean(0), atol=1e-6)


def test_other_contents_are_refused(tmp_path, released_model):
    good = checkpoint({"the": 0, UNKNOWN: 1})
    weights, two = good["state_dict"], torch.nn.LSTM(DIM, 2, num_layers=2).state_dict()
    tables = [weights["embedding.weight"].double().clone() for _ in range(2)]
    tables[0][0, 0], tables[1][0, 0] = float("nan"), 1e300
    for value in (
        [1],
        {"model": {}},
        {**good, "state_dict": {"fc.weight": torch.ones(2)}},
        {**good, "state_dict": {}},
        {**good, "vocab": {"a": 9}},
        checkpoint({"the": 0, UNKNOWN: 1}, pool="max"),
        {**good, "state_dict": weights | {f"lstm.{name}": each for name, each in two.items()}},
        *({**good, "state_dict": {"embedding.weight": table}} for table in tables),
    ):
        with pytest.raises(DataError):
            run(save(tmp_path / "m.pt", value), [], kind="words")


def test_other_sentencepiece_models_are_refused(tmp_path, released_model):
    path = save(tmp_path / "m.pt", checkpoint({"x1": 0, "x2": 1, UNKNOWN: 2}))
    bpe = trained_pieces(SENTENCES, model_type="bpe")
    for wrong in (None, released_model, b"not a model", bpe):
        if wrong is not None:
            (tmp_path / "sp.model").write_bytes(wrong)
        with pytest.raises(DataError):
            run(path, [])
