"""Converted PyTorch releases equal the released forward pass."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from paraphrastic_hf.conversion.convert import convert
from paraphrastic_hf.conversion.release import Choices, Converted
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import DataError
from tests.texts import SENTENCES

UNKNOWN = "UUUNKKK"
DIM = 6
# lower case, without characters that the two normalizations treat differently
TEXTS = [*[text.replace("’", "'") for text in SENTENCES][:20], "the", "A cat: sleeps?!"]


@pytest.fixture(scope="module")
def released_model() -> bytes:
    """A sentencepiece model like the releases', with other specials and some unknown characters."""
    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text.lower() for text in SENTENCES]),
        model_writer=stream,
        vocab_size=300,
        character_coverage=0.98,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return stream.getvalue()


def released_pieces(model: bytes, text: str) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return " ".join(processor.encode_as_pieces(text.lower())).split()


def released_vocabulary(model: bytes) -> dict[str, int]:
    """Pieces by frequency, unknown characters unchanged, and the unknown token last."""
    pieces = [piece for text in TEXTS for piece in released_pieces(model, text)]
    ranked = sorted(dict.fromkeys(pieces), key=pieces.count, reverse=True)
    return {piece: row for row, piece in enumerate([*ranked, UNKNOWN])}


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


def save(path: Path, value: Any, is_zip: bool = True) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=is_zip)
    return path


def run(path: Path, texts: list[str], **choices: Any) -> tuple[Converted, np.ndarray]:
    converted = convert(path, path.parent / "out", Choices(**choices), overwrite=True)
    return converted, SentenceEncoder.from_pretrained(path.parent / "out").encode(texts)


@pytest.mark.parametrize("is_zip", [True, False])
def test_the_average_of_pieces(tmp_path: Path, released_model: bytes, is_zip: bool) -> None:
    vocabulary = released_vocabulary(released_model)
    saved = checkpoint(vocabulary)
    path = save(tmp_path / "m.pt", saved, is_zip)
    with pytest.raises(DataError, match=r"sp\.model"):
        run(path, TEXTS)
    (tmp_path / "sp.model").write_bytes(released_model)
    converted, vectors = run(path, TEXTS)
    table = saved["state_dict"]["embedding.weight"].numpy()
    expected = [
        table[[vocabulary[piece] for piece in released_pieces(released_model, text)]].mean(0)
        for text in TEXTS
    ]
    single = [text for text in TEXTS if is_exact(released_model, text)]
    assert len(single) > 15
    for text, ours, theirs in zip(TEXTS, vectors, expected, strict=True):
        if text in single:
            np.testing.assert_allclose(ours, theirs, atol=1e-6, err_msg=text)
    assert converted.kind == "pieces"


def is_exact(model: bytes, text: str) -> bool:
    """Return whether a text has no run of several unknown characters."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    known = {processor.id_to_piece(i) for i in range(processor.get_piece_size())}
    return all(piece in known or len(piece) == 1 for piece in released_pieces(model, text))


def test_characters_without_pieces_keep_their_rows(tmp_path: Path, released_model: bytes) -> None:
    vocabulary = released_vocabulary(released_model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=released_model)
    pieces = {processor.id_to_piece(i) for i in range(processor.get_piece_size())}
    single = [piece for piece in vocabulary if len(piece) == 1 and piece not in pieces]
    assert single
    (tmp_path / "sp.model").write_bytes(released_model)
    saved = checkpoint(vocabulary)
    _, vectors = run(save(tmp_path / "m.pt", saved), [f"the {single[0]} cat"])
    ids = [vocabulary[p] for p in released_pieces(released_model, f"the {single[0]} cat")]
    expected = saved["state_dict"]["embedding.weight"].numpy()[ids].mean(0)
    np.testing.assert_allclose(vectors[0], expected, atol=1e-6)


def test_every_loader_gives_the_same_vectors(tmp_path: Path, released_model: bytes) -> None:
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    (tmp_path / "sp.model").write_bytes(released_model)
    _, vectors = run(
        save(tmp_path / "m.pt", checkpoint(released_vocabulary(released_model))), TEXTS
    )
    stock = SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(stock, vectors, atol=1e-5)
    model = AutoModel.from_pretrained(tmp_path / "out")
    batch = AutoTokenizer.from_pretrained(tmp_path / "out")(
        TEXTS, padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        found = model(batch["input_ids"], batch["attention_mask"]).sentence_embedding.numpy()
    np.testing.assert_allclose(found, vectors, atol=1e-5)


def test_a_piece_without_a_row_keeps_the_direction(tmp_path: Path, released_model: bytes) -> None:
    vocabulary = released_vocabulary(released_model)
    saved = checkpoint(vocabulary)
    text = TEXTS[0]
    ids = [vocabulary[piece] for piece in released_pieces(released_model, text)]
    lost = ids.pop(1)
    ids = [row for row in ids if row != lost]
    saved["vocab"] = {piece: row for piece, row in vocabulary.items() if row != lost}
    (tmp_path / "sp.model").write_bytes(released_model)
    converted, (ours,) = run(save(tmp_path / "m.pt", saved), [text])
    theirs = saved["state_dict"]["embedding.weight"].numpy()[ids].mean(0)
    cosine = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
    assert cosine == pytest.approx(1, abs=1e-6)
    assert any(" pieces " in difference for difference in converted.differences)


def test_unknown_pieces_share_a_row(tmp_path: Path, released_model: bytes) -> None:
    vocabulary = released_vocabulary(released_model)
    saved = checkpoint(vocabulary, zero_unk=0)
    text = TEXTS[0]
    pieces = released_pieces(released_model, text)
    saved["vocab"] = {piece: row for piece, row in vocabulary.items() if piece != pieces[1]}
    (tmp_path / "sp.model").write_bytes(released_model)
    _, (ours,) = run(save(tmp_path / "m.pt", saved), [text])
    ids = [saved["vocab"].get(piece, saved["vocab"][UNKNOWN]) for piece in pieces]
    theirs = saved["state_dict"]["embedding.weight"].numpy()[ids].mean(0)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_sim_treats_row_0_as_unknown(tmp_path: Path, released_model: bytes) -> None:
    vocabulary = released_vocabulary(released_model)
    full = checkpoint(vocabulary)
    saved = {
        "state_dict": full["state_dict"],
        "vocab_words": vocabulary,
        "args": argparse.Namespace(dim=DIM, gpu=0),
    }
    (tmp_path / "sim.sp.30k.model").write_bytes(released_model)
    texts = TEXTS[:8]
    given = str(tmp_path / "sim.sp.30k.model")
    _, vectors = run(save(tmp_path / "sim.pt", saved), texts, vocabulary=given)
    table = saved["state_dict"]["embedding.weight"].numpy()
    has_zero = 0
    for text, ours in zip(texts, vectors, strict=True):
        ids = [vocabulary[piece] for piece in released_pieces(released_model, text)]
        has_zero += 0 in ids
        theirs = table[[row for row in ids if row]].mean(0)
        cosine = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
        assert cosine == pytest.approx(1, abs=1e-5)
    assert has_zero


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_the_blstm(tmp_path: Path, released_model: bytes, pool: str) -> None:
    vocabulary = released_vocabulary(released_model)
    saved = checkpoint(vocabulary, pool=pool, model="lstm")
    lstm = torch.nn.LSTM(DIM, 5, bidirectional=True, batch_first=True)
    torch.nn.init.normal_(lstm.bias_hh_l0)  # torch's two biases, both trained
    saved["state_dict"] |= {f"lstm.{name}": value for name, value in lstm.state_dict().items()}
    (tmp_path / "sp.model").write_bytes(released_model)
    texts = [text for text in TEXTS if is_exact(released_model, text)]
    converted, vectors = run(save(tmp_path / "m.pt", saved), texts)
    assert converted.kind == "pieces-blstm"
    for text, ours in zip(texts, vectors, strict=True):
        ids = [vocabulary[piece] for piece in released_pieces(released_model, text)]
        with torch.no_grad():
            states = lstm(saved["state_dict"]["embedding.weight"][ids][None])[0][0]
        theirs = states.mean(0) if pool == "mean" else states.max(0).values
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5, err_msg=text)


def test_trigrams(tmp_path: Path) -> None:
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


def test_words(tmp_path: Path) -> None:
    vocabulary = {"the": 0, "cat": 1, "n't": 2, UNKNOWN: 3}
    saved = checkpoint(vocabulary)
    path = save(tmp_path / "m.pt", saved)
    _, vectors = run(path, ["the cat does n't"], kind="words", spaced=True)
    table = saved["state_dict"]["embedding.weight"].numpy()
    np.testing.assert_allclose(vectors[0], table[:3].mean(0), atol=1e-6)


def test_one_of_two_languages(tmp_path: Path) -> None:
    saved = checkpoint({"the": 0, "cat": 1, UNKNOWN: 2})
    saved["state_dict"]["embedding_fr.weight"] = torch.full((3, DIM), 2.0)
    saved["vocab_fr"] = {"chat": 0, "le": 1, UNKNOWN: 2}
    path = save(tmp_path / "m.pt", saved)
    with pytest.raises(DataError, match="--side"):
        run(path, [], kind="words")
    _, second = run(path, ["le chat", "the cat"], kind="words", side="second")
    np.testing.assert_array_equal(second, [[2.0] * DIM, [0.0] * DIM])
    _, first = run(path, ["the cat"], kind="words", side="first")
    expected = saved["state_dict"]["embedding.weight"][:2].mean(0).numpy()
    np.testing.assert_allclose(first[0], expected, atol=1e-6)


def test_other_contents_are_refused(tmp_path: Path, released_model: bytes) -> None:
    good = checkpoint({"the": 0, UNKNOWN: 1})
    two_layers = torch.nn.LSTM(DIM, 2, num_layers=2).state_dict()
    cases: list[tuple[Any, str]] = [
        ([1], "state_dict"),
        ({"model": {}}, "state_dict"),
        ({**good, "state_dict": {"fc.weight": torch.ones(2)}}, r"fc\.weight"),
        ({**good, "state_dict": {}}, "table"),
        ({**good, "vocab": {"a": 9}}, "9.* 2"),
        (checkpoint({"the": 0, UNKNOWN: 1}, pool="max"), "max"),
        (
            {
                **good,
                "state_dict": {
                    **good["state_dict"],
                    **{f"lstm.{name}": value for name, value in two_layers.items()},
                },
            },
            "weight_ih_l1",
        ),
    ]
    for value, key in cases:
        with pytest.raises(DataError, match=key):
            run(save(tmp_path / "m.pt", value), [], kind="words")
    table = good["state_dict"]["embedding.weight"].double()
    for wrong in (float("nan"), 1e300):
        table[0, 0] = wrong
        good["state_dict"]["embedding.weight"] = table
        with pytest.raises(DataError, match=r"embedding\.weight"):
            run(save(tmp_path / "m.pt", good), [], kind="words")


def test_other_sentencepiece_models_are_refused(tmp_path: Path, released_model: bytes) -> None:
    path = save(tmp_path / "m.pt", checkpoint({"x1": 0, "x2": 1, UNKNOWN: 2}))
    (tmp_path / "sp.model").write_bytes(released_model)
    with pytest.raises(DataError, match=r"sp\.model"):
        run(path, [])
    (tmp_path / "sp.model").write_bytes(b"not a model")
    with pytest.raises(DataError, match=r"sp\.model"):
        run(path, [])
    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=stream,
        vocab_size=300,
        model_type="bpe",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (tmp_path / "sp.model").write_bytes(stream.getvalue())
    with pytest.raises(DataError, match="Unigram"):
        run(path, [])
