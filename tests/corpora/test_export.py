import itertools
import json
import os

import datasets
import pyarrow.parquet as pq
import pytest
import yaml

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.corpora.export import export
from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.errors import DataError
from tests import fresh
from tests.evaluation.sts_files import write_lines, write_sts
from tests.hub.server import environment, serve

READ = """
import json, sys
import datasets
assert "paraphrastic_hf" not in sys.modules
years = datasets.load_dataset("me/sts", "sts14", split="test")
streamed = datasets.load_dataset("me/sts", "sts14", split="test", streaming=True)
print(json.dumps({"rows": list(years), "streamed": list(streamed)}))
"""
PUSH = """
import sys
from paraphrastic_hf.hub.publish import publish
print(publish("dataset", sys.argv[1], "me/sts", private=True))
"""


@pytest.fixture
def official(tmp_path):
    return write_sts(tmp_path / "official")


@pytest.fixture
def exported(official, tmp_path):
    export("sts", tmp_path / "sts", data_dir=official)
    return tmp_path / "sts"


def test_datasets_reads_the_rows_of_the_builder(official, exported, tmp_path, monkeypatch):
    def plain(folder, **options):
        cache = str(tmp_path / "cache")
        return list(
            datasets.load_dataset(str(folder), "sts14", split="test", cache_dir=cache, **options)
        )

    own = list(load_dataset("sts", "sts14", "test", data_dir=official, streaming=True))
    assert plain(exported) == plain(exported, streaming=True) == own
    monkeypatch.setattr("paraphrastic_hf.corpora.export.ROWS_AT_A_TIME", 10)
    monkeypatch.setattr("paraphrastic_hf.corpora.export.ROWS_PER_FILE", 20)
    export("sts", tmp_path / "parts", configs=["sts14"], data_dir=official)
    assert len(list((tmp_path / "parts" / "sts14").glob("test-*.parquet"))) == 4
    assert plain(tmp_path / "parts") == own


def test_exports_keep_class_names(tmp_path):
    write_lines(tmp_path / "MR" / "rt-polarity.neg", ["bad"])
    write_lines(tmp_path / "MR" / "rt-polarity.pos", ["good", "fine"])
    assert export("mr", tmp_path / "mr", data_dir=tmp_path / "MR") == {"default": {"train": 3}}
    rows = datasets.load_dataset(
        str(tmp_path / "mr"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert rows.features["label"].names == ["negative", "positive"]
    assert rows["label"] == [0, 1, 1]


def test_cards_list_configurations_and_counts(exported):
    card = (exported / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(card.split("---")[1])
    names = "sts12 sts13 sts14 sts15 sts16 all supervised"
    assert " ".join(entry["config_name"] for entry in head["configs"]) == names
    assert head["configs"][0]["default"] is True
    assert "| all | 300 |" in card


def test_configurations_without_files_are_skipped(tmp_path):
    folder, out = tmp_path / "t", tmp_path / "out"
    folder.mkdir()
    for configs in (None, ["fra"]):
        with pytest.raises(DataError):
            export("tatoeba", out, configs=configs, data_dir=folder)
        assert not any(out.glob("*"))
    write_lines(folder / "tatoeba.fra-eng.fra", ["le chat"])
    write_lines(folder / "tatoeba.fra-eng.eng", ["the cat"])
    assert export("tatoeba", out, data_dir=folder) == {"fra": {"test": 1}}
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "export.json", "fra"]


@pytest.mark.parametrize("record", ["[1]", "null", "[" * 100_000])
def test_a_folder_with_a_damaged_record_is_refused(record, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "export.json").write_text(record)
    with pytest.raises(DataError):
        export("tatoeba", tmp_path / "out", data_dir=tmp_path / "empty")


class Killed(BaseException):
    """Simulates `kill -9`: no cleanup runs."""


def export_killed(place, when, *arguments, **options):
    """Export, killed before or after a given rename. Return whether it was killed."""
    rename, count = os.replace, itertools.count()

    def replace(source, target):
        is_last = next(count) == place
        if is_last and when == "before":
            raise Killed
        rename(source, target)
        if is_last:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.replace", replace)
        patch.setattr("paraphrastic_hf.io.files.remove", lambda path: None)
        try:
            export(*arguments, **options)
        except Killed:
            return True
    return False


def what_is_there(folder):
    """Return the rows of each configuration's parquet files."""
    return {
        path.name: {"test": sum(pq.read_table(file).num_rows for file in path.glob("test-*"))}
        for path in sorted(folder.iterdir())
        if path.is_dir() and path.suffix != ".part"
    }


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "again"])
def test_an_export_killed_at_any_rename_can_be_continued(official, tmp_path, is_first, when):
    gold, text = official / "sts14" / "STS.gs.OnWN.txt", official / "sts14" / "STS.input.OnWN.txt"
    whole = {path: path.read_text(encoding="utf-8") for path in (gold, text)}
    configs = {"configs": ["sts12", "sts14"], "data_dir": official}
    for place in itertools.count():
        out = tmp_path / f"out-{place}"
        for path, content in whole.items():
            path.write_text(content, encoding="utf-8")
        if not is_first:
            export("sts", out, **configs)
            for path, content in whole.items():  # one pair more
                path.write_text(content + content.splitlines()[0] + "\n", encoding="utf-8")
        if not export_killed(place, when, "sts", out, **configs):
            break
        export("sts", out, configs=["sts13"], data_dir=official)
        record = json.loads((out / "export.json").read_text(encoding="utf-8"))["sts"]
        assert record == what_is_there(out)
        head = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---")[1])
        assert [entry["config_name"] for entry in head["configs"]] == list(record)
        counts = export("sts", out, **configs)
        record = json.loads((out / "export.json").read_text(encoding="utf-8"))["sts"]
        assert record == what_is_there(out)
        assert {config: record[config] for config in counts} == counts
        assert sorted(path.name for path in out.iterdir()) == [
            *("README.md", "export.json", "sts12", "sts13", "sts14")
        ]
    assert place == (7 if is_first else 8)  # renames of a complete export


def test_a_damaged_file_of_an_export_is_reported(official, exported):
    (exported / "sts13" / "test-00000.parquet").write_bytes(b"half")
    with pytest.raises(DataError):
        export("sts", exported, configs=["sts12"], data_dir=official)
    export("sts", exported, configs=["sts13"], data_dir=official)


def test_a_corpus_that_may_not_be_shared_is_not_exported_to_a_public_repository(
    official, tmp_path, capsys
):
    command = ["data", "export", "sts", "--data", str(official), "--output", str(tmp_path / "new")]
    assert main([*command, "--push", "me/sts", "--public"]) == 2
    assert "license" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_pushed_export_loads_from_the_hub_without_this_package(official, exported, tmp_path):
    repositories = {}
    with serve(repositories) as endpoint:
        variables = environment(endpoint, tmp_path / "home")

        def run(*command):
            done = fresh.run(*command, environment=variables)
            assert done.returncode == 0, done.stderr[-3000:]
            return done.stdout.splitlines()[-1]

        assert "/datasets/me/sts/commit/" in run(PUSH, str(exported))
        assert "sts14/test-00000.parquet" in repositories["datasets/me/sts"]
        loaded = json.loads(run(READ))
    own = list(load_dataset("sts", "sts14", "test", data_dir=official, streaming=True))
    assert loaded["rows"] == own
    assert loaded["streamed"] == own
