"""The last line of `train`: the output, and a command or call that uses it."""

from pathlib import Path

import pytest

from paraphrastic_hf.cli.train import next_command
from paraphrastic_hf.io.files import write_json
from tests.data_root import demo_pairs


def test_train_ends_with_a_command_that_runs(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{a}\t{b}\n" for a, b in demo_pairs())
    Path("pairs.tsv").write_text(text)
    small = ["--vocab_size", "200", "--hidden_size", "8", "--epochs", "1"]
    said = run("train", "own", "--sources", "pairs.tsv", "--output", "runs/a b", *small)
    assert "\r" not in said.err
    last = said.out.splitlines()[-1]
    assert "runs/a b" in last
    command = last.partition("paraphrastic ")[2]
    assert command == "score 'runs/a b' pairs.tsv"
    run("score", "runs/a b", "pairs.tsv")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "paraphrastic-bgt"}, "score "),
        ({"model_type": "paraphrastic-parser"}, "parse "),
        ({"model_type": "paraphrastic-tagger"}, "Tagger."),
        ({"model_type": "marian"}, "translate "),
        ({"model_type": "marian", "template": "none"}, "--canonical"),
        ({"model_type": "paraphrastic-paraphraser"}, "--canonical"),
        ({"model_type": "paraphrastic-scpn", "template": "parse"}, "--template-file"),
        ({"model_type": "paraphrastic-scpn", "template": "parse", "writes": "parse"}, "generator="),
    ],
)
def test_the_next_command_suits_the_model(config, expected, tmp_path):
    write_json(tmp_path / "config.json", {**config, "is_encoder_decoder": True})
    command = next_command(tmp_path)
    assert expected in command
    assert str(tmp_path) in command
