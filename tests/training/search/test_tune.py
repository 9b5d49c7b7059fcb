"""Searches on the repository's own pairs: what is kept, shared, resumed and refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.config.recipe import read_recipe, to_record
from paraphrastic_hf.errors import CheckpointError, DataError, RecipeError
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.search import tune as module
from paraphrastic_hf.training.search.report import table, write_search
from paraphrastic_hf.training.search.tune import Trial, ranked, tune, with_settings
from tests.training.runs import train

PAIRS = Path(__file__).parents[3] / "recipes" / "demo" / "pairs.tsv"
SMALL = ["--vocab_size", "250", "--hidden_size", "16", "--batch_size", "16", "--epochs", "2"]
SMALL += ["--mega_batch", "1", "--anneal_steps", "0", "--learning_rate", "1e-2"]
GRID = {"training.margin": [0.2, 0.8], "model.embedding_dropout": [0.0, 0.3]}


@pytest.fixture
def root(sts_folder: Path) -> Path:
    return sts_folder.parent


def small_recipe(folder: Path, *overrides: str) -> ContrastiveRecipe:
    path = folder / "recipe.yaml"
    path.write_text(f"data: {{sources: [{json.dumps(str(PAIRS))}]}}", encoding="utf-8")
    return read_recipe(ContrastiveRecipe, path, [*SMALL, *overrides])


def search(
    recipe: ContrastiveRecipe, output: Path, root: Path, grid: dict = GRID, **options
) -> list[Trial]:
    return tune(recipe, grid, output, data_root=root, **options)


def test_every_trial_is_the_run_it_says_and_the_best_is_kept(tmp_path: Path, root: Path) -> None:
    recipe, output = small_recipe(tmp_path), tmp_path / "out"
    trials = search(recipe, output, root)
    assert len({json.dumps(trial.settings) for trial in trials}) == 4
    assert trials == ranked(trials)
    worst = with_settings(recipe, trials[-1].settings)
    alone = train(worst, tmp_path / "alone", data_root=root)
    assert trials[-1].score == alone.best_score
    best = read_recipe(ContrastiveRecipe, output / "best.yaml")
    assert best == with_settings(recipe, trials[0].settings)
    assert (output / "best" / "recipe.yaml").read_bytes() == to_record(best)
    assert SentenceEncoder.from_pretrained(output / "best").encode("cat").shape == (16,)
    assert sorted(path.name for path in output.iterdir()) == [
        *("best", "best.yaml", "recipe.yaml", "text.json", "trials.json")
    ]


def test_trials_of_a_text_share_its_tokens(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []

    def watched(recipe: ContrastiveRecipe, output: Path, **options):
        folders.append(options["work"])
        return train(recipe, output, **options)

    monkeypatch.setattr(module, "train", watched)
    grid = {"tokenizer.vocab_size": [200, 250], "training.margin": [0.2, 0.8]}
    search(small_recipe(tmp_path), tmp_path / "out", root, grid)
    assert folders[0] == folders[1] != folders[2] == folders[3]


def test_a_search_goes_on(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in its third trial: the first two are not run again, and the result is the same."""
    recipe = small_recipe(tmp_path)
    whole = search(recipe, tmp_path / "whole", root)
    runs = []

    def stopped(recipe: ContrastiveRecipe, output: Path, **options):
        runs.append(output)
        if len(runs) == 3:
            raise KeyboardInterrupt
        return train(recipe, output, **options)

    monkeypatch.setattr(module, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        search(recipe, tmp_path / "out", root)
    again = search(recipe, tmp_path / "out", root)
    assert len(runs) == 3 + 2
    assert runs[2] == runs[3]  # in the same folder, where its checkpoint is
    assert [(t.settings, t.score) for t in again] == [(t.settings, t.score) for t in whole]
    assert search(recipe, tmp_path / "out", root) == again
    assert len(runs) == 5


@pytest.mark.slow
def test_a_larger_grid_adds_to_what_was_tried(tmp_path: Path, root: Path) -> None:
    recipe, output = small_recipe(tmp_path), tmp_path / "out"
    few = search(recipe, output, root, sampler="random", trials=2)
    assert len(few) == 2
    wider = GRID | {"training.margin": [0.2, 0.5, 0.8]}
    more = search(recipe, output, root, wider, trials=4)
    assert len(more) == 4
    assert all(trial in more for trial in few)


def test_trials_of_other_text_are_not_compared(tmp_path: Path, root: Path) -> None:
    own, output = tmp_path / "own.tsv", tmp_path / "out"
    own.write_bytes(PAIRS.read_bytes())
    recipe = small_recipe(tmp_path, "--sources", str(own))
    one = {"training.margin": [0.2]}
    assert len(search(recipe, output, root, one)) == 1
    own.write_bytes(own.read_bytes().replace(b"e", b"a"))
    with pytest.raises(CheckpointError, match=re.escape(str(own))):
        search(recipe, output, root, {"training.margin": [0.2, 0.8]})


def test_what_fails_is_recorded_and_tried_again(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dot products go with any margin, cosines up to 2: of four settings one is refused."""
    grid = {"training.similarity": ["cosine", "dot"], "training.margin": [0.4, 3.0]}
    recipe, output = small_recipe(tmp_path), tmp_path / "out"
    trials = search(recipe, output, root, grid)
    assert [trial.score is None for trial in trials] == [False, False, False, True]
    assert "training.margin" in str(trials[-1].error)
    assert trials[-1].settings == {"training.similarity": "cosine", "training.margin": 3.0}
    assert "3.0" in "\n".join(table(trials, "clean"))
    runs = []
    monkeypatch.setattr(module, "train", lambda *args, **options: runs.append(args))
    assert search(recipe, output, root, grid)[-1].error == trials[-1].error
    assert not runs  # the good ones are not run again; the bad one does not come to a run


def test_a_search_where_all_fails_says_why(tmp_path: Path, root: Path) -> None:
    recipe = small_recipe(tmp_path, "--sources", "nowhere.tsv")
    with pytest.raises(RecipeError, match=r"nowhere\.tsv"):
        search(recipe, tmp_path / "out", root)


@pytest.mark.parametrize(
    ("grid", "key"),
    [
        ({"training.margin": [0.4, 3.0]}, "training.margin 3.0"),
        ({"model.layers": [None, 2]}, "model.layers 2"),
    ],
)
def test_a_value_that_fits_no_trial_is_refused(
    grid: dict, key: str, tmp_path: Path, root: Path
) -> None:
    with pytest.raises(RecipeError, match=key):
        search(small_recipe(tmp_path), tmp_path / "out", root, grid)
    assert not (tmp_path / "out").exists()


def test_no_search_is_refused(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = small_recipe(tmp_path, "--development", "none")
    with pytest.raises(RecipeError, match="--development"):
        search(without, tmp_path / "out", root)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty"):
        search(small_recipe(tmp_path), tmp_path / "out", tmp_path / "empty")
    assert not (tmp_path / "out").exists()  # no trial began
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(RecipeError, match="mine"):
        search(small_recipe(tmp_path), tmp_path / "mine", root)
    search(small_recipe(tmp_path), tmp_path / "out", root, trials=1)
    with pytest.raises(RecipeError, match="out"):  # of another recipe
        search(small_recipe(tmp_path, "--seed", "2"), tmp_path / "out", root)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RecipeError, match="torchrun"):
        search(small_recipe(tmp_path), tmp_path / "out", root)


def test_the_report_names_every_trial(tmp_path: Path) -> None:
    trials = [
        Trial({"training.margin": 0.4, "training.negatives": "max"}, 71.25, 1200, 33.0),
        Trial({"training.margin": 0.6, "training.negatives": "mix"}, 70.0, 900, 30.0),
        Trial({"training.margin": 0.6, "training.negatives": "max"}, error="ran | away"),
    ]
    markdown, tsv, png = write_search(trials, "clean", tmp_path)
    assert "| 71.25 | 0.4 | max | 1,200 | 33 |" in markdown.read_text(encoding="utf-8")
    assert r"failed: ran \| away" in markdown.read_text(encoding="utf-8")
    assert tsv.read_text(encoding="utf-8").splitlines() == [
        "clean\ttraining.margin\ttraining.negatives\tstep\tseconds\terror",
        "71.25\t0.4\tmax\t1200\t33.0\t",
        "70.0\t0.6\tmix\t900\t30.0\t",
        "\t0.6\tmax\t\t0.0\tran | away",
    ]
    assert png.read_bytes().startswith(b"\x89PNG")
