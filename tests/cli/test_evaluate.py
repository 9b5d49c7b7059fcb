"""`paraphrastic evaluate` on other libraries' models, smaller copies and own pairs."""

import json

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

from paraphrastic_hf import SentenceEncoder, evaluate, evaluate_pairs
from paraphrastic_hf.evaluation.report import headline_table
from tests.evaluation.sts_files import write_sts

NORMALIZED = ["--normalize-embeddings", "--quiet"]


def test_a_sentence_transformers_model_is_scored_the_same_way(subword, tmp_path, run):
    stock, output, page = (tmp_path / name for name in ("stock", "report", "page"))
    table = StaticEmbedding(subword.to_fast(), embedding_dim=16)
    SentenceTransformer(modules=[table, Normalize()]).save(str(stock))
    data = write_sts(tmp_path / "eval")
    printed = run("evaluate", stock, "--data", data, "--output", output).out
    results = json.loads((output / "sts.json").read_text())
    assert "SentenceTransformer" in results["settings"]["encoder"]
    assert len(results["rows"]) == 39
    (tmp_path / "lines.txt").write_text("the cat\na dog\n")
    run("encode", stock, tmp_path / "lines.txt", "--output", tmp_path / "v.npy", *NORMALIZED)
    np.testing.assert_allclose(np.linalg.norm(np.load(tmp_path / "v.npy"), axis=1), 1, rtol=1e-5)
    (row,) = [line for line in printed.splitlines() if line.startswith("| **stock** |")]
    assert row in run("evaluate", stock, "--data", tmp_path).out  # finds eval itself
    said = run("evaluate", "tiny", "--data", data, "--output", output, status=2).err
    assert "stock" in said
    shown = run("report", output, "--output", page).out.splitlines()
    assert {line.split(": ")[0] for line in shown} == {
        str(page / name) for name in ("report.html", "report.md", "results.tsv")
    }


def test_dimension_and_precision_are_in_the_name(tmp_path, run):
    data = write_sts(tmp_path / "eval")
    smaller = SentenceEncoder.from_pretrained("english").with_dimension(80).with_precision("int4")
    headline = evaluate(smaller, "sts", data, name="x")["headline"]
    row = " | ".join(f"{score:.1f}" for score in headline.values())
    options = ["--dimension", "80", "--precision", "int4"]
    found = run("evaluate", "english", "--data", data, *options).out
    assert f"| **english-80-int4** | {row} |" in found


def test_the_headline_is_printed_last_and_datasets_are_in_the_file(tmp_path, run):
    data, output = write_sts(tmp_path / "eval"), tmp_path / "report"
    printed = run("evaluate", "tiny", "--data", data, "--output", output).out
    assert printed.rstrip().splitlines()[-1].startswith("| ")
    assert str(output / "sts.md") in printed
    assert "MSRpar" not in printed
    assert "MSRpar" in (output / "sts.md").read_text()
    results = json.loads((output / "sts.json").read_text())
    assert printed.rstrip().endswith("\n".join(headline_table(results)))


def test_own_pairs_are_scored_by_the_type_of_their_third_column(tmp_path, run):
    path, output = tmp_path / "mine.tsv", tmp_path / "report"
    texts = [("a cat", "the kitten"), ("a dog", "the hound"), ("the car", "a car"), ("tea", "cup")]
    rows = (f"{number}\t{a}\t{b}\t{number % 2}\n" for number, (a, b) in enumerate(2 * texts))
    path.write_text("pair_ID\tsentence_A\tsentence_B\tlabel\n" + "".join(rows))
    command = ["evaluate", "tiny", "--pairs", path, "--output", output]
    encoder = SentenceEncoder.from_pretrained("tiny")
    for columns, measure in (([], "average precision"), (["2", "3"], "accuracy@1")):
        printed = run(*command, *(["--columns", *columns] if columns else [])).out
        assert all(name in printed for name in (measure, "sentence_A", "sentence_B"))
        results = json.loads((output / "mine.tsv.json").read_text())
        assert results["rows"][0]["name"] == measure
        assert evaluate_pairs(encoder, path, columns=columns or None)["rows"] == results["rows"]
    run("report", output, "--output", tmp_path / "page")
    assert "--columns" in run(*command, "--columns", "2", status=2).err
