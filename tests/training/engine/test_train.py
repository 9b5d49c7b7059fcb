"""A whole run, on the repository's own text: learning, resuming, refusing, two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import normalize

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.config.recipe import read_recipe, to_yaml
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.engine.run import train
from tests.training.processes import logged, train_in_two_processes, train_until_killed

ROOT = Path(__file__).parents[3]
PAIRS = ROOT / "recipes" / "demo" / "pairs.tsv"
SMALL = ["--vocab_size", "250", "--hidden_size", "24", "--batch_size", "8", "--development", "none"]
SMALL += ["--mega_batch", "3", "--anneal_steps", "4", "--epochs", "4"]


def small_recipe(folder: Path, *overrides: str, sources: str | None = None) -> ContrastiveRecipe:
    path = folder / "recipe.yaml"
    path.write_text(f"data: {{sources: [{json.dumps(sources or str(PAIRS))}]}}", encoding="utf-8")
    return read_recipe(ContrastiveRecipe, path, [*SMALL, *overrides])


def weights(output: Path) -> torch.Tensor:
    return load_file(output / "model.safetensors")["embedding.weight"]


def trained_pairs(
    kind: str, size: str, folder: Path, *more: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors of both sides of the pairs after training on them."""
    settings = ["--kind", kind] if kind == "averaging" else ["--tokenizer.kind", kind]
    settings += ["--vocab_size", size, "--epochs", "30", "--learning_rate", "1e-2"]
    settings += ["--anneal_steps", "0", *more]
    train(small_recipe(folder, *settings), folder / "out", progress=False)
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    encoder = SentenceEncoder.from_pretrained(folder / "out")
    first, second = (torch.from_numpy(encoder.encode(side)) for side in zip(*rows, strict=True))
    return first, second


def learning(kind: str, size: str, folder: Path, *more: str) -> float:
    """How much nearer paraphrases are than strangers after training, in cosine units."""
    first, second = trained_pairs(kind, size, folder, *more)
    together = torch.cosine_similarity(first, second).mean()
    apart = torch.cosine_similarity(first, second.roll(-1, 0)).mean()
    return float(together - apart)


@pytest.mark.parametrize(
    ("kind", "size"), [("sentencepiece", "250"), ("word", "400"), ("char_ngram", "2000")]
)
def test_every_tokenizer_learns_to_tell_paraphrases_from_strangers(
    kind: str, size: str, tmp_path: Path
) -> None:
    assert learning(kind, size, tmp_path) > 0.6


@pytest.mark.parametrize("setting", ["max", "mix", "rand"])
def test_a_run_is_a_function_of_its_seed(setting: str, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        recipe = small_recipe(
            tmp_path, "--negatives", setting, "--embedding_dropout", "0.2", "--seed", seed
        )
        train(recipe, tmp_path / name, progress=False)
    assert torch.equal(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not torch.equal(weights(tmp_path / "a"), weights(tmp_path / "c"))


OPTIONS = {
    **{"--optimizer": "adagrad", "--lambda_w": "0.1", "--clip": "0.1", "--schedule": "linear"},
    **{
        "--pool": "opposite_side",
        "--word_dropout": "0.3",
        "--negatives": "rand",
        "--margin": "0.8",
        "--hinge": "one_sided",
        "--similarity": "dot",
    },
}


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_changes_the_result(option: str, tmp_path: Path) -> None:
    train(small_recipe(tmp_path), tmp_path / "plain", progress=False)
    train(small_recipe(tmp_path, option, OPTIONS[option]), tmp_path / "other", progress=False)
    assert torch.isfinite(weights(tmp_path / "other")).all()
    assert not torch.equal(weights(tmp_path / "plain"), weights(tmp_path / "other"))


@pytest.mark.parametrize("option", [("--scramble", "0.5"), ("--exclude", "clusters")], ids=str)
def test_what_cannot_matter_to_an_average_of_these_pairs_does_not(
    option: tuple[str, str], tmp_path: Path
) -> None:
    """Word order never does; and no sentence here is in two pairs."""
    plain = ["--embedding_dropout", "0"]
    recipes = small_recipe(tmp_path, *plain), small_recipe(tmp_path, *plain, *option)
    for name, recipe in zip("ab", recipes, strict=True):
        train(recipe, tmp_path / name, progress=False)
    # Scrambling adds the same rows in another order.
    torch.testing.assert_close(
        weights(tmp_path / "a"), weights(tmp_path / "b"), atol=1e-3, rtol=1e-3
    )


def test_kill_9_and_resume_gives_bit_equal_weights(tmp_path: Path) -> None:
    recipe = small_recipe(
        tmp_path,
        "--embedding_dropout",
        "0.3",
        "--negatives",
        "mix",
        "--epochs",
        "12",
        "--checkpoint_every",
        "5",
    )
    train(recipe, tmp_path / "whole", progress=False)
    path, broken = tmp_path / "resolved.yaml", tmp_path / "broken"
    path.write_text(to_yaml(recipe), encoding="utf-8")
    kills = [train_until_killed(path, broken, seconds) for seconds in (0.05, 0.3)]
    assert any(kills)
    assert not (broken / "model.safetensors").exists()
    train(recipe, broken, progress=False)
    assert torch.equal(weights(tmp_path / "whole"), weights(broken))


@pytest.mark.parametrize(
    ("batch_size", "more"),
    [
        ("8", ["--optimizer", "adam"]),
        ("7", ["--optimizer", "adagrad"]),
        ("7", ["--objective", "both", "--mega_batch", "1", "--matryoshka", "8", "16"]),
        ("59", ["--objective", "infonce", "--mega_batch", "1"]),  # a last batch of one pair
    ],
    ids=["adam", "adagrad", "both", "infonce"],
)
def test_two_processes_train_as_one_does(batch_size: str, more: list[str], tmp_path: Path) -> None:
    recipe = small_recipe(
        tmp_path,
        "--embedding_dropout",
        "0",
        "--batch_size",
        batch_size,
        *more,
        "--lambda_w",
        "0.1",
        "--clip",
        "0.5",
    )
    train(recipe, tmp_path / "one", progress=False)
    resolved, two = tmp_path / "resolved.yaml", tmp_path / "two"
    resolved.write_text(to_yaml(recipe), encoding="utf-8")
    if "adam" in more:  # as the README says; the others differ in no more than in who starts them
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc_per_node=2", "-m", "paraphrastic_hf.cli.main", "train", str(resolved)]
        command += ["--output", str(two), "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr[-3000:]
    else:
        train_in_two_processes(resolved, two)
    assert json.loads((two / "run.json").read_text())["processes"] == 2
    log, expected_log = logged(two), logged(tmp_path / "one")
    assert log.keys() == expected_log.keys()
    for name, values in expected_log.items():  # process 0 alone sees half of each batch
        assert log[name] == pytest.approx(values, rel=2e-2), name
    found, expected = weights(two), weights(tmp_path / "one")
    if "--objective" not in more:
        # Sums in another order: single precision over a few dozen steps.
        torch.testing.assert_close(found, expected, atol=2e-4, rtol=1e-3)
        return
    # Adam makes whole steps of a gradient that is nearly zero, as a softmax has many: a few numbers
    # in a hundred may part. That gradients are equal is tested in test_contrastive.py.
    torch.testing.assert_close(found, expected, atol=3e-3, rtol=0)
    assert float(((found - expected).abs() > 2e-4).float().mean()) < 0.02


NAN_IN_ONE = """
import os
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective as Objective
loss = Objective.loss
def spoilt(self, model, batch, epoch, step):
    found = loss(self, model, batch, epoch, step)
    if step == 2 and os.environ["RANK"] == "1":
        found = type(found)(found.total * float("nan"), found.parts)
    return found
Objective.loss = spoilt
"""


def test_what_is_not_finite_in_one_process_is_trained_into_none(tmp_path: Path) -> None:
    settings = ["--optimizer", "nesterov", "--momentum", "0.9", "--checkpoint_every", "1"]
    recipe, output = tmp_path / "resolved.yaml", tmp_path / "two"
    recipe.write_text(to_yaml(small_recipe(tmp_path, *settings)), encoding="utf-8")
    said = train_in_two_processes(recipe, output, before=NAN_IN_ONE, ends_with=2)
    assert said.count("the loss is nan at step 3") == 2
    written = sorted((output / "checkpoints").glob("step-*"))
    assert [path.name for path in written] == ["step-0000000001", "step-0000000002"]
    for path in written:
        for tensor in load_file(path / "model.safetensors").values():
            assert tensor.isfinite().all()


@pytest.mark.parametrize("objective", ["infonce", "both"])
def test_every_objective_learns_to_tell_paraphrases_from_strangers(
    objective: str, tmp_path: Path
) -> None:
    more = ["--objective", objective, "--mega_batch", "1"]
    assert learning("sentencepiece", "250", tmp_path, *more) > 0.6


@pytest.mark.parametrize("objective", ["margin", "infonce"])
def test_prefixes_find_more_partners_where_matryoshka_names_them(
    objective: str, tmp_path: Path
) -> None:
    found = []
    for name, more in (("whole", []), ("prefix", ["--matryoshka", "6"])):
        (tmp_path / name).mkdir()
        more = ["--objective", objective, "--mega_batch", "1", "--batch_size", "60", *more]
        left, right = trained_pairs(
            "sentencepiece", "250", tmp_path / name, *more, "--epochs", "60"
        )
        cosines = normalize(left[:, :6]) @ normalize(right[:, :6]).T
        found.append(int((cosines.argmax(1) == torch.arange(60)).sum()))
    assert found[1] > found[0] + 2, found


def test_a_prefix_as_wide_as_the_encoder_is_refused(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, "--matryoshka", "8", "24")
    with pytest.raises(RecipeError, match=r"below the encoder's 24 dimensions, got \[8, 24\]"):
        train(recipe, tmp_path / "out", progress=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["--objective", "infonce"], "mega_batch with objective infonce must be 1"),
        (
            ["--objective", "both", "--mega_batch", "1", "--similarity", "dot"],
            "similarity with objective both must be cosine",
        ),
        (
            ["--objective", "infonce", "--mega_batch", "1", "--hinge", "one_sided"],
            "hinge with objective infonce must be left out",
        ),
        (["--temperature", "0"], "temperature must be positive"),
        (["--matryoshka", "0"], "matryoshka must be ascending numbers"),
        (["--matryoshka", "8", "8"], "matryoshka must be ascending numbers"),
        (["--matryoshka", "8", "--whiten", "0.25"], "dimension and spread make others lead"),
    ],
)
def test_objectives_without_a_meaning_are_refused(
    settings: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError, match=message):
        small_recipe(tmp_path, *settings)


def test_the_best_checkpoint_is_the_finished_model(tmp_path: Path, sts_folder: Path) -> None:
    recipe = small_recipe(tmp_path, "--development", "clean", "--evaluate_every", "2")
    result = train(recipe, tmp_path / "out", data_root=sts_folder.parent, progress=False)
    log = [
        json.loads(line) for line in (tmp_path / "out/logs/train.jsonl").read_text().splitlines()
    ]
    scores = {line["step"]: line["development"] for line in log if "development" in line}
    assert result.best_score == max(scores.values()) == scores[result.best_step]


def test_what_could_not_be_done_at_the_end_is_refused_at_the_start(tmp_path: Path) -> None:
    for kind, name, value in (
        ("projection", "whiten", "0.2"),
        ("gated", "spread", "true"),
        ("weighted", "significant_bits", "5"),
    ):
        recipe = small_recipe(tmp_path, "--model.kind", kind, f"--{name}", value)
        with pytest.raises(
            RecipeError, match=f"finish.{name} .* averaging model, which model.kind"
        ):
            train(recipe, tmp_path / "out", progress=False)
    with pytest.raises(RecipeError, match=r"training.clip.*-1"):
        small_recipe(tmp_path, "--clip", "-1")
    assert not (tmp_path / "out").exists()


def test_a_finished_run_is_left_alone_and_another_recipe_refused(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path)
    first = train(recipe, tmp_path / "out", progress=False)
    before = (tmp_path / "out" / "model.safetensors").stat().st_mtime_ns
    assert train(recipe, tmp_path / "out", progress=False) == first
    assert (tmp_path / "out" / "model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(RecipeError, match=r"another recipe.*margin: 0.5.*--overwrite"):
        train(small_recipe(tmp_path, "--margin", "0.5"), tmp_path / "out", progress=False)
    train(
        small_recipe(tmp_path, "--margin", "0.5"), tmp_path / "out", overwrite=True, progress=False
    )


def test_a_run_begun_before_a_key_was_new_goes_on(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path)
    first = train(recipe, tmp_path / "out", progress=False)
    record = tmp_path / "out" / "recipe.yaml"
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    older = [line for line in lines if "temperature" not in line and "objective" not in line]
    assert len(older) == len(lines) - 2
    record.write_text("".join(older), encoding="utf-8")
    assert train(recipe, tmp_path / "out", progress=False) == first
    assert record.read_text(encoding="utf-8") == "".join(lines)


def test_a_folder_that_is_not_ours_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(RecipeError, match="not empty"):
        train(small_recipe(tmp_path), tmp_path / "out", overwrite=True, progress=False)
    assert (tmp_path / "out" / "thesis.tex").exists()


def test_datasets_objects_are_trained_on_alone_or_with_files(tmp_path: Path) -> None:
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    columns = {"id": range(60), "a": [row[0] for row in rows], "b": [row[1] for row in rows]}
    dataset = datasets.Dataset.from_dict(columns)
    half = SourceArguments("half", weight=0.5, columns=["b", "a"])
    recipe = small_recipe(tmp_path)
    both = train(recipe, tmp_path / "both", datasets=[dataset, (dataset, half)], progress=False)
    assert both.examples == 4 * (60 + 60 + 30)
    (tmp_path / "empty.yaml").write_text("{}")
    recipe = read_recipe(ContrastiveRecipe, tmp_path / "empty.yaml", SMALL)
    assert train(recipe, tmp_path / "alone", datasets=[dataset], progress=False).examples == 4 * 60
    with pytest.raises(DataError, match="nothing to train on"):
        train(recipe, tmp_path / "none", progress=False)
    wrong: list[Any] = [[("a cat", "the cat")], ["a.tsv"], [("a.tsv", half)], dataset]
    for given in (*wrong, [(dataset, half, 3)], [{"a": "a cat", "b": "the cat"}]):
        with pytest.raises(TypeError, match=r"datasets(\[0\])? must be a|datasets=\[rows\]"):
            train(recipe, tmp_path / "none", datasets=given, progress=False)
    with pytest.raises(DataError, match="rows of a dataset are mappings"):
        train(recipe, tmp_path / "none", datasets=[[("a cat", "the cat")]], progress=False)


def test_given_vectors_are_the_start(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(
        "".join(f"{w} " + " ".join(["0.5"] * 24) + "\n" for w in ("cat", "zebra"))
    )
    recipe = small_recipe(
        tmp_path,
        "--tokenizer.kind",
        "word",
        "--epochs",
        "0",
        "--vectors",
        str(tmp_path / "vectors.txt"),
    )
    train(recipe, tmp_path / "out", progress=False)
    vector = SentenceEncoder.from_pretrained(tmp_path / "out").encode("cat")
    np.testing.assert_array_equal(vector, np.full(24, 0.5, np.float32))


def test_an_empty_training_set_is_a_clear_error_and_claims_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("only one column\n\t\n")
    with pytest.raises(DataError, match=r"empty\.tsv"):
        train(
            small_recipe(tmp_path, sources=str(tmp_path / "empty.tsv")),
            tmp_path / "out",
            progress=False,
        )
    train(small_recipe(tmp_path), tmp_path / "out", progress=False)
    assert (tmp_path / "out" / "model.safetensors").exists()


def test_a_vocabulary_larger_than_the_text_is_a_clear_error(tmp_path: Path) -> None:
    recipe = small_recipe(
        tmp_path, "--tokenizer.kind", "word", "--vocab_size", "9999", "--hard_vocab_limit", "true"
    )
    with pytest.raises(DataError, match="vocab_size is 9999"):
        train(recipe, tmp_path / "out", progress=False)


def test_zero_epochs_save_the_random_table(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, "--epochs", "0")
    train(recipe, tmp_path / "out", progress=False)
    table = weights(tmp_path / "out").numpy()
    assert np.all(table[0] == 0)
    assert abs(table[1:].std() - 1) < 0.05
