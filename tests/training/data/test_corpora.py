"""Corpora and files as sources of a recipe."""

from typing import Any

import datasets
import numpy as np
import pytest

from paraphrastic_hf.config.recipe import build
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.corpus import build_corpus, load_corpus
from paraphrastic_hf.training.data.sources import read_sources
from paraphrastic_hf.training.engine.paths import DATA_ROOT_VARIABLE, dataset_folder
from paraphrastic_hf.training.engine.recipe import SourceArguments
from tests.training.runs import recipe_of

EN = ["a cat sleeps", "a dog barks", "no"]
FR = ["un chat dort", "un chien aboie", "non"]


def recipe(**source: object) -> ContrastiveRecipe:
    return build(ContrastiveRecipe, {"data": {"sources": [source]}})


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "eval" / "multi30k"
    folder.mkdir(parents=True)
    for stem in ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"):
        (folder / f"{stem}.en").write_text("\n".join(EN) + "\n", encoding="utf-8")
        (folder / f"{stem}.fr").write_text("\n".join(FR) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("more", "given", "count"),
    [
        ({}, {}, 3),
        ({"options": {"min_words": 2}}, {}, 2),
        ({"data_dir": "eval/multi30k"}, {"languages": ["x", "y"]}, 3),  # the recipe's
    ],
)
def test_a_corpus_is_read_with_its_languages(more, given, count, root):
    dataset = {"name": "multi30k", "config": "en-fr", **more}
    (found,) = read_sources(recipe(dataset=dataset, **given), root)
    assert found.pairs == list(zip(EN, FR, strict=True))[:count]
    assert found.source.languages == given.get("languages", ["en", "fr"])
    assert found.source.name == "multi30k en-fr"


def test_a_missing_corpus_is_downloaded_unless_a_folder_was_given(tmp_path, monkeypatch):
    dataset = recipe(dataset={"name": "multi30k"}).data.sources[0].dataset
    assert dataset is not None
    monkeypatch.delenv(DATA_ROOT_VARIABLE, raising=False)
    assert dataset_folder(dataset, None) is None
    monkeypatch.setenv(DATA_ROOT_VARIABLE, str(tmp_path))
    assert dataset_folder(dataset, None) is None
    with pytest.raises(DataError):
        read_sources(recipe(dataset={"name": "multi30k"}), tmp_path)
    with pytest.raises(DataError):
        read_sources(recipe(dataset={"name": "multi3k"}), tmp_path)


def test_further_columns_stay_with_their_pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a cat\tcats\t0.5\t(S (NP))\nzzz\tzzz\t9\t(X)\na dog\tdogs\t0.25\t(S (VP))\n")
    rows = [{"one": "a cat", "two": "a dog", "cosine": 0.75, "tree": None}]
    text = f"data: {{sources: [{{path: {path}, beside: {{score: 3, parse: 4}}}}]}}"
    other = SourceArguments("rows", columns=["one", "two"], beside={"score": "cosine"})
    given = [(datasets.Dataset.from_list(rows), other)]
    sources = read_sources(recipe_of(tmp_path, text), None, given)
    tokenizer = WordTokenizer(["a", "cat", "cats", "dog", "dogs", "s", "np", "vp"])
    corpus = build_corpus(sources, tokenizer, tmp_path / "corpus")
    assert len(corpus) == 3
    assert corpus.beside["score"].tolist() == [0.5, 0.25, 0.75]
    parses = corpus.beside["parse"]
    assert [tokenizer.decode(parses[n]) for n in range(3)] == ["s np", "s vp", ""]
    assert np.isnan(load_corpus(tmp_path / "corpus").beside["score"]).sum() == 0


def test_file_columns_are_selected_by_number(tmp_path):
    (tmp_path / "pairs.tsv").write_text("1\ta\tb\t0.5\n2\tc\td\t0.25\n")
    path = f"path: {tmp_path / 'pairs.tsv'}"

    def sources(columns: str, beside: str) -> Any:
        source = f"{path}, columns: [{columns}], beside: {{score: {beside}}}"
        return read_sources(recipe_of(tmp_path, f"data: {{sources: [{{{source}}}]}}"), None)

    assert sources('"2", "3"', "4")[0].pairs == [("a", "b"), ("c", "d")]
    for columns, beside in (("a, b", "4"), *(('"2", "3"', bad) for bad in ("5", "cosine", "0"))):
        with pytest.raises(DataError):
            sources(columns, beside)


def test_too_large_a_share_of_bad_rows_stops_a_run(tmp_path, caplog):
    (tmp_path / "pairs.tsv").write_text("a cat\tthe cat\n" + "no tab here\n" * 4)
    text = f"data: {{sources: [{tmp_path / 'pairs.tsv'}], max_bad_rows: %s}}"
    with pytest.raises(DataError):
        read_sources(recipe_of(tmp_path, text % 0.2), None)
    assert read_sources(recipe_of(tmp_path, text % 0.8), None)[0].pairs == [("a cat", "the cat")]
    assert " 1 " in caplog.text  # warning of too few pairs
