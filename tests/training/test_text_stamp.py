"""No run goes on, or is taken for finished, with the model of other text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from paraphrastic_hf.errors import CheckpointError
from paraphrastic_hf.training.kinds import KINDS, load_recipe
from paraphrastic_hf.training.run import train
from tests.training.test_run import SMALL


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def written(path: Path, count: int) -> str:
    path.write_text("".join(f"the cat {n}\ta cat {n}\n" for n in range(count)), encoding="utf-8")
    return str(path)


def test_a_finished_run_of_other_text_is_not_taken_for_this_one(
    recipe: Path, tmp_path: Path
) -> None:
    own, output = tmp_path / "own.tsv", tmp_path / "out"
    chosen = load_recipe(recipe, ["--sources", written(own, 20)])
    first = train(chosen, output, progress=False)
    assert train(chosen, output, progress=False) == first
    written(own, 30)
    with pytest.raises(CheckpointError, match=r"of other text than .*own\.tsv.*--overwrite"):
        train(chosen, output, progress=False)
    assert train(chosen, output, progress=False, overwrite=True).examples == 30
    (output / "run.json").write_text(
        (output / "run.json").read_text(encoding="utf-8").replace('"text"', '"former"'),
        encoding="utf-8",
    )
    written(own, 40)
    assert train(chosen, output, progress=False).examples == 30  # a run that does not say


def test_a_run_does_not_go_on_with_other_text(recipe: Path, tmp_path: Path) -> None:
    own, output = tmp_path / "own.tsv", tmp_path / "out"
    chosen = load_recipe(recipe, ["--sources", written(own, 20)])
    prepare = KINDS[chosen.kind].load().prepare

    def killed(self: Any, work: Path) -> None:
        prepare(self, work)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KINDS[chosen.kind].load(), "prepare", killed)
        with pytest.raises(KeyboardInterrupt):
            train(chosen, output, progress=False)
    written(own, 30)
    with pytest.raises(CheckpointError, match=r"of other text than .*own\.tsv"):
        train(chosen, output, progress=False)
    written(own, 20)
    assert train(chosen, output, progress=False).examples == 20


def test_runs_share_the_text_that_they_are_given_and_no_other(recipe: Path, tmp_path: Path) -> None:
    def rows(count: int) -> list[dict[str, str]]:
        return [{"a": f"the cat {n}", "b": f"a cat {n}"} for n in range(count)]

    chosen, work = load_recipe(recipe), tmp_path / "work"
    options: dict[str, Any] = {"progress": False, "work": work}
    once = train(chosen, tmp_path / "a", datasets=[Dataset.from_list(rows(9))], **options)
    again = train(chosen, tmp_path / "b", datasets=[rows(9)], **options)
    assert once.examples == again.examples
    with pytest.raises(CheckpointError, match="other text than dataset 0; remove the folder"):
        train(chosen, tmp_path / "c", datasets=[rows(10)], **options)
    with pytest.raises(CheckpointError, match="other text than dataset 0"):
        train(chosen, tmp_path / "c", **options)
    (work / "text.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match="is damaged; remove the folder"):
        train(chosen, tmp_path / "c", datasets=[rows(9)], **options)
