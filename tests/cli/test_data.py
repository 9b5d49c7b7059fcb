"""`paraphrastic data` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.errors import counted

PARANMT = "a big cat\tone large cat\t0.9\nyes\tyes\t1.0\nfog\train\t0.1\n"
TREC = {"train_5500.label": "HUM:ind Who ?\nNUM:dist How far ?\n", "TREC_10.label": "NUM:x 1 ?\n"}


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two small corpora; caches are kept beside it."""
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "rows"))
    folder = tmp_path / "corpora"
    (folder / "paranmt").mkdir(parents=True)
    (folder / "paranmt" / "para-nmt-50m.txt").write_text(PARANMT, encoding="utf-8")
    (folder / "trec").mkdir()
    for name, text in TREC.items():
        (folder / "trec" / name).write_text(text, encoding="latin-1")
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command that must succeed prints."""
    assert main(["data", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line of a command that must fail."""
    assert main(["data", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("paraphrastic")]
    assert "Traceback" not in captured.err
    assert len(lines) == 1
    return lines[0]


def test_list_has_a_line_a_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = said(capsys, "list").splitlines()
    assert head.split() == ["corpus", "rows", "are", "configs", "download", "licence"]
    assert [line.split()[0] for line in lines] == list(SOURCES)
    by_name = {line.split()[0]: line for line in lines}
    assert "by hand" in by_name["twitter"]
    assert "by hand" not in by_name["sick"]
    assert all(source.licence in by_name[name] for name, source in SOURCES.items())


@pytest.mark.parametrize("name", list(SOURCES))
def test_info_says_what_a_corpus_is_and_how_to_get_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source, shown = SOURCES[name], said(capsys, "info", name)
    assert shown.startswith(f"{name}: {source.summary}")
    assert source.licence in shown
    assert source.by_hand in shown
    assert all(remote.url in shown for remote in source.files)


def test_info_shows_the_published_rows(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "info", "sick")
    assert "| default | 4,500 | 500 | 4,927 |" in shown


def test_build_counts_rows_beside_the_published_ones(
    corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "build", "trec", "--data", corpora).splitlines() == [
        "trec coarse train: 2 rows (published: 5,452)",
        "trec coarse test: 1 row (published: 500)",
    ]
    assert "trec fine train: 2" in said(
        capsys, "build", "trec", "--config", "fine", "--data", corpora
    )


def test_build_saves_what_load_from_disk_reads(
    corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "saved"
    said(
        capsys,
        "build",
        "trec",
        "--config",
        "fine",
        "--data",
        corpora / "trec",
        "--output",
        place,
    )
    assert datasets.load_from_disk(str(place))["train"]["label"][:] == ["HUM:ind", "NUM:dist"]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["min_score=0.5"], 2),
        (["min_score=0.5", "max_score=0.95"], 1),
        (["min_words=2"], 1),
        (["max_words=1"], 2),
        (["min_score=2e-1"], 2),
    ],
    ids=str,
)
def test_options_of_a_corpus_are_set(
    options: list[str], count: int, corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, "build", "paranmt", "--data", corpora, "--set", *options)
    assert shown.startswith(f"paranmt 50m train: {counted(count, 'row')}")


def test_stats_are_json_after_the_name_of_the_split(
    corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, "stats", "paranmt", "--data", corpora, "--set", "max_score=0.95")
    title, _, text = shown.partition("\n")
    assert title == "paranmt 50m train"
    found = json.loads(text)
    assert (found["rows"], found["repeated_rows"]) == (2, 0)
    assert found["words"]["sentence1"] == {"mean": 2.0, "shortest": 1, "longest": 3}
    assert found["score"]["low"] == 0.1


def test_stats_of_classes_are_by_name(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "stats", "trec", "--data", corpora)
    train, _, test = shown.partition("trec coarse test\n")
    assert json.loads(train.partition("\n")[2])["labels"] == {"HUM": 1, "NUM": 1}
    assert json.loads(test)["labels"] == {"NUM": 1}


def test_stats_for_programs_are_one_json_value(
    corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(said(capsys, "stats", "trec", "--data", corpora, "--json"))
    assert (found["corpus"], found["config"]) == ("trec", "coarse")
    assert {split: shown["rows"] for split, shown in found["splits"].items()} == {
        "train": 2,
        "test": 1,
    }


def test_the_list_for_programs_has_every_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    found = {each["name"]: each for each in json.loads(said(capsys, "list", "--json"))}
    assert list(found) == list(SOURCES)
    assert found["sick"]["downloads"]
    assert not found["twitter"]["downloads"]
    assert found["sick"]["configs"]["default"]["train"] == 4500


def test_corpora_are_found_in_the_folder_eval_and_by_the_environment(
    corpora: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = said(capsys, "build", "trec", "--data", corpora)
    (corpora.parent / "all").mkdir()
    corpora.rename(corpora.parent / "all" / "eval")
    assert said(capsys, "build", "trec", "--data", corpora.parent / "all") == expected
    monkeypatch.setenv("PARAPHRASTIC_DATA", str(corpora.parent / "all"))
    assert said(capsys, "build", "trec") == expected
    assert "| trec |" in said(capsys, "counts")


def test_counts_make_a_table(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "counts", "--data", corpora).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| paranmt", "| trec"]


@pytest.mark.parametrize("action", ["info", "build", "stats"])
def test_an_unknown_corpus_names_the_nearest(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, action, "paranmtt")
    assert line == "paraphrastic data: there is no corpus 'paranmtt'; did you mean 'paranmt'?"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["trec", "--config", "course"],
            "trec has no configuration 'course'; did you mean 'coarse'?",
        ),
        (["europarl"], "europarl needs two language codes"),
        (["paranmt", "--set", "min_scor=1"], "no option 'min_scor'; did you mean 'min_score'?"),
        (["paranmt", "--set", "min_score"], "--set takes KEY=VALUE, got 'min_score'"),
        (["paranmt", "--set", "min_score=[1"], "cannot read the value of --min_score"),
        (["paranmt", "--set", "min_score=5"], "the split train holds no row"),
        (["paranmt", "--set", "split=train"], "--set split: paranmt has no such option"),
        (["sick"], "holds sick2014 or sick"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("action", ["build", "stats"])
def test_a_wrong_argument_is_one_line(
    action: str,
    arguments: list[str],
    message: str,
    corpora: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = refused(capsys, action, *arguments, "--data", corpora)
    assert message in line


@pytest.mark.parametrize("action", ["build", "stats"])
def test_an_option_of_the_wrong_kind_is_one_line(
    action: str, corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, action, "paranmt", "--data", corpora, "--set", "min_score=high")
    assert "min_score" in line


@pytest.mark.parametrize("action", ["build", "stats"])
def test_a_malformed_file_is_one_line_with_its_place(
    action: str, corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpora / "trec" / "TREC_10.label").write_text("NUM:x 1 ?\nOOPS 2 ?\n")
    line = refused(capsys, action, "trec", "--data", corpora)
    assert "TREC_10.label:2 is no `LABEL:kind question`" in line


@pytest.mark.parametrize("action", ["build", "stats"])
def test_a_missing_folder_is_one_line(
    action: str, corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, action, "trec", "--data", corpora / "none")
    assert line.startswith("paraphrastic data: trec: there is no folder ")


def test_counts_of_nothing_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "counts", "--data", tmp_path)
    assert "holds no folder of a corpus" in line


def test_a_corpus_to_fetch_by_hand_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "build", "twitter")
    assert "twitter cannot be downloaded by a program: ask its authors" in line


@pytest.mark.parametrize("arguments", [[], ["lst"], ["info"], ["export", "sick"], ["list", "--x"]])
def test_a_wrong_use_shows_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["data", *arguments])
    assert stopped.value.code == 2
    assert "usage: paraphrastic" in capsys.readouterr().err
