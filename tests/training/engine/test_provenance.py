"""A run does not resume with other text or models."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from datasets import Dataset

from paraphrastic_hf.errors import CheckpointError
from paraphrastic_hf.training.engine.provenance import weights_stamp
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.runs import CONTRASTIVE, breaking_at, train, written


@pytest.fixture
def recipe(tmp_path):
    return written(tmp_path, CONTRASTIVE)


def pairs(path: Path, count: int) -> str:
    path.write_text("".join(f"the cat {n}\ta cat {n}\n" for n in range(count)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("key", ["--sources", "--development"])
def test_a_run_with_other_text_is_refused_unfinished_or_finished(key, recipe, tmp_path):
    own, output = tmp_path / "own.tsv", tmp_path / "out"
    chosen = load_recipe(recipe, [key, pairs(own, 20), "--checkpoint_every", "1"])
    with breaking_at(0):
        train(chosen, output)
    done = None
    for _ in range(2):
        pairs(own, 30)
        with pytest.raises(CheckpointError):
            train(chosen, output)
        pairs(own, 20)
        before, done = done, train(chosen, output)
    assert done == before
    pairs(own, 30)
    assert train(chosen, output, overwrite=True).examples == (30 if key == "--sources" else 60)


def test_runs_share_a_work_folder_only_with_equal_text(recipe, tmp_path):
    def rows(count: int) -> list[dict[str, str]]:
        return [{"a": f"the cat {n}", "b": f"a cat {n}"} for n in range(count)]

    chosen, work = load_recipe(recipe), tmp_path / "work"
    once = train(chosen, tmp_path / "a", datasets=[Dataset.from_list(rows(9))], work=work)
    again = train(chosen, tmp_path / "b", datasets=[rows(9)], work=work)
    assert once.examples == again.examples
    for other in ([rows(10)], []):
        with pytest.raises(CheckpointError):
            train(chosen, tmp_path / "c", datasets=other, work=work)
    (work / "text.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError):
        train(chosen, tmp_path / "c", datasets=[rows(9)], work=work)


def test_a_run_with_another_start_model_is_refused(recipe, tmp_path):
    own, start, output = tmp_path / "own.tsv", tmp_path / "start", tmp_path / "out"
    first = load_recipe(recipe, ["--sources", pairs(own, 20)])
    train(first, start)
    further = load_recipe(recipe, ["--sources", str(own), "--start", str(start), "--epochs", "1"])
    done = train(further, output)
    assert train(further, output) == done
    train(replace(first, seed=2), start, overwrite=True)
    with pytest.raises(CheckpointError):
        train(further, output)
    shutil.rmtree(start)  # its stamp is empty now
    assert train(further, output) == done


def test_a_model_stamp_covers_weights_vocabulary_and_config(tmp_path):
    run = tmp_path / "run"
    (run / "1_Pooling").mkdir(parents=True)
    (run / "README.md").write_text("none")
    assert weights_stamp("run", tmp_path) == weights_stamp("some/repository", tmp_path) == ""
    (run / "model.safetensors").write_bytes(b"weights")
    stamp = weights_stamp("run", tmp_path)
    (run / "README.md").write_text("some")
    assert weights_stamp("run", tmp_path) == stamp != ""
    (run / "tokenizer.json").write_text("{}")
    assert weights_stamp("run", tmp_path) != stamp
    assert weights_stamp("run/model.safetensors", tmp_path) not in ("", stamp)
    stamps = []
    for settings in ({"pooling": "mean"}, {"pooling": "max"}, {"pooling": "max", "dropout": 0.1}):
        for version in ("5.0", "5.1"):
            config = {"transformers_version": version, "_commit": version, **settings}
            (run / "config.json").write_text(json.dumps(config))
            stamps.append(weights_stamp("run", tmp_path))
    assert stamps[::2] == stamps[1::2]
    assert len(set(stamps)) == 3
    (run / "1_Pooling" / "config.json").write_text("{}")
    assert weights_stamp("run", tmp_path) not in stamps


def test_packaged_models_have_stamps_and_commands_have_none(tmp_path):
    stamps = {weights_stamp(name, tmp_path) for name in ("english", "simile", "tiny")}
    assert len(stamps - {""}) == 3
    assert weights_stamp("english", tmp_path, is_model=False) == ""
    assert weights_stamp(f"run {'x' * 300}", tmp_path, is_model=False) == ""
