import shutil
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import datasets
import pyarrow.parquet as pq
import pytest

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
from paraphrastic_hf.pipelines.recipe import corpus_recipe, load_corpus_recipe
from paraphrastic_hf.pipelines.stages import phases_of
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, TRANSLATION
from paraphrastic_hf.training.engine.provenance import keep_stamp

TASKS = 3
WORDS = [
    "the", "a", "one", "some", "cat", "dog", "bird", "horse", "sees", "hears", "likes", "red",
    "blue", "small", "old", "house", "tree",
]  # fmt: skip


def sentence(number):
    return " ".join(WORDS[(number * (7 + place) + place) % len(WORDS)] for place in range(6))


PAIRS = [(f"{sentence(n)} {n}", f"{sentence(n + n % 5)} {n} times") for n in range(300)]


def write_pairs(path, pairs=PAIRS):
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    return path


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "pairs.tsv")


def recipe_of(path, **changes):
    mapping = {
        "kind": "corpus",
        "data": {"sources": [{"path": str(path), "license": "CC0"}]},
        "steps": ["duplicates", {"overlap": {"at_most": 0.6}}, {"words": {"at_most": 8}}],
        "make": {"tasks": TASKS, "workers": 1, "block": 40},
    }
    return corpus_recipe(mapping | changes)


def in_this_process(recipe, output):
    """Run the stages of every task without an executor and return the files."""
    rows = output / "work" / "rows"
    counts = deal(recipe.data, rows, recipe.make.tasks, by=recipe.dealt_by)
    for phase in phases_of(recipe, output, counts, recipe.engine.model):
        for task in range(recipe.make.tasks):
            flow = None
            for stage in deepcopy(phase):
                flow = stage(flow, task, recipe.make.tasks)
            list(flow)
    return files_of(output)


def files_of(output):
    return {
        str(path.relative_to(output)): pq.read_table(path).to_pylist()
        for path in sorted(output.glob("*/*.parquet"))
    }


def rows_and_rejects(files):
    return [
        [row for name, rows in files.items() if name.startswith(folder) for row in rows]
        for folder in ("data", "rejects")
    ]


def bitext(path, model="spa-eng", kind="apertium", **source):
    data = {"sources": [{"path": str(path), "languages": ["es", "en"], **source}]}
    return {"data": data, "engine": {"kind": kind, "model": model}}


@pytest.mark.parametrize("of", ["pair", "reference", "translation"])
def test_duplicates_are_found_across_tasks(of, tmp_path):
    rows = [(f"a cat {n % 7}", f"a dog {n % 11}") for n in range(300)]
    path = write_pairs(tmp_path / "pairs.tsv", rows)
    steps, make = [{"duplicates": {"of": of}}], {"tasks": 4, "block": 10}
    files = in_this_process(recipe_of(path, steps=steps, make=make), tmp_path / "out")
    assert sum(bool(rows) for name, rows in files.items() if name.startswith("data")) > 1
    sides = [REFERENCE, TRANSLATION] if of == "pair" else [of]
    found = [tuple(row[side] for side in sides) for row in rows_and_rejects(files)[0]]
    assert len(found) == len(set(found)) == {"pair": 77, "reference": 7, "translation": 11}[of]


def test_rows_are_distributed_by_source_to_find_its_duplicates(tmp_path):
    path = write_pairs(tmp_path / "a.tsv", [(f"hola {n % 9}", f"hello {n}") for n in range(90)])
    steps = [{"duplicates": {"of": "source"}}, "translate"]
    recipe = recipe_of(path, steps=steps, make={"tasks": 4}, **bitext(path))
    counts = deal(recipe.data, tmp_path / "rows", 4, by=recipe.dealt_by)
    tasks = {}
    for task, count in enumerate(counts):
        file = tmp_path / "rows" / f"{task:05d}.tsv"
        for row in dealt_rows(file, count, recipe.data.sources, is_bitext=True):
            tasks.setdefault(row[SOURCE], set()).add(task)
    assert len(tasks) == 9
    assert all(len(where) == 1 for where in tasks.values())


@pytest.mark.parametrize(
    "of", [["translation"], ["source", "reference"], ["source", "pair"], ["source", "translation"]]
)
def test_undetectable_duplicates_are_refused(of, tmp_path):
    path = tmp_path / "es-en.tsv"
    steps = ["translate", *({"duplicates": {"of": side}} for side in of)]
    with pytest.raises(RecipeError):
        recipe_of(path, steps=steps, make={"tasks": 4}, **bitext(path))
    one = recipe_of(path, steps=steps, make={"tasks": 1}, **bitext(path))
    assert one.dealt_by == REFERENCE


def test_data_reference_selects_the_reference_side(tmp_path):
    texts = [("hola", "hello"), ("sí", "yes"), ("no", "no"), ("adiós", "bye")]
    path = write_pairs(tmp_path / "es-en.tsv", texts)
    sources = recipe_of(path, steps=["translate"], **bitext(path, every=2)).data
    counts = deal(sources, tmp_path / "rows", 1)
    rows = dealt_rows(tmp_path / "rows" / "00000.tsv", counts[0], sources.sources, is_bitext=True)
    assert [(row[REFERENCE], row[SOURCE]) for row in rows] == [("hello", "hola"), ("no", "no")]


@pytest.mark.parametrize("damage", [lambda text: text[:-20], lambda text: text + "more\n"])
def test_changed_task_files_are_refused(pairs, tmp_path, damage):
    recipe = recipe_of(pairs)
    counts = deal(recipe.data, tmp_path / "rows", 1)
    file = tmp_path / "rows" / "00000.tsv"
    file.write_text(damage(file.read_text()))
    with pytest.raises(DataError):
        list(dealt_rows(file, counts[0], recipe.data.sources, is_bitext=False))


def test_every_row_is_kept_or_among_the_rejects_with_its_reason(pairs, tmp_path):
    rows, rejects = rows_and_rejects(in_this_process(recipe_of(pairs), tmp_path / "out"))
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

    def __init__(self):
        self.before = []

    def translate(self, lines, *, before=0):
        self.before.append(before)
        empty = GeneratedText("", float("nan"))
        return [
            [empty]
            if "7" in line
            else [GeneratedText(line.upper(), -0.5), GeneratedText(line, -1.5)]
            for line in lines
        ]


def test_blocks_use_different_random_numbers(pairs, tmp_path, monkeypatch):
    echo = Echo()
    monkeypatch.setattr("paraphrastic_hf.pipelines.stages._engine", lambda *_: echo)
    recipe = recipe_of(
        pairs, steps=["translate"], make={"tasks": 2, "block": 5}, **bitext(pairs, "echo")
    )
    in_this_process(recipe, tmp_path / "out")
    assert len(echo.before) == len(set(echo.before)) > 2


def test_empty_translations_are_rejected_and_n_best_lists_are_rows(pairs, tmp_path, monkeypatch):
    monkeypatch.setattr("paraphrastic_hf.pipelines.stages.make_engine", lambda *_, **__: Echo())
    changes = {**bitext(pairs), "engine": {"model": "echo", "outputs": 2, "beams": 2}}
    recipe = recipe_of(pairs, steps=["translate"], **changes)
    rows, rejects = rows_and_rejects(in_this_process(recipe, tmp_path / "out"))
    empty = sum("7" in text for text, _ in PAIRS)
    assert len(rejects) == empty > 0
    assert len(rows) == 2 * (len(PAIRS) - empty)
    assert {row["translation_score"] for row in rows} == {-0.5, -1.5}
    assert all(row["reason"].endswith(" 0") for row in rejects)
    assert all(row["translation"].lower() == row["source"] for row in rows)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A corpus made by a worker."""
    folder = tmp_path_factory.mktemp("made")
    recipe = recipe_of(write_pairs(folder / "pairs.tsv"))
    return folder / "out", recipe, make_corpus(recipe, folder / "out")


def test_a_corpus_loads_as_dataset_and_as_training_source(made, tmp_path):
    output, _, run = made
    cache = str(tmp_path / "cache")
    rows = datasets.load_dataset(str(output), split="train", cache_dir=cache)
    rejects = datasets.load_dataset(str(output), "rejects", split="train", cache_dir=cache)
    assert len(rows) == run.rows
    assert len(rows) + len(rejects) == len(PAIRS)
    assert read_pairs(output) == list(zip(rows["reference"], rows["translation"], strict=True))
    beside = read_pairs(output, columns=["translation", "reference"])
    assert beside == [(b, a) for a, b in read_pairs(output)]


def test_record_and_card_list_the_steps(made):
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


def test_the_executor_equals_running_the_stages(made, tmp_path):
    output, recipe, _ = made
    assert files_of(output) == in_this_process(recipe, tmp_path / "other")


def test_changed_recipes_are_refused(made):
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
def test_a_corpus_of_changed_text_is_not_continued(pairs, tmp_path, monkeypatch):
    recipe, output, text = recipe_of(pairs), tmp_path / "out", pairs.read_text(encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(make, "run_stages", Mock(side_effect=KeyboardInterrupt))
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
def test_a_corpus_is_not_continued_with_another_model(pairs, tmp_path):
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


def test_foreign_and_busy_folders_are_refused(pairs, tmp_path):
    with pytest.raises(RecipeError):
        make_corpus(recipe_of(pairs), tmp_path)
    output = tmp_path / "out"
    with locked(output), pytest.raises(BusyError):
        make_corpus(recipe_of(pairs), output)


def test_an_empty_corpus_is_an_error_with_the_strictest_step(pairs, tmp_path):
    recipe = recipe_of(pairs, steps=["duplicates", {"words": {"at_most": 1}}], make={"tasks": 1})
    with pytest.raises(DataError):
        make_corpus(recipe, tmp_path / "out")


@pytest.mark.slow
def test_any_program_is_an_engine(pairs, tmp_path):
    recipe = recipe_of(pairs, steps=["translate"], **bitext(pairs, "tr 'a-z' A-Z", "command"))
    made = make_corpus(recipe, tmp_path / "corpus")
    other_pace = replace(recipe, engine=replace(recipe.engine, batch_tokens=7, timeout=9.0))
    assert make_corpus(other_pace, tmp_path / "corpus").rows == made.rows  # same recipe
    rows, _ = rows_and_rejects(files_of(tmp_path / "corpus"))
    assert sorted(row[TRANSLATION] for row in rows) == sorted(each.upper() for each, _ in PAIRS)
    card = (tmp_path / "corpus/README.md").read_text(encoding="utf-8")
    assert "tr 'a-z' A-Z" in card


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
def test_invalid_recipes_are_refused(changes, key, tmp_path):
    with pytest.raises(RecipeError, match=key):
        recipe_of(tmp_path / "pairs.tsv", **changes)


def test_recipes_of_the_other_command_are_refused(refused, tmp_path):
    output = "--output", tmp_path / "x"
    assert "kind: corpus" in refused("corpus", "make", "demo", *output)
    trains = tmp_path / "bgt.yaml"
    trains.write_text("kind: bgt\n")
    assert "bgt" in refused("corpus", "make", trains, *output)
    assert "corpus make" in refused("train", "paranmt-2018/spanish", *output)


def test_the_recipe_in_the_help_is_valid(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["corpus", "make", "--help"])
    paragraphs = capsys.readouterr().out.split("\n\n")
    (printed,) = (each for each in paragraphs if each.startswith("  ") and "\n  engine:" in each)
    (tmp_path / "help.yaml").write_text(printed)
    recipe = load_corpus_recipe(tmp_path / "help.yaml")
    assert [source.path for source in recipe.data.sources] == ["es-en.tsv"]


def test_every_key_can_be_set_on_the_command_line(tmp_path, monkeypatch):
    made = []

    def kept(recipe, *_, **__):
        made.append(recipe)
        return Made(0, 0, 0.0, [], [])

    monkeypatch.setattr(make, "make_corpus", kept)
    command = ["corpus", "make", "back-translation-2017/smoke", "--output", str(tmp_path / "x")]
    command += ["--workers", "3", "--engine.beams", "4", "--data.max_bad_rows", "0.5"]
    assert main(command) == 0
    assert (made[0].make.workers, made[0].engine.beams) == (3, 4)
    assert made[0].data.max_bad_rows == 0.5
    assert main([*command, "--workers", "0"]) == 2
