import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.mining.bitext import CANDIDATES, SCORES, link, margin_score, mine
from paraphrastic_hf.mining.neighbors import Neighbors


def vectors(count: int, seed: int, dim: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


def by_matrix(
    source: np.ndarray, target: np.ndarray, k: int, score: str, candidates: str
) -> list[tuple[float, int, int]]:
    """The definitions in plain Python, over the whole matrix."""
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (source, target)]
    cosine = (unit[0].astype(float) @ unit[1].T.astype(float)).tolist()
    n, m = len(source), len(target)
    near = [sorted(range(m), key=lambda j: (-cosine[i][j], j))[:k] for i in range(n)]
    near_of = [sorted(range(n), key=lambda i: (-cosine[i][j], i))[:k] for j in range(m)]
    mean = [sum(cosine[i][j] for j in near[i]) / len(near[i]) for i in range(n)]
    mean_of = [sum(cosine[i][j] for i in near_of[j]) / len(near_of[j]) for j in range(m)]

    def margin(i: int, j: int) -> float:
        around = (mean[i] + mean_of[j]) / 2
        if score == "cosine":
            return cosine[i][j]
        return cosine[i][j] - around if score == "distance" else cosine[i][j] / max(around, 1e-3)

    there = {(i, max(near[i], key=lambda j: (margin(i, j), -j))) for i in range(n)}
    back = {(max(near_of[j], key=lambda i: (margin(i, j), -i)), j) for j in range(m)}
    both = {"union": there | back, "intersection": there & back}
    chosen = {"forward": there, "backward": back, **both}[candidates]
    found, sources, targets = [], set(), set()
    for value, i, j in sorted((-margin(i, j), i, j) for i, j in chosen):
        if i not in sources and j not in targets:
            found.append((-value, i, j))
            sources.add(i)
            targets.add(j)
    return found


def test_the_ratio_of_a_zero_mean_is_finite():
    zero = np.zeros(1)
    assert margin_score(zero, zero, zero, "ratio") == 0
    assert margin_score(np.array([0.5]), -np.ones(1), zero, "ratio") == pytest.approx(5)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("candidates", CANDIDATES)
def test_pairs_equal_those_of_the_whole_matrix(score, candidates):
    source, target = vectors(60, 1), vectors(45, 2)
    wanted = by_matrix(source, target, 3, score, candidates)
    for memory in (0.002, 100):
        options = {"k": 3, "score": score, "candidates": candidates, "memory": memory}
        found = mine(source, target, **options)
        assert list(zip(found.source, found.target, strict=True)) == [w[1:] for w in wanted]
        np.testing.assert_allclose(found.score, [w[0] for w in wanted], rtol=1e-4, atol=1e-6)


def test_ties_are_in_the_order_of_source_and_target():
    same = np.ones((3, 2))
    assert mine(same, same[:2]).source.tolist() == [0]  # every candidate is row 0, either way
    neighbors = Neighbors(np.full((2, 2), 0.5, np.float32), np.array([[0, 1], [0, 1]]))
    found = link(neighbors, neighbors, score="cosine", one_to_one=False)
    pairs = list(zip(found.source.tolist(), found.target.tolist(), strict=True))
    assert pairs == [(0, 0), (0, 1), (1, 0)]


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12), st.integers(1, 5))
def test_one_to_one_uses_each_sentence_once(seed, n, m, k):
    rng = np.random.default_rng(seed)
    source, target = (rng.integers(-1, 2, (count, 2)).astype(float) for count in (n, m))
    pairs = mine(source, target, k=k)
    assert len(set(pairs.source.tolist())) == len(set(pairs.target.tolist())) == len(pairs.score)
    assert (np.diff(pairs.score) <= 0).all()
    assert all(source[i].any() and target[j].any() for _, i, j in zip(*pairs, strict=True))


def test_the_threshold_is_the_lowest_score():
    source, target = vectors(50, 3), vectors(50, 4)
    every = mine(source, target)
    bound = float(every.score[10])
    assert mine(source, target, threshold=bound).score.tolist() == every.score[:11].tolist()
    assert len(mine(source, target, threshold=math.inf).score) == 0
    empty = np.zeros((0, 6)), np.zeros((4, 6))
    assert [len(mine(source, side).score) for side in empty] == [0, 0]


@pytest.mark.parametrize(
    "given",
    [lambda t: t.bfloat16(), lambda t: t.requires_grad_(), list, lambda t: t.half().numpy()],
)
def test_vectors_may_be_tensors_of_any_dtype(given):
    tensor = torch.from_numpy(vectors(20, 1))
    found = mine(given(tensor.clone()), tensor.flip(0), k=2, score="cosine")
    assert sorted(found.source + found.target) == [19] * 20


def test_skipped_targets_are_no_partners_and_no_neighbors():
    side = vectors(80, 6)
    skip = np.arange(80)
    pairs = mine(side, side, skip=skip, k=3, one_to_one=False)
    assert (pairs.source != pairs.target).all()
    unit = side / np.linalg.norm(side, axis=1, keepdims=True)
    matrix = unit @ unit.T
    np.fill_diagonal(matrix, -2)
    mean = np.sort(matrix, axis=1)[:, -3:].mean(1)
    i, j = pairs.source[0], pairs.target[0]
    assert pairs.score[0] == pytest.approx(matrix[i, j] / ((mean[i] + mean[j]) / 2), rel=1e-5)
