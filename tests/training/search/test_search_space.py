"""The settings a search tries, and their order."""

from __future__ import annotations

import sys

import pytest

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.search.space import Settings, combinations, every, parse_grid, propose

GRID = {"training.margin": [0.4, 0.6], "training.negatives": ["max", "mix", "rand"]}


def walk(sampler: str, seed: int, scores: dict[str, float]) -> list[Settings]:
    """The order in which a sampler goes through the whole grid."""
    tried: list[tuple[Settings, float | None]] = []
    while len(tried) < combinations(GRID):
        settings = propose(GRID, sampler, seed, tried)
        tried.append((settings, scores.get(settings["training.negatives"])))
    return [settings for settings, _ in tried]


def test_values_are_read_and_typed_by_their_keys() -> None:
    texts = ["margin=1,1e-1", "tokenizer.orders=[2,3],[3]", "model.vectors=null,a.txt"]
    grid = parse_grid(ContrastiveRecipe, texts)
    assert grid == {
        "training.margin": [1.0, 0.1],
        "tokenizer.orders": [[2, 3], [3]],
        "model.vectors": [None, "a.txt"],
    }
    assert isinstance(grid["training.margin"][0], float)


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        (["margn=0.4"], "training.margin"),
        (["kind=word"], "kind"),
        (["margin=wide"], "'wide'"),
        (["negatives=max,all"], "'all'"),
        (["margin="], "margin"),
        (["margin"], "margin"),
        (["margin=[0.4"], "training.margin"),
        (["margin=0.4,0.40"], "margin"),
        (["margin=0.4", "training.margin=0.6"], "margin"),
        ([], "--grid"),
    ],
)
def test_what_is_no_grid_is_refused(texts: list[str], key: str) -> None:
    with pytest.raises(RecipeError, match=key):
        parse_grid(ContrastiveRecipe, texts)


def test_a_grid_is_gone_through_with_the_last_key_fastest() -> None:
    order = walk("grid", 1, {})
    assert order == list(every(GRID))
    assert [settings["training.negatives"] for settings in order] == ["max", "mix", "rand"] * 2


def test_random_is_another_order_of_the_same_by_the_seed() -> None:
    orders = [walk("random", seed, {}) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    for order in orders:
        assert sorted(map(str, order)) == sorted(map(str, every(GRID)))


def test_tpe_tries_everything_once_and_is_a_function_of_the_seed_and_of_what_was_tried() -> None:
    pytest.importorskip("optuna", reason="pip install 'paraphrastic-hf[tune]'")
    scores = {"max": 1.0, "mix": 2.0}  # with rand, trials fail
    orders = [walk("tpe", 1, scores) for _ in range(2)]
    assert orders[0] == orders[1]
    assert sorted(map(str, orders[0])) == sorted(map(str, every(GRID)))


def test_tpe_looks_where_scores_were_high() -> None:
    """Of 20 values, those from 15 up score high. Ten random tries know some; of the next five
    TPE takes more of these than the quarter that chance would."""
    pytest.importorskip("optuna", reason="pip install 'paraphrastic-hf[tune]'")
    grid = {"training.epochs": list(range(20)), "training.batch_size": list(range(1, 21))}
    high = 0
    for seed in range(4):
        tried: list[tuple[Settings, float | None]] = [
            (settings, float(settings["training.epochs"] >= 15))
            for settings in list(every(grid))[seed::37][:10]
        ]
        for _ in range(5):
            settings = propose(grid, "tpe", seed, tried)
            tried.append((settings, float(settings["training.epochs"] >= 15)))
        high += sum(int(score or 0) for _, score in tried[-5:])
    assert high > 10  # of 20; by chance 5


def test_tpe_without_optuna_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(RecipeError, match=r"paraphrastic-hf\[tune\]"):
        propose(GRID, "tpe", 1, [])


def test_an_unknown_sampler_is_refused() -> None:
    with pytest.raises(RecipeError, match="'luck'"):
        propose({"training.margin": [0.3, 0.5]}, "luck", 1, [])
