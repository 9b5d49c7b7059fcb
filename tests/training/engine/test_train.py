"""Contrastive runs from data to model."""

import datasets
import pytest
import torch
from torch.nn.functional import normalize

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.training.engine.recipe import SourceArguments
from tests.training.runs import (
    ROWS,
    SMALL,
    log,
    recipe_of,
    small_recipe,
    told_apart,
    train,
)

LEARNING = ["--epochs", "10", "--learning_rate", "3e-2", "--anneal_steps", "0"]
LEARNING += ["--batch_size", "20", "--mega_batch", "1"]


@pytest.mark.parametrize("objective", ["infonce", "both"])
def test_every_objective_separates_paraphrases_from_others(objective, tmp_path):
    train(small_recipe(tmp_path, *LEARNING, "--objective", objective), tmp_path / "out")
    assert told_apart(tmp_path / "out") > 0.65  # untrained: 0.49
    if objective == "both":
        last = log(tmp_path / "out", "loss")[-1]
        assert last["loss"] == pytest.approx(last["margin"] + last["infonce"])


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["margin", "infonce"])
def test_matryoshka_improves_retrieval_with_prefixes(objective, tmp_path):
    found = []
    for name, more in (("whole", []), ("prefix", ["--matryoshka", "6"])):
        more += ["--objective", objective, "--batch_size", "60"]
        more += ["--epochs", "60", "--learning_rate", "1e-2"]
        train(small_recipe(tmp_path, *LEARNING, *more), tmp_path / name)
        encoder = SentenceEncoder.from_pretrained(tmp_path / name)
        left, right = (
            normalize(torch.from_numpy(encoder.encode(side))[:, :6])
            for side in zip(*ROWS, strict=True)
        )
        found.append(int(((left @ right.T).argmax(1) == torch.arange(60)).sum()))
    assert found[1] > found[0] + 2, found


def test_the_best_checkpoint_is_the_finished_model(tmp_path, sts_folder):
    recipe = small_recipe(tmp_path, "--development", "clean", "--evaluate_every", "2")
    result = train(recipe, tmp_path / "out", data_root=sts_folder.parent)
    scores = {line["step"]: line["development"] for line in log(tmp_path / "out", "development")}
    assert result.best_score == max(scores.values()) == scores[result.best_step]


def test_a_run_without_newer_keys_resumes(tmp_path):
    recipe = small_recipe(tmp_path)
    first = train(recipe, tmp_path / "out")
    record = tmp_path / "out" / "recipe.yaml"
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    older = [line for line in lines if "temperature" not in line and "objective" not in line]
    assert len(older) == len(lines) - 2
    record.write_text("".join(older), encoding="utf-8")
    assert train(recipe, tmp_path / "out") == first
    assert record.read_text(encoding="utf-8") == "".join(lines)


def test_datasets_are_trained_on_with_or_without_files(tmp_path):
    columns = {"id": range(60), "a": [a for a, _ in ROWS], "b": [b for _, b in ROWS]}
    dataset = datasets.Dataset.from_dict(columns)
    half = SourceArguments("half", weight=0.5, columns=["b", "a"])
    given = [dataset, (dataset, half)]
    assert train(small_recipe(tmp_path), tmp_path / "both", datasets=given).examples == 4 * 150
    recipe = recipe_of(tmp_path, "{}", *SMALL)
    assert train(recipe, tmp_path / "alone", datasets=[dataset]).examples == 4 * 60
    (tmp_path / "empty.tsv").write_text("only one column\n\t\n")
    empty = small_recipe(tmp_path, "--sources", str(tmp_path / "empty.tsv"))
    for chosen, given in ((recipe, []), (recipe, [[("a cat", "the cat")]]), (empty, [])):
        with pytest.raises(DataError):
            train(chosen, tmp_path / "none", datasets=given)
        assert not (tmp_path / "none").exists()
