"""`paraphrastic evaluate`, `significance` and `analyze`."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

from paraphrastic_hf import SentenceEncoder, evaluate, evaluate_pairs
from paraphrastic_hf.evaluation.report import headline_table
from tests.analyses.made import DEMO, demo_encoder, write_ewt
from tests.corpora.made_files import put
from tests.evaluation.sts_files import PAIRS, write_sts
from tests.made import averaging

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
    assert printed.rstrip().endswith("\n".join(headline_table(results)))
    assert str(output / "sts.md") in printed
    assert ("MSRpar" in printed, "MSRpar" in (output / "sts.md").read_text()) == (False, True)
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


@pytest.fixture
def models(subword, tmp_path):
    paths = {str(tmp_path / name): size for name, size in (("one", 2), ("two", 64))}
    for path, size in paths.items():
        averaging(subword, size).save_pretrained(path)
    return list(paths)


def rows_of(printed, name):
    return [row for row in printed.splitlines() if row.startswith(f"| {name} |")]


def test_two_models_are_compared_dataset_by_dataset(models, tmp_path, run):
    data, output = write_sts(tmp_path / "eval"), tmp_path / "new" / "table.md"
    command = ["significance", *models, "--samples", "20", "--suite", "sts17"]
    printed = run(*command, "--data", data, "--output", output).out
    assert printed == output.read_text()
    assert printed.startswith("# one and two: sts17\n")
    assert len(rows_of(printed, "STS17")) == 7
    assert "20 samples, seed 1" in printed
    assert run(*command, "--data", data, "--output", "-").out == printed  # once
    assert run(*command, "--data", tmp_path).out == printed  # finds eval itself
    both = run(*command, "sts", "--data", data).out
    assert rows_of(both, "STS17") == rows_of(printed, "STS17")
    assert rows_of(both, "2012")
    (data / "sts13" / "STS.input.FNWN.txt").unlink()
    without = run(*command[:-2], "--suite", "sts", "--data", data, status=3).out
    assert "STS.input.FNWN.txt" in without


def test_a_model_is_compared_with_a_smaller_copy_of_itself(models, tmp_path, run):
    data = write_sts(tmp_path / "eval")
    options = ["--suite", "sts17", "--data", data, "--samples", "20"]
    smaller = ["--dimension", "2", "--precision", "int4"]
    printed = run("significance", models[1], models[1], *options, *smaller).out
    assert printed.startswith("# two and two-2-int4: sts17\n")


@pytest.mark.parametrize(
    ("values", "measures"),
    [
        (["1", "2", "3", "4", "5", "5"], ["pearson", "spearman"]),
        (["1", "0", "1", "0", "1", "0"], ["average precision", "accuracy"]),
        ([], ["accuracy@1", "accuracy@5", "MRR@10", "nDCG@10"]),
    ],
)
def test_two_models_are_compared_on_own_pairs(values, measures, models, tmp_path, run):
    rows = PAIRS.read_text().splitlines()[: len(values) or 6]
    lines = [f"{row}\t{value}" for row, value in zip(rows, values, strict=False)] or rows
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(lines) + "\n")
    printed = run("significance", *models, "--pairs", path, "--samples", "20").out
    table = [line for line in printed.splitlines() if "| mine.tsv |" in line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert [row[3] for row in cells] == measures
    for row in cells:
        low, high = (float(end) for end in row[7].split(" to "))
        assert low <= float(row[6]) <= high
        assert row[8]
        assert bool(row[9]) == (len(set(values)) > 2)  # Steiger's is of correlations


SENTENCE = [("the", "DT", "det"), ("cat", "NN", "root"), ("sleeps", "VBZ", "acl")]


@pytest.fixture
def root(tmp_path):
    """A data root with every file that a kind reads, and a model in `model`."""
    encoder = demo_encoder(0)
    encoder.save_pretrained(tmp_path / "model")
    names = encoder.tokenizer.tokens()[2:]
    words = "".join(f"{word} {500 - i}\n" for i, word in enumerate(names))
    put(tmp_path, {"words/enwiki_vocab_min200.txt.xz": words})
    put(tmp_path, {"model/recipe.yaml": f"data: {{sources: [{json.dumps(str(DEMO))}]}}"})
    write_ewt(tmp_path / "eval", [SENTENCE] * 5)
    write_sts(tmp_path / "eval")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("neighbors", "--query the --most 50"),
        ("neighbors", "--query the --rows --neighbors 2"),
        ("norms", ""),
        ("weighting", ""),
        ("weighting", f"--text {DEMO}"),
        ("fit", "--pairs 10 --batch-size 5"),
        ("under-training", ""),
        ("negatives", "--pairs 12 --batch-size 3 --sizes 1 2 4"),
        ("errors", "english --count 2"),
    ],
)
def test_a_kind_prints_its_page_and_writes_its_files(kind, options, root, run):
    out = root / "out"
    given = [kind, root / "model", *options.split(), "--data", root, "--output", out]
    printed = run("analyze", *given).out
    page = (out / f"{kind}.md").read_text()
    assert printed.startswith(page.split("\n")[0])
    assert str(out / f"{kind}.png") in printed
    assert (out / f"{kind}.png").stat().st_size > 1000
    assert json.loads((out / f"{kind}.json").read_text())["kind"] == kind


def test_a_recipe_takes_overrides(root, run):
    out, recipe = ["--output", root / "out"], DEMO.parent / "demo.yaml"
    settings = ["--sources", DEMO, "--epochs", "1", "--development", "clean", "--data", root]
    found = run("analyze", "data-amount", recipe, "--sizes", "20", *settings, *out).out
    assert "| pairs | random | ordered |" in found
    runs = [root / "out" / "runs" / f"{order}-20" for order in ("random", "ordered")]
    assert "| random-20 |" in run("analyze", "convergence", *runs, *out).out


def test_a_missing_file_is_named_with_its_option(root, run, monkeypatch):
    given = ["analyze", "weighting", root / "model", "--output", root / "out"]
    (root / "model" / "recipe.yaml").unlink()
    assert "--text" in run(*given, "--data", root, status=2).err
    monkeypatch.delenv("PARAPHRASTIC_DATA", raising=False)
    assert "--data" in run("analyze", "norms", *given[2:], status=2).err


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("neighbors MODEL --query zebra", "'zebra'"),
        ("neighbors MODEL MODEL --query a", "/model"),
        ("errors MODEL", "models"),
        ("norms MODEL --corpus treebank", "treebank"),
        ("gates MODEL", "GRAN"),
        (f"data-amount {DEMO.parent}/demo.yaml --sources {DEMO} --sizes 5", "run.development"),
    ],
)
def test_wrong_arguments_of_an_analysis_are_named(command, named, root, run):
    words = command.replace("MODEL", str(root / "model")).split()
    said = run("analyze", *words, "--data", root, "--output", root / "out", status=2).err
    assert named in said
