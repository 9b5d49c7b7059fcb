"""Two processes train the same model as one."""

import subprocess
import sys

import pytest
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from tests.data_root import write_supervised
from tests.trained import FAMILIES
from tests.training.runs import (
    PAIRS,
    assert_close_weights,
    assert_equal_weights,
    log,
    recipe_of,
    record,
    table,
    train,
    train_in_two_processes,
    weights,
    written,
)
from tests.training.seq2seq.marian import RECIPE, write_marian, write_pairs

pytestmark = pytest.mark.slow

WORDS = f"""
data: {{sources: [{PAIRS}]}}
tokenizer: {{vocab_size: 250}}
model: {{hidden_size: 24, embedding_dropout: 0}}
training: {{mega_batch: 3, anneal_steps: 4, epochs: 4, lambda_w: 0.1, clip: 0.5}}
run: {{development: none}}
"""
ONE_BATCH = ["--mega_batch", "1"]
CONTRASTIVE = {
    "adam": ["--batch_size", "8"],
    "adagrad": ["--batch_size", "7", "--optimizer", "adagrad"],
    "both": ["--batch_size", "7", "--objective", "both", *ONE_BATCH, "--matryoshka", "8", "16"],
    # the last batch has one pair
    "infonce": ["--batch_size", "59", "--objective", "infonce", *ONE_BATCH],
}


@pytest.mark.parametrize("name", CONTRASTIVE)
def test_contrastive_runs_agree(name, tmp_path):
    path, one, two = written(tmp_path, WORDS), tmp_path / "one", tmp_path / "two"
    options = CONTRASTIVE[name]
    train(recipe_of(tmp_path, WORDS, *options), one)
    if name == "adam":  # with the command of the README
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc_per_node=2", "-m", "paraphrastic_hf.cli.main", "train", str(path)]
        command += ["--output", str(two), "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr[-3000:]
    else:
        train_in_two_processes(path, two, *options)
    assert record(two)["processes"] == 2
    assert len(log(two)) == len(log(one))
    for found, expected in zip(log(two), log(one), strict=True):  # process 0 sees half of a batch
        assert found == pytest.approx(expected, rel=2e-2)
    if name in ("adam", "adagrad"):  # sums are in another order
        assert_close_weights(two, one, atol=2e-4, rtol=1e-3)
        return
    # A softmax has many gradients near zero, of which Adam makes whole steps, so up to 2 % of the
    # weights may differ more. `test_contrastive.py` compares the gradients.
    assert_close_weights(two, one, atol=3e-3, rtol=0)
    assert float(((table(two) - table(one)).abs() > 2e-4).float().mean()) < 0.02


def test_two_processes_lengthen_a_run(tmp_path):
    path = written(tmp_path, WORDS)
    for output, epochs in (("longer", "2"), ("longer", "4"), ("whole", "4")):
        train_in_two_processes(path, tmp_path / output, "--epochs", epochs)
    assert_equal_weights(tmp_path / "longer", tmp_path / "whole")


ALONE = ["--reconstructs", "[]", "--language_variables", "false", "--variational", "false"]
OTHERS = {
    "language_model": (["--dropout", "0", "--epochs", "4"], 5e-3),
    "bgt": (["--dropout", "0", "--sample", "false", "--epochs", "3"], 5e-2),
    # every weight needs a gradient, or processes would wait for it
    "mgt": (["--dropout", "0", *ALONE, "--epochs", "3"], 5e-2),
    "gated_conv": (
        ["--dropout", "0", "--epochs", "2", "--anneal", "0.5", "--development", "held_out"],
        1e-3,
    ),
    "gated": (["--embedding_dropout", "0"], 5e-4),
    "relatedness": (["--epochs", "3"], 5e-4),
}


@pytest.mark.parametrize("name", OTHERS)
def test_runs_of_other_kinds_agree(name, tmp_path):
    options, atol = OTHERS[name]
    root = write_supervised(tmp_path / "data")
    train(recipe_of(tmp_path, FAMILIES[name], *options), tmp_path / "one", data_root=root)
    path = tmp_path / "recipe.yaml"
    train_in_two_processes(path, tmp_path / "two", "--data", str(root), *options)
    assert record(tmp_path / "two")["processes"] == 2
    assert_close_weights(tmp_path / "two", tmp_path / "one", atol=atol, rtol=1e-2)


def test_minimum_risk_runs_agree(tmp_path):
    start = write_marian(tmp_path)
    # processes would draw different dropout masks
    AutoModelForSeq2SeqLM.from_pretrained(start, dropout=0.0).save_pretrained(tmp_path / "start")
    AutoTokenizer.from_pretrained(start).save_pretrained(tmp_path / "start")
    text = RECIPE.format(start=tmp_path / "start", pairs=write_pairs(tmp_path))
    options = ["--steps", "3", "--held_out", "0", "--development", "none"]
    options += ["--optimizer", "sgd", "--learning_rate", "0.05"]
    train(recipe_of(tmp_path, text, *options), tmp_path / "one")
    train_in_two_processes(tmp_path / "recipe.yaml", tmp_path / "two", *options)
    assert_close_weights(tmp_path / "two", tmp_path / "one", atol=1e-5, rtol=1e-4)


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


def test_a_nan_in_one_process_stops_all(tmp_path):
    options = ["--optimizer", "nesterov", "--momentum", "0.9", "--checkpoint_every", "1"]
    path, output = written(tmp_path, WORDS), tmp_path / "two"
    said = train_in_two_processes(path, output, *options, before=NAN_IN_ONE, ends_with=2)
    assert said.count("nan at step 3") == 2
    kept = sorted((output / "checkpoints").glob("step-*"))
    assert [path.name for path in kept] == ["step-0000000001", "step-0000000002"]
    for path in kept:
        assert all(tensor.isfinite().all() for tensor in weights(path).values())
