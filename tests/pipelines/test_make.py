"""Making corpora."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
import yaml

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.storage.locate import packaged_folder
from paraphrastic_hf.errors import BusyError, CheckpointError, DataError, RecipeError
from paraphrastic_hf.generation.writing import GeneratedText
from paraphrastic_hf.io.files import read_json
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.io.pairs import read_pairs
from paraphrastic_hf.pipelines import make
from paraphrastic_hf.pipelines.deal import deal, dealt_rows
from paraphrastic_hf.pipelines.make import Made, make_corpus
from paraphrastic_hf.pipelines.recipe import CorpusRecipe, corpus_recipe, load_corpus_recipe
from paraphrastic_hf.pipelines.stages import phases_of
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, TRANSLATION
from paraphrastic_hf.training.engine.provenance import keep_stamp

TASKS = 3
WORDS = (
    *("the", "a", "one", "some", "cat", "dog", "bird", "horse", "sees", "hears", "likes", "red"),
    *("blue", "small", "old", "house", "tree"),
)


def sentence(number: int) -> str:
    return " ".join(WORDS[(number * (7 + place) + place) % len(WORDS)] for place in range(6))


PAIRS = [(f"{sentence(n)} {n}", f"{sentence(n + n % 5)} {n} times") for n in range(300)]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    return path


def recipe_of(path: Path, **changes: Any) -> CorpusRecipe:
    mapping: dict[str, Any] = {
        "kind": "corpus",
        "data": {"sources": [{"path": str(path), "license": "CC0"}]},
        "steps": ["duplicates", {"overlap": {"at_most": 0.6}}, {"words": {"at_most": 8}}],
        "make": {"tasks": TASKS, "workers": 1, "block": 40},
    }
    return corpus_recipe(mapping | changes)


def in_this_process(recipe: CorpusRecipe, output: Path) -> dict[str, list[dict[str, Any]]]:
    """Run the stages of every task without an executor and return the files."""
    rows = output / "work" / "rows"
    counts = deal(recipe.data, rows, recipe.make.tasks, by=recipe.dealt_by)
    for phase in phases_of(recipe, output, counts, recipe.engine.model):
        for task in range(recipe.make.tasks):
            flow: Any = None
            for stage in deepcopy(phase):
                flow = stage(flow, task, recipe.make.tasks)
            list(flow)
    return files_of(output)


def files_of(output: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        str(path.relative_to(output)): pq.read_table(path).to_pylist()
        for path in sorted(output.glob("*/*.parquet"))
    }


# -- dealing ---------------------------------------------------------------------------------------


BITEXT: dict[str, Any] = {"engine": {"kind": "apertium", "model": "spa-eng"}}


@pytest.mark.parametrize("of", ["pair", "reference", "translation"])
def test_duplicates_are_found_across_tasks(of: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    rows = [(f"a cat {n % 7}", f"a dog {n % 11}") for n in range(300)]
    path.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    steps, make = [{"duplicates": {"of": of}}], {"tasks": 4, "block": 10}
    output = tmp_path / "out"
    in_this_process(recipe_of(path, steps=steps, make=make), output)
    files = [pq.read_table(file).to_pylist() for file in (output / "data").glob("*.parquet")]
    assert sum(map(bool, files)) > 1
    sides = [REFERENCE, TRANSLATION] if of == "pair" else [of]
    found = [tuple(row[side] for side in sides) for rows in files for row in rows]
    assert len(found) == len(set(found)) == {"pair": 77, "reference": 7, "translation": 11}[of]


def test_rows_are_distributed_by_source_to_find_its_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "es-en.tsv"
    path.write_text("".join(f"hola {n % 9}\thello {n}\n" for n in range(90)), encoding="utf-8")
    data = {"sources": [{"path": str(path), "languages": ["es", "en"]}]}
    steps = [{"duplicates": {"of": "source"}}, "translate"]
    recipe = recipe_of(path, data=data, steps=steps, make={"tasks": 4}, **BITEXT)
    counts = deal(recipe.data, tmp_path / "rows", 4, by=recipe.dealt_by)
    tasks: dict[str, set[int]] = {}
    for task, count in enumerate(counts):
        file = tmp_path / "rows" / f"{task:05d}.tsv"
        for row in dealt_rows(file, count, recipe.data.sources, is_bitext=True):
            tasks.setdefault(row[SOURCE], set()).add(task)
    assert len(tasks) == 9
    assert all(len(where) == 1 for where in tasks.values())


@pytest.mark.parametrize(
    "of", [["translation"], ["source", "reference"], ["source", "pair"], ["source", "translation"]]
)
def test_undetectable_duplicates_are_refused(of: list[str], tmp_path: Path) -> None:
    path = tmp_path / "es-en.tsv"
    data = {"sources": [{"path": str(path), "languages": ["es", "en"]}]}
    steps = ["translate", *({"duplicates": {"of": side}} for side in of)]
    with pytest.raises(RecipeError):
        recipe_of(path, data=data, steps=steps, make={"tasks": 4}, **BITEXT)
    one = recipe_of(path, data=data, steps=steps, make={"tasks": 1}, **BITEXT)
    assert one.dealt_by == REFERENCE


def test_data_reference_selects_the_reference_side(tmp_path: Path) -> None:
    path = tmp_path / "es-en.tsv"
    path.write_text("hola\thello\nsí\tyes\nno\tno\nadiós\tbye\n", encoding="utf-8")
    mapping = {
        "kind": "corpus",
        "data": {"sources": [{"path": str(path), "languages": ["es", "en"], "every": 2}]},
        "engine": {"kind": "apertium", "model": "spa-eng"},
        "steps": ["translate"],
    }
    sources = corpus_recipe(mapping).data
    counts = deal(sources, tmp_path / "rows", 1)
    rows = dealt_rows(tmp_path / "rows" / "00000.tsv", counts[0], sources.sources, is_bitext=True)
    assert [(row[REFERENCE], row[SOURCE]) for row in rows] == [("hello", "hola"), ("no", "no")]


@pytest.mark.parametrize("damage", [lambda text: text[:-20], lambda text: text + "more\n"])
def test_changed_task_files_are_refused(pairs: Path, tmp_path: Path, damage: Any) -> None:
    recipe = recipe_of(pairs)
    counts = deal(recipe.data, tmp_path / "rows", 1)
    file = tmp_path / "rows" / "00000.tsv"
    file.write_text(damage(file.read_text()))
    with pytest.raises(DataError):
        list(dealt_rows(file, counts[0], recipe.data.sources, is_bitext=False))


# -- rows ------------------------------------------------------------------------------------------


def test_every_row_is_kept_or_among_the_rejects_with_its_reason(
    pairs: Path, tmp_path: Path
) -> None:
    files = in_this_process(recipe_of(pairs), tmp_path / "out")
    rows = [row for name, some in files.items() if name.startswith("data") for row in some]
    rejects = [row for name, some in files.items() if name.startswith("rejects") for row in some]
    assert sorted((r[REFERENCE], r[TRANSLATION]) for r in rows + rejects) == sorted(PAIRS)
    assert list(rows[0]) == [
        *("reference", "translation", "duplicate", "overlap", "longer_words"),
        *("reference_length", "translation_length", "source", "corpus", "license"),
    ]
    assert {row["corpus"] for row in rows} == {"pairs"}
    assert {row["license"] for row in rows} == {"CC0"}
    assert all(row["overlap"] <= 0.6 and row["translation_length"] <= 8 for row in rows)
    for row in rejects:
        assert row["reason"].endswith(f" {row['score']:.6g}")
    assert {row["step"] for row in rejects} == {"overlap"}
    assert "0.6" in rejects[0]["reason"]


class Echo:
    """Return each line in capitals and unchanged; lines with 7 get an empty translation."""

    def __init__(self) -> None:
        self.before: list[int] = []

    def translate(self, lines: list[str], *, before: int = 0) -> list[list[GeneratedText]]:
        self.before.append(before)
        empty = GeneratedText("", float("nan"))
        return [
            [empty]
            if "7" in line
            else [GeneratedText(line.upper(), -0.5), GeneratedText(line, -1.5)]
            for line in lines
        ]


def test_blocks_use_different_random_numbers(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = Echo()
    monkeypatch.setattr("paraphrastic_hf.pipelines.stages._engine", lambda *_: echo)
    source = {"path": str(pairs), "languages": ["en", "xx"]}
    recipe = recipe_of(
        pairs,
        data={"sources": [source]},
        steps=["translate"],
        engine={"model": "echo"},
        make={"tasks": 2, "block": 5},
    )
    in_this_process(recipe, tmp_path / "out")
    assert len(echo.before) == len(set(echo.before)) > 2


def test_empty_translations_are_rejected_and_n_best_lists_are_rows(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paraphrastic_hf.pipelines.stages.make_engine", lambda *_, **__: Echo())
    source = {"path": str(pairs), "languages": ["en", "xx"]}
    engine = {"model": "echo", "outputs": 2, "beams": 2}
    recipe = recipe_of(pairs, data={"sources": [source]}, steps=["translate"], engine=engine)
    files = in_this_process(recipe, tmp_path / "out")
    rows = [row for name, some in files.items() if name.startswith("data") for row in some]
    rejects = [row for name, some in files.items() if name.startswith("rejects") for row in some]
    empty = sum("7" in other for _, other in PAIRS)
    assert len(rejects) == empty > 0
    assert len(rows) == 2 * (len(PAIRS) - empty)
    assert {row["translation_score"] for row in rows} == {-0.5, -1.5}
    assert all(row["reason"].endswith(" 0") for row in rejects)
    assert all(row["translation"].lower() == row["source"] for row in rows)


# -- runs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CorpusRecipe, Made]:
    """A corpus made by a worker."""
    folder = tmp_path_factory.mktemp("made")
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    recipe = recipe_of(path)
    return folder / "out", recipe, make_corpus(recipe, folder / "out")


def test_a_corpus_loads_as_dataset_and_as_training_source(
    made: tuple[Path, CorpusRecipe, Made], tmp_path: Path
) -> None:
    output, _, run = made
    cache = str(tmp_path / "cache")
    rows = datasets.load_dataset(str(output), split="train", cache_dir=cache)
    rejects = datasets.load_dataset(str(output), "rejects", split="train", cache_dir=cache)
    assert len(rows) == run.rows
    assert len(rows) + len(rejects) == len(PAIRS)
    assert read_pairs(output) == list(zip(rows["reference"], rows["translation"], strict=True))
    beside = read_pairs(output, columns=["translation", "reference"])
    assert beside == [(b, a) for a, b in read_pairs(output)]


def test_record_and_card_list_the_steps(
    made: tuple[Path, CorpusRecipe, Made],
) -> None:
    output, recipe, run = made
    assert [step.step for step in run.steps] == [
        *("read", "duplicate", "overlap", "longer_words", "write")
    ]
    assert run.steps[0].kept == run.read == len(PAIRS)
    for before, after in zip(run.steps, run.steps[1:], strict=False):
        assert after.kept + after.rejected == before.kept
    assert run.rows == run.steps[-1].kept
    assert run.origins == [("pairs", "CC0", run.rows)]
    card = (output / "README.md").read_text(encoding="utf-8")
    assert f"{run.rows:,} " in card
    assert f"| pairs | CC0 | {run.rows} |" in card
    assert not (output / "work").exists()
    again = make_corpus(recipe, output)  # finished already
    assert (again.rows, again.steps) == (run.rows, run.steps)


def test_the_executor_equals_running_the_stages(
    made: tuple[Path, CorpusRecipe, Made], tmp_path: Path
) -> None:
    output, recipe, _ = made
    assert files_of(output) == in_this_process(recipe, tmp_path / "other")


def test_changed_recipes_are_refused(
    made: tuple[Path, CorpusRecipe, Made],
) -> None:
    output, recipe, _ = made
    path = Path(str(recipe.data.sources[0].path))
    other = recipe_of(path, make={"tasks": TASKS + 1, "block": 40})
    with pytest.raises(RecipeError):
        make_corpus(other, output)
    other = recipe_of(path, steps=["duplicates"])
    with pytest.raises(RecipeError):
        make_corpus(other, output)
    more_workers = {"tasks": TASKS, "block": 40, "workers": 2, "patience": 60.0}
    make_corpus(recipe_of(path, make=more_workers), output)


@pytest.mark.slow
def test_a_corpus_of_changed_text_is_not_continued(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, output, text = recipe_of(pairs), tmp_path / "out", pairs.read_text(encoding="utf-8")

    def killed(*_: Any, **__: Any) -> list[int]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(make, "run_stages", killed)
        with pytest.raises(KeyboardInterrupt):
            make_corpus(recipe, output)
    pairs.write_text(text * 2, encoding="utf-8")
    with pytest.raises(CheckpointError):
        make_corpus(recipe, output)
    pairs.write_text(text, encoding="utf-8")
    rows = make_corpus(recipe, output).rows
    pairs.write_text(text * 2, encoding="utf-8")
    with pytest.raises(CheckpointError):
        make_corpus(recipe, output)
    pairs.unlink()
    assert make_corpus(recipe, output).rows == rows  # no text to compare


@pytest.mark.slow
def test_a_corpus_is_not_continued_with_another_model(pairs: Path, tmp_path: Path) -> None:
    model, output = tmp_path / "model", tmp_path / "out"
    shutil.copytree(packaged_folder("tiny"), model)
    recipe = recipe_of(pairs, steps=[{"paraphrase_score": {"model": str(model)}}])
    made = make_corpus(recipe, output)
    assert make_corpus(recipe, output) == made
    (output / "corpus.json").rename(tmp_path / "finished.json")
    keep_stamp(read_json(tmp_path / "finished.json")["text"], output / "work")
    shutil.rmtree(model)
    shutil.copytree(packaged_folder("english"), model)
    with pytest.raises(CheckpointError):  # interrupted
        make_corpus(recipe, output)
    (tmp_path / "finished.json").rename(output / "corpus.json")
    with pytest.raises(CheckpointError):
        make_corpus(recipe, output)


def test_foreign_and_busy_folders_are_refused(pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError):
        make_corpus(recipe_of(pairs), tmp_path)
    output = tmp_path / "out"
    with locked(output), pytest.raises(BusyError):
        make_corpus(recipe_of(pairs), output)


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_rows(pairs: Path, tmp_path: Path) -> None:
    many = "".join(f"{a} {n}\t{b} {n}\n" for n in range(40) for a, b in PAIRS)
    pairs.write_text(many, encoding="utf-8")
    recipe, output = tmp_path / "recipe.yaml", tmp_path / "out"
    mapping = {
        "kind": "corpus",
        "data": {"sources": [str(pairs)]},
        "steps": ["duplicates", {"overlap": {"at_most": 0.6}}],
        "make": {"tasks": 8, "workers": 1, "block": 40},
    }
    recipe.write_text(yaml.safe_dump(mapping), encoding="utf-8")
    command = [sys.executable, "-m", "paraphrastic_hf.cli.main", "corpus", "make", str(recipe)]
    run = subprocess.Popen([*command, "--output", str(output), "--quiet"])
    done = output / "logs" / "completions"
    until = time.monotonic() + 120
    while time.monotonic() < until and not (done.exists() and any(done.iterdir())):
        assert run.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    run.kill()
    run.wait()
    kept = {path: path.stat().st_mtime_ns for path in (output / "data").glob("*.parquet")}
    complete = {path.name for path in done.iterdir()}
    assert 0 < len(complete) < 8
    assert main(["corpus", "make", str(recipe), "--output", str(output), "--quiet"]) == 0
    for path, stamp in kept.items():
        if path.stem[-5:] in complete:
            assert path.stat().st_mtime_ns == stamp, "a task that was complete was done again"
    wanted = in_this_process(load_corpus_recipe(recipe), tmp_path / "whole")
    assert files_of(output) == wanted
    assert not list(output.rglob("*.part"))


def test_an_empty_corpus_is_an_error_with_the_strictest_step(pairs: Path, tmp_path: Path) -> None:
    steps = ["duplicates", {"words": {"at_most": 1}}]
    make = {"tasks": 1, "block": 100}
    with pytest.raises(DataError):
        make_corpus(recipe_of(pairs, steps=steps, make=make), tmp_path / "out")


@pytest.mark.slow
def test_any_program_is_an_engine(pairs: Path, tmp_path: Path) -> None:
    source = {"path": str(pairs), "languages": ["en", "es"]}
    recipe = recipe_of(
        pairs,
        data={"sources": [source]},
        steps=["translate"],
        engine={"kind": "command", "model": "tr 'a-z' A-Z"},
    )
    made = make_corpus(recipe, tmp_path / "corpus")
    other_pace = replace(recipe, engine=replace(recipe.engine, batch_tokens=7, timeout=9.0))
    assert make_corpus(other_pace, tmp_path / "corpus").rows == made.rows  # same recipe
    rows = datasets.load_dataset(str(tmp_path / "corpus"), split="train")
    assert sorted(rows[TRANSLATION]) == sorted(each.upper() for _, each in PAIRS)
    card = (tmp_path / "corpus/README.md").read_text(encoding="utf-8")
    assert "tr 'a-z' A-Z" in card


# -- recipes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"steps": []}, "steps"),
        ({"steps": ["overlapp"]}, "overlapp"),
        ({"steps": ["translate", "translate"]}, "translate"),
        ({"steps": ["translate"]}, "engine.model"),
        ({"steps": ["translate"], "engine": {"kind": "apertium", "model": "spa-eng"}}, "languages"),
        ({"engine": {"beams": 2, "outputs": 3}}, "engine.outputs"),
        ({"engine": {"kind": "command", "model": "tr a b", "outputs": 2}}, "engine.outputs"),
        ({"engine": {"kind": "command", "model": "tr 'a b"}}, "engine.model"),
        ({"engine": {"kind": "command", "model": " "}}, "engine.model"),
        ({"make": {"executor": "slurm"}}, "make.partition"),
        ({"make": {"tasks": 0}}, "make.tasks"),
    ],
)
def test_invalid_recipes_are_refused(changes: dict[str, Any], key: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=key):
        recipe_of(tmp_path / "pairs.tsv", **changes)


def test_recipes_of_the_other_command_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["corpus", "make", "demo", "--output", str(tmp_path / "x")]) == 2
    assert "kind: corpus" in capsys.readouterr().err
    trains = tmp_path / "bgt.yaml"
    trains.write_text("kind: bgt\n")
    assert main(["corpus", "make", str(trains), "--output", str(tmp_path / "x")]) == 2
    assert "bgt" in capsys.readouterr().err
    assert main(["train", "paranmt-2018/spanish", "--output", str(tmp_path / "x")]) == 2
    assert "corpus make" in capsys.readouterr().err


def test_the_recipe_in_the_help_is_valid(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit):
        main(["corpus", "make", "--help"])
    paragraphs = capsys.readouterr().out.split("\n\n")
    (printed,) = (each for each in paragraphs if each.startswith("  ") and "\n  engine:" in each)
    (tmp_path / "help.yaml").write_text(printed)
    recipe = load_corpus_recipe(tmp_path / "help.yaml")
    assert [source.path for source in recipe.data.sources] == ["es-en.tsv"]


def test_every_key_can_be_set_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[CorpusRecipe] = []

    def kept(recipe: CorpusRecipe, *_: object, **__: object) -> Made:
        made.append(recipe)
        return Made(0, 0, 0.0, [], [])

    monkeypatch.setattr(make, "make_corpus", kept)
    command = ["corpus", "make", "back-translation-2017/smoke", "--output", str(tmp_path / "x")]
    command += ["--workers", "3", "--engine.beams", "4", "--data.max_bad_rows", "0.5"]
    assert main(command) == 0
    assert (made[0].make.workers, made[0].engine.beams) == (3, 4)
    assert made[0].data.max_bad_rows == 0.5
    assert main([*command, "--workers", "0"]) == 2
