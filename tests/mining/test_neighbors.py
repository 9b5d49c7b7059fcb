import importlib.util
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.errors import DataError, MissingExtraError
from paraphrastic_hf.mining import neighbors as module
from paraphrastic_hf.mining.approximate import nearest_by_faiss
from paraphrastic_hf.mining.bitext import CANDIDATES, SCORES, link, margin_score, mine
from paraphrastic_hf.mining.neighbors import Neighbors, nearest, plan_search
from paraphrastic_hf.mining.vectors import UnitRows

needs_faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None, reason="FAISS is not installed"
)


def rows(count: int, seed: int, dim: int = 8) -> UnitRows:
    return UnitRows(np.random.default_rng(seed).standard_normal((count, dim), np.float32))


def by_matrix(source: UnitRows, target: UnitRows, k: int) -> Neighbors:
    matrix = source.take(slice(None)).astype(np.float64) @ target.take(slice(None)).T
    order = np.argsort(-matrix, axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(matrix, order, 1), order)


def assert_same(found: tuple[Neighbors, ...], wanted: tuple[Neighbors, ...]) -> None:
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours.ids, theirs.ids)
        np.testing.assert_array_equal(ours.scores, theirs.scores)


@pytest.mark.parametrize("memory", [0.001, 0.01, 0.1, 64])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_neighbors_equal_those_of_the_whole_matrix(memory, precision):
    source, target = rows(157, 1), rows(203, 2)
    both = nearest(source, target, 3, memory=memory, precision=precision)
    for found, sides in zip(both, ((source, target), (target, source)), strict=True):
        wanted = by_matrix(*sides, 3)
        np.testing.assert_array_equal(found.ids, wanted.ids)
        np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-6)  # float32 sums


def test_tiling_and_memory_maps_change_no_bit(tmp_path):
    source, target = rows(300, 3, 31), rows(260, 4, 31)
    plans = {plan_search(source, target, 4, memory) for memory in (0.005, 0.05, 100)}
    assert len(plans) == 3
    results = [nearest(source, target, 4, memory=memory) for memory in (0.005, 0.05, 100)]
    np.save(tmp_path / "x.npy", np.random.default_rng(3).standard_normal((300, 31), np.float32))
    mapped = UnitRows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    results.append(nearest(mapped, target, 4, memory=0.05))
    for result in results[1:]:
        assert_same(result, results[0])


@pytest.mark.parametrize("memory", [1, 10, 100, 1000])
def test_blocks_and_tiles_fit_the_memory(memory):
    """Counted by hand: two blocks, the tiles, and the neighbors of both sides."""
    source = rows(20_000, 5, 16)
    plan = plan_search(source, source, 4, memory)
    state = 2 * len(source) * plan.keep * 8
    used = 2 * plan.block * 16 * 4 + plan.tile**2 * 4 * module.TILES_ALIVE
    assert used <= max(memory * 2**20 - state, min(memory, 64) * 2**20)


def test_tied_neighbors_are_in_order():
    vectors = np.repeat(np.eye(3, dtype=np.float32), [4, 2, 3], axis=0)  # rows 0-3, 4-5, 6-8
    side = UnitRows(vectors)
    for memory in (0.0005, 1):
        forward, backward = nearest(side, side, 2, memory=memory)
        assert forward.ids.tolist() == [[0, 1]] * 4 + [[4, 5]] * 2 + [[6, 7]] * 3
        np.testing.assert_array_equal(forward.ids, backward.ids)


def test_lengths_do_not_matter_and_zero_rows_are_skipped():
    vectors = np.random.default_rng(6).standard_normal((40, 5)).astype(np.float32)
    scaled = vectors * np.linspace(0, 100, 40, dtype=np.float32)[:, None]  # row 0 is zero
    side, target = UnitRows(scaled), rows(30, 7, 5)
    assert side.rows.tolist() == [*range(1, 40)]
    forward, whole = (nearest(each, target, 2)[0] for each in (side, UnitRows(vectors)))
    np.testing.assert_array_equal(forward.ids, whole.ids[side.rows])


def test_k_may_exceed_the_rows():
    for target, shapes in (
        (rows(2, 2), [(5, 2), (2, 4)]),
        (UnitRows(np.zeros((3, 8))), [(5, 0), (0, 4)]),
    ):
        assert [found.ids.shape for found in nearest(rows(5, 1), target, 4)] == shapes


@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_rows_may_be_taken_in_any_order(mode, tmp_path):
    """Also if the ids only look consecutive. Changes of a copy-on-write map are kept."""
    vectors = np.random.default_rng(8).standard_normal((2000, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", vectors)
    given = np.load(tmp_path / "x.npy", mmap_mode=mode)
    if mode == "c":
        given[:, 1:] = vectors[:, 1:] = 0
    side = UnitRows(given)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for ids in ([3, 9, 5], [7, 7, 9], [4, 5, 6], [6, 5, 4], [0], [], range(0, 2000, 2)):
        np.testing.assert_allclose(side.take(np.array(ids, int)), unit[list(ids)], rtol=1e-6)


def test_an_interrupted_search_resumes(tmp_path, monkeypatch):
    source, target, keep = rows(200, 10), rows(150, 11), tmp_path / "search.npz"
    monkeypatch.setattr(module, "SAVE_SECONDS", 0)
    compare, strips = module._Search.compare, []

    def interrupted(self: module._Search, strip: module._Strip) -> None:
        strips.append(strip)
        if len(strips) == 20:
            raise KeyboardInterrupt
        compare(self, strip)

    options = {"memory": 0.01, "keep": keep, "key": "a"}
    with monkeypatch.context() as patch:
        patch.setattr(module._Search, "compare", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nearest(source, target, 3, **options)
        again = nearest(source, target, 3, **options)
        all_strips = len(list(module._strips(200, 150, plan_search(source, target, 3, 0.01))))
        assert len(strips) == all_strips + 1  # only the interrupted one was done twice
        nearest(source, target, 3, **options)
        assert len(strips) == all_strips + 1  # a finished search is not repeated
        nearest(source, target, 3, **{**options, "key": "b"})
        assert len(strips) == 2 * all_strips + 1  # another one is
    assert_same(again, nearest(source, target, 3))


def test_a_damaged_search_starts_again(tmp_path):
    source, target, keep = rows(20, 12), rows(15, 13), tmp_path / "search.npz"
    wanted = nearest(source, target, 3, keep=keep, key="a")
    keep.write_bytes(keep.read_bytes()[:200])
    found = nearest(source, target, 3, keep=keep, key="a")
    np.testing.assert_array_equal(found[0].ids, wanted[0].ids)


def test_wrong_options_and_vectors_are_refused():
    with pytest.raises(DataError):
        nearest(rows(3, 1), rows(3, 2, 5), 1)
    for wrong in (np.ones((3, 0)), np.full((3, 2), 1e300), np.array([[np.nan]]), np.zeros(3)):
        with pytest.raises(DataError):
            UnitRows(wrong, name="target")


@needs_faiss
def test_faiss_with_all_cells_is_exact():
    source, target = rows(900, 16, 16), rows(800, 17, 16)
    exact = nearest(source, target, 4)
    assert_same(nearest_by_faiss(source, target, 4), exact)
    assert_same(nearest_by_faiss(source, target, 4, kind="ivf", probes=100), exact)
    few = nearest_by_faiss(source, target, 4, kind="ivf", probes=1)
    share = (few[0].ids == exact[0].ids).mean()
    assert 0.05 < share < 0.9  # one of 20 cells


def test_without_faiss_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("paraphrastic_hf.extras._is_there", lambda name: name != "faiss")
    with pytest.raises(MissingExtraError):
        nearest_by_faiss(rows(3, 1), rows(3, 2), 1)


def vectors(count: int, seed: int, dim: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


def pairs_by_matrix(
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
    wanted = pairs_by_matrix(source, target, 3, score, candidates)
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
