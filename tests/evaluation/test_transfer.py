import numpy as np
import pytest

from paraphrastic_hf import evaluate
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.suites.transfer import f1_score, score_distribution
from tests.corpora.layouts import SICK_HEADER
from tests.corpora.made_files import put

GOOD, BAD = ("fine", "great", "lovely", "superb"), ("poor", "dull", "awful", "sad")
PLACES = ("film", "plot", "actor", "scene", "end")


class Words:
    """Encodes a text as the presence of some words."""

    known = (*GOOD, *BAD, *PLACES, "who", "where", "not")

    def encode(self, texts):
        return np.array([[word in text.split() for word in self.known] for text in texts], float)


def opinions(words):
    return "".join(f"{word} {place}\n" for word in words for place in PLACES)


def stars(*labeled):
    return "".join(f"{label} {word} film\n" for label, words in labeled for word in words)


def pairs(separator, same, other):
    """Return pairs of equal words, then of different ones."""
    equal = [f"{word} {place}{separator}{word} {place}" for word in GOOD for place in PLACES]
    apart = [f"{a} film{separator}{b} plot" for a in GOOD for b in (*BAD, "who")]
    return [f"{same}\t{pair}" for pair in equal] + [f"{other}\t{pair}" for pair in apart]


def sick():
    rows = [row.split("\t") for row in pairs("\t", "4.6 ENTAILMENT", "1.4 NEUTRAL")]
    return SICK_HEADER + "".join(
        f"{number}\t{a}\t{b}\t{label.replace(' ', chr(9))}\n"
        for number, (label, a, b) in enumerate(rows, 1)
    )


def write_transfer(root):
    """Write every corpus of the suite, with separate words for each class."""
    mrpc = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + "".join(
        f"{row[0]}\t1\t2\t{row[2:]}\n" for row in pairs("\t", "1", "0")
    )
    questions = "".join(
        f"{kind}:x {word} {place} ?\n"
        for kind, word in (("HUM", "who"), ("LOC", "where"))
        for place in PLACES * 3
    )
    binary, fine = stars((0, BAD), (1, GOOD)), stars((0, BAD), (4, GOOD))
    turned = "".join(f"{line[2:]}\t{line[0]}\n" for line in binary.splitlines())
    parts, stems = ("train", "dev", "test"), ("MR/rt-polarity", "CR/custrev", "MPQA/mpqa")
    return put(
        root,
        {
            **dict.fromkeys((f"senteval/{stem}.pos" for stem in stems), opinions(GOOD)),
            **dict.fromkeys((f"senteval/{stem}.neg" for stem in stems), opinions(BAD)),
            "senteval/SUBJ/subj.subjective": opinions(GOOD),
            "senteval/SUBJ/subj.objective": opinions(BAD),
            **{f"senteval/SST/stsa.binary.{part}": binary for part in parts},
            **{f"senteval/SST/stsa.fine.{part}": fine for part in parts},
            **{f"senteval/SST/Binary/sentiment-{part}": turned for part in parts},
            "senteval/TREC/train_5500.label": questions,
            "senteval/TREC/TREC_10.label": "HUM:x who is it ?\nLOC:x where is it ?\n",
            "senteval/MRPC/msr_paraphrase_train.txt": mrpc,
            "senteval/MRPC/msr_paraphrase_test.txt": mrpc,
            **{f"sick2014/SICK_{p}.txt": sick() for p in ("train", "trial", "test_annotated")},
        },
    )


def test_separable_classes_are_learned_in_every_task(tmp_path):
    results = evaluate(Words(), "transfer", write_transfer(tmp_path))
    assert results["skipped"] == {}
    headline = results["headline"]
    assert list(headline)[:5] == ["MR", "CR", "SUBJ", "MPQA", "SST"]
    assert list(headline)[-3:] == ["SICK-R", "SICK-E", "SST-5"]
    assert len(headline) == 11
    assert all(score > 97 for score in headline.values()), headline
    assert set(results["papers"]["thesis WORD, 300 (Table 39)"]) == set(headline) - {"SST-5"}
    assert evaluate(Words(), "transfer", tmp_path)["rows"] == results["rows"]


def test_a_task_without_its_corpus_is_skipped(tmp_path):
    folder = write_transfer(tmp_path)
    (folder / "senteval" / "CR" / "custrev.neg").unlink()
    (folder / "sick2014" / "SICK_trial.txt").unlink()
    results = evaluate(Words(), "transfer", folder)
    assert list(results["skipped"]) == ["CR", "SICK-R", "SICK-E"]
    assert "custrev.neg" in results["skipped"]["CR"]
    assert "CR" not in results["headline"]
    assert results["headline"]["MR"] > 97


def test_score_distributions_have_the_score_as_mean():
    expected = [[1, 0, 0, 0, 0], [0, 0, 0.4, 0.6, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 0]]
    scores = np.array([1, 3.6, 5, 4.0])
    np.testing.assert_allclose(score_distribution(scores), expected, atol=1e-12)
    np.testing.assert_allclose(score_distribution(scores) @ np.arange(1, 6), scores)


def test_f1_by_hand():
    """Two found, three gold, one of them both: precision 1/2, recall 1/3, F1 2/5."""
    assert f1_score(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 1])) == pytest.approx(40)
    assert f1_score(np.zeros(2, int), np.zeros(2, int)) == 0


def xnli(root, *languages):
    rows = [
        f"{premise} {place}\t{hypothesis}\t{label}\n"
        for place in PLACES * 3
        for premise, hypothesis, label in (
            ("fine", "great", "entailment"),
            ("fine", "who", "neutral"),
            ("fine", "not", "contradiction"),
        )
    ]
    return put(root, {f"xnli/dev-{name}.tsv": "".join(rows) for name in languages})


def test_inference_transfers_from_english(tmp_path):
    folder = xnli(tmp_path, "en", "es", "tr")
    path = folder / "xnli" / "dev-tr.tsv"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join("a\tb\t" + row.split("\t")[2] for row in rows))
    results = evaluate(Words(), "xnli", folder)
    assert [row["name"] for row in results["rows"]] == ["en", "es", "tr"]
    headline = results["headline"]
    assert headline["en"] == headline["es"] == 100
    assert headline["tr"] < 40  # all pairs have the same words, so one class
    assert "ar, es, tr" not in headline  # no mean of two


def test_xnli_does_not_depend_on_the_norm_of_vectors(tmp_path):
    labels = ["entailment", "neutral", "contradiction"] * 50
    rows = "".join(f"{i}\t{i + 150}\t{label}\n" for i, label in enumerate(labels))
    folder = put(tmp_path, {"xnli/dev-en.tsv": rows, "xnli/dev-es.tsv": rows})
    vectors = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
    vectors[:150] += 0.7 * np.eye(3, 16, dtype=np.float32)[np.arange(150) % 3]

    class Drawn:
        def __init__(self, length):
            self.length = length

        def encode(self, texts):
            return self.length * vectors[[int(text) for text in texts]]

    short, long = (evaluate(Drawn(length), "xnli", folder)["headline"] for length in (0.125, 16))
    assert short == long
    assert 40 < short["en"] < 80


def test_xnli_needs_english_and_parallel_labels(tmp_path):
    with pytest.raises(DataError):
        evaluate(Words(), "xnli", xnli(tmp_path / "a", "es"))
    folder = xnli(tmp_path / "b", "en", "es")
    path = folder / "xnli" / "dev-es.tsv"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(sorted(rows)))
    with pytest.raises(DataError):
        evaluate(Words(), "xnli", folder)
