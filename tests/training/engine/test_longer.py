"""A recipe with more epochs or steps resumes a run from its last checkpoint."""

import shutil

import pytest

from paraphrastic_hf.errors import CheckpointError, RecipeError
from tests.data_root import write_supervised
from tests.training.engine.test_interruption import RUNS
from tests.training.runs import (
    CONTRASTIVE,
    PAIRS,
    assert_equal_weights,
    breaking_at,
    log,
    recipe_of,
    record,
    train,
)

# Checkpoints bring tables up to date, which rounds, so both runs write one at every step.
EACH_STEP = ["--checkpoint_every", "1", "--log_every", "1", "--schedule", "constant"]
QUICK = ("contrastive", "tagging", "annealed")
FIXED_KL = {"generative", "mgt", "center"}  # kinds whose KL weight rises by default


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in RUNS if n not in QUICK)]
)
def test_a_run_trained_longer_equals_a_long_run(name, tmp_path):
    text, settings = RUNS[name]
    kl = ["--kl_rise", "0"] if name in FIXED_KL else []
    options = [*EACH_STEP, *settings.split(), *kl]
    root = write_supervised(tmp_path / "data")
    short, long = (recipe_of(tmp_path, text, *options, "--epochs", n) for n in "24")
    whole, longer = tmp_path / "whole", tmp_path / "longer"
    expected = train(long, whole, data_root=root)
    with breaking_at(expected.step // 4):  # an unfinished run can be lengthened too
        train(short, longer, data_root=root)
    train(recipe_of(tmp_path, text, *options, "--epochs", "3"), longer, data_root=root)
    found = train(long, longer, data_root=root)
    found.seconds = expected.seconds
    assert found == expected
    assert_equal_weights(longer, whole)
    assert log(longer) == log(whole)
    assert train(long, longer, data_root=root).step == expected.step  # finished
    with pytest.raises(RecipeError):
        train(short, longer, data_root=root)


@pytest.mark.parametrize("options", [["--schedule", "linear"], ["--margin", "0.5"], []])
def test_other_recipes_or_no_checkpoints_do_not_lengthen_a_run(options, tmp_path):
    kept = options if "--schedule" in options else []
    train(recipe_of(tmp_path, CONTRASTIVE, *kept), tmp_path / "out")
    before = record(tmp_path / "out")
    if not options:
        shutil.rmtree(tmp_path / "out" / "checkpoints")
    with pytest.raises(RecipeError):
        train(recipe_of(tmp_path, CONTRASTIVE, *options, "--epochs", "2"), tmp_path / "out")
    assert record(tmp_path / "out") == before


def test_a_run_is_not_lengthened_with_other_text(tmp_path):
    text = CONTRASTIVE.replace(str(PAIRS), str(tmp_path / "pairs.tsv"))
    shutil.copy(PAIRS, tmp_path / "pairs.tsv")
    train(recipe_of(tmp_path, text), tmp_path / "out")
    before = record(tmp_path / "out")
    with (tmp_path / "pairs.tsv").open("a", encoding="utf-8") as file:
        file.write("a dog barks\tthe dog is barking\n")
    with pytest.raises(CheckpointError):
        train(recipe_of(tmp_path, text, "--epochs", "2"), tmp_path / "out")
    assert record(tmp_path / "out") == before
    assert train(recipe_of(tmp_path, text, "--epochs", "2"), tmp_path / "new").examples == 122


@pytest.mark.parametrize("damaged", ['{"tex', "[3]", "{}", '{"text": 3, "progress": {}}'])
def test_a_run_with_a_damaged_record_is_not_lengthened(damaged, tmp_path):
    train(recipe_of(tmp_path, CONTRASTIVE), tmp_path / "out")
    (tmp_path / "out" / "run.json").write_text(damaged, encoding="utf-8")
    for epochs in ("1", "2"):
        with pytest.raises(CheckpointError):
            train(recipe_of(tmp_path, CONTRASTIVE, "--epochs", epochs), tmp_path / "out")
    assert (tmp_path / "out" / "run.json").read_text(encoding="utf-8") == damaged
