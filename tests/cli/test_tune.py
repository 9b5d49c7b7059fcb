"""`paraphrastic tune`."""

from pathlib import Path

import pytest

from paraphrastic_hf import SentenceEncoder
from tests.evaluation.sts_files import write_sts

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Options of a quick search that writes into `out`."""
    monkeypatch.chdir(ROOT)
    write_sts(tmp_path / "data" / "eval")
    common = ["--data", str(tmp_path / "data"), "--quiet", "--epochs", "1"]
    return [*common, "--development", "clean", "--output", str(tmp_path / "out")]


def test_a_search_prints_trials_and_writes_the_best_recipe(command, tmp_path, run):
    out = tmp_path / "out"
    shown = run("tune", "recipes/demo/demo.yaml", "--grid", "margin=0.3,0.5", *command).out
    assert "| training.margin |" in shown
    assert str(out / "best.yaml") in shown.splitlines()[-1]
    assert all((out / name).is_file() for name in ("trials.md", "trials.jsonl", "trials.png"))
    card = (out / "best" / "README.md").read_text()
    assert "\n# best\n" in card  # not the name of the trial
    again = ["--data", tmp_path / "data", "--quiet", "--output", tmp_path / "again"]
    run("train", out / "best.yaml", *again)


@pytest.mark.slow
def test_a_search_may_start_from_a_trained_model(command, tmp_path, run):
    start = ["--start", "english", "--sources", "recipes/demo/pairs.tsv", "--mega_batch", "1"]
    run("tune", "own", *start, "--batch_size", "16", "--grid", "learning_rate=1e-3", *command)
    best = SentenceEncoder.from_pretrained(tmp_path / "out" / "best")
    english = SentenceEncoder.from_pretrained("english")
    assert best.tokenizer.tokens() == english.tokenizer.tokens()
