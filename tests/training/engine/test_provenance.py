"""No run goes on, or is taken for finished, with the model of other text."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from paraphrastic_hf.errors import CheckpointError
from paraphrastic_hf.training.engine.provenance import weights_stamp
from paraphrastic_hf.training.kinds import JOBS, load_recipe
from tests.training.runs import CONTRASTIVE, train


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(CONTRASTIVE, encoding="utf-8")
    return path


def written(path: Path, count: int) -> str:
    path.write_text("".join(f"the cat {n}\ta cat {n}\n" for n in range(count)), encoding="utf-8")
    return str(path)


def test_a_finished_run_of_other_text_is_another(recipe: Path, tmp_path: Path) -> None:
    own, output = tmp_path / "own.tsv", tmp_path / "out"
    chosen = load_recipe(recipe, ["--sources", written(own, 20)])
    first = train(chosen, output)
    assert train(chosen, output) == first
    written(own, 30)
    with pytest.raises(CheckpointError, match=r"own\.tsv.*--overwrite"):
        train(chosen, output)
    assert train(chosen, output, overwrite=True).examples == 30
    (output / "run.json").write_text(
        (output / "run.json").read_text(encoding="utf-8").replace('"text"', '"former"'),
        encoding="utf-8",
    )
    written(own, 40)
    assert train(chosen, output).examples == 30  # a run that does not say


def test_a_run_does_not_go_on_with_other_text(recipe: Path, tmp_path: Path) -> None:
    own, output = tmp_path / "own.tsv", tmp_path / "out"
    chosen = load_recipe(recipe, ["--sources", written(own, 20)])
    prepare = JOBS[chosen.kind].load().prepare

    def killed(self: Any, work: Path) -> None:
        prepare(self, work)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JOBS[chosen.kind].load(), "prepare", killed)
        with pytest.raises(KeyboardInterrupt):
            train(chosen, output)
    written(own, 30)
    with pytest.raises(CheckpointError, match=r"own\.tsv"):
        train(chosen, output)
    written(own, 20)
    assert train(chosen, output).examples == 20


def test_runs_share_the_text_that_they_are_given_and_no_other(recipe: Path, tmp_path: Path) -> None:
    def rows(count: int) -> list[dict[str, str]]:
        return [{"a": f"the cat {n}", "b": f"a cat {n}"} for n in range(count)]

    chosen, work = load_recipe(recipe), tmp_path / "work"
    options: dict[str, Any] = {"progress": False, "work": work}
    once = train(chosen, tmp_path / "a", datasets=[Dataset.from_list(rows(9))], **options)
    again = train(chosen, tmp_path / "b", datasets=[rows(9)], **options)
    assert once.examples == again.examples
    with pytest.raises(CheckpointError, match="dataset 0"):
        train(chosen, tmp_path / "c", datasets=[rows(10)], **options)
    with pytest.raises(CheckpointError, match="dataset 0"):
        train(chosen, tmp_path / "c", **options)
    (work / "text.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"text.json"):
        train(chosen, tmp_path / "c", datasets=[rows(9)], **options)


def test_a_run_from_another_model_is_another(recipe: Path, tmp_path: Path) -> None:
    own, start, output = tmp_path / "own.tsv", tmp_path / "start", tmp_path / "out"
    first = load_recipe(recipe, ["--sources", written(own, 20)])
    train(first, start)
    further = load_recipe(recipe, ["--sources", str(own), "--start", str(start), "--epochs", "1"])
    done = train(further, output)
    assert train(further, output) == done
    train(replace(first, seed=2), start, overwrite=True)
    with pytest.raises(CheckpointError, match=r"start.*--overwrite"):
        train(further, output)
    shutil.rmtree(start)  # of which nothing is left to be told
    assert train(further, output) == done


def test_the_stamp_of_a_model_is_of_its_weights_and_vocabulary_and_config(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "README.md").write_text("none", encoding="utf-8")
    assert weights_stamp("run", tmp_path) == weights_stamp("some/repository", tmp_path) == ""
    (tmp_path / "run" / "model.safetensors").write_bytes(b"weights")
    stamp = weights_stamp("run", tmp_path)
    (tmp_path / "run" / "README.md").write_text("some", encoding="utf-8")
    assert weights_stamp("run", tmp_path) == stamp != ""
    (tmp_path / "run" / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert weights_stamp("run", tmp_path) != stamp
    assert weights_stamp("run/model.safetensors", tmp_path) not in ("", stamp)
    config, stamps = tmp_path / "run" / "config.json", []
    for settings in ({"pooling": "mean"}, {"pooling": "max"}, {"pooling": "max", "dropout": 0.1}):
        for version in ("5.0", "5.1"):
            written = json.dumps({"transformers_version": version, "_commit": version, **settings})
            config.write_text(written, encoding="utf-8")
            stamps.append(weights_stamp("run", tmp_path))
    assert stamps[::2] == stamps[1::2]
    assert len(set(stamps)) == 3
    (tmp_path / "run" / "1_Pooling").mkdir()
    (tmp_path / "run" / "1_Pooling" / "config.json").write_text("{}", encoding="utf-8")
    assert weights_stamp("run", tmp_path) not in stamps


def test_packaged_models_have_stamps_and_command_lines_have_none(tmp_path: Path) -> None:
    names = ("english", "simile", "tiny")
    stamps = {weights_stamp(name, tmp_path) for name in names}
    assert len(stamps - {""}) == len(names)
    assert weights_stamp("english", tmp_path, is_model=False) == ""
    assert weights_stamp(f"run {'x' * 300}", tmp_path, is_model=False) == ""
