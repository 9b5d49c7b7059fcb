import json

import numpy as np
import pytest

from paraphrastic_hf.analyses.convergence import convergence, read_curve
from paraphrastic_hf.analyses.data_amount import chosen_pairs, data_amount, halvings
from paraphrastic_hf.analyses.expected_costs import expected_costs, read_costs
from paraphrastic_hf.analyses.ngram_vocabulary import ngram_vocabulary
from paraphrastic_hf.analyses.report import write_analysis
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.kinds import load_contrastive
from tests.analyses.made import DEMO, column
from tests.corpora.made_files import put
from tests.evaluation.sts_files import write_sts

SMALL = ["--hidden_size", "8", "--batch_size", "8", "--mega_batch", "1", "--anneal_steps", "0"]
SMALL += ["--epochs", "2", "--learning_rate", "1e-2", "--development", "clean"]


@pytest.fixture
def data_root(tmp_path):
    write_sts(tmp_path / "data" / "eval")
    return tmp_path / "data"


def recipe(tmp_path, *overrides):
    path = tmp_path / "given.yaml"
    path.write_text(f"data: {{sources: [{json.dumps(str(DEMO))}]}}")
    return load_contrastive(path, [*SMALL, *overrides])


# Curves


def run(folder, scores, *, batch=10, development="clean"):
    text = f"training: {{batch_size: {batch}}}\nrun: {{development: {development}}}\n"
    lines = [{"step": 5, "loss": 1.0}]
    lines += [{"step": 10 * (i + 1), "development": score} for i, score in enumerate(scores)]
    log = "".join(json.dumps(line) + "\n" for line in lines)
    return put(folder, {"recipe.yaml": text, "logs/train.jsonl": log + '{"step": 99, "devel'})


def test_curves_count_the_pairs_seen(tmp_path):
    slow = run(tmp_path / "slow", [10.0, 70.0, 69.0, 69.9], batch=20)
    fast = run(tmp_path / "fast", [60.0, 59.0])
    analysis = convergence({"slow": slow, "fast": fast})
    runs, points = analysis.tables
    assert runs.rows == [["slow", 200, 10.0, 70.0, 400, 400], ["fast", 100, 60.0, 60.0, 100, 100]]
    assert points.rows[-2:] == [["fast", 100, 60.0], ["fast", 200, 59.0]]


def test_99_percent_of_the_best_is_reached_earlier(tmp_path):
    curve = read_curve(run(tmp_path, [50.0, 69.5, 70.0]), "a")
    assert (curve.best, curve.seen_until(0.99 * curve.best)) == (70.0, 200)
    below = convergence({"a": run(tmp_path / "below", [-20.0, -10.0])}).tables[0]
    assert column(below, "99 % of it at") == [200]


def test_runs_that_cannot_be_compared_are_errors(tmp_path):
    one, other = (
        run(tmp_path / name, [1.0], development=name) for name in ("clean", "sts17-en-en")
    )
    for runs in ([tmp_path / "absent"], [run(tmp_path / "none", [])], [one, other]):
        with pytest.raises(DataError):
            convergence({path.name: path for path in runs})


def test_curves_of_tasks_and_generation_have_their_own_units(tmp_path):
    tagger = run(tmp_path / "tagger", [70.0])
    task = "task: {kind: tagging, dataset: {name: treebank}}\ntraining: {batch_size: 5}\nrun: {}\n"
    put(tagger, {"recipe.yaml": task})
    curve = read_curve(tagger, "a")
    assert (curve.development, curve.unit) == ("validation split of treebank", "accuracy, %")
    assert (curve.counts, curve.seen) == ("examples", [50])
    writer = run(tmp_path / "writer", [40.0])
    text = "training: {batch_tokens: 4096, batch_size: 9}\nrun: {development: clean}\n"
    put(writer, {"recipe.yaml": text})
    assert (read_curve(writer, "a").counts, read_curve(writer, "a").seen) == ("steps", [10])
    assert "steps" in convergence({"a": writer}).title
    with pytest.raises(DataError):
        convergence({"a": writer, "b": run(tmp_path / "a", [1.0])})
    for development, unit in [("held_out", "log-likelihood, nats per token"), ("bleu", "BLEU")]:
        text = f"training: {{batch_tokens: 9}}\nrun: {{development: {development}}}\n"
        assert read_curve(put(writer, {"recipe.yaml": text}), "a").unit == unit
    put(writer, {"recipe.yaml": "training: {batch_tokens: 9}\nrun: {}\n"})
    assert read_curve(writer, "a").development == "held-out text"
    words = read_curve(run(tmp_path / "words", [40.0], development="ws353-tuning"), "a")
    assert words.unit == "2 WS-S - WS-R, Spearman's rho x 100"


# Amount of data


def test_pairs_are_chosen_across_sources_in_order():
    first = SourcePairs(SourceArguments(path="a", weight=2.0), [("a0", "b0"), ("a1", "b1")])
    second = SourcePairs(SourceArguments(path="b", max_pairs=1), [("c0", "d0"), ("c1", "d1")])
    (rows, source), (others, other) = chosen_pairs([first, second], np.array([3, 1, 2]))
    assert rows == [{"first": "a1", "second": "b1"}]
    assert [row["first"] for row in others] == ["c1", "c0"]
    assert (source.weight, other.name, other.max_pairs) == (2.0, "b", None)
    assert len(chosen_pairs([first, second], np.array([0]))) == 1
    assert (halvings(40), halvings(3)) == ([40, 20, 10, 5], [3])


@pytest.mark.slow
def test_each_size_is_a_run_and_finished_runs_are_kept(tmp_path, data_root):
    given, output = recipe(tmp_path, "--vocab_size", "60"), tmp_path / "out"
    analysis = data_amount(given, output, sizes=[30, 20], data_root=data_root)
    assert column(analysis.tables[0], "pairs") == [20, 30]
    names = {"random-20", "random-30", "ordered-20", "ordered-30"}
    runs = {name: output / "runs" / name / "run.json" for name in names}
    assert {path.name for path in (output / "runs").iterdir()} == names
    for name, path in runs.items():
        done = json.loads(path.read_text())
        order, size = name.split("-")
        assert list(done["pairs_by_source"].values()) == [int(size)]
        assert done["progress"]["best_score"] in column(analysis.tables[0], order)
    times = {name: path.stat().st_mtime_ns for name, path in runs.items()}
    more = data_amount(given, output, sizes=[10, 20, 30], data_root=data_root)
    assert more.tables[0].rows[1:] == analysis.tables[0].rows
    assert times == {name: path.stat().st_mtime_ns for name, path in runs.items()}
    with pytest.raises(RecipeError):
        data_amount(recipe(tmp_path, "--seed", "2"), output, sizes=[10], data_root=data_root)


@pytest.mark.parametrize(
    ("override", "sizes", "error"),
    [
        ([], [0], DataError),
        ([], [61], DataError),
        ([], [], DataError),
        (["--development", "none"], [9], RecipeError),
        (["--development", "clean-and-bitext"], [9], RecipeError),
        (["--epochs", "0"], [9], RecipeError),
    ],
)
def test_runs_need_pairs_and_a_score(override, sizes, error, tmp_path, data_root):
    given = recipe(tmp_path, *override)
    with pytest.raises(error):
        data_amount(given, tmp_path / "out", sizes=sizes, data_root=data_root)
    with pytest.raises(RecipeError):  # which has no n-grams
        ngram_vocabulary(given, tmp_path / "out", data_root=data_root)
    assert not (tmp_path / "out").exists()


# N-grams

NGRAMS = ["--tokenizer.kind", "char_ngram", "--model.kind", "charagram", "--epochs", "1"]


@pytest.mark.slow
def test_each_set_of_ngrams_is_a_run(tmp_path, data_root):
    given = recipe(tmp_path, *NGRAMS, "--embedding_dropout", "0")
    analysis = ngram_vocabulary(
        given, tmp_path / "out", most=[20, 100], orders=[(2,), (2, 3)], data_root=data_root
    )
    scores, thesis = analysis.tables
    assert scores.columns[1:] == ["2", "2,3"]
    assert column(scores, scores.columns[0]) == ["20", "100"]
    assert thesis.rows == [["100", 40.2, 33.8]]
    tokenizer = load_tokenizer(tmp_path / "out" / "runs" / "20-of-2-3")
    lengths = [len(token) for token in tokenizer.tokens()[2:]]
    assert (lengths.count(2), lengths.count(3)) == (20, 20)


def risk_run(folder, metric, entries):
    recipe = f"kind: minimum_risk\ncost: {{metric: {metric}}}\n"
    log = "".join(json.dumps(entry) + "\n" for entry in entries) + '{"step": 4'
    return put(folder, {"recipe.yaml": recipe, "logs/train.jsonl": log})


def test_runs_have_costs_by_both_metrics(tmp_path):
    loss = {"step": 1, "loss": 9.0}
    simile = [{"step": 2, "expected_cost": 20.0, "expected_cost_bleu": 50.0}]
    bleu = [{"step": 2, "expected_cost": 49.0, "expected_cost_simile": 21.0}]
    later = {"step": 3, "expected_cost": 48.0, "expected_cost_simile": 20.5}
    half = [{"step": 2, "expected_cost": 30.0, "expected_cost_simile": 22.0}]
    runs = {
        "a": risk_run(tmp_path / "a", "simile", [loss, *simile]),
        "b": risk_run(tmp_path / "b", "bleu", [loss, *bleu, later]),
        "c": risk_run(tmp_path / "c", "half", half),
    }
    analysis = expected_costs(runs)
    assert analysis.tables[0].columns == ["run", "trained by", "steps", "by SimiLE", "by BLEU"]
    assert analysis.tables[0].rows == [
        ["a", "simile", 2, 20.0, 50.0],
        ["b", "bleu", 2, 21.0, 49.0],
        ["b", "bleu", 3, 20.5, 48.0],
        ["c", "half", 2, 22.0, None],
    ]
    lines = [len(axes.lines) for axes in analysis.figure.axes]
    assert lines == [3, 2]
    names = {path.name for path in write_analysis(analysis, tmp_path / "out")}
    assert names == {f"expected-costs.{kind}" for kind in ("md", "json", "png", "tsv")}


def test_runs_without_expected_costs_are_errors(tmp_path):
    other = risk_run(tmp_path / "other", "simile", [{"step": 1, "development": 3.0}])
    for path in (tmp_path / "absent", other):
        with pytest.raises(DataError):
            read_costs(path, "a")
