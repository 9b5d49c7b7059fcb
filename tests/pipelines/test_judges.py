"""Steps that score a side with a model."""

from __future__ import annotations

import logging
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf import LanguageScorer, load_dataset, train
from paraphrastic_hf.config.packaged_recipes import find_recipe
from paraphrastic_hf.errors import DataError, MissingExtraError, ModelError
from paraphrastic_hf.pipelines.steps.registry import make_step
from paraphrastic_hf.training.kinds import load_recipe

WORDS = ["river", "stone", "green", "walks", "house", "bird", "slow", "night", "old", "sea"]


def pairs(count: int) -> list[tuple[str, str]]:
    """References and translations, which a word gives away."""
    choice = random.Random(1)
    made = []
    for number in range(count):
        text = " ".join([*choice.choices(WORDS, k=5), str(number)])
        made.append((f"well {text}", f"{text} thereof"))
    return made


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        table = {"reference": [a for a, _ in rows], "translation": [b for _, b in rows]}
        pq.write_table(pa.table(table), path)
    else:
        lines = "".join(f"{a}\t{b}\n" for a, b in [("reference", "translation"), *rows])
        path.write_text(lines, encoding="utf-8")
    return path


def made(place: Path, **options: Any) -> dict[str, list[tuple[str, str]]]:
    found = load_dataset("machine_text", data_dir=place, streaming=True, **options)
    return {
        split: [(row["text"], rows.features["label"].int2str(row["label"])) for row in rows]
        for split, rows in found.items()
    }


def test_machine_text_keeps_both_sides_of_a_pair_in_one_split(tmp_path: Path) -> None:
    rows = pairs(60)
    corpus = tmp_path / "corpus"
    write(corpus / "data" / "train-00000.parquet", rows[:30])
    write(corpus / "data" / "train-00001.parquet", rows[30:])
    write(corpus / "rejects" / "train-00000.parquet", [("left", "out")])
    sizes = {"train_rows": 60, "test_rows": 20}
    splits = made(corpus, **sizes)
    assert {name: len(found) for name, found in splits.items()} == {
        "train": 60,
        "validation": 20,
        "test": 20,
    }
    known = {a: ("reference", b) for a, b in rows} | {b: ("translation", a) for a, b in rows}
    for found in splits.values():
        texts = {text for text, _ in found}
        assert all(known[text] == (label, known[text][1]) for text, label in found)
        assert all(known[text][1] in texts for text in texts)
    table = write(tmp_path / "pairs.tsv", rows)
    assert {t for f in made(table, **sizes).values() for t, _ in f} <= set(known)
    with pytest.raises(DataError):
        made(table, train_rows=3, test_rows=2)


def test_machine_text_skips_headers_and_bad_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = pairs(10)
    path = tmp_path / "pairs.tsv"
    lines = ["Sentence 1\tSentence 2", *(f"{a}\t{b}\t0.5" for a, b in rows), "no second side"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        splits = made(path, train_rows=18, test_rows=2)
    assert {t for found in splits.values() for t, _ in found} <= {t for row in rows for t in row}
    assert "(pairs.tsv:12)" in caplog.text


def test_machine_text_uses_named_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    lines = ["score\ttranslation\treference", *(f"0.5\t{b}\t{a}" for a, b in pairs(10))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    splits = made(path, train_rows=18, test_rows=2)
    known = {a: "reference" for a, _ in pairs(10)} | {b: "translation" for _, b in pairs(10)}
    assert {t: label for found in splits.values() for t, label in found} == known


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reference-averaging", "reference-lstm"])
def test_a_trained_classifier_is_a_step(name: str, tmp_path: Path) -> None:
    corpus = write(tmp_path / "pairs.tsv", pairs(300))
    small = ["--data_dir", str(corpus), "--hidden_size", "16", "--epochs", "8"]
    small += ["--batch_size", "20", "--task.dataset.options", "{train_rows: 400, test_rows: 80}"]
    small += ["--vocab_size", "400", "--learning_rate", "0.05"]
    recipe = load_recipe(find_recipe(name), small)
    train(recipe, tmp_path / "run")
    step = make_step("reference", {"model": str(tmp_path / "run"), "at_least": 0.5})
    rows = [{"translation": a, "reference": b} for a, b in pairs(20)]
    assert min(step.score(rows)) > 0.8
    step = make_step("reference", {"model": str(tmp_path / "run"), "of": "reference"})
    assert max(step.score(rows)) < 0.2
    assert step.score([]) == []
    with pytest.raises(ModelError):
        make_step("reference", {"model": str(tmp_path / "run"), "label": "human"}).score(rows)


@pytest.mark.slow
def test_cross_entropy_is_the_log_perplexity(tmp_path: Path) -> None:
    write(tmp_path / "pairs.tsv", [(a, a) for a, _ in pairs(100)])
    small = ["--sources", str(tmp_path / "pairs.tsv"), "--epochs", "1"]
    recipe = load_recipe(find_recipe("language-model/smoke"), small)
    train(recipe, tmp_path / "run")
    step = make_step("cross_entropy", {"model": str(tmp_path / "run")})
    texts = ["well river stone", "stone", ""]
    found = step.score([{"translation": text} for text in texts])
    perplexity = LanguageScorer.from_pretrained(tmp_path / "run").score(texts).perplexity
    import numpy as np

    np.testing.assert_allclose(np.exp(found[:2]), perplexity[:2], rtol=1e-5)
    assert found[2] is None


class Model:
    """Replacement of `kenlm.Model`: every word has probability 1/10."""

    def __init__(self, path: str) -> None:
        if path == "damaged.arpa":
            raise OSError("no file")

    def score(self, text: str, bos: bool, eos: bool) -> float:
        assert bos
        assert eos
        return -float(len(text.encode().split(b" ")) + 1)


def test_kenlm_models_are_recognized_by_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    kenlm = ModuleType("kenlm")
    kenlm.Model = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kenlm", kenlm)
    step = make_step("cross_entropy", {"model": "x.arpa", "column": "trigrams"})
    assert step.name == "trigrams"
    texts = ["a b", " ", "a\u00a0b\tc", "a \ud800"]
    found = step.score([{"translation": text} for text in texts])
    ten = pytest.approx(2.302585)
    assert found == [ten, None, ten, ten]
    with pytest.raises(ModelError):
        make_step("cross_entropy", {"model": "damaged.arpa"}).score([{"translation": "a"}])


def test_a_missing_kenlm_mentions_the_extra() -> None:
    try:
        import kenlm  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(MissingExtraError):
            make_step("cross_entropy", {"model": "x.klm"}).score([{"translation": "a"}])
    else:
        pytest.skip("kenlm is installed")
