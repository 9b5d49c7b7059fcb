"""`paraphrastic data`."""

import json

import datasets
import pytest

from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.errors import counted

PARANMT = "a big cat\tone large cat\t0.9\nyes\tyes\t1.0\nfog\train\t0.1\n"
TREC = {"train_5500.label": "HUM:ind Who ?\nNUM:dist How far ?\n", "TREC_10.label": "NUM:x 1 ?\n"}


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    """A folder of two small corpora, with the caches beside it."""
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "rows"))
    folder = tmp_path / "corpora"
    (folder / "paranmt").mkdir(parents=True)
    (folder / "paranmt" / "para-nmt-50m.txt").write_text(PARANMT)
    (folder / "trec").mkdir()
    for name, text in TREC.items():
        (folder / "trec" / name).write_text(text, encoding="latin-1")
    return folder


def test_list_has_every_corpus_as_text_and_as_json(run):
    lines = {line.split()[0]: line for line in run("data", "list").out.splitlines()[1:]}
    found = {each["name"]: each for each in json.loads(run("data", "list", "--json").out)}
    assert list(lines) == list(found) == list(SOURCES)
    for name, source in SOURCES.items():
        assert source.license in lines[name]
        assert ("by hand" in lines[name]) != found[name]["downloads"]
    assert found["sick"]["configs"]["default"]["train"] == 4500


@pytest.mark.parametrize("name", SOURCES)
def test_info_has_source_license_and_downloads(name, run):
    source, shown = SOURCES[name], run("data", "info", name).out
    facts = (source.summary, source.license, source.by_hand, *(file.url for file in source.files))
    assert all(fact in shown for fact in facts)
    assert name != "sick" or "| default | 4,500 | 500 | 4,927 |" in shown


def test_build_counts_and_saves_rows(corpora, tmp_path, run):
    counts = run("data", "build", "trec", "--data", corpora).out.splitlines()
    assert [line.split(": ")[0] for line in counts] == ["trec coarse train", "trec coarse test"]
    assert all(count in line for count, line in zip(("5,452", "500"), counts, strict=True))
    given = ["--config", "fine", "--data", corpora / "trec", "--output", tmp_path / "saved"]
    run("data", "build", "trec", *given)
    saved = datasets.load_from_disk(str(tmp_path / "saved"))
    assert saved["train"]["label"][:] == ["HUM:ind", "NUM:dist"]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ("min_score=0.5", 2),
        ("min_score=0.5 max_score=0.95", 1),
        ("min_words=2", 1),
        ("max_words=1", 2),
        ("min_score=2e-1", 2),
    ],
)
def test_options_of_a_corpus_are_set(options, count, corpora, run):
    shown = run("data", "build", "paranmt", "--data", corpora, "--set", *options.split()).out
    assert shown.startswith(f"paranmt 50m train: {counted(count, 'row')}")


def test_stats_are_json_by_split(corpora, run):
    given = ["paranmt", "--data", corpora, "--set", "max_score=0.95"]
    found = json.loads(run("data", "stats", *given).out)["splits"]["train"]
    assert (found["rows"], found["repeated_rows"], found["score"]["low"]) == (2, 0, 0.1)
    assert found["words"]["sentence1"] == {"mean": 2.0, "shortest": 1, "longest": 3}
    whole = json.loads(run("data", "stats", "trec", "--data", corpora).out)
    assert (whole["corpus"], whole["config"]) == ("trec", "coarse")
    assert whole["splits"]["train"]["labels"] == {"HUM": 1, "NUM": 1}


def test_corpora_are_found_in_the_folder_eval_and_by_the_environment(corpora, run, monkeypatch):
    expected = run("data", "build", "trec", "--data", corpora).out
    root = corpora.parent / "all"
    root.mkdir()
    corpora.rename(root / "eval")
    assert run("data", "build", "trec", "--data", root).out == expected
    monkeypatch.setenv("PARAPHRASTIC_DATA", str(root))
    assert run("data", "build", "trec").out == expected
    lines = run("data", "counts").out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| paranmt", "| trec"]


@pytest.mark.parametrize("arguments", ["", "lst", "info", "export sick", "list --x"])
def test_wrong_arguments_print_the_usage(arguments, run):
    assert "usage: paraphrastic" in run("data", *arguments.split(), status=2).err
