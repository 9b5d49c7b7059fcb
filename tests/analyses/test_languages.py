import json
import sys

import numpy as np
import pytest

from paraphrastic_hf.analyses import distances as d
from paraphrastic_hf.analyses.language_scores import bitext_folders, of_one_model, of_runs
from paraphrastic_hf.analyses.languages import Language, languages, piece_overlap
from paraphrastic_hf.errors import DataError, ModelError, RecipeError
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.kinds import load_contrastive
from tests.analyses.made import DEMO, word_encoder
from tests.corpora.made_files import put
from tests.evaluation.sts_files import write_sts


def test_overlap_is_the_share_of_english_pieces():
    tokenizer = WordTokenizer(["the", "cat", "sat", "on", "le", "chat"])
    assert piece_overlap(tokenizer, ["the cat sat", "the cat on"], ["le cat", "the chat"]) == 0.5
    with pytest.raises(DataError):
        piece_overlap(tokenizer, ["zebra"], ["le"])


def made(count=6):
    """Overlap rises with the score, distance falls, and the last has no syntax distance."""
    found = []
    for i in range(count):
        distances = {"features": 1 - i / 10} | ({} if i == count - 1 else {"syntax": i / 10})
        found.append(Language(f"l{i}", 100, 0.1 + i / 10, 50.0 + i * i, distances))
    return found


def test_correlations_of_all_low_and_high_overlap():
    analysis = languages(made(8), unit="accuracy", source="made", threshold=0.45)
    table, each = analysis.tables
    assert table.columns[2:] == ["SP overlap", "features", "syntax"]
    assert table.rows[0] == ["all", 8, 100, -100, 100]
    assert table.rows[1] == ["thesis, all", None, 71.5, -22.8, None]
    assert table.rows[2][:2] == ["overlap <= 0.45", 4]
    assert table.rows[4][1:] == [4, 100, -100, None]  # syntax: of three languages only
    assert each.rows[0] == ["l7", 100, pytest.approx(0.8), pytest.approx(0.3), None, 99.0]


def test_few_languages_are_refused_and_constants_have_no_correlation():
    with pytest.raises(DataError):
        languages(made(3), unit="accuracy", source="made")
    alike = [Language(str(i), 1, 0.5, float(i), {"features": 0.2}) for i in range(4)]
    assert languages(alike, unit="u", source="s").tables[0].rows[0][2:] == [None, None]


def uriel(folder):
    """English, German and Basque, with two features of each kind."""
    folder.mkdir(parents=True)
    (folder / "letter_codes.json").write_text(json.dumps({"de": "deu", "en": "eng"}))
    langs = np.array(["deu", "eng", "eus"])
    feats = np.array(["S_A", "S_B", "P_A", "P_B", "INV_A", "INV_B"])
    english, german, basque = [1, 0, 1, 1, 1, 0], [1, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0]
    data = np.array([german, english, basque], np.float32)[:, :, None]
    np.savez(folder / "feature_predictions.npz", data=data, langs=langs, feats=feats)
    for name in ("family_features.npz", "geocoord_features.npz"):
        one = np.ones((3, 1, 1), np.float32)
        np.savez(folder / name, data=one, langs=langs, feats=np.array(["F"]))
    return folder


def test_distances_by_hand(tmp_path):
    found = d.uriel_distances(["de", "eus", "xx"], uriel(tmp_path / "data"))
    assert set(found) == {"de", "eus"}
    assert found["de"]["syntax"] == pytest.approx(1 - 1 / np.sqrt(2))
    assert found["eus"]["syntax"] == pytest.approx(1)
    assert found["de"]["phonology"] == pytest.approx(0)
    assert found["de"]["features"] == pytest.approx(1 - 6 / np.sqrt(6 * 7))
    assert list(found["de"]) == ["features", *d.FILES]


def test_missing_lang2vec_data_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(DataError):
        d.uriel_distances(["de"])
    with pytest.raises(DataError):
        d.uriel_distances(["de"], tmp_path)


def test_lang2vec_is_found_without_running_its_code(monkeypatch, tmp_path):
    uriel(tmp_path / "lang2vec" / "data")
    (tmp_path / "lang2vec" / "__init__.py").write_text("raise ImportError('pkg_resources')\n")
    put(tmp_path, {"lang2vec-1.1.2.dist-info/METADATA": "Name: lang2vec\nVersion: 1.1.2\n"})
    put(tmp_path / "bin", {"lang2vec.py": "the script it installs beside ours"})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "bin"), str(tmp_path), *sys.path])
    assert set(d.uriel_distances(["de"])) == {"de"}


def test_distance_tables_are_validated(tmp_path):
    put(tmp_path, {"a.tsv": "language\tfeatures\tsyntax\nde\t0.3\t0.5\n\nfr\t0.4\t0.1\n"})
    found = d.read_distances(tmp_path / "a.tsv")
    assert found == {"de": {"features": 0.3, "syntax": 0.5}, "fr": {"features": 0.4, "syntax": 0.1}}
    put(tmp_path, {"b.tsv": "de 0.3\n", "c.tsv": "l\tf\nde\n", "e.tsv": "l\tf\nde\tfar\n"})
    for name, place in (("b", ""), ("c", ":2"), ("e", ":2.*'far'")):
        with pytest.raises(DataError, match=rf"{name}\.tsv{place}"):
            d.read_distances(tmp_path / f"{name}.tsv")


# Scores

CODES = ("deu", "fra", "nld", "spa")


def tatoeba(folder):
    """Write two sentences per language. German and French share one English word, Dutch both."""
    foreign = {"deu": ["cat", "hund"], "fra": ["chat", "dog"], "nld": ["cat", "dog"]}
    files = {}
    for code, lines in (foreign | {"spa": ["gato", "perro"]}).items():
        stem = f"tatoeba/tatoeba.{code}-eng."
        files |= {f"{stem}eng": "cat\ndog\n", f"{stem}{code}": "\n".join(lines) + "\n"}
    return put(folder, files)


def tiny_encoder():
    return word_encoder({"cat": (1, 0), "dog": (0, 1), "gato": (0.1, 1), "perro": (1, 0.1)})


def test_one_model_has_accuracy_and_overlap_by_language(tmp_path):
    distances = {code: {"features": i / 10} for i, code in enumerate(CODES)}
    found = of_one_model(tiny_encoder(), tatoeba(tmp_path), distances)
    assert [item.name for item in found] == list(CODES)
    assert [item.overlap for item in found] == [0.5, 0.5, 1.0, 0.0]
    assert [item.score for item in found] == [50.0, 50.0, 100.0, 0.0]
    only = {"nld": {"features": 0.1}}
    assert [item.name for item in of_one_model(tiny_encoder(), tmp_path, only)] == ["nld"]


def test_overlap_can_be_measured_on_bitext(tmp_path):
    tatoeba(tmp_path / "eval")
    rows = {"de": "cat\thund\n" * 3, "nl": "cat\tcat\ndog\thond\ndog\tx\n", "es": "cat\tgato\n"}
    put(tmp_path / "train", {f"en-{name}/a.tsv.gz": text for name, text in rows.items()})
    put(tmp_path / "train", {"en-en/a.tsv": "cat\tcat\n", "en-fr/README": ""})
    distances = {name: {"features": 0.1} for name in ("de", "nl", "es", "fr")}
    found = of_one_model(
        tiny_encoder(), tmp_path / "eval", distances, bitext=tmp_path / "train", pairs=3
    )
    assert [(item.name, item.overlap, item.pairs) for item in found] == [
        ("de", 0, 3),
        ("nl", 0.5, 3),
    ]
    with pytest.raises(DataError):
        bitext_folders(tmp_path / "eval")
    with pytest.raises(ModelError):
        of_one_model(object(), tmp_path, {})


def of_demo(folder, *settings):
    put(folder, {"given.yaml": "data: {sources: [none.tsv]}"})
    settings = (*settings, "--epochs", "1", "--mega_batch", "1", "--development", "clean")
    return load_contrastive(folder / "given.yaml", settings)


@pytest.mark.slow
def test_a_model_is_trained_for_each_language_with_enough_pairs(tmp_path):
    text = DEMO.read_text()
    put(tmp_path / "train", {f"en-{name}/a.tsv": text for name in ("de", "nl", "xx")})
    put(tmp_path / "train", {"en-es/a.tsv": "cat\tgato\n"})
    options = ["--tokenizer.kind", "word", "--vocab_size", "300", "--hidden_size", "4"]
    recipe = of_demo(tmp_path, *options)
    distances = {name: {"features": 0.1} for name in ("de", "nl", "es")}
    folders = tmp_path / "out", tmp_path / "train"
    with pytest.raises(DataError):  # missed before training
        of_runs(recipe, *folders, distances, pairs=40, data_root=tmp_path)
    assert not folders[0].exists()
    write_sts(tmp_path / "eval")
    found = of_runs(recipe, *folders, distances, pairs=40, data_root=tmp_path)
    assert [(item.name, item.pairs) for item in found] == [("de", 40), ("nl", 40)]
    assert found[0].score == found[1].score  # the same text
    assert 0 < found[0].overlap < 1
    assert {path.name for path in (tmp_path / "out" / "runs").iterdir()} == {"de-40", "nl-40"}
    put(tmp_path / "train", {"en-de/a.tsv": text.replace("cat", "dog")})
    with pytest.raises(RecipeError):
        of_runs(recipe, *folders, distances, pairs=40, data_root=tmp_path)


@pytest.mark.slow
def test_with_apart_the_overlap_ignores_marks(tmp_path):
    put(tmp_path / "train", {"en-de/a.tsv": DEMO.read_text()})
    write_sts(tmp_path / "eval")
    options = ["--hidden_size", "8", "--vocab_size", "150", "--input_sentence_size", "0"]
    recipe, folders = of_demo(tmp_path, *options), (tmp_path / "out", tmp_path / "train")
    given = {"de": {"features": 0.1}}
    (found,) = of_runs(recipe, *folders, given, pairs=40, apart=True, data_root=tmp_path)
    assert found.overlap > 0.5  # both sides are English
    run = tmp_path / "out" / "runs" / "de-40-apart"
    assert load_contrastive(run / "recipe.yaml").tokenizer.apart == ["de"]
    rows = languages(made(8), unit="r", source="made", apart=True).tables[0].rows
    assert rows[1][:1] + rows[1][2:3] == ["thesis, all", 24.9]
