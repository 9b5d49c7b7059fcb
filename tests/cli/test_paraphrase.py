"""`paraphrastic paraphrase` and `paraphrastic attack`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.cli import attack as attack_command
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.evaluation import adversarial
from paraphrastic_hf.predictors import any_classifier
from tests.data_root import write_supervised
from tests.generation import scpn

LINES = ["the girl wrote a letter in the garden .", "", "a man sold the paper ."]
TEMPLATE = "(ROOT (S (NP) (VP) (.)))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for kind in ("scpn", "parse-generator", "paraphraser"):
        scpn.make(kind, made)
    (made / "lines.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    tree = "(S (NP (DT the) (NN girl)) (VP (VBD wrote)) (. .))"
    (made / "trees.txt").write_text(f"{tree}\n\nno tree\n", encoding="utf-8")
    return made


def run(*arguments: Any) -> int:
    return main([*map(str, arguments), "--quiet"])


def test_each_line_and_template_gives_a_row(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--generator", folder / "parse-generator", "--trees", folder / "trees.txt"]
    options += ["--template", TEMPLATE, "--templates", "top2", "--max-tokens", 8]
    assert run("paraphrase", folder / "scpn", folder / "lines.txt", *options) == 0
    out, errors = capsys.readouterr()
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0][:3] == ["line", "kept", "template"]
    assert [row[0] for row in rows[1:]] == ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    assert {row[-1] for row in rows[4:7]} == {"the line is blank"}
    assert {row[-1] for row in rows[7:]} == {"the sentence could not be parsed"}
    assert "'no tree' is no tree" in errors


def test_every_line_has_a_tree_or_the_file_of_trees_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trees.txt").write_text("(S (NP (NN girl)))\n\n", encoding="utf-8")
    options = ["--generator", folder / "parse-generator", "--trees", tmp_path / "trees.txt"]
    options += ["--template", TEMPLATE]
    assert run("paraphrase", folder / "scpn", folder / "lines.txt", *options) == 2
    assert "trees.txt ends before line 3" in capsys.readouterr().err
    (tmp_path / "trees.txt").write_text("(S (NP (NN girl)))\n" * 4, encoding="utf-8")
    assert run("paraphrase", folder / "scpn", folder / "lines.txt", *options) == 2
    assert "trees.txt goes on after line 3" in capsys.readouterr().err


def test_a_least_share_of_words_out_of_range_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--generator", folder / "parse-generator", "--trees", folder / "trees.txt"]
    options += ["--template", TEMPLATE, "--max-tokens", 3, "--min-overlap", "nan"]
    assert run("paraphrase", folder / "scpn", folder / "lines.txt", *options) == 2
    assert "--min-overlap must be from 0 to 1, got nan" in capsys.readouterr().err


def test_canonicalising_keeps_every_line_in_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--canonical", "--max-tokens", 5]
    assert run("paraphrase", folder / "paraphraser", folder / "lines.txt", *options) == 0
    out = capsys.readouterr().out.split("\n")
    assert len(out) == 4
    assert out[0]
    assert out[1] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give templates"),
        (["--canonical", "--template", TEMPLATE], "give templates"),
        (["--templates", "twenty"], "--templates must be top20 or the like"),
        (
            ["--template", TEMPLATE, "--draw", "2"],
            "--draw must be from 1 to the number of templates, 1, got 2",
        ),
        (["--template", "(S (NP)"], "unbalanced brackets"),
        (["--template", TEMPLATE], "name a parse generator"),
        (["--template", TEMPLATE, "--generator", "nothing-there"], "nothing-there"),
        (["--template", TEMPLATE, "--beams", "0"], "beams must be at least 1"),
        (["--template", TEMPLATE, "--outputs", "0"], "outputs must be at least 1"),
        (["--template", TEMPLATE, "--sample", "--temperature", "0"], "temperature must be above 0"),
        (
            ["--template", TEMPLATE, "--temperature", "2"],
            "--temperature is for draws: add --sample",
        ),
        (["--canonical", "--outputs", "2"], "leave --outputs out"),
        (["--canonical", "--draw", "2", "--min-overlap", "0"], "--draw and --min-overlap out"),
        (["--template", TEMPLATE, "--trees", "a", "--parser", "b"], "leave --parser out"),
        (
            ["--template", TEMPLATE, "--encoder", "none", "--min-similarity", "0.5"],
            "--min-similarity goes by an encoder",
        ),
        (["--template-file", "-", "--trees", "-"], "only one input can be -"),
    ],
)
def test_options_without_a_meaning_are_refused(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "nothing-there" in options:
        options = [str(folder / each) if each == "nothing-there" else each for each in options]
    assert run("paraphrase", folder / "scpn", folder / "lines.txt", *options) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_an_attack_reports_and_writes_what_training_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev.tsv").write_text("good\ta fine film\nbad\tdull\n", encoding="utf-8")
    rows = [
        "line\tkept\tparaphrase",
        "1\tyes\ta lovely film",
        "1\tno\ta fine day",
        "2\tyes\tboring",
    ]
    (tmp_path / "scpn.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "own.tsv").write_text("2\tnot fine\n", encoding="utf-8")
    monkeypatch.setattr(
        any_classifier,
        "load_classifier",
        lambda name, labels, **_: (
            lambda texts, _: ["good" if "fine" in t else "bad" for t in texts]
        ),
    )
    given = [f"--paraphrases={tmp_path / 'scpn.tsv'}", f"--paraphrases=mine={tmp_path / 'own.tsv'}"]
    out = tmp_path / "attack"
    arguments = ["attack", "english", tmp_path / "dev.tsv", *given, "--output", out]
    assert main([*map(str, arguments)]) == 0
    report = json.loads((out / "attack.json").read_text(encoding="utf-8"))
    assert report["scpn"]["broken"] == 50
    assert report["mine"]["accuracy_under_attack"] == 50
    assert report["scpn"]["similarity"] > 0
    assert (out / "scpn.training.tsv").read_text() == "good\ta lovely film\nbad\tboring\n"
    assert "bad\tgood\tdull\tnot fine" in (out / "mine.broken.tsv").read_text()
    assert "| scpn |" in capsys.readouterr().out


def test_rows_that_do_not_fit_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("3\ta text\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows.tsv:1 is no paraphrase: .* 1 to 2"):
        adversarial.read_paraphrases(str(path), 2)
    path.write_text("good\ta\nbad\tb\tc\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows.tsv:2 has 3 columns"):
        adversarial.read_examples(str(path))
    for text in ("good\ta\n\nbad\tb\n", "good\ta\nbad\t \n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"rows.tsv:2 is blank or has a blank column"):
            adversarial.read_examples(str(path))
    path.write_text("\n1\ta text\n\n9\tanother\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows.tsv:4 is no paraphrase"):
        adversarial.read_paraphrases(str(path), 2)
    path.write_text("9" * 5000 + "\ta text\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows.tsv:1 is no paraphrase"):
        adversarial.read_paraphrases(str(path), 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--paraphrases", "a/par.tsv", "--paraphrases", "b/par.tsv"], "need different names"),
        (["--paraphrases", "../up=a/par.tsv"], "got '../up'"),
        (["--paraphrases", "=a/par.tsv"], "got ''"),
        (["--paraphrases", "nmt-bt=a/par.tsv", "--back-translate", "x", "y"], "got 'nmt-bt'"),
        (
            ["--paraphrases", "a/par.tsv", "--output", "dev.tsv"],
            "dev.tsv is read and cannot be written",
        ),
        (["--paraphrases", "a/par.tsv", "--output", "-"], "--output is a folder here"),
        (["--paraphrases", "-", "--paraphrases", "x=-"], "only one input can be -"),
    ],
)
def test_what_an_attack_cannot_do_is_said_before_it_begins(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("dev.tsv", "a/par.tsv", "b/par.tsv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("1\ta text\n", encoding="utf-8")
    more = [] if "--output" in options else ["--output", "out"]
    assert main(["attack", "english", "dev.tsv", *options, *more]) == 2
    assert message in capsys.readouterr().err


def test_an_equals_sign_in_a_path_is_no_name(tmp_path: Path) -> None:
    folder = tmp_path / "x=1"
    folder.mkdir()
    (folder / "par.tsv").touch()
    assert attack_command._named(str(folder / "par.tsv")) == ("par", str(folder / "par.tsv"))


def test_a_classifier_of_this_package_is_attacked_and_trained_again(tmp_path: Path) -> None:
    from paraphrastic_hf.training.engine.run import train
    from paraphrastic_hf.training.kinds import load_recipe

    data = write_supervised(tmp_path / "data")
    further = tmp_path / "further.tsv"
    further.write_text("negative\tan awful zzyzx\n", encoding="utf-8")
    options = ["--hidden_size", "4", "--epochs", "1", "--further", str(further)]
    options += ["--task.dataset.config", "binary"]
    recipe = load_recipe("towards-universal-2016/sentiment-averaging", options)
    train(recipe, tmp_path / "out", data_root=data, progress=False)
    classify = any_classifier.load_classifier(str(tmp_path / "out"), labels=["negative"])
    assert set(classify(["an awful zzyzx"], None)) <= {"negative", "positive"}
    with pytest.raises(ModelError, match="and the examples have good"):
        any_classifier.load_classifier(str(tmp_path / "out"), labels=["good"])
    further.write_text("awful\ta text\n", encoding="utf-8")
    with pytest.raises(DataError, match="must be one of the labels"):
        train(recipe, tmp_path / "again", data_root=data, progress=False)
