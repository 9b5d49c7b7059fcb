import json

import numpy as np
import pytest

from paraphrastic_hf import evaluate, load_recipe, train
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.evaluation.suites.probing import TASKS, read_made, read_probe
from tests.corpora.made_files import put
from tests.evaluation.made_pairs import Lengths

WORDS = ("cat", "dog", "cow", "hen", "ant", "bee", "fox", "owl", "rat", "yak")


class Letters:
    def encode(self, texts):
        return np.array([[text.count(c) for c in "abcdefgs.,!?"] for text in texts], float)


class Both(Letters):
    encoders = {"semantic": Letters(), "language": Lengths()}


def plurals(marks=""):
    """Return `the cats eat` (plural) and `the cat` with as many letters (singular) for all
    words."""
    return "".join(
        f"the {a}s {b} {marks}\tPlur\nthe {a} {b} {marks}o\tSing\n" for a in WORDS for b in WORDS
    )


def x_probe(root):
    return put(
        root,
        {f"probing/subj_number/{part}.txt": plurals(m) for part, m in (("va", ""), ("te", "."))},
    )


def senteval(root):
    parts = [
        f"{part}\t{line.split(chr(9))[1]}\t{line.split(chr(9))[0]}\n"
        for part in ("tr", "va", "te")
        for line in plurals(part).splitlines()
    ]
    return put(root, {"probing/subj_number.txt": "".join(parts)})


@pytest.mark.parametrize("layout", [x_probe, senteval])
def test_a_linear_property_is_probed_perfectly(layout, tmp_path):
    results = evaluate(Letters(), "probing", layout(tmp_path))
    assert results["headline"] == {"S. Num.": 100}
    assert results["rows"][0]["size"] == 200
    assert set(results["skipped"]) == set(TASKS) - {"S. Num."}


def test_x_probes_validation_split_is_cut_in_five(tmp_path):
    splits = read_probe("subj_number", x_probe(tmp_path))
    sizes = {name: len(labels) for name, (_, labels) in splits.items()}
    assert sizes == {"train": 160, "validation": 40, "test": 200}
    assert not set(splits["train"][0]) & set(splits["validation"][0])
    assert splits["validation"][1].count("Plur") == 20


def test_each_encoder_of_a_model_has_its_own_group(tmp_path):
    results = evaluate(Both(), "probing", x_probe(tmp_path))
    scores = {row["group"]: row["scores"]["accuracy"] for row in results["rows"]}
    assert list(scores) == ["semantic", "language"]
    assert scores["semantic"] == 100
    assert scores["language"] < 60  # both labels have the same lengths
    assert results["headline"] == {"S. Num.": 100}  # of the first encoder


@pytest.mark.slow
def test_the_command_scores_every_encoder_of_a_generative_model(tmp_path, capsys):
    x_probe(tmp_path / "eval")
    text = "{path: recipes/default/en-fr.tsv, languages: [en, fr]}"
    settings = ["--sources", text, "--held_out", "0", "--epochs", "1"]
    train(load_recipe("bilingual-generative-2020/smoke", settings), tmp_path / "m", progress=False)
    command = ["evaluate", str(tmp_path / "m"), "--suite", "probing", "--data", str(tmp_path)]
    output = tmp_path / "report"
    assert main([*command, "--output", str(output)]) == 3  # other tasks have no data
    rows = json.loads((output / "probing.json").read_text())["rows"]
    assert [row["group"] for row in rows] == ["semantic", "en", "fr"]
    assert main([*command, "--latent", "en", "--output", str(output / "en")]) == 3
    (english,) = json.loads((output / "en" / "probing.json").read_text())["rows"]
    assert english["group"] == "embedding"
    assert english["scores"] == rows[1]["scores"]
    assert "m-en" in capsys.readouterr().out


def test_a_task_with_one_label_is_skipped_and_unseen_labels_are_wrong(tmp_path):
    folder = put(tmp_path, {"probing/subj_number.txt": "tr\tX\ta\nva\tX\tb\nte\tX\tc\n"})
    put(tmp_path, {"probing/obj_number/va.txt": plurals(), "probing/obj_number/te.txt": plurals()})
    results = evaluate(Letters(), "probing", folder)
    assert "S. Num." in results["skipped"]
    assert results["headline"] == {"O. Num.": 100}
    path = folder / "probing" / "obj_number" / "te.txt"
    path.write_text(plurals().replace("Plur", "Dual"))
    assert evaluate(Letters(), "probing", folder)["headline"]["O. Num."] <= 50


def test_made_tasks_use_given_text_or_the_bitext(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    lines = [f"the {a} {mark} {b} " for a in WORDS for b in WORDS for mark in ".!"]
    bitext = "".join(f"{line}\tle {line}\n" for line in lines)
    put(tmp_path, {"train/en-fr/some.tsv": bitext, "eval/probing_text/es.txt": "el perro\n" * 3})
    first = read_made("punctuation", "first", "en", tmp_path / "eval")
    assert sum(len(labels) for _, labels in first.values()) == 200
    assert set(first["test"][0]) <= {line.strip() for line in lines}
    french = read_made("article_gender", "fr", "fr", tmp_path / "eval")
    assert {text.split()[0] for text in french["train"][0]} == {"le", "la"}
    results = evaluate(Letters(), "probing", tmp_path / "eval")
    assert results["headline"]["P. First"] == 100
    assert "Gend. es" in results["skipped"]  # the same sentence three times
    (tmp_path / "eval" / "probing_text" / "es.txt").unlink()
    again = evaluate(Letters(), "probing", tmp_path / "eval")
    assert "probing_text/es.txt" in again["skipped"]["Gend. es"]
