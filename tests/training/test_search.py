"""Hyperparameter search."""

import json
from pathlib import Path
from typing import cast

import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.tune import parse_grid
from paraphrastic_hf.config.recipe import to_record
from paraphrastic_hf.errors import CheckpointError, DataError, RecipeError
from paraphrastic_hf.training import search as module
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.engine.progress import Progress
from paraphrastic_hf.training.kinds import load_contrastive
from paraphrastic_hf.training.search import Trial, table, tune, with_settings
from tests.training.runs import PAIRS, recipe_of, train

SMALL = ["--vocab_size", "250", "--hidden_size", "16", "--batch_size", "16", "--epochs", "2"]
SMALL += ["--mega_batch", "1", "--anneal_steps", "0", "--learning_rate", "1e-2"]
PLAIN = f"data: {{sources: [{PAIRS}]}}"
GRID = {"training.margin": [0.2, 0.8], "model.embedding_dropout": [0.0, 0.3]}


def small_recipe(folder: Path, *overrides: str) -> ContrastiveRecipe:
    return cast(ContrastiveRecipe, recipe_of(folder, PLAIN, *SMALL, *overrides))


def search(
    recipe: ContrastiveRecipe, output: Path, root: Path, grid: dict = GRID, **options
) -> list[Trial]:
    return tune(recipe, grid, output, data_root=root, **options)


@pytest.fixture
def root(sts_folder):
    return sts_folder.parent


def test_trials_equal_single_runs_and_the_best_is_kept(tmp_path, root):
    recipe, output = small_recipe(tmp_path), tmp_path / "out"
    trials = search(recipe, output, root)
    assert len({json.dumps(trial.settings) for trial in trials}) == 4
    assert [t.score for t in trials] == sorted((t.score for t in trials), reverse=True)
    worst = with_settings(recipe, trials[-1].settings)
    alone = train(worst, tmp_path / "alone", data_root=root)
    assert trials[-1].score == alone.best_score
    best = load_contrastive(output / "best.yaml")
    assert best == with_settings(recipe, trials[0].settings)
    assert (output / "best" / "recipe.yaml").read_bytes() == to_record(best)
    assert (output / "trials.png").read_bytes().startswith(b"\x89PNG")
    assert SentenceEncoder.from_pretrained(output / "best").encode("cat").shape == (16,)
    assert sorted(path.name for path in output.iterdir()) == [
        *("best", "best.yaml", "recipe.yaml", "text.json"),
        *("trials.jsonl", "trials.md", "trials.png"),
    ]


def test_trials_with_equal_tokenizers_share_tokenized_text(tmp_path, root, monkeypatch):
    folders = []

    def watched(recipe: ContrastiveRecipe, output: Path, **options):
        folders.append(options["work"])
        return train(recipe, output, **options)

    monkeypatch.setattr(module, "train", watched)
    grid = {"tokenizer.vocab_size": [200, 250], "training.margin": [0.2, 0.8]}
    search(small_recipe(tmp_path), tmp_path / "out", root, grid)
    assert folders[0] == folders[1] != folders[2] == folders[3]


def test_a_search_resumes(tmp_path, root, monkeypatch):
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
    assert runs[2] == runs[3]  # the folder with its checkpoint
    assert [(t.settings, t.score) for t in again] == [(t.settings, t.score) for t in whole]
    assert search(recipe, tmp_path / "out", root) == again
    assert len(runs) == 5


def test_a_search_with_other_text_is_refused(tmp_path, root):
    own, output = tmp_path / "own.tsv", tmp_path / "out"
    own.write_bytes(PAIRS.read_bytes())
    recipe = small_recipe(tmp_path, "--sources", str(own))
    assert len(search(recipe, output, root, {"training.margin": [0.2]})) == 1
    own.write_bytes(own.read_bytes().replace(b"e", b"a"))
    with pytest.raises(CheckpointError):
        search(recipe, output, root, {"training.margin": [0.2, 0.8]})


def test_failed_trials_are_recorded_and_repeated(tmp_path, root, monkeypatch):
    """Margins with cosines are at most 2, so that one of four settings is refused."""
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
    assert not runs  # the settings are refused before a run


def test_invalid_searches_are_refused(tmp_path, root, monkeypatch):
    out, mine = tmp_path / "out", tmp_path / "mine"
    mine.mkdir()
    (tmp_path / "empty").mkdir()
    (mine / "thesis.tex").write_text("precious")
    for options, output, data, grid, sampler, error in (
        ([], out, root, GRID, "luck", RecipeError),
        ([], out, root, {"training.margin": [0.4, 3.0]}, "grid", RecipeError),
        ([], out, root, {"model.layers": [None, 2]}, "grid", RecipeError),
        (["--development", "none"], out, root, GRID, "grid", RecipeError),
        ([], out, tmp_path / "empty", GRID, "grid", DataError),
        ([], mine, root, GRID, "grid", RecipeError),
        (["--sources", "nowhere.tsv"], tmp_path / "failed", root, GRID, "grid", RecipeError),
    ):
        with pytest.raises(error):
            search(small_recipe(tmp_path, *options), output, data, grid, sampler=sampler)
    assert not out.exists()  # no trial began
    search(small_recipe(tmp_path), out, root, trials=1)
    with pytest.raises(RecipeError):  # another recipe
        search(small_recipe(tmp_path, "--seed", "2"), out, root)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RecipeError):
        search(small_recipe(tmp_path), out, root)


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """The recipes of all trials; at least 15 epochs score 1, and margins above 1 fail."""
    runs: list[ContrastiveRecipe] = []

    def scored(recipe: ContrastiveRecipe, output: Path, **_: object) -> Progress:
        runs.append(recipe)
        if recipe.training.margin > 1:
            raise DataError("ran | away")
        output.mkdir(parents=True)
        return Progress(best_score=float(recipe.training.epochs >= 15), best_step=1200)

    monkeypatch.setattr(module, "train", scored)
    monkeypatch.setattr(module, "_plot", lambda *_: None)
    monkeypatch.setattr(module, "run_card", lambda folder: None)
    monkeypatch.setattr(module, "write_card", lambda folder, card: None)
    return runs


def walk(runs: list[ContrastiveRecipe], folder: Path, root: Path, sampler: str, seed: int) -> list:
    """Return the order in which a sampler tries six settings, of which three fail."""
    runs.clear()
    grid = {"training.margin": [0.4, 1.5], "training.negatives": ["max", "mix", "rand"]}
    recipe = small_recipe(folder, "--seed", str(seed))
    output = folder / f"{sampler}{seed}{len(list(folder.iterdir()))}"
    search(recipe, output, root, grid, sampler=sampler)
    return [(run.training.margin, run.training.negatives) for run in runs]


def test_every_sampler_tries_all_settings_once_in_its_own_order(tmp_path, root, tried):
    grid = [(margin, name) for margin in (0.4, 1.5) for name in ("max", "mix", "rand")]
    assert walk(tried, tmp_path, root, "grid", 1) == grid  # the last key changes fastest
    for sampler in ("random", "tpe"):
        first, again, other = (walk(tried, tmp_path, root, sampler, seed) for seed in (1, 1, 2))
        assert first == again != other
        assert sorted(first) == sorted(other) == sorted(grid)


def test_the_tables_name_every_trial(tmp_path, root, tried):
    grid = {"training.margin": [0.4, 1.5], "tokenizer.orders": [[2, 3]]}
    search(small_recipe(tmp_path, "--epochs", "15"), tmp_path / "out", root, grid)
    markdown = (tmp_path / "out" / "trials.md").read_text(encoding="utf-8")
    assert r"| 1.00 | 0.4 | \[2, 3\] | 1,200 | 0 |" in markdown
    assert r"ran \| away" in markdown
    lines = (tmp_path / "out" / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["score"] for line in lines] == [1.0, None]


def test_a_grid_may_only_grow(tmp_path, root, tried):
    recipe, output = small_recipe(tmp_path), tmp_path / "out"
    search(recipe, output, root, {"training.epochs": [1, 2]})
    search(recipe, output, root, {"training.epochs": [1, 2, 3]})
    assert [run.training.epochs for run in tried] == [1, 2, 3]
    for grid in ({"training.epochs": [1, 3]}, {"training.batch_size": [1]}):
        with pytest.raises(RecipeError):
            search(recipe, output, root, grid)
    (output / "trials.jsonl").write_text("{\n")
    with pytest.raises(CheckpointError):
        search(recipe, output, root, {"training.epochs": [1, 2, 3]})


def test_grid_values_have_the_types_of_their_keys():
    texts = ["margin=1,1e-1", "tokenizer.orders=[2,3],[3]", "model.vectors=null,a.txt"]
    grid = parse_grid(ContrastiveRecipe, texts)
    assert grid == {
        "training.margin": [1.0, 0.1],
        "tokenizer.orders": [[2, 3], [3]],
        "model.vectors": [None, "a.txt"],
    }
    assert isinstance(grid["training.margin"][0], float)


@pytest.mark.parametrize(
    "texts",
    [
        *(["margn=0.4"], ["kind=word"], ["margin=wide"], ["negatives=max,all"], ["margin="]),
        *(["margin"], ["margin=[0.4"], ["margin=0.4,0.40"], ["margin=0.4", "training.margin=0.6"]),
    ],
)
def test_an_invalid_grid_is_refused(texts):
    with pytest.raises(RecipeError):
        parse_grid(ContrastiveRecipe, texts)
