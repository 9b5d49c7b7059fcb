import importlib.util

import numpy as np
import pytest

from paraphrastic_hf.errors import DataError, MissingExtraError
from paraphrastic_hf.mining import neighbors as module
from paraphrastic_hf.mining.approximate import nearest_by_faiss
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
