"""`paraphrastic tune` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from tests.evaluation.sts_files import write_sts

ROOT = Path(__file__).parents[2]


def test_a_search_shows_its_trials_and_leaves_a_recipe_to_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    write_sts(tmp_path / "data" / "eval")
    output, data = str(tmp_path / "out"), str(tmp_path / "data")
    command = ["tune", "recipes/demo/demo.yaml", "--data", data, "--quiet", "--epochs", "1"]
    command += ["--grid", "margin=0.3,0.5", "--development", "clean", "--output", output]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "| clean (Pearson r x 100) | training.margin | step | seconds |" in shown
    assert shown.splitlines()[-1].startswith(str(tmp_path / "out" / "best.yaml"))
    for name in ("trials.md", "trials.tsv", "trials.png", "optuna.log"):
        assert (tmp_path / "out" / name).is_file()
    card = (tmp_path / "out" / "best" / "README.md").read_text(encoding="utf-8")
    assert "\n# best\n" in card  # not the name of the trial
    best = str(tmp_path / "out" / "best.yaml")
    again = ["train", best, "--data", data, "--quiet", "--output", str(tmp_path / "again")]
    assert main(again) == 0


def test_a_search_without_a_good_trial_still_leaves_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    write_sts(tmp_path / "data" / "eval")
    command = ["tune", "recipes/demo/demo.yaml", "--data", str(tmp_path / "data"), "--quiet"]
    command += ["--grid", "learning_rate=1e30", "--development", "clean", "--epochs", "1"]
    assert main([*command, "--output", str(tmp_path / "out")]) == 2
    assert "the loss is nan" in (tmp_path / "out" / "trials.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "trials.png").is_file()


def test_a_search_may_begin_with_a_trained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    write_sts(tmp_path / "data" / "eval")
    command = ["tune", "own", "--start", "english", "--sources", "recipes/demo/pairs.tsv"]
    command += ["--data", str(tmp_path / "data"), "--quiet", "--epochs", "1", "--mega_batch", "1"]
    command += ["--batch_size", "16", "--grid", "learning_rate=1e-3", "--development", "clean"]
    assert main([*command, "--output", str(tmp_path / "out")]) == 0
    best = SentenceEncoder.from_pretrained(tmp_path / "out" / "best")
    english = SentenceEncoder.from_pretrained("english")
    assert best.tokenizer.tokens() == english.tokenizer.tokens()


def test_a_recipe_of_another_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tune", "sick-averaging", "--grid", "epochs=1,2", "--output", str(tmp_path / "out")]
    assert main(command) == 2
    assert (
        "sick-averaging is a recipe of kind supervised; name one of sent" in capsys.readouterr().err
    )


def test_a_wrong_key_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tune", str(ROOT / "recipes/demo/demo.yaml"), "--grid", "margn=0.3,0.5"]
    assert main([*command, "--output", str(tmp_path / "out")]) == 2
    assert "did you mean 'training.margin'" in capsys.readouterr().err
