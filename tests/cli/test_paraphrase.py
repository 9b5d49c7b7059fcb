"""`paraphrastic paraphrase` and `paraphrastic attack`."""

import json
from typing import Any

import pytest

from paraphrastic_hf import SyntacticParaphraser, load_recipe, train
from paraphrastic_hf.cli import attack as attack_command
from paraphrastic_hf.cli import paraphrase as paraphrase_command
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.evaluation import adversarial
from paraphrastic_hf.generation.templates import load_templates
from paraphrastic_hf.predictors import any_classifier
from tests.data_root import write_supervised
from tests.generation import scpn

LINES = ["the girl wrote a letter in the garden .", "", "a man sold the paper ."]
TEMPLATE = "(ROOT (S (NP) (VP) (.)))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("models")
    for kind in ("scpn", "parse-generator", "paraphraser", "ssru"):
        scpn.make(kind, made)
    (made / "lines.txt").write_text("\n".join(LINES) + "\n")
    return made


def test_every_line_and_template_gives_a_row(folder, tmp_path, run):
    trees, tree = tmp_path / "trees.txt", "(S (NP (DT the) (NN girl)) (VP (VBD wrote)) (. .))"
    command = ["paraphrase", folder / "scpn", folder / "lines.txt", "--trees", trees, "--quiet"]
    command += ["--generator", folder / "parse-generator", "--template", TEMPLATE]
    trees.write_text(f"{tree}\n\nno tree\n")
    out, errors = run(*command, "--templates", "top2", "--max-tokens", 8)
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0][:3] == ["line", "kept", "template"]
    assert [row[0] for row in rows[1:]] == ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    remarks = [{row[-1] for row in rows[start : start + 3]} for start in (4, 7)]
    assert all(len(each) == 1 and each != {""} for each in remarks)
    assert remarks[0] != remarks[1]
    assert "'no tree'" in errors
    assert "top20" in run(*command, "--templates", "twenty", status=2).err
    absent = folder / "nothing-there"
    assert str(absent) in run(*command, "--generator", absent, status=2).err
    for count in (2, 4):
        trees.write_text(f"{tree}\n" * count)
        assert str(trees) in run(*command, status=2).err


def test_canonicalization_keeps_the_order_of_lines(folder, run):
    options = ["--canonical", "--max-tokens", 5, "--quiet"]
    out = run("paraphrase", folder / "paraphraser", folder / "lines.txt", *options).out
    assert [bool(line) for line in out.split("\n")] == [True, False, True, False]


def test_without_templates_the_best_paraphrases_are_written(folder, tmp_path, monkeypatch, run):
    file = tmp_path / "lines.txt"
    file.write_text("a man sold the paper .\n\nthe man sold a paper .\n")
    monkeypatch.setattr(paraphrase_command, "DEFAULT_PARAPHRASER", str(folder / "ssru"))
    assert run("paraphrase", file, "--max-tokens", 4, "--quiet").out.startswith("line\tkept\t")
    free = run("paraphrase", file, "--canonical", "--max-tokens", 4, "--quiet").out
    assert free.count("\n") == 3
    run("paraphrase", status=2)
    run("paraphrase", tmp_path / "missing.txt", status=2)
    counts = load_templates(folder / "ssru")
    written = {text: (f"the man sold {n} papers", n - 9.0) for n, text in enumerate([*counts, ""])}
    writer: Any = scpn.Scripted(written)
    stub = SyntacticParaphraser(writer, templates=counts)
    monkeypatch.setattr(paraphrase_command, "load_paraphraser", lambda _: stub)
    plain = ["paraphrase", file, "--encoder", "none", "--quiet"]
    last = [text for text, _ in reversed(written.values())]
    for options, count in (([], 3), (["--best", 2], 2)):
        rows = [line.split("\t") for line in run(*plain, *options).out.splitlines()[1:]]
        assert [(row[0], row[6]) for row in rows] == [
            (number, text) for number in "13" for text in last[:count]
        ]
    drawn = ["--best", 3, "--draw", 1]
    rows = [line.split("\t") for line in run(*plain, *drawn).out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["1", "3"]
    for refused in (["--best", 0], ["--best", -1], ["--best", 0, "--template", TEMPLATE]):
        assert str(refused[1]) in run(*plain, *refused, status=2).err


def test_an_attack_writes_reports_and_training_rows(tmp_path, monkeypatch, run):
    examples, scpn_rows, own = (tmp_path / name for name in ("dev.tsv", "scpn.tsv", "own.tsv"))
    examples.write_text("good\ta fine film\nbad\tdull\n")
    rows = "line\tkept\tparaphrase\n1\tyes\ta lovely film\n1\tno\ta fine day\n2\tyes\tboring\n"
    scpn_rows.write_text(rows)
    own.write_text("2\tnot fine\n")

    def load(*_, **__):
        return lambda texts, _: ["good" if "fine" in text else "bad" for text in texts]

    monkeypatch.setattr(any_classifier, "load_classifier", load)
    given, out = [f"--paraphrases={scpn_rows}", f"--paraphrases=mine={own}"], tmp_path / "attack"
    printed = run("attack", "english", examples, *given, "--output", out).out
    report = json.loads((out / "attack.json").read_text())
    assert report["scpn"]["broken"] == 50
    assert report["mine"]["accuracy_under_attack"] == 50
    assert report["scpn"]["similarity"] > 0
    assert (out / "scpn.training.tsv").read_text() == "good\ta lovely film\nbad\tboring\n"
    assert "bad\tgood\tdull\tnot fine" in (out / "mine.broken.tsv").read_text()
    assert "| scpn |" in printed


@pytest.mark.parametrize(
    ("text", "line"),
    [("3\ta text\n", 1), ("\n1\ta text\n\n9\tanother\n", 4), ("9" * 5000 + "\ta text\n", 1)],
)
def test_a_wrong_line_number_is_refused(text, line, tmp_path):
    (tmp_path / "rows.tsv").write_text(text)
    with pytest.raises(DataError, match=rf"rows.tsv:{line}\b"):
        adversarial.read_paraphrases(str(tmp_path / "rows.tsv"), 2)


@pytest.mark.parametrize(
    "text", ["good\ta\nbad\tb\tc\n", "good\ta\n\nbad\tb\n", "good\ta\nbad\t \n"]
)
def test_a_malformed_example_is_refused(text, tmp_path):
    (tmp_path / "rows.tsv").write_text(text)
    with pytest.raises(DataError, match=r"rows.tsv:2\b"):
        adversarial.read_examples(str(tmp_path / "rows.tsv"))


def test_an_equals_sign_in_a_path_is_not_a_name(tmp_path):
    path = tmp_path / "x=1" / "par.tsv"
    path.parent.mkdir()
    path.touch()
    assert attack_command._named(str(path)) == ("par", str(path))


@pytest.mark.slow
def test_a_classifier_trains_with_extra_examples(tmp_path):
    data, further = write_supervised(tmp_path / "data"), tmp_path / "further.tsv"
    further.write_text("negative\tan awful zzyzx\n")
    options = ["--hidden_size", "4", "--epochs", "1", "--extra_examples", str(further)]
    options += ["--task.dataset.config", "binary"]
    recipe = load_recipe("towards-universal-2016/sentiment-averaging", options)
    train(recipe, tmp_path / "out", data_root=data, progress=False)
    classify = any_classifier.load_classifier(str(tmp_path / "out"), labels=["negative"])
    assert set(classify(["an awful zzyzx"], None)) <= {"negative", "positive"}
    with pytest.raises(ModelError):
        any_classifier.load_classifier(str(tmp_path / "out"), labels=["good"])
    further.write_text("awful\ta text\n")
    with pytest.raises(DataError):
        train(recipe, tmp_path / "again", data_root=data, progress=False)
