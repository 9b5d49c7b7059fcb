import json
import random
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU, CHRF

from paraphrastic_hf import SimileScorer
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.generation import generation_markdown, judge
from paraphrastic_hf.evaluation.measures.word_scores import (
    bucket_f1,
    bucket_names,
    coarse,
    frequency_bucket,
    repetition_rate,
    tag_f1,
)
from tests.evaluation.made_pairs import Lengths
from tests.texts import SENTENCES

REFERENCES = SENTENCES[:12]


def spoiled(share):
    """Return the references with some words replaced."""
    draw = random.Random(2)
    words = [word for text in REFERENCES for word in text.split()]
    return [
        " ".join(draw.choice(words) if draw.random() < share else word for word in text.split())
        for text in REFERENCES
    ]


SYSTEMS = [("bad", spoiled(0.6)), ("good", spoiled(0.1))]


def test_scores_equal_sacrebleus_and_the_scorers():
    report = judge(SYSTEMS, REFERENCES, samples=200)
    scorer = SimileScorer()
    for number, (_, outputs) in enumerate(SYSTEMS):
        found = {name: values[number].value for name, values in report.figures.items()}
        assert found["BLEU"] == pytest.approx(BLEU().corpus_score(outputs, [REFERENCES]).score)
        assert found["chrF"] == pytest.approx(CHRF().corpus_score(outputs, [REFERENCES]).score)
        scores = scorer.score(outputs, REFERENCES)
        assert found["SIM"] == pytest.approx(100 * scores.sim_score)
        assert found["SimiLE"] == pytest.approx(100 * scores.score)
    for measure in ("BLEU", "SIM", "SimiLE"):
        first, second = report.figures[measure]
        assert first.p_value is None
        assert second.p_value is not None
        assert second.p_value < 0.02
        assert second.value > first.value
    assert report.signatures["BLEU"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp")
    assert report.signatures["chrF"].startswith("nrefs:1|case:mixed")


def test_bucket_f1_by_hand():
    """Rare words (cat, dog): `cat cat` has one correct, `dog` is missing: 2 * 1 / (2 + 2). The
    frequent word has two of three correct: 2 * 2 / (3 + 2)."""
    bucket = frequency_bucket({"the": 2000, "cat": 1, "dog": 1})
    found = bucket_f1(
        [["the", "cat", "cat"], ["the", "the"]], [["the", "cat"], ["the", "dog"]], bucket
    )
    assert found == {"1001+": pytest.approx(80), "1": pytest.approx(50)}


def test_buckets_equal_table_70():
    assert bucket_names() == ["0", "1", "2-5", "6-10", "11-100", "101-1000", "1001+"]
    counts = {str(n): n for n in (1, 2, 5, 6, 10, 11, 100, 101, 1000, 1001)}
    bucket = frequency_bucket(counts)
    assert [bucket(word) for word in (*counts, "new")] == [
        "1", "2-5", "2-5", "6-10", "6-10", "11-100", "11-100", "101-1000", "101-1000", "1001+", "0",
    ]  # fmt: skip


def test_a_word_with_another_tag_is_wrong():
    tags = {"saw": "VBD", "cats": "NNS", "Saw": "NN"}

    def tag(sentences):
        return [[tags[word] for word in words] for words in sentences]

    found = tag_f1([["saw", "cats"]], [["saw", "Saw"]], tag)
    assert found == {"VERB": 100.0, "NOUN": 0.0}
    assert [coarse(tag) for tag in ("NNP", "PROPN", "CD")] == ["PROPN", "PROPN", "NUM"]


def test_repetition_counts_ngrams_repeated_within_an_output():
    assert repetition_rate([["a", "b", "c"], ["a", "b"]]) == 0  # repeated only in another output
    assert repetition_rate([["a", "b", "a", "b"], ["c"]]) == pytest.approx(100 / 3)
    assert repetition_rate([["a"], []]) == 0


def test_other_encoders_and_frequency_texts_can_be_given():
    report = judge(
        SYSTEMS,
        REFERENCES,
        counted=["the the the"],
        judges=[("lengths", Lengths())],
        tag=lambda sentences: [["NN"] * len(words) for words in sentences],
        samples=50,
    )
    assert report.figures["lengths"][1].value > 95
    assert set(report.words["frequency"]) <= {"0", "2-5"}
    assert list(report.words["part of speech"]) == ["NOUN"]
    text = generation_markdown(report)
    assert "part of speech" in text
    assert "| good, change |" in text
    good, bad = (report.to_dict()["systems"][name] for name in ("good", "bad"))
    assert good["BLEU"]["p_value"] <= 1
    assert good["part of speech"]["NOUN"] > bad["part of speech"]["NOUN"]


def test_the_command_writes_the_result_of_the_function(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, lines in (*SYSTEMS, ("ref", REFERENCES)):
        Path(f"{name}.txt").write_text("\n".join(lines) + "\n")
    command = ["judge", "-s", "bad.txt", "good.txt", "-r", "ref.txt", "--samples", "50"]
    assert main([*command, "--frequencies", "bad.txt", "--output", "out.json"]) == 0
    found = json.loads(Path("out.json").read_text())
    named = [(f"{name}.txt", lines) for name, lines in SYSTEMS]
    expected = judge(named, REFERENCES, counted=SYSTEMS[0][1], samples=50).to_dict()
    assert found == json.loads(json.dumps(expected))
    assert main(command) == 0
    assert "12 segments" in capsys.readouterr().out
    assert main([*command, "-r", "ref.txt", "ref.txt"]) == 2


def test_invalid_systems_are_refused():
    for systems in ([("a", REFERENCES), ("a", REFERENCES)], [("a", ["x"])], []):
        with pytest.raises(DataError):
            judge(systems, REFERENCES)
