import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.cli.mine import MULTILINGUAL_RATIO
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.mining import files as module
from paraphrastic_hf.mining.files import MinedLines, TextSide, mine_lines
from paraphrastic_hf.mining.store import TextStore, check_folder
from tests.made import averaging


class Words:
    """Encodes a text as the sum of random word vectors, and records the texts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails_at = -1

    def encode(self, texts: list[str]) -> np.ndarray:
        if len(self.asked) == self.fails_at:
            raise KeyboardInterrupt
        self.asked += texts
        found = np.zeros((len(texts), 16), np.float32)
        for row, text in zip(found, texts, strict=True):
            for word in text.split():
                seed = int.from_bytes(word.encode()[:8].ljust(8), "little")
                row += np.random.default_rng(seed).standard_normal(16)
        return found


def side(*lines: str, stamp: str = "") -> TextSide:
    return TextSide([list(lines)], stamp)


def texts(mined: MinedLines) -> list[tuple[str, str]]:
    parts = list(mined.rows())
    return [pair for part in parts for pair in zip(part["source"], part["target"], strict=True)]


LINES = ["the cat", "a dog runs", "red house", "no way", "seven trees"]


def test_equal_lines_count_once_at_their_first_place(tmp_path):
    source = side("the cat", "a dog", " the cat ", "the cat")
    target = side("a dog", "a dog", "the cat")
    mined = mine_lines(source, target, Words(), tmp_path, score="cosine")
    lines = sorted(zip(mined.pairs.source.tolist(), mined.pairs.target.tolist(), strict=True))
    assert lines == [(0, 2), (1, 0)]
    encoder = Words()
    mined = mine_lines(side(*LINES), side(*LINES), encoder, tmp_path / "identical")
    assert sorted(texts(mined)) == sorted((line, line) for line in LINES)
    assert encoder.asked == LINES


@pytest.mark.parametrize("empty", [(), ("",), ("", " ", "\u3000\u00a0")])
def test_lines_without_text_are_in_no_pair(tmp_path, empty):
    for number, sides in enumerate(((empty, "a"), ("a", empty), (empty, empty))):
        mined = mine_lines(*(side(*each) for each in sides), Words(), tmp_path / str(number))
        assert texts(mined) == []
    mined = mine_lines(side(*empty, "the cat"), side("", "the cat", " "), Words(), tmp_path / "3")
    assert texts(mined) == [("the cat", "the cat")]
    assert mined.pairs.source.tolist() == [len(empty)]


def test_different_never_pairs_equal_lines(tmp_path):
    cat, now, red, here = ["the cat sleeps", "the cat sleeps now", "red house", "red house here"]
    lines = side(cat, now, red, here)
    mined = mine_lines(lines, lines, Words(), tmp_path, different=True)
    assert set(texts(mined)) == {(cat, now), (now, cat), (red, here), (here, red)}
    assert len(mined.pairs.score) == 4


def test_stored_lines_are_unchanged(tmp_path):
    lines = ["tab\there", "separators\u2028\u0085inside", "日本語 🙂", "in\rside"]
    blocks = [lines[:1], lines[1:3], [], lines[3:]]
    store = TextStore.write(tmp_path, blocks)
    assert list(store.lines(np.array([3, 0, 2, 1, 3]))) == [lines[i] for i in (3, 0, 2, 1, 3)]
    assert len(store) == 4


def test_a_resumed_run_encodes_only_missing_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LINES_AT_A_TIME", 2)
    encoder = Words()
    encoder.fails_at = 4
    arguments = (side(*LINES), side(*LINES[::-1]))
    with pytest.raises(KeyboardInterrupt):
        mine_lines(*arguments, encoder, tmp_path)
    encoder.fails_at = -1
    mined = mine_lines(*arguments, encoder, tmp_path)
    assert encoder.asked == LINES + LINES[::-1]
    assert texts(mined) == texts(mine_lines(*arguments, Words(), tmp_path / "anew"))
    mine_lines(*arguments, encoder, tmp_path, score="distance", threshold=0.1)
    assert len(encoder.asked) == 2 * len(LINES)  # all is kept


def test_other_text_or_another_model_is_encoded_again(tmp_path):
    class Others(Words):
        """Identified by its name, because it has no weights."""

        name = "other"

    first, second, changed = Words(), Others(), Words()
    mine_lines(side(*LINES), side("the cat"), first, tmp_path)
    mine_lines(side(*LINES), side("the cat"), second, tmp_path)
    assert second.asked == first.asked
    mine_lines(side(*LINES), side("the dog"), second, tmp_path)
    assert second.asked == [*first.asked, "the dog"]
    mined = mine_lines(side(*LINES[:4], "eight trees"), side("the dog"), changed, tmp_path)
    assert changed.asked == [*LINES[:4], "eight trees", "the dog"]
    assert len(mined.pairs.score) == 1


def test_lines_with_a_known_stamp_are_not_read_again(tmp_path):
    def refuse() -> Any:
        raise ZeroDivisionError
        yield []

    mine_lines(side(*LINES, stamp="x 1"), side("a", stamp="y 1"), Words(), tmp_path)
    again = mine_lines(TextSide(refuse(), "x 1"), TextSide(refuse(), "y 1"), Words(), tmp_path)
    assert len(again.pairs.score) == 1
    with pytest.raises(ZeroDivisionError):
        mine_lines(TextSide(refuse(), "x 2"), TextSide(refuse(), "y 1"), Words(), tmp_path)


@pytest.fixture(scope="module")
def model(subword, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    averaging(subword, 32).save_pretrained(path)
    return str(path)


@pytest.fixture
def two_files(tmp_path, sentences):
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_text("\n".join([*sentences, "", sentences[0]]) + "\n", encoding="utf-8")
    target.write_text("\n".join(reversed(sentences)) + "\n", encoding="utf-8")
    return source, target


@pytest.fixture
def command(model, two_files):
    return ["mine", model, *map(str, two_files), "--quiet"]


def test_the_command_writes_pairs_best_first(command, tmp_path, sentences):
    output = tmp_path / "pairs.tsv"
    assert main([*command, "--output", str(output), "--score", "cosine"]) == 0
    rows = [line.split("\t") for line in output.read_text(encoding="utf-8").splitlines()]
    assert {(row[1], row[2]) for row in rows} == {(text, text) for text in sentences}
    assert all(row[0] == "1.000000" for row in rows)
    assert not (tmp_path / "pairs.tsv.work").exists()  # removed when all is done
    parquet, work = tmp_path / "pairs.parquet", tmp_path / "work"
    assert main([*command, "--output", str(parquet), "--work", str(work)]) == 0
    table = pq.read_table(parquet).to_pydict()
    assert set(table["source"]) == set(sentences)
    for name, lines in (("source", sentences), ("target", sentences[::-1])):
        assert [lines[number - 1] for number in table[f"{name}_line"]] == table[name]
    assert (work / "search.npz").exists()


def test_the_command_reads_standard_input_and_prints(model, two_files, monkeypatch, capsys):
    class Input:
        buffer = io.BytesIO(two_files[0].read_bytes())

    monkeypatch.setattr(sys, "stdin", Input())
    assert main(["mine", model, "-", str(two_files[1]), "--neighbors", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert all(len(line.split("\t")) == 3 for line in printed)


def test_a_refused_command_leaves_no_work_folder(model, two_files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("paraphrastic_hf.extras._is_there", lambda name: name != "faiss")
    (tmp_path / "no model").mkdir()
    before = set(tmp_path.iterdir())
    files = [str(path) for path in two_files]
    output = ["--output", str(tmp_path / "pairs.tsv"), "--quiet"]
    options = "--threshold nan", "--memory 0", "--memory nan", "--index faiss-flat"
    for command in (
        *([model, *files, *output, *each.split()] for each in options),
        [model, *files, "--output", f"{files[0]}/x.tsv"],
        [model, "no.txt", files[0]],
        [model, "-", "-"],
        [str(tmp_path / "no model"), *files, *output],
    ):
        assert main(["mine", *command]) == 2
        assert set(tmp_path.iterdir()) == before
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_wrong_options_are_refused_before_anything_is_encoded(tmp_path):
    wrong = {"k": 0, "probes": 0, "score": "x", "precision": "x", "treshold": 1, "keep": 1}
    encoder = Words()
    for option, value in {**wrong, "candidates": "all", "index": "hnsw"}.items():
        with pytest.raises(DataError, match=option):
            mine_lines(side("a"), side("b"), encoder, tmp_path / "work", **{option: value})
    assert not encoder.asked
    encoder.encode = lambda texts: np.full((len(texts), 16), np.nan)
    with pytest.raises(ModelError):
        mine_lines(side(*LINES), side("a"), encoder, tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", "source/vectors.npy", "target/text", "source"])
def test_a_work_folder_with_other_files_is_refused(name, command, tmp_path):
    work = tmp_path / "pairs.tsv.work"
    (work / name).parent.mkdir(parents=True)
    (work / name).write_text("mine")
    for more in ([], ["--work", str(work)]):
        assert main([*command, "--output", str(tmp_path / "pairs.tsv"), *more]) == 2
    assert (work / name).read_text() == "mine"


@pytest.fixture
def mining(command, tmp_path):
    """A command that mines in the folder `work`."""
    return [*command, "--output", str(tmp_path / "pairs.tsv"), "--work", str(tmp_path / "work")]


def test_changed_text_is_read_again_despite_equal_size_and_time(mining, two_files, tmp_path):
    assert main(mining) == 0
    source, _ = two_files
    before = source.stat()
    source.write_bytes(source.read_bytes().replace(b"e", b"a"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_size == before.st_size
    assert main(mining) == 0
    lines = source.read_text(encoding="utf-8").splitlines()
    rows = (tmp_path / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    assert {row.split("\t")[1] for row in rows} <= set(lines)


def test_a_work_folder_is_locked(mining, tmp_path, capsys):
    work = tmp_path / "work"
    with locked(work):
        assert main(mining) == 2
        assert str(work) in capsys.readouterr().err
        assert not any(work.iterdir())
    assert main(mining) == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is of Linux")
@pytest.mark.parametrize(
    ("kilobytes", "file"), [(8, "source/text"), (100, "target/text"), (200, "source/vectors.npy")]
)
def test_a_full_disk_names_the_file(kilobytes, file, tmp_path):
    # in its own process, because a write to mapped memory would end it by SIGBUS
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small disk")
    try:
        lines = [f"word{n} and word{n * n}" for n in range(2000)]
        (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
        text, output = str(tmp_path / "a.txt"), str(tmp_path / "out")
        command = ["mine", "tiny", text, text, "--work", str(disk / "work"), "--output", output]
        run = [sys.executable, "-m", "paraphrastic_hf.cli.main", *command]
        done = subprocess.run(run, capture_output=True)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert done.returncode == 2, done.stderr
    (said,) = done.stderr.decode().splitlines()
    assert str(disk / "work" / file) in said


def test_interrupted_reading_is_repeated(tmp_path):
    def cut_off() -> Any:
        yield ["the cat"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine_lines(TextSide(cut_off(), "x"), side("a"), Words(), tmp_path)
    check_folder(tmp_path)
    assert texts(mine_lines(side("a", stamp="x"), side("a"), Words(), tmp_path)) == [("a", "a")]
    check_folder(tmp_path)


@pytest.mark.parametrize("size", [0, 200])
@pytest.mark.parametrize("name", ["vectors.npy", "text", "ends.npy", "hashes.npy"])
def test_damaged_work_files_are_rebuilt(name, size, tmp_path):
    sides = [side(*LINES * 10, stamp="x"), side(*LINES[::-1], stamp="y")]
    expected = texts(mine_lines(*sides, Words(), tmp_path))
    with (tmp_path / "source" / name).open("r+b") as file:
        file.truncate(size)
    assert texts(mine_lines(*sides, Words(), tmp_path)) == expected


FRENCH = ["Un chat dort.", "Où est la gare ?", "Il pleut.", "Merci."]
FRENCH += ["Le chat noir mange du pain à la gare de Paris."]
ENGLISH = ["It is raining.", "A cat is asleep.", "Thank you.", "Where is the station?"]
ENGLISH += ["A dog at the station eats the big red apple."]


def mined_scores(folder: Path, model: str, *options: str) -> list[float]:
    for name, lines in (("fr", FRENCH), ("en", ENGLISH)):
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    output = str(folder / "pairs.tsv")
    sides = [str(folder / "fr"), str(folder / "en")]
    assert main(["mine", model, *sides, "--output", output, "--neighbors", "2", *options]) == 0
    rows = Path(output).read_text(encoding="utf-8").splitlines()
    return [float(row.split("\t")[0]) for row in rows]


@pytest.mark.slow
def test_only_the_packaged_model_with_ratio_has_a_default_threshold(tmp_path, capsys):
    model = "multilingual"
    every = mined_scores(tmp_path, model, "--threshold=-inf")
    capsys.readouterr()
    some = mined_scores(tmp_path, model, "--quiet")
    assert capsys.readouterr().err == ""
    assert some == [score for score in every if score >= MULTILINGUAL_RATIO]
    assert 0 < len(some) < len(every)
    for others in ((model, "--score", "cosine"), ("english",)):
        whole = mined_scores(tmp_path, *others, "--threshold=-inf")
        assert len(mined_scores(tmp_path, *others)) == len(whole)
    capsys.readouterr()
    mined_scores(tmp_path, model, "--threshold", "1.5")  # the pairs at several are counted
    counts = re.findall(r"([\d.]+): (\d+)", capsys.readouterr().err)
    assert len(counts) > 3
    assert all(int(n) == sum(score >= float(least) for score in every) for least, n in counts)


@pytest.mark.parametrize(
    ("lines", "is_warned"),
    [(["你好，世界", "今天下雨了"], True), (FRENCH, False), (["12", "?"], False)],
)
def test_an_unknown_script_is_warned_of(lines, is_warned, english, tmp_path, caplog):
    mine_lines(side(*ENGLISH), side(*lines), english, tmp_path)
    assert ("target" in caplog.text) == is_warned
    assert "source" not in caplog.text
