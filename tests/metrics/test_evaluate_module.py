"""The metric of `evaluate` in one process: however segments come, the scorer's scores come out."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
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


@pytest.fixture
def metric(tmp_path: Path) -> Any:
    return evaluate.load(str(MODULE), cache_dir=str(tmp_path / "cache"))


@pytest.fixture
def expected(saved: Path) -> dict[str, Any]:
    return SimileScorer(saved).score(PREDICTIONS, REFERENCES).to_dict(segments=True)


@pytest.mark.parametrize("path", [MODULE, SCRIPT])
def test_it_loads_by_folder_and_by_file(
    path: Path, saved: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    metric = evaluate.load(str(path), cache_dir=str(tmp_path / "cache"))
    result = metric.compute(
        predictions=PREDICTIONS, references=REFERENCES, model=str(saved), segments=True
    )
    assert result == expected


def test_segments_one_by_one_and_in_batches_are_scored_alike(
    metric: Any, saved: Path, expected: dict[str, Any]
) -> None:
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute(model=str(saved), segments=True) == expected
    for start in (0, 5):
        part = slice(start, 5 if start == 0 else None)
        metric.add_batch(predictions=PREDICTIONS[part], references=REFERENCES[part])
    assert metric.compute(model=str(saved), segments=True) == expected


def test_segments_given_to_compute_come_after_those_added(
    metric: Any, saved: Path, expected: dict[str, Any]
) -> None:
    metric.add_batch(predictions=PREDICTIONS[:4], references=REFERENCES[:4])
    result = metric.compute(
        predictions=PREDICTIONS[4:], references=REFERENCES[4:], model=str(saved), segments=True
    )
    assert result == expected


def test_every_option_of_the_scorer_is_one_of_compute(metric: Any, saved: Path) -> None:
    options: dict[str, Any] = {
        "alpha": 0.7,
        "penalty": "brevity",
        "length": "characters",
        "lowercase": True,
        "several": "mean",
    }
    lists = [[a, b] for a, b in zip(REFERENCES, PREDICTIONS[::-1], strict=True)]
    expected = SimileScorer(saved, **options).score(PREDICTIONS, lists).to_dict()
    assert expected == metric.compute(
        predictions=PREDICTIONS, references=lists, model=str(saved), **options
    )


def test_a_loaded_encoder_is_a_model_too(
    metric: Any, encoder: Any, expected: dict[str, Any]
) -> None:
    encoder.name = "saved"
    result = metric.compute(predictions=PREDICTIONS, references=REFERENCES, model=encoder)
    assert result == {name: expected[name] for name in ("simile", "sim", "signature")}


def test_two_encoders_that_print_alike_are_two_models(metric: Any, subword: Any) -> None:
    given = {"predictions": ["the cat"], "references": ["a boat"]}
    signatures = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        model = SentenceTransformer(modules=[StaticEmbedding(subword.to_fast(), embedding_dim=8)])
        signatures.append(metric.compute(model=model, **given)["signature"])
    assert signatures[0] != signatures[1]


@pytest.mark.parametrize("kind", [np.array, tuple])
def test_arrays_and_tuples_are_lists(
    metric: Any, saved: Path, expected: dict[str, Any], kind: Any
) -> None:
    result = metric.compute(
        predictions=kind(PREDICTIONS), references=kind(REFERENCES), model=str(saved)
    )
    assert result["simile"] == expected["simile"]


def test_generators_are_lists(metric: Any, saved: Path, expected: dict[str, Any]) -> None:
    result = metric.compute(
        predictions=iter(PREDICTIONS), references=iter(REFERENCES), model=str(saved)
    )
    assert result["simile"] == expected["simile"]


def test_surrogates_and_empty_texts_are_scored(metric: Any, saved: Path) -> None:
    texts = ["", "\ud800", "a\0b", "\u2028", "cat"]
    result = metric.compute(
        predictions=texts, references=[[text, "cat"] for text in texts], model=str(saved)
    )
    assert math.isfinite(result["simile"])


def test_combined_metrics_each_have_their_score(
    metric: Any, saved: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    other = evaluate.load(str(MODULE), cache_dir=str(tmp_path / "cache"))
    both = evaluate.combine([metric, other], force_prefix=True)
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        both.add(prediction, reference)
    added = both.compute(model=str(saved))
    both.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    batched = both.compute(model=str(saved))
    given = both.compute(predictions=PREDICTIONS, references=REFERENCES, model=str(saved))
    assert added == batched == given
    assert [value for name, value in given.items() if name.endswith("_simile")] == [
        expected["simile"]
    ] * 2


def test_nothing_is_written_in_one_process(
    metric: Any, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    metric.add(prediction="a", reference="b")
    metric.compute(predictions=PREDICTIONS, references=REFERENCES, model=str(saved))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_cache_that_cannot_be_written_does_not_matter_in_one_process(
    saved: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    metric = evaluate.load(str(MODULE), cache_dir=str(tmp_path / "file" / "below"))
    result = metric.compute(predictions=PREDICTIONS, references=REFERENCES, model=str(saved))
    assert result["simile"] == expected["simile"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"predictions": ["a", None], "references": ["a", "b"]}, r"hypotheses\[1\] must be a string"),
    ({"predictions": ["a", "b"], "references": ["a", 3]}, r"references\[1\] must be a string"),
    ({"predictions": ["a", "b"], "references": ["a", ["b"]]}, r"references\[1\] is a list"),
    ({"predictions": ["a", "b"], "references": ["a"]}, "equally many, got 2 and 1"),
    ({"predictions": "ab", "references": ["a", "b"]}, "hypotheses must be a list of texts"),
    ({"predictions": ["a"]}, "references must be a list of texts, got None"),
    ({"predictions": [], "references": []}, "nothing to score"),
    ({}, "nothing to score"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_segments_are_refused_and_leave_nothing_behind(
    metric: Any, saved: Path, expected: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises((DataError, ValueError), match=message):
        metric.compute(**given, model=str(saved))
    result = metric.compute(predictions=PREDICTIONS, references=REFERENCES, model=str(saved))
    assert result["simile"] == expected["simile"]


def test_a_bad_batch_is_numbered_from_the_first_and_costs_no_segment(
    metric: Any, saved: Path, expected: dict[str, Any]
) -> None:
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(DataError, match=r"references\[13\] must be a string, got NoneType"):
        metric.add_batch(predictions=["a", "b"], references=["a", None])
    with pytest.raises(ValueError, match=r"references\[12\] and on are lists of strings"):
        metric.add(prediction="a", reference=["a"])
    assert metric.compute(model=str(saved), segments=True) == expected


def test_a_kind_of_references_binds_one_computation_only(metric: Any, saved: Path) -> None:
    plain = metric.compute(predictions=["a cat"], references=["the cat"], model=str(saved))
    listed = metric.compute(predictions=["a cat"], references=[["the cat"]], model=str(saved))
    assert plain == listed


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"model": "/nowhere/at/all"}, ModelError),
        ({"alpha": -1}, ValueError),
        ({"penalty": "long"}, ValueError),
        ({"beta": 1}, TypeError),
    ],
)
def test_a_wrong_option_costs_no_segments(
    metric: Any, saved: Path, expected: dict[str, Any], options: dict[str, Any], error: type
) -> None:
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(error):
        metric.compute(**{"model": str(saved), **options})
    assert metric.compute(model=str(saved), segments=True) == expected


def test_after_an_encoder_fails_the_next_result_is_right(
    metric: Any, saved: Path, expected: dict[str, Any]
) -> None:
    class Failing:
        def encode(self, texts: list[str]) -> np.ndarray:
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        metric.compute(predictions=["a"], references=[["b"]], model=Failing(), penalty="none")
    assert len(metric) == 0
    result = metric.compute(
        predictions=PREDICTIONS, references=REFERENCES, model=str(saved), segments=True
    )
    assert result == expected


def test_a_model_is_loaded_once_for_equal_options(metric: Any, saved: Path) -> None:
    given = {"predictions": ["a cat"], "references": ["the cat"], "model": str(saved)}
    first = metric.compute(**given)
    for path in saved.iterdir():
        path.unlink()
    assert metric.compute(**given, segments=True)["simile"] == first["simile"]


@pytest.mark.parametrize("is_used", [False, True])
def test_it_can_be_pickled(
    metric: Any, saved: Path, expected: dict[str, Any], is_used: bool
) -> None:
    if is_used:
        metric.compute(predictions=["a"], references=["b"], model=str(saved))
    again = pickle.loads(pickle.dumps(metric))
    result = again.compute(predictions=PREDICTIONS, references=REFERENCES, model=str(saved))
    assert result["simile"] == expected["simile"]


def test_its_description_is_complete(metric: Any) -> None:
    assert "alpha" in metric.inputs_description
    assert "wieting" in metric.citation
    assert metric.description.strip()
