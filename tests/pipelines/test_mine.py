import json
import os
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.storage.locate import packaged_folder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.mining.neighbors import Neighbors, join, read_neighbors, stack
from paraphrastic_hf.pipelines.mine import Search, Shard, neighbors_path
from tests.texts import SENTENCES

# With lines without a pair, repeated lines, and lines without a token.
OWN = [*SENTENCES[::2], "", SENTENCES[0], "  ", "\u2063"]
OTHER = [*SENTENCES[1::2], SENTENCES[4], SENTENCES[1], SENTENCES[0]]


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    """Vectors of two sides in three and two files, and each side as one file."""
    folder = tmp_path_factory.mktemp("encoded")
    for side, lines, parts in (("own", OWN, 3), ("other", OTHER, 2)):
        (folder / f"{side}.txt").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
        files = []
        for number, chosen in enumerate(np.array_split(np.arange(len(lines)), parts)):
            files.append(folder / f"{side}-{number}.txt")
            text = "".join(f"{lines[each]}\n" for each in chosen)
            files[-1].write_text(text, encoding="utf-8")
        command = ["corpus", "encode", "english", *map(str, files)]
        assert main([*command, "--output", str(folder / side)]) == 0
    return folder


def mined(encoded, output, *options, other="other"):
    sides = [str(encoded / "own"), str(encoded / other)]
    assert main(["corpus", "mine", *sides, "--output", str(output), *options]) == 0
    return pq.read_table(output / "pairs.parquet").to_pylist()


@pytest.mark.parametrize(
    ("options", "other"),
    [
        ([], "other"),
        pytest.param(
            *(["--neighbors", "2", "--score", "distance", "--candidates", "intersection"], "other"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(["--allow-many-to-many", "--threshold", "1.0", "--candidates", "forward"], "other"),
            marks=pytest.mark.slow,
        ),
        (["--exclude-identical", "--score", "cosine"], "own"),
        pytest.param(
            *(["--exclude-identical", "--neighbors", "1"], "other"), marks=pytest.mark.slow
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_sharded_mining_equals_one_search(options, other, encoded, tmp_path):
    found = mined(encoded, tmp_path / "mined", *options, other=other)
    texts = [str(encoded / f"{side}.txt") for side in ("own", other)]
    whole = tmp_path / "whole.parquet"
    command = ["mine", "english", *texts, "--output", str(whole), *options]
    assert main(command) == 0
    wanted = pq.read_table(whole).to_pylist()
    assert len(wanted) > 3
    columns = ("source", "target")
    assert [[row[name] for name in columns] for row in found] == [
        [row[name] for name in columns] for row in wanted
    ]
    np.testing.assert_allclose(
        [row["score"] for row in found], [row["score"] for row in wanted], atol=1e-6
    )
    for row in found:
        for side in ("source", "target"):
            lines = Path(str(row[f"{side}_file"])).read_text(encoding="utf-8").split("\n")
            assert lines[int(str(row[f"{side}_line"])) - 1] == row[side]


@pytest.mark.slow
def test_searches_are_kept_and_pairs_reselected(encoded, tmp_path, capsys, refused):
    output = tmp_path / "mined"
    first = mined(encoded, output)
    assert f"pairs.parquet: {len(first)} pairs" in capsys.readouterr().out
    kept = neighbors_path(output / "search", 0, 1)
    stamp = kept.stat().st_mtime_ns
    lost = neighbors_path(output / "search", 2, 0)
    lost.unlink()
    some = mined(encoded, output, "--threshold", "1.05")
    assert 0 < len(some) < len(first)
    assert some == first[: len(some)]
    assert kept.stat().st_mtime_ns == stamp
    assert lost.exists()
    assert not list((output / "search").glob("*.state"))
    lost.write_bytes(b"half")
    sides = [str(encoded / "own"), str(encoded / "other")]
    assert str(lost) in refused("corpus", "mine", *sides, "--output", str(output))
    assert mined(encoded, output) == first


@pytest.mark.slow
def test_invalid_input_is_reported_in_one_line(encoded, tmp_path, refused):
    own, other, output = str(encoded / "own"), str(encoded / "other"), str(tmp_path / "mined")
    refused = partial(refused, "corpus", "mine")
    assert str(tmp_path) in refused(own, str(tmp_path), "--output", output)
    assert main(["corpus", "mine", own, other, "--output", output]) == 0
    assert "neighbors" in refused(own, other, "--output", output, "--neighbors", "3")
    assert str(encoded) in refused(own, other, "--output", str(encoded))
    half = tmp_path / "half"
    half.mkdir()
    record = json.loads((encoded / "own" / "files.json").read_text(encoding="utf-8"))
    (half / "files.json").write_text(json.dumps(record), encoding="utf-8")
    assert "3 files" in refused(str(half), other, "--output", output)
    for file in (encoded / "own").glob("*.npy"):
        np.save(half / file.name, np.load(file))
    (half / "files.json").write_text(json.dumps({**record, "model files": "others"}))
    assert str(half) in refused(str(half), other, "--output", output)


def one_file(folder, text):
    """Encode a file. Return it, and the commands that encode it and mine it against itself."""
    file, vectors = folder / "a.txt", str(folder / "vectors")
    file.write_text(text, encoding="utf-8")
    encode = ["corpus", "encode", "english", str(file), "--output", vectors]
    assert main(encode) == 0
    return file, encode, ["corpus", "mine", vectors, vectors, "--output", str(folder / "mined")]


@pytest.mark.slow
def test_changed_text_and_vectors_are_refused(tmp_path, refused):
    file, encode, command = one_file(tmp_path, "a cat\na dog\n")
    assert main(command) == 0
    file.write_text("a dog\na cat\n", encoding="utf-8")
    assert str(file) in refused(*command)
    shutil.rmtree(tmp_path / "vectors")
    assert main(encode) == 0
    assert "source and target" in refused(*command)
    file.unlink()
    assert str(file) in refused(*command)


@pytest.mark.slow
def test_a_wrong_number_of_vectors_is_refused(tmp_path, refused):
    file, _, command = one_file(tmp_path, "a cat\na dog\n")
    np.save(tmp_path / "vectors" / "a.npy", np.load(tmp_path / "vectors" / "a.npy")[:1])
    assert str(file) in refused(*command)


@pytest.mark.slow
def test_a_killed_search_continues(encoded, tmp_path, monkeypatch):
    mined(encoded, tmp_path / "mined")
    monkeypatch.setattr("paraphrastic_hf.mining.neighbors.SAVE_SECONDS", 0.0)
    folder = tmp_path / "again"
    folder.mkdir()
    shards = [
        Shard(str(path), encoded / "own" / f"{path.stem}.npy", tmp_path / "mined/source/00000", 0)
        for path in [encoded / "own-0.txt"]
    ]
    search = Search((shards, shards), folder, k=2, precision="float32", memory=64, key="cats")
    with monkeypatch.context() as patch:
        patch.setattr("paraphrastic_hf.pipelines.mine.write_neighbors", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(search.run(None, 0))
    assert (folder / "00000-00000.state").exists()
    with monkeypatch.context() as patch:  # all comparisons are kept
        patch.setattr("paraphrastic_hf.mining.neighbors._Search.compare", _interrupted)
        list(search.run(None, 0))
    assert read_neighbors(folder / "00000-00000.npz")[0].ids[:, 0].tolist() == list(
        range(len(shards[0].rows))
    )


def _interrupted(*_):
    raise KeyboardInterrupt


def test_sides_without_text_have_no_pairs(tmp_path):
    _, _, command = one_file(tmp_path, " \n\n")
    assert main(command) == 0
    table = pq.read_table(tmp_path / "mined" / "pairs.parquet")
    assert table.num_rows == 0
    assert "target_line" in table.column_names


def test_shards_with_few_neighbors_are_joined():
    def near(scores, ids):
        return Neighbors(np.array(scores, np.float32), np.array(ids).reshape(len(scores), -1))

    joined = join(
        [near([[0.5, 0.4]], [[1, 0]]), near([[]], [[]]), near([[0.5, -np.inf]], [[2, -1]])],
        [2, 0, 3],
        3,
    )
    assert joined.ids.tolist() == [[1, 4, 0]]  # equal scores: lower number first
    stacked = stack([joined, near([[0.1]], [[0]])], 2, 3)
    assert stacked.ids.tolist() == [[1, 4, 0], [0, -1, -1]]
    assert stacked.scores[1, 1] == -np.inf


def test_a_missing_file_of_neighbors_is_reported(tmp_path):
    with pytest.raises(DataError):
        read_neighbors(tmp_path / "absent.npz")


def test_files_are_encoded_once(tmp_path, refused):
    files = [tmp_path / f"part-{number}.txt" for number in range(2)]
    for number, file in enumerate(files):
        text = "".join(f"{line}\n" for line in SENTENCES[number::2])
        file.write_text(text, encoding="utf-8")
    output = tmp_path / "vectors"
    command = ["corpus", "encode", "english", *map(str, files), "--output", str(output)]
    assert main([*command, "--normalize-embeddings"]) == 0
    encoder = SentenceEncoder.from_pretrained("english")
    for number in range(2):
        wanted = encoder.encode(SENTENCES[number::2], normalize_embeddings=True)
        found = np.load(output / f"part-{number}.npy")
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    stamp = (output / "part-0.npy").stat().st_mtime_ns
    (output / "part-1.npy").unlink()
    (output / "logs" / "completions" / "00001").unlink()
    (output / "part-1.npy.part").touch()  # a killed run leaves this file
    assert main([*command, "--normalize-embeddings"]) == 0
    assert not any(output.glob("*.part"))
    assert (output / "part-0.npy").stat().st_mtime_ns == stamp
    assert (output / "part-1.npy").exists()
    assert "normalize" in refused(*command)
    files[0].write_text("another line\n", encoding="utf-8")
    assert str(output) in refused(*command, "--normalize-embeddings")
    assert "10000" in refused(*command, "--tasks", "0")


@pytest.mark.slow
def test_a_changed_model_is_noticed(tmp_path, refused):
    """The name of the model stays, its files change."""
    model, text, output = tmp_path / "model", tmp_path / "text.txt", tmp_path / "vectors"
    text.write_text("a cat\n", encoding="utf-8")
    command = ["corpus", "encode", str(model), str(text), "--output"]
    shutil.copytree(packaged_folder("tiny"), model)
    assert main([*command, str(output)]) == 0
    shutil.rmtree(model)
    shutil.copytree(packaged_folder("english"), model)
    assert str(output) in refused(*command, str(output))
    assert main([*command, str(tmp_path / "others")]) == 0
    sides = [str(output), str(tmp_path / "others")]
    assert sides[1] in refused("corpus", "mine", *sides, "--output", str(tmp_path / "mined"))


@pytest.mark.slow
def test_changed_text_of_equal_size_and_time_is_noticed(tmp_path, refused):
    text, output = tmp_path / "text.txt", tmp_path / "vectors"
    text.write_text("a cat\n", encoding="utf-8")
    command = ["corpus", "encode", "tiny", str(text), "--output", str(output)]
    assert main(command) == 0
    before = text.stat()
    text.write_text("a dog\n", encoding="utf-8")
    os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert str(output) in refused(*command)
    mine = ["corpus", "mine", str(output), str(output), "--output", str(tmp_path / "mined")]
    assert str(text) in refused(*mine)


def test_files_of_equal_name_are_refused(tmp_path, refused):
    for name in ("a.txt", "a.tsv"):
        (tmp_path / name).write_text("a cat\n")
    files = [str(tmp_path / name) for name in ("a.txt", "a.tsv")]
    output = str(tmp_path / "x")
    assert "a.npy" in refused("corpus", "encode", "english", *files, "--output", output)
