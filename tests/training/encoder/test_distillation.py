"""Recipes of kind distillation: which vectors a student learns, and that it learns them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder, train
from paraphrastic_hf.errors import CheckpointError, DataError, ModelError, RecipeError
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.distillation.objective import job as distillation_run
from paraphrastic_hf.training.distillation.objective import lessons
from paraphrastic_hf.training.distillation.recipe import TeacherArguments
from paraphrastic_hf.training.distillation.teacher import load_teacher, narrowed, teacher_vectors
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.kinds import load_recipe
from tests.bert import save_bert

ANIMALS = ["cat", "dog", "horse", "bird", "fish", "mouse"]
KATZEN = ["Katze", "Hund", "Pferd", "Vogel", "Fisch", "Maus"]
VERBS = [("sleeps", "schläft"), ("eats", "frisst"), ("runs", "rennt"), ("swims", "schwimmt")]
TEACHER = TeacherArguments(model="english")
RECIPE = """
kind: distillation
data: {{sources: [{{path: {pairs}, languages: [en, de]}}]}}
teachers: [english]
tokenizer: {{kind: word, vocab_size: 100}}
model: {{hidden_size: 32, initializer_std: 0.02}}
training: {{epochs: 60, batch_size: 8, learning_rate: 2.e-2, schedule: linear}}
run: {{development: none}}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    lines = [
        f"the {animal} {verb}\tdie {tier} {tut}\n"
        for animal, tier in zip(ANIMALS, KATZEN, strict=True)
        for verb, tut in VERBS
    ]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.format(pairs=tmp_path / "pairs.tsv"), encoding="utf-8")
    return path


def bitext(*pairs: tuple[str, str], languages: tuple[str, str] = ("en", "de")) -> SourcePairs:
    source = SourceArguments(path="pairs.tsv", languages=list(languages))
    return SourcePairs(source, list(pairs))


def test_a_student_learns_the_similarities_of_its_teacher_and_of_translations(
    recipe: Path, tmp_path: Path
) -> None:
    train(load_recipe(recipe), tmp_path / "out")
    student, teacher = (
        SentenceEncoder.from_pretrained(tmp_path / "out"),
        SentenceEncoder.from_pretrained(),
    )
    english = [f"the {animal} {verb}" for animal in ANIMALS for verb, _ in VERBS]
    german = [f"die {tier} {tut}" for tier in KATZEN for _, tut in VERBS]
    wanted = teacher.similarity(english, english)
    for texts in (english, german):
        found = student.similarity(english, texts)
        assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.95


def test_a_hinge_beside_it_parts_what_is_not_a_translation(recipe: Path, tmp_path: Path) -> None:
    options = ["--epochs", "20", "--run.log_every", "1"]
    train(load_recipe(recipe, options), tmp_path / "plain")
    hinge = ["--contrastive", "3", "--training.margin", "0.5"]
    train(load_recipe(recipe, [*options, *hinge]), tmp_path / "hinge")
    english = [f"the {animal} {verb}" for animal in ANIMALS for verb, _ in VERBS]
    german = [f"die {tier} {tut}" for tier in KATZEN for _, tut in VERBS]
    gaps = []
    for name in ("plain", "hinge"):
        found = SentenceEncoder.from_pretrained(tmp_path / name).similarity(german, english)
        others = found - 2 * np.eye(len(found))
        gaps.append((found.diagonal() - others.max(1)).mean())
    assert gaps[1] > gaps[0] + 0.02
    lines = (tmp_path / "hinge" / "logs" / "train.jsonl").read_text().splitlines()
    logged = [line for line in map(json.loads, lines) if "contrastive" in line]
    assert logged
    for line in logged:
        assert line["loss"] == pytest.approx(line["regression"] + line["contrastive"], rel=1e-4)


def test_languages_that_are_not_learned_have_no_tokens(recipe: Path, tmp_path: Path) -> None:
    train(load_recipe(recipe, ["--data.languages", "[en]"]), tmp_path / "out")
    encoder = SentenceEncoder.from_pretrained(tmp_path / "out")
    assert not encoder.encode(["die Katze frisst"]).any()
    assert encoder.encode(["the cat eats"]).any()


def test_a_sentence_that_the_teacher_cannot_read_has_its_translation_read() -> None:
    found = lessons([bitext(("a cat", "eine Katze"))], teachers=[["en"]], learns=[])
    assert [(each.text, each.reads) for each in found] == [
        ("a cat", ("a cat",)),
        ("eine Katze", ("a cat",)),
    ]


def test_each_teacher_reads_the_side_of_its_own_language() -> None:
    found = lessons([bitext(("a cat", "eine Katze"))], teachers=[["en"], ["de", "en"]], learns=[])
    assert [(each.text, each.reads) for each in found] == [
        ("a cat", ("a cat", "a cat")),
        ("eine Katze", ("a cat", "eine Katze")),
    ]


def test_a_sentence_of_several_pairs_is_learned_once() -> None:
    pairs = [("a cat", "the cat"), ("the cat", "one cat"), ("a cat", "the cat")]
    found = lessons([bitext(*pairs, languages=("en", "en"))], teachers=[["en"]], learns=[])
    assert [each.text for each in found] == ["a cat", "the cat", "one cat"]


def test_a_source_that_the_teacher_cannot_read_is_refused() -> None:
    with pytest.raises(DataError, match=r"a teacher reads fr alone: leave it out"):
        lessons([bitext(("a cat", "eine Katze"))], teachers=[["en"], ["fr"]], learns=[])


def test_a_language_that_no_source_has_is_refused() -> None:
    with pytest.raises(DataError, match=r"no source has a sentence in tr"):
        lessons([bitext(("a cat", "eine Katze"))], teachers=[["en"]], learns=["tr"])


def test_a_recipe_without_a_teacher_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("kind: distillation\ndata: {sources: [pairs.tsv]}\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"teachers is empty: name the encoder"):
        load_recipe(path)


def test_a_student_wider_than_its_teacher_is_refused(recipe: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="has 4096 dimensions, and its teachers have"):
        train(load_recipe(recipe, ["--hidden_size", "4096"]), tmp_path / "out")


def test_vectors_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    texts, calls = [f"text {number}" for number in range(7)], []

    def load() -> object:
        def encode(some: list[str]) -> np.ndarray:
            calls.append(len(some))
            return np.array([[len(text), 3.0] for text in some])

        return encode

    first = teacher_vectors(texts, TEACHER, load, tmp_path)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-3)
    assert np.array_equal(teacher_vectors(texts, TEACHER, load, tmp_path), first)
    assert calls == [7]
    with pytest.raises(CheckpointError, match="are of other texts"):
        teacher_vectors(texts[1:], TEACHER, load, tmp_path)
    with pytest.raises(CheckpointError, match="or of another teacher than multilingual"):
        teacher_vectors(texts, TeacherArguments(model="multilingual"), load, tmp_path)
    for weights in ("", "first", "", "first"):  # not said, then said, then gone
        teacher_vectors(texts, TEACHER, load, tmp_path, stamp=weights)
    with pytest.raises(CheckpointError, match="or of another teacher"):
        teacher_vectors(texts, TEACHER, load, tmp_path, stamp="trained again")
    assert calls == [7]


def test_a_tokenizer_that_is_there_is_not_trained_again(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object, **settings: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(distillation_run, "teacher_vectors", fails)
        with pytest.raises(KeyboardInterrupt):
            train(load_recipe(recipe), tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(distillation_run, "train_tokenizer", fails)
        train(load_recipe(recipe), tmp_path / "out")
    train(load_recipe(recipe), tmp_path / "whole")
    texts = ["the cat sleeps", "die Katze schläft"]
    found, expected = (
        SentenceEncoder.from_pretrained(tmp_path / name).encode(texts) for name in ("out", "whole")
    )
    np.testing.assert_array_equal(found, expected)


def test_a_damaged_file_of_vectors_is_refused_by_name(tmp_path: Path) -> None:
    def load() -> object:
        return lambda texts: np.ones((len(texts), 2))

    teacher_vectors(["a", "b"], TEACHER, load, tmp_path)
    (tmp_path / "00000.npy").write_bytes(b"half a file")
    with pytest.raises(CheckpointError, match=r"00000\.npy is damaged"):
        teacher_vectors(["a", "b"], TEACHER, load, tmp_path)


class Letters:
    """A teacher that is plain code: how many of each letter a text has."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "abcdeknrstz"] for text in texts])


def test_any_code_that_makes_vectors_can_teach_beside_an_encoder(
    recipe: Path, tmp_path: Path
) -> None:
    letters = f"{{model: '{__name__}:Letters', engine: python, languages: [en, de]}}"
    options = ["--hidden_size", "11", "--teachers", letters, "english"]
    train(load_recipe(recipe, options), tmp_path / "out")
    student = SentenceEncoder.from_pretrained(tmp_path / "out")
    english = [f"the {animal} {verb}" for animal in ANIMALS for verb, _ in VERBS]
    both = (
        np.concatenate([_units(Letters().encode(english)), _units(_english(english))], 1) / 2**0.5
    )
    found = student.similarity(english, english)
    assert np.corrcoef(found.ravel(), (both @ both.T).ravel())[0, 1] > 0.9


def _units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _english(texts: list[str]) -> np.ndarray:
    return SentenceEncoder.from_pretrained().encode(texts)


@pytest.mark.parametrize("name", ["no_module_of_this_name:f", "math:no_such", "math", "math:pi"])
def test_code_that_python_cannot_import_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"teachers\.model with engine python"):
        load_teacher(TeacherArguments(model=name, engine="python"), None, tmp_path)


def _fails(texts: list[str]) -> np.ndarray:
    raise ZeroDivisionError(len(texts))


def test_a_teacher_that_raises_is_named(tmp_path: Path) -> None:
    teacher = TeacherArguments(model=f"{__name__}:_fails", engine="python")
    with pytest.raises(ModelError, match=r"_fails .*ZeroDivisionError"):
        load_teacher(teacher, None, tmp_path)(["a cat"])


def test_a_precision_that_an_engine_has_not_is_refused() -> None:
    with pytest.raises(RecipeError, match="precision bfloat16 is of engine torch"):
        TeacherArguments(model="m", engine="ctranslate2", precision="bfloat16")


def test_a_precision_of_a_table_is_refused(tmp_path: Path) -> None:
    teacher = TeacherArguments(model="english", precision="bfloat16")
    with pytest.raises(RecipeError, match="precision is of transformers, and english is none"):
        load_teacher(teacher, None, tmp_path)


def test_narrowed_vectors_keep_products() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(500, 6)) * [5, 4, 3, 0.1, 0.1, 0.1]
    kept = narrowed(vectors, 3).astype(np.float64)
    np.testing.assert_allclose(kept @ kept.T, vectors @ vectors.T, atol=0.5)


def test_a_static_model_of_sentence_transformers_can_teach(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    from paraphrastic_hf import packaged_model

    SentenceTransformer(str(packaged_model("english"))).float().save(str(tmp_path / "static"))
    teacher = TeacherArguments(model=str(tmp_path / "static"))
    found = load_teacher(teacher, None, tmp_path)(["a cat sleeps"])
    wanted = SentenceEncoder.from_pretrained().encode(["a cat sleeps"])
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_a_teacher_in_bfloat16_is_near_the_same(tmp_path: Path) -> None:
    name = str(save_bert(tmp_path))
    whole, rounded = (
        load_teacher(TeacherArguments(model=name, precision=precision), None, tmp_path)(
            ["the cat sleeps on the mat", "a dog"]
        )
        for precision in ("float32", "bfloat16")
    )
    assert (whole != rounded).any()
    assert (_units(whole) * _units(rounded)).sum(1).min() > 0.99
