"""Steps that score the rows of a corpus (thesis, 4.3 and 4.5.4)."""

import math
import pickle
import random
from collections import Counter

import numpy as np
import pytest

from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.pipelines.stages import Block, Judge
from paraphrastic_hf.pipelines.steps.duplicates import Seen
from paraphrastic_hf.pipelines.steps.ngrams import hash_words, shared_ngrams
from paraphrastic_hf.pipelines.steps.registry import STEPS, make_step, make_steps
from paraphrastic_hf.pipelines.steps.texts import LengthRatio, terminal_mark
from paraphrastic_hf.text.overlap import WORD, ngram_overlap
from tests.texts import SENTENCES

WILD = [
    "",
    " ",
    "a",
    "A a a a",
    "don't — stop!",
    "\ud800 x",
    "İstanbul ΣΑΣ",
    "1\n2\t3 4",
    "x" * 5000,
]


def row(reference, translation, **more):
    return {"reference": reference, "translation": translation, **more}


def pairs_of_texts():
    choice = random.Random(1)
    words = [word for text in SENTENCES for word in text.split()][:60]
    made = [" ".join(choice.choices(words, k=choice.randrange(12))) for _ in range(300)]
    texts = [*SENTENCES, *WILD, *made]
    return [row(*choice.choices(texts, k=2)) for _ in range(2000)]


def score(name, *rows, **settings):
    return list(make_step(name, settings).score(rows))


def test_overlap_equals_the_overlap_of_single_pairs():
    rows = pairs_of_texts()
    expected = [ngram_overlap(each["reference"], each["translation"], 3) for each in rows]
    assert score("overlap", *rows) == expected
    assert len(set(expected)) > 10
    step = make_step("overlap")
    assert [step.score([each])[0] for each in rows[:50]] == expected[:50]
    assert step.score([]) == []


@pytest.mark.parametrize("n", [1, 2, 4])
def test_shared_ngrams_equal_counters(n):
    rows = pairs_of_texts()[:500]
    sides = [[each[name] for each in rows] for name in ("reference", "translation")]
    shared, *there = shared_ngrams(*(hash_words(side) for side in sides), n)
    for number, (first, second) in enumerate(zip(*sides, strict=True)):
        counts = []
        for text in (first, second):
            tokens = WORD.findall(text.lower())
            counts.append(Counter(zip(*(tokens[k:] for k in range(n)), strict=False)))
        assert shared[number] == (counts[0] & counts[1]).total()
        assert [each[number] for each in there] == [each.total() for each in counts]


def test_different_words_have_different_hashes():
    words = sorted({"".join(random.Random(k).choices("abcdé1", k=k % 7 + 1)) for k in range(20000)})
    assert len(np.unique(hash_words(words).hashes)) == len(words)


BLEU = [4 / 5, 3 / 4, 2 / 3, 1 / 2]  # 1 is added to counts, and to the reference's length


BY_HAND = {  # name: sides and scores
    "bleu": [
        ("the cat sat on a mat", "the cat sat down", math.prod(BLEU) ** 0.25 / math.e**0.75),
        ("a b", "a b", math.exp(1 - 3 / 2)),
    ],
    "copy": [("The cat, asleep.", "the  cat asleep", 1), ("A cat", "The cat", 0), ("...", "!", 0)],
    "numbers": [
        *(("in 1999 he paid 1,000", "he paid 1000 in 1999", 0), ("two cats", "2 cats", 1)),
        *(("7.5 per cent", "7,5 percent", 0), ("2 2 3", "2 3", 1)),
    ],
    "length_ratio": [("a b c", "", math.inf), ("", "", None), ("a", "b b", 2.0)],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_scores_by_hand(name):
    first, second, expected = zip(*BY_HAND[name], strict=True)
    assert score(name, *map(row, first, second)) == pytest.approx(expected)


def test_steps_read_the_given_side():
    assert score("copy", row("cat", "die Katze", source="Die Katze."), of="source") == [1]
    with pytest.raises(DataError):
        score("copy", row("a", "b"), of="source")
    one = row("a cat sat", "a cat", source="eine Katze saß da")
    expected = {"reference": 3, "translation": 2, "source": 4, "shorter": 2, "longer": 3}
    for side, count in expected.items():
        assert score("words", one, of=side) == [count]
        assert make_step("words", {"of": side}).name == f"{side}_words"


@pytest.mark.parametrize(
    ("text", "mark"),
    [("Is it?”", "?"), ("it is", ""), ("Wait…", "."), ("no! ", "!"), ("", ""), ("(yes.)", ".")],
)
def test_terminal_marks_are_found_behind_quotes(text, mark):
    assert terminal_mark(text) == mark


def test_seen_equals_a_dict():
    keys = np.random.default_rng(1).integers(0, 3000, 20_000, np.uint64)
    seen, first, found = Seen(), {}, []
    for start in range(0, len(keys), 37):
        found += seen.add(keys[start : start + 37], start).tolist()
    for number, key in enumerate(keys.tolist()):
        assert found[number] == first.get(key, -1)
        first.setdefault(key, number)
    assert len(seen._parts) < 12


def test_near_duplicates_estimate_the_jaccard_index():
    text = "the old man sat by the sea and watched the boats come in from the north at dawn"
    rows = [row(text, text), row(text + " today", text), row("nothing of the sort", "is here")]
    found = score("near_duplicates", *rows)
    assert found[0] == 0
    assert found[1] == pytest.approx(17 / 20, abs=0.15)
    assert found[2] == 0
    step = make_step("near_duplicates", {"bands": 32, "hashes": 2, "n": 1, "of": "reference"})
    words = [f"w{k}" for k in range(40)]
    step.score([row(" ".join(words), "")])
    half = step.score([row(" ".join([*words[:20], *"abcdefghijklmnopqrst"]), "")])[0]
    assert half == pytest.approx(1 / 3, abs=0.15)


def test_near_duplicates_do_not_depend_on_batches():
    rows = pairs_of_texts()[:300]
    whole = score("near_duplicates", *rows)
    step = make_step("near_duplicates")
    parts = [value for k in range(0, 300, 41) for value in step.score(rows[k : k + 41])]
    assert parts == whole
    assert max(whole) == 1


def test_the_paraphrase_score_is_the_cosine_of_the_encoder():
    texts = ("the cat is asleep", "stocks fell on Monday", " ")
    found = score("paraphrase_score", *(row("a cat sleeps", text) for text in texts))
    assert found[0] > 0.5 > found[1]
    assert found[2] is None
    lines = [f"{first} {second}" for first in "abcdefghij" for second in ("cat", "sees", "it .")]
    copies = score("paraphrase_score", *(row(line, line) for line in lines))
    assert all(0.999999 < value <= 1 for value in copies)


def test_the_translation_score_is_the_engine_s():
    step = make_step("translation_score", {"at_least": -0.5})
    assert step.score([row("a", "b", translation_score=-0.4)]) == [-0.4]
    assert step.judge(-0.6) is not None
    assert step.judge(None) is None
    with pytest.raises(DataError):
        step.score([row("a", "b")])


def test_a_translation_in_another_language_is_left_out():
    pytest.importorskip("py3langid")
    step = make_step("language")
    rows = [row("", "the weather is very bad today"), row("", "das Wetter ist heute sehr schlecht")]
    assert step.score(rows) == [1, 0]
    assert step.judge(1) is None
    assert step.judge(0) is not None
    with pytest.raises(RecipeError):
        make_step("language", {"language": "xx"}).score(rows)


def test_steps_can_be_pickled():
    needed = {
        "cross_entropy": {"model": "m"},
        "reference": {"model": "m"},
        "exclude": {"paths": ["test.txt"]},
    }
    for name in STEPS:
        step = make_step(name, needed.get(name))
        assert pickle.loads(pickle.dumps(step)) == step


def test_a_rejection_names_measure_score_and_bound():
    step = make_step("overlap", {"at_most": 0.2})
    assert all(value in str(step.judge(0.5)) for value in ("overlap", "0.2", "0.5"))
    assert step.judge(0.2) is None
    assert make_step("length_ratio", {"at_most": 1000}).judge(math.inf) is not None
    assert "the source" in str(make_step("copy", {"of": "source"}).judge(1))


def test_a_wrong_number_of_scores_is_refused():
    class Short(LengthRatio):
        def score(self, rows):
            return [1.0] * (len(rows) - 1)

    with pytest.raises(ValueError, match=r"length_ratio.*\b2\b.*\b3\b"):
        list(Judge(Short()).run([Block([row("a", "b")] * 3)]))


@pytest.mark.parametrize(
    "items",
    [
        *(["overlop"], [3], ["cross_entropy"], ["overlap", {"overlap": {"at_most": 0.5}}]),
        *([{"overlap": {"m": 2}}], [{"overlap": {"n": 0}}], [{"words": {"of": "left"}}]),
        [{"overlap": {"at_least": 0.5, "at_most": 0.2}}],
    ],
)
def test_invalid_steps_are_refused(items):
    with pytest.raises(RecipeError):
        make_steps(items)


@pytest.mark.parametrize(
    "name", ["paraphrase_score", "cross_lingual_score", "semantic_duplicates", "exclude"]
)
@pytest.mark.parametrize("bounds", [{"at_least": 1.5}, {"at_most": -1.01}, {"at_most": 2}])
def test_bounds_of_cosines_are_from_minus_1_to_1(name, bounds):
    options = {"paths": ["texts.txt"]} if name == "exclude" else {}
    assert make_step(name, {**options, "at_most": 1}).limits.allow(-1)
    with pytest.raises(RecipeError, match=str(*bounds.values())):
        make_step(name, {**options, "at_most": None, **bounds})
    ratio = make_step("cross_lingual_score", {"margin": "ratio", "at_least": 1.06})
    assert ratio.at_least == 1.06


@pytest.mark.parametrize("bound", [math.nan, math.inf, -math.inf])
def test_bounds_must_be_finite(bound):
    for name in ("at_least", "at_most"):
        with pytest.raises(RecipeError, match=f"{name} .*{bound}"):
            LengthRatio(**{name: bound})
