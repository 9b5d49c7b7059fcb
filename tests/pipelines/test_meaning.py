"""Steps that filter by meaning, beside brute force in numpy."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import yaml

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import CheckpointError, DataError, RecipeError
from paraphrastic_hf.mining.search import highest_cosines
from paraphrastic_hf.pipelines import make
from paraphrastic_hf.pipelines.make import make_corpus
from paraphrastic_hf.pipelines.recipe import load_corpus_recipe
from paraphrastic_hf.pipelines.steps.meaning import normalized
from paraphrastic_hf.pipelines.steps.registry import make_step
from paraphrastic_hf.pipelines.steps.scores import POOL
from tests.pipelines.test_make import (
    PAIRS,
    files_of,
    in_this_process,
    recipe_of,
    rows_and_rejects,
    sentence,
    write_pairs,
)

TOLERANCE = 2e-6  # float32 sums in another order
MODEL = "tiny"


def units(texts, model=MODEL):
    encoder = SentenceEncoder.from_pretrained(model)
    return np.asarray(encoder.encode(list(texts), normalize_embeddings=True), np.float64)


def rows_of(pairs):
    return [{"reference": a, "translation": b} for a, b in pairs]


def assert_scores(found, expected):
    as_numbers = [np.array(each, np.float64) for each in (found, expected)]  # None becomes NaN
    np.testing.assert_allclose(*as_numbers, atol=TOLERANCE)


def nearest_earlier(vectors):
    found = []
    for place, vector in enumerate(vectors):
        earlier = vectors[:place] @ vector
        found.append(float(earlier.max()) if place and vector.any() else None)
    return found


@pytest.mark.parametrize("of", ["reference", "translation", "pair"])
@pytest.mark.parametrize("block", [7, 400])
def test_scores_are_cosines_with_the_nearest_earlier_text(of, block):
    rows = rows_of([*PAIRS[:99], ("", "a cat"), *PAIRS[:50]])
    step = make_step("semantic_duplicates", {"of": of, "model": MODEL})
    found = []
    for start in range(0, len(rows), block):
        found += step.score(rows[start : start + block])
    sides = [[row[side] for row in rows] for side in ("reference", "translation")]
    vectors = {
        "reference": units(sides[0]),
        "translation": units(sides[1]),
        "pair": np.concatenate([units(side) for side in sides], axis=1) / np.sqrt(2),
    }[of]
    assert_scores(found, nearest_earlier(vectors))
    assert found[0] is None
    assert all(score is not None and score > 0.99999 for score in found[-50:])


def test_duplicates_are_found_across_tasks_after_earlier_steps(tmp_path):
    choice = random.Random(1)
    pairs = [
        (f"{sentence(n)} {choice.choice('abc')}", "some dogs" if n % 3 else f"{n} dogs")
        for n in range(400)
    ]
    path = write_pairs(tmp_path / "pairs.tsv", pairs)
    steps = [
        {"numbers": {"at_most": 0}},
        {"semantic_duplicates": {"model": MODEL, "at_most": 0.95}},
        {"words": {"of": "translation", "at_most": 2}},
    ]
    recipe = recipe_of(path, steps=steps, make={"tasks": 3, "block": 20})
    files = in_this_process(recipe, tmp_path / "out")
    texts = [  # in the order of the tasks, without the rows that the first step rejects
        reference
        for task in sorted((tmp_path / "out" / "work" / "rows").glob("*.tsv"))
        for reference, other, _ in (line.split("\t") for line in task.read_text().splitlines())
        if other == "some dogs"
    ]
    scores = nearest_earlier(units(texts))
    kept = [text for text, s in zip(texts, scores, strict=True) if s is None or s <= 0.95]
    assert [row["reference"] for row in rows_and_rejects(files)[0]] == kept
    assert 10 < len(kept) < len(texts) - 10
    assert sum(map(len, files.values())) == len(pairs)


def test_highest_cosines_equal_those_of_the_whole_matrix(monkeypatch):
    monkeypatch.setattr("paraphrastic_hf.mining.search.TILE", 7)
    rng = np.random.default_rng(1)
    first, second = (rng.normal(size=(n, 5)) for n in (20, 33))
    first, second = (each / np.linalg.norm(each, axis=1)[:, None] for each in (first, second))
    np.testing.assert_allclose(highest_cosines(first, second), (first @ second.T).max(1))
    assert highest_cosines(first[:0], second).shape == (0,)


def margins(rows, k, margin):
    """Margin scores by the whole matrix of distinct sentences."""
    sides = [[row[name] for row in rows] for name in ("reference", "translation")]
    distinct = [list(dict.fromkeys(side)) for side in sides]
    matrix = units(distinct[0]) @ units(distinct[1]).T
    means = [
        {text: np.sort(row)[-k:].mean() for text, row in zip(texts, each, strict=True)}
        for texts, each in zip(distinct, (matrix, matrix.T), strict=True)
    ]
    found = []
    for a, b in zip(*sides, strict=True):
        mean = (means[0][a] + means[1][b]) / 2
        cosine = matrix[distinct[0].index(a), distinct[1].index(b)]
        found.append(cosine / max(mean, 0.1) if margin == "ratio" else cosine - mean)
    return found


@pytest.mark.parametrize("margin", ["ratio", "distance"])
def test_margins_equal_those_of_the_whole_matrix(margin):
    rows = rows_of([*PAIRS[:200], *PAIRS[:30]])
    settings = {"model": MODEL, "margin": margin, "k": 3}
    found = make_step("cross_lingual_score", settings).score(rows)
    assert_scores(found, margins(rows, 3, margin))
    step = make_step("cross_lingual_score", settings)
    step.score(rows[:150])
    assert_scores(step.score(rows[150:]), margins(rows, 3, margin)[150:])


def test_margins_forget_rows_beyond_the_pool():
    rows = rows_of([(f"{a} {n}", b) for n in range(8) for a, b in PAIRS])[: POOL + 100]
    step = make_step("cross_lingual_score", {"model": MODEL, "margin": "ratio"})
    step.score(rows[:200])
    found = step.score(rows[200:])
    assert_scores(found[-5:], margins(rows[100:], 4, "ratio")[-5:])


def test_a_pair_without_known_tokens_scores_0():
    rows = rows_of([("\ud800", "\ud801"), ("a cat", ""), ("", "")])
    for margin in ("none", "ratio"):
        step = make_step("cross_lingual_score", {"margin": margin})
        assert step.score([]) == []
        assert step.score(rows)[1:] == [None, None]


def test_the_bitext_is_scored_before_and_after_translation():
    row = {"reference": "the cat is asleep", "source": "le chat dort"}
    step = make_step("cross_lingual_score")
    before, after = step.score([row]) + step.score([row | {"translation": "stocks fell"}])
    assert before == after
    assert before > 0.5


@pytest.fixture
def test_set(tmp_path):
    path = tmp_path / "test.tsv"
    lines = [f"{n}\t{a}\t{b}" for n, (a, b) in enumerate(PAIRS[:60])]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("of", ["all", "reference", "translation"])
def test_exclusion_scores_the_nearest_text(of, test_set):
    rows = rows_of([*PAIRS[40:140], ("", "")])
    step = make_step("exclude", {"paths": [str(test_set)], "of": of, "model": MODEL})
    found = step.score(rows)
    others = units([text for pair in PAIRS[:60] for text in pair])
    sides = ["reference", "translation"] if of == "all" else [of]
    cosines = [units([row[side] for row in rows]) @ others.T for side in sides]
    expected = np.maximum.reduce(cosines).max(1).tolist()
    assert_scores(found[:-1], expected[:-1])
    assert found[-1] is None


def test_equal_words_score_1_and_short_texts_are_ignored(tmp_path):
    (tmp_path / "a.txt").write_text("Zxq vbn, wwq jjk!\nthank you\n猫在睡觉。\n")
    texts = ["zxq VBN wwq  jjk", "zxq vbn wwq", "Thank you", "猫在睡觉"]
    scores = make_step("exclude", {"paths": [str(tmp_path)]}).score(
        rows_of([(t, "") for t in texts])
    )
    assert [score == 1 for score in scores] == [True, False, False, True]
    (tmp_path / "b.txt").write_text("...\n\n")
    step = make_step("exclude", {"paths": [str(tmp_path)], "min_words": 1})
    assert step.score(rows_of([("!", "?")])) != [1]


def test_a_file_without_long_texts_is_refused(tmp_path):
    (tmp_path / "gold.txt").write_text("1\n0\n")
    step = make_step("exclude", {"paths": [str(tmp_path / "gold.txt")]})
    with pytest.raises(DataError, match=r"gold\.txt.*4"):
        step.score(rows_of(PAIRS[:2]))
    with pytest.raises(RecipeError, match="paths"):
        make_step("exclude", {"paths": []})


def test_normalized_texts_ignore_case_marks_and_space():
    assert normalized(" ＡＢＣ—don’t ") == normalized("abc DON'T.")
    assert normalized("\ud800 … ") == ""


def test_excluded_files_are_below_the_data_root_and_must_not_change(
    test_set, tmp_path, monkeypatch
):
    pairs = write_pairs(tmp_path / "pairs.tsv")
    steps = [{"exclude": {"paths": [test_set.name], "model": MODEL}}]
    recipe = recipe_of(pairs, steps=steps)
    with pytest.raises(RecipeError, match=r"test\.tsv"):
        make_corpus(recipe, tmp_path / "missing", data_root=tmp_path / "elsewhere")
    monkeypatch.setattr(make, "run_stages", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        make_corpus(recipe, tmp_path / "out", data_root=tmp_path)
    test_set.write_text("other sentences of four words\n")
    with pytest.raises(CheckpointError, match=r"test\.tsv"):
        make_corpus(recipe, tmp_path / "out", data_root=tmp_path)


def test_the_recipe_in_the_guide_is_valid(tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "clean.md").read_text("utf-8")
    path = tmp_path / "guide.yaml"
    path.write_text(guide.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    recipe = load_corpus_recipe(path)
    assert list(recipe.excluded()) == ["eval/stsbenchmark"]
    assert {"cross_lingual_score", "semantic_duplicates"} < {key for s in recipe.steps for key in s}


def test_the_smoke_recipe_drops_what_its_summary_says(tmp_path):
    files = in_this_process(load_corpus_recipe("demo/clean"), tmp_path)
    steps = sorted(row["step"] for row in rows_and_rejects(files)[1])
    names = ("cross_lingual_score", "excluded", "semantic_duplicate_reference")
    assert steps == [name for name in names for _ in range(2)]


FIRST, SECOND = "logs/before_*/completions/*", "logs/completions/*"


@pytest.mark.slow
@pytest.mark.parametrize("reached", [FIRST, SECOND])
def test_a_run_killed_in_either_phase_continues_to_the_same_rows(reached, tmp_path):
    pairs, recipe, output = (tmp_path / name for name in ("pairs.tsv", "recipe.yaml", "out"))
    many = ((f"{sentence(n)} {sentence(3 * n)} {n % 9}", f"{n} dogs") for n in range(3000))
    write_pairs(pairs, many)
    mapping = {
        "kind": "corpus",
        "data": {"sources": [str(pairs)]},
        "steps": [{"semantic_duplicates": {"model": MODEL, "at_most": 0.97}}],
        "make": {"tasks": 8, "workers": 1, "block": 40},
    }
    recipe.write_text(yaml.safe_dump(mapping), encoding="utf-8")
    command = ["corpus", "make", str(recipe), "--output", str(output), "--quiet"]
    run = subprocess.Popen(
        [sys.executable, "-m", "paraphrastic_hf.cli.main", *command], start_new_session=True
    )
    until = time.monotonic() + 240
    while time.monotonic() < until and not any(output.glob(reached)):
        assert run.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert not (output / "corpus.json").exists()
    lost = next(output.glob("work/semantic_duplicate_reference/*.pickle"), None)
    if lost is not None and reached == FIRST:
        lost.unlink()  # its task is done again
    complete = [output / "data" / f"train-{path.name}.parquet" for path in output.glob(SECOND)]
    stamps = [path.stat().st_mtime_ns for path in complete]
    assert len(complete) < 8
    assert main(command) == 0
    assert [path.stat().st_mtime_ns for path in complete] == stamps  # not written again
    assert files_of(output) == in_this_process(load_corpus_recipe(recipe), tmp_path / "whole")
    assert not list(output.rglob("*.part"))
