"""Distillation: which vectors a student learns, and that it learns them."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import SentenceEncoder, packaged_model, train
from paraphrastic_hf.errors import CheckpointError, DataError, ModelError, RecipeError
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.distillation.objective import make_examples
from paraphrastic_hf.training.distillation.recipe import TeacherArguments
from paraphrastic_hf.training.distillation.teacher import (
    load_teacher,
    side_by_side,
    teacher_vectors,
)
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.kinds import load_recipe
from tests.bert import save_bert
from tests.training.runs import log, written

ANIMALS = ["cat", "dog", "horse", "bird", "fish", "mouse"]
KATZEN = ["Katze", "Hund", "Pferd", "Vogel", "Fisch", "Maus"]
VERBS = [("sleeps", "schläft"), ("eats", "frisst"), ("runs", "rennt"), ("swims", "schwimmt")]
ENGLISH = [f"the {animal} {verb}" for animal in ANIMALS for verb, _ in VERBS]
GERMAN = [f"die {animal} {verb}" for animal in KATZEN for _, verb in VERBS]
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
def recipe(tmp_path):
    lines = [f"{a}\t{b}\n" for a, b in zip(ENGLISH, GERMAN, strict=True)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return written(tmp_path, RECIPE.format(pairs=tmp_path / "pairs.tsv"))


def bitext(*pairs: tuple[str, str], languages: tuple[str, str] = ("en", "de")) -> SourcePairs:
    source = SourceArguments(path="pairs.tsv", languages=list(languages))
    return SourcePairs(source, list(pairs))


def test_a_student_learns_the_similarities_of_its_teacher(recipe, tmp_path):
    train(load_recipe(recipe), tmp_path / "out")
    student = SentenceEncoder.from_pretrained(tmp_path / "out")
    wanted = SentenceEncoder.from_pretrained().similarity(ENGLISH, ENGLISH)
    for texts in (ENGLISH, GERMAN):
        found = student.similarity(ENGLISH, texts)
        assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.95


@pytest.mark.slow
def test_a_hinge_separates_sentences_that_are_not_translations(recipe, tmp_path):
    gaps = []
    for name, more in (("plain", ""), ("hinge", "--contrastive 3 --training.margin 0.5")):
        options = f"--epochs 20 --run.log_every 1 {more}"
        train(load_recipe(recipe, options.split()), tmp_path / name)
        found = SentenceEncoder.from_pretrained(tmp_path / name).similarity(GERMAN, ENGLISH)
        gaps.append((found.diagonal() - (found - 2 * np.eye(len(found))).max(1)).mean())
    assert gaps[1] > gaps[0] + 0.02
    lines = log(tmp_path / "hinge", "contrastive")
    assert lines
    for line in lines:
        assert line["loss"] == pytest.approx(line["regression"] + line["contrastive"], rel=1e-4)


def test_only_learned_languages_have_tokens(recipe, tmp_path):
    train(load_recipe(recipe, ["--data.languages", "[en]"]), tmp_path / "out")
    encoder = SentenceEncoder.from_pretrained(tmp_path / "out")
    assert not encoder.encode(["die Katze frisst"]).any()
    assert encoder.encode(["the cat eats"]).any()


def test_each_teacher_reads_the_side_in_its_language():
    pair = bitext(("a cat", "eine Katze"))
    same = bitext(("a cat", "a cat"), ("a cat", "one cat"), languages=("en", "en"))
    for source, teachers, expected in (
        # the translation is read for a sentence in another language
        (pair, [["en"]], {"a cat": ("a cat",), "eine Katze": ("a cat",)}),
        (
            *(pair, [["en"], ["de", "en"]]),
            {"a cat": ("a cat", "a cat"), "eine Katze": ("a cat", "eine Katze")},
        ),
        (same, [["en"]], {"a cat": ("a cat",), "one cat": ("one cat",)}),  # each text once
    ):
        found = make_examples([source], teachers=teachers, learns=[])
        assert {each.text: each.reads for each in found} == expected
        assert len(found) == len(expected)
    for teachers, learns in ((["fr"], []), (["en"], ["tr"])):
        with pytest.raises(DataError):
            make_examples([pair], teachers=[["en"], teachers], learns=learns)


def test_cached_vectors_are_reused(tmp_path):
    texts, calls = [f"text {number}" for number in range(7)], []

    def load() -> object:
        def encode(some: list[str]) -> np.ndarray:
            calls.append(len(some))
            return np.array([[len(text), 3.0] for text in some])

        return encode

    first = teacher_vectors(texts, TEACHER, load, tmp_path)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-3)
    assert np.array_equal(teacher_vectors(texts, TEACHER, load, tmp_path), first)
    for stamp in ("", "first", "", "first"):  # unknown, known, unknown, known
        teacher_vectors(texts, TEACHER, load, tmp_path, stamp=stamp)
    prompted = TeacherArguments(model="english", prompt=" ")
    for some, teacher, stamp in (
        (texts[1:], TEACHER, "first"),
        (texts, TeacherArguments(model="multilingual"), "first"),
        (texts, prompted, "first"),
        (texts, TEACHER, "second"),
    ):
        with pytest.raises(CheckpointError):
            teacher_vectors(some, teacher, load, tmp_path, stamp=stamp)
    (tmp_path / "00000.npy").write_bytes(b"half a file")
    with pytest.raises(CheckpointError):
        teacher_vectors(texts, TEACHER, load, tmp_path, stamp="first")
    assert calls == [7]


class Letters:
    """A teacher of plain code: the count of each letter."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "abcdeknrstz"] for text in texts])


@pytest.mark.slow
def test_python_code_can_teach_together_with_an_encoder(recipe, tmp_path):
    letters = f"{{model: '{__name__}:Letters', engine: python, languages: [en, de]}}"
    options = ["--hidden_size", "11", "--teachers", letters, "english"]
    train(load_recipe(recipe, options), tmp_path / "out")
    student = SentenceEncoder.from_pretrained(tmp_path / "out")
    teachers = Letters().encode(ENGLISH), SentenceEncoder.from_pretrained().encode(ENGLISH)
    both = np.concatenate([_units(each) for each in teachers], 1) / 2**0.5
    found = student.similarity(ENGLISH, ENGLISH)
    assert np.corrcoef(found.ravel(), (both @ both.T).ravel())[0, 1] > 0.9


def _units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _fails(texts: list[str]) -> np.ndarray:
    raise ZeroDivisionError(len(texts))


def test_a_teacher_that_cannot_be_loaded_or_raises_is_refused(tmp_path):
    wrong = [
        TeacherArguments(model=name, engine="python")
        for name in ("no_module_of_this_name:f", "math:no_such", "math", "math:pi")
    ]
    wrong.append(TeacherArguments(model="english", precision="bfloat16"))  # transformers only
    for teacher in wrong:
        with pytest.raises(RecipeError):
            load_teacher(teacher, None, tmp_path)
    teacher = TeacherArguments(model=f"{__name__}:_fails", engine="python")
    with pytest.raises(ModelError):
        load_teacher(teacher, None, tmp_path)(["a cat"])


def test_narrowed_vectors_keep_products():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(500, 6)) * [5, 4, 3, 0.1, 0.1, 0.1]
    kept = side_by_side([vectors], [1], 3).astype(np.float64)
    np.testing.assert_allclose(kept @ kept.T, vectors @ vectors.T, atol=0.5)


def test_a_static_sentence_transformers_model_can_teach(tmp_path):
    SentenceTransformer(str(packaged_model("english"))).float().save(str(tmp_path / "static"))
    teacher = TeacherArguments(model=str(tmp_path / "static"))
    found = load_teacher(teacher, None, tmp_path)(["a cat sleeps"])
    wanted = SentenceEncoder.from_pretrained().encode(["a cat sleeps"])
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_a_prompt_precedes_each_text(tmp_path):
    def encode(text: str, name: str, prompt: str | None) -> np.ndarray:
        return load_teacher(TeacherArguments(model=name, prompt=prompt), None, tmp_path)([text])

    for name in ("english", str(save_bert(tmp_path))):
        prompted, whole = encode("dog", name, "the cat "), encode("the cat dog", name, None)
        np.testing.assert_allclose(prompted, whole, atol=1e-6)
        assert (prompted != encode("dog", name, None)).any()


def test_a_bfloat16_teacher_gives_nearly_equal_vectors(tmp_path):
    name = str(save_bert(tmp_path))
    whole, rounded = (
        load_teacher(TeacherArguments(model=name, precision=precision), None, tmp_path)(
            ["the cat sleeps on the mat", "a dog"]
        )
        for precision in ("float32", "bfloat16")
    )
    assert (whole != rounded).any()
    assert (_units(whole) * _units(rounded)).sum(1).min() > 0.99
