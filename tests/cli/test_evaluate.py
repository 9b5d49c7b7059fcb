"""`paraphrastic evaluate` on a model that is not ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

from paraphrastic_hf import SentenceEncoder, evaluate_pairs
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests.evaluation.sts_files import write_sts


def test_a_sentence_transformers_model_is_scored_the_same_way(
    subword: SubwordTokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = StaticEmbedding(subword.to_fast(), embedding_dim=16)
    stock = SentenceTransformer(modules=[table, Normalize()])
    stock.save(str(tmp_path / "stock"))
    data, output = write_sts(tmp_path / "eval"), tmp_path / "report"
    arguments = ["evaluate", str(tmp_path / "stock"), "--data", str(data)]
    assert main([*arguments, "--output", str(output)]) == 0
    results = json.loads((output / "sts.json").read_text(encoding="utf-8"))
    assert "SentenceTransformer" in results["settings"]["encoder"]
    assert len(results["rows"]) == 39
    assert "| **stock** |" in capsys.readouterr().out
    assert main(["evaluate", "tiny", "--data", str(data), "--output", str(output)]) == 2
    assert (
        f"{output} holds the results of stock on sts, and this is tiny" in capsys.readouterr().err
    )
    assert main(["report", str(output), "--output", str(tmp_path / "page")]) == 0
    page, table = capsys.readouterr().out.splitlines()
    assert page == f"{tmp_path / 'page' / 'report.html'}: the page, for a browser"
    assert table == f"{tmp_path / 'page' / 'report.md'}: its tables as Markdown"


def test_fewer_dimensions_and_bytes_are_scored_under_their_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_sts(tmp_path / "eval")
    arguments = ["evaluate", "english", "--data", str(data)]
    assert main([*arguments, "--dimension", "80", "--precision", "int4"]) == 0
    smaller = SentenceEncoder.from_pretrained("english").with_dimension(80).with_precision("int4")
    headline = evaluate(smaller, "sts", data, name="x")["headline"]
    row = " | ".join(f"{score:.1f}" for score in headline.values())
    assert f"| **english-80-int4** | {row} |" in capsys.readouterr().out
    assert main([*arguments, "--precision", "int2"]) == 2
    assert "english, --precision int2: precision must be one of" in capsys.readouterr().err
    assert main([*arguments, "--dimension", "800"]) == 2
    assert (
        "english, --dimension 800: dimension must be from 1 to 512, got 800"
        in capsys.readouterr().err
    )


def test_the_folder_of_all_data_is_where_eval_is_found(
    subword: SubwordTokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stock = SentenceTransformer(modules=[StaticEmbedding(subword.to_fast(), embedding_dim=16)])
    stock.save(str(tmp_path / "stock"))
    printed = []
    for data in (write_sts(tmp_path / "eval"), tmp_path):
        assert main(["evaluate", str(tmp_path / "stock"), "--data", str(data)]) == 0
        tables = capsys.readouterr().out.splitlines()
        printed.append([line for line in tables if line.startswith("|")])
    assert printed[0] == printed[1] != []


def test_pairs_of_ones_own_are_scored_by_the_values_in_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = tmp_path / "mine.tsv", tmp_path / "report"
    texts = [("a cat", "the kitten"), ("a dog", "the hound"), ("the car", "a car"), ("tea", "cup")]
    rows = (f"{number}\t{a}\t{b}\t{number % 2}\n" for number, (a, b) in enumerate(2 * texts))
    path.write_text("pair_ID\tsentence_A\tsentence_B\tlabel\n" + "".join(rows), encoding="utf-8")
    arguments = ["evaluate", "tiny", "--pairs", str(path), "--output", str(output)]
    for columns, measure in (([], "average precision"), (["2", "3"], "accuracy@1")):
        assert main([*arguments, *(["--columns", *columns] if columns else [])]) == 0
        printed = capsys.readouterr().out
        assert all(name in printed for name in (measure, "sentence_A", "sentence_B"))
        results = json.loads((output / "mine.tsv.json").read_text(encoding="utf-8"))
        assert results["rows"][0]["name"] == measure
        encoder = SentenceEncoder.from_pretrained("tiny")
        assert evaluate_pairs(encoder, path, columns=columns or None)["rows"] == results["rows"]
    assert main(["report", str(output), "--output", str(tmp_path / "page")]) == 0
    assert main([*arguments, "--columns", "2"]) == 2
    assert main(["evaluate", "tiny", "--columns", "2", "3"]) == 2
