import pickle
from typing import Any

import evaluate
import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.metrics.install import MODULE, SCRIPT
from paraphrastic_hf.metrics.scorer import SimileScorer
from tests.texts import SENTENCES

PREDICTIONS, REFERENCES = SENTENCES[:12], SENTENCES[12:24]
GIVEN = {"predictions": PREDICTIONS, "references": REFERENCES}


class Failing:
    def encode(self, texts: list[str]) -> np.ndarray:
        raise ValueError("no vectors")


@pytest.fixture
def metric(tmp_path):
    return evaluate.load(str(MODULE), cache_dir=str(tmp_path / "cache"))


@pytest.fixture
def expected(saved):
    return SimileScorer(saved).score(PREDICTIONS, REFERENCES).to_dict(segments=True)


@pytest.mark.parametrize(("path", "kind"), [(MODULE, np.array), (SCRIPT, tuple), (SCRIPT, iter)])
def test_the_metric_loads_from_folder_and_file_and_reads_any_sequence(
    path, kind, saved, expected, tmp_path
):
    metric = evaluate.load(str(path), cache_dir=str(tmp_path / "cache"))
    given = {name: kind(texts) for name, texts in GIVEN.items()}
    assert metric.compute(**given, model=str(saved), segments=True) == expected


def test_single_and_batched_segments_have_equal_scores(metric, saved, expected):
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute(model=str(saved), segments=True) == expected
    metric.add_batch(predictions=PREDICTIONS[:4], references=REFERENCES[:4])
    metric.add_batch(predictions=PREDICTIONS[4:5], references=REFERENCES[4:5])
    rest = {name: texts[5:] for name, texts in GIVEN.items()}
    assert metric.compute(**rest, model=str(saved), segments=True) == expected
    plain = metric.compute(predictions=["a cat"], references=["the cat"], model=str(saved))
    listed = metric.compute(predictions=["a cat"], references=[["the cat"]], model=str(saved))
    assert plain == listed  # each computation may use another kind of references


def test_compute_accepts_every_option_of_the_scorer(metric, saved):
    options: dict[str, Any] = {"alpha": 0.7, "penalty": "brevity", "length": "characters"}
    options |= {"lowercase": True, "several": "mean"}
    lists = [[a, b] for a, b in zip(REFERENCES, PREDICTIONS[::-1], strict=True)]
    expected = SimileScorer(saved, **options).score(PREDICTIONS, lists).to_dict()
    given = {"predictions": PREDICTIONS, "references": lists, "model": str(saved)}
    assert expected == metric.compute(**given, **options)


def test_loaded_encoders_are_accepted_and_kept_apart(metric, subword, encoder, expected):
    encoder.name = "saved"
    result = metric.compute(**GIVEN, model=encoder)
    assert result == {name: expected[name] for name in ("simile", "sim", "signature")}
    signatures = set()
    for seed in (1, 2):
        torch.manual_seed(seed)
        model = SentenceTransformer(modules=[StaticEmbedding(subword.to_fast(), embedding_dim=8)])
        signatures.add(metric.compute(**GIVEN, model=model)["signature"])
    assert len(signatures) == 2


def test_combined_metrics_have_their_own_scores(metric, saved, expected, tmp_path):
    other = evaluate.load(str(MODULE), cache_dir=str(tmp_path / "cache"))
    both = evaluate.combine([metric, other], force_prefix=True)
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        both.add(prediction, reference)
    added = both.compute(model=str(saved))
    both.add_batch(**GIVEN)
    batched = both.compute(model=str(saved))
    given = both.compute(**GIVEN, model=str(saved))
    assert added == batched == given
    scores = [value for name, value in given.items() if name.endswith("_simile")]
    assert scores == [expected["simile"]] * 2


def test_one_process_writes_no_files(saved, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    metric = evaluate.load(str(MODULE), cache_dir=str(tmp_path / "file" / "below"))
    metric.add(prediction="a", reference="b")
    metric.compute(model=str(saved))
    assert metric.compute(**GIVEN, model=str(saved))["simile"] == expected["simile"]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"predictions": ["a", None], "references": ["a", "b"]}, r"hypotheses\[1\]"),
        ({"predictions": ["a", "b"], "references": ["a"]}, "2 and 1"),
        ({"predictions": ["a"]}, "references"),
        ({"predictions": [], "references": []}, "hypotheses"),
        ({}, "predictions"),
        (
            {"predictions": ["a"], "references": [["b"]], "model": Failing(), "penalty": "none"},
            "no vectors",
        ),
    ],
)
def test_bad_segments_are_refused_and_dropped(metric, saved, expected, given, named):
    with pytest.raises((DataError, ValueError), match=named):
        metric.compute(**{"model": str(saved), **given})
    assert len(metric) == 0
    assert metric.compute(**GIVEN, model=str(saved))["simile"] == expected["simile"]


def test_a_bad_batch_or_option_keeps_earlier_segments(metric, saved, expected):
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(DataError, match=r"references\[13\]"):
        metric.add_batch(predictions=["a", "b"], references=["a", None])
    with pytest.raises(ValueError, match=r"references\[12\]"):
        metric.add(prediction="a", reference=["a"])
    for options, error in (
        ({"model": "/nowhere/at/all"}, ModelError),
        ({"penalty": "long"}, ValueError),
        ({"beta": 1}, TypeError),
    ):
        with pytest.raises(error):
            metric.compute(**{"model": str(saved), **options})
    assert metric.compute(model=str(saved), segments=True) == expected


def test_a_model_is_loaded_only_once(metric, saved):
    given = {"predictions": ["a cat"], "references": ["the cat"], "model": str(saved)}
    first = metric.compute(**given)
    for path in saved.iterdir():
        path.unlink()
    assert metric.compute(**given, segments=True)["simile"] == first["simile"]


def test_a_used_metric_can_be_pickled(metric, saved, expected):
    metric.compute(predictions=["a"], references=["b"], model=str(saved))
    again = pickle.loads(pickle.dumps(metric))
    assert again.compute(**GIVEN, model=str(saved))["simile"] == expected["simile"]
