import random
import sys
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf import LanguageScorer, load_dataset, train
from paraphrastic_hf.config.packaged_recipes import find_recipe
from paraphrastic_hf.errors import DataError, MissingExtraError, ModelError
from paraphrastic_hf.pipelines.steps.registry import make_step
from paraphrastic_hf.training.kinds import load_recipe
from tests.corpora.made_files import put

WORDS = ["river", "stone", "green", "walks", "house", "bird", "slow", "night", "old", "sea"]


def pairs(count):
    """References and translations, which a word gives away."""
    choice = random.Random(1)
    made = []
    for number in range(count):
        text = " ".join([*choice.choices(WORDS, k=5), str(number)])
        made.append((f"well {text}", f"{text} thereof"))
    return made


def write(path, rows):
    if path.suffix == ".parquet":
        path.parent.mkdir(parents=True, exist_ok=True)
        table = {"reference": [a for a, _ in rows], "translation": [b for _, b in rows]}
        pq.write_table(pa.table(table), path)
        return path
    lines = "".join(f"{a}\t{b}\n" for a, b in [("reference", "translation"), *rows])
    return put(path.parent, {path.name: lines}) / path.name


def made(place, **options):
    found = load_dataset("machine_text", data_dir=place, streaming=True, **options)
    return {
        split: [(row["text"], rows.features["label"].int2str(row["label"])) for row in rows]
        for split, rows in found.items()
    }


def test_machine_text_keeps_both_sides_of_a_pair_in_one_split(tmp_path):
    rows = pairs(60)
    corpus = tmp_path / "corpus"
    write(corpus / "data" / "train-00000.parquet", rows[:30])
    write(corpus / "data" / "train-00001.parquet", rows[30:])
    write(corpus / "rejects" / "train-00000.parquet", [("left", "out")])
    sizes = {"train_rows": 60, "test_rows": 20}
    splits = made(corpus, **sizes)
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [60, 20, 20]
    known = {a: ("reference", b) for a, b in rows} | {b: ("translation", a) for a, b in rows}
    for found in splits.values():
        texts = {text for text, _ in found}
        assert all(known[text] == (label, known[text][1]) for text, label in found)
        assert all(known[text][1] in texts for text in texts)
    table = write(tmp_path / "pairs.tsv", rows)
    assert {t for f in made(table, **sizes).values() for t, _ in f} <= set(known)
    with pytest.raises(DataError):
        made(table, train_rows=3, test_rows=2)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Sentence 1\tSentence 2", "{a}\t{b}\t0.5"),
        ("score\ttranslation\treference", "0.5\t{b}\t{a}"),
    ],
)
def test_machine_text_uses_named_columns_and_skips_bad_rows(header, row, tmp_path, caplog):
    lines = [header, *(row.format(a=a, b=b) for a, b in pairs(10)), "no second side"]
    path = put(tmp_path, {"pairs.tsv": "\n".join(lines) + "\n"}) / "pairs.tsv"
    splits = made(path, train_rows=18, test_rows=2)
    known = {a: "reference" for a, _ in pairs(10)} | {b: "translation" for _, b in pairs(10)}
    assert {t: label for found in splits.values() for t, label in found} == known
    assert "(pairs.tsv:12)" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reference-averaging", "reference-lstm"])
def test_a_trained_classifier_is_a_step(name, tmp_path):
    corpus = write(tmp_path / "pairs.tsv", pairs(300))
    small = ["--data_dir", str(corpus), "--hidden_size", "16", "--epochs", "8"]
    small += ["--batch_size", "20", "--task.dataset.options", "{train_rows: 400, test_rows: 80}"]
    small += ["--vocab_size", "400", "--learning_rate", "0.05"]
    train(load_recipe(find_recipe(name), small), tmp_path / "run")
    rows = [{"translation": a, "reference": b} for a, b in pairs(20)]

    def score(rows, **options):
        return make_step("reference", {"model": str(tmp_path / "run"), **options}).score(rows)

    assert min(score(rows, at_least=0.5)) > 0.8
    assert max(score(rows, of="reference")) < 0.2
    assert score([]) == []
    with pytest.raises(ModelError):
        score(rows, label="human")


@pytest.mark.slow
def test_cross_entropy_is_the_log_perplexity(tmp_path):
    write(tmp_path / "pairs.tsv", [(a, a) for a, _ in pairs(100)])
    small = ["--sources", str(tmp_path / "pairs.tsv"), "--epochs", "1"]
    recipe = load_recipe(find_recipe("language-model/smoke"), small)
    train(recipe, tmp_path / "run")
    step = make_step("cross_entropy", {"model": str(tmp_path / "run")})
    texts = ["well river stone", "stone", ""]
    found = step.score([{"translation": text} for text in texts])
    perplexity = LanguageScorer.from_pretrained(tmp_path / "run").score(texts).perplexity
    np.testing.assert_allclose(np.exp(found[:2]), perplexity[:2], rtol=1e-5)
    assert found[2] is None


class Model:
    """Replacement of `kenlm.Model`: every word has probability 1/10."""

    def __init__(self, path):
        if path == "damaged.arpa":
            raise OSError("no file")

    def score(self, text, bos, eos):
        assert bos
        assert eos
        return -float(len(text.encode().split(b" ")) + 1)


def test_kenlm_models_are_recognized_by_suffix(monkeypatch):
    kenlm = ModuleType("kenlm")
    kenlm.Model = Model
    monkeypatch.setitem(sys.modules, "kenlm", kenlm)
    step = make_step("cross_entropy", {"model": "x.arpa", "column": "trigrams"})
    assert step.name == "trigrams"
    texts = ["a b", " ", "a\u00a0b\tc", "a \ud800"]
    found = step.score([{"translation": text} for text in texts])
    ten = pytest.approx(2.302585)
    assert found == [ten, None, ten, ten]
    with pytest.raises(ModelError):
        make_step("cross_entropy", {"model": "damaged.arpa"}).score([{"translation": "a"}])


@pytest.mark.skipif(find_spec("kenlm") is not None, reason="kenlm is installed")
def test_a_missing_kenlm_mentions_the_extra():
    with pytest.raises(MissingExtraError):
        make_step("cross_entropy", {"model": "x.klm"}).score([{"translation": "a"}])
