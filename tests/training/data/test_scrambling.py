"""Scrambling before or after negatives are chosen (Wieting and Gimpel, 2017, section 4.2)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.data.scramble import scramble, swap_keys
from tests import oracles
from tests.training.encoder.test_encoders import LSTM, WORD, task_of
from tests.training.runs import small_recipe

BEFORE = ["--scramble_before_negatives", "true"]


def task(folder: Path, *options: str) -> ContrastiveObjective:
    """An LSTM with large initial weights, so that word order matters."""
    wide = ["--initializer_std", "1", "--embedding_dropout", "0.1", "--scramble", "1"]
    return task_of(small_recipe(folder, *WORD, *LSTM, *wide, *options), folder)


def hardest(task: ContrastiveObjective, sentences: np.ndarray, texts: list[np.ndarray]) -> list:
    """Return the hardest negatives of interleaved sentences with these token ids."""
    vectors = []
    with torch.no_grad():
        for ids in texts:
            batch = {"input_ids": torch.tensor(ids.tolist())[None]}
            vectors.append(task.model.eval()(**batch).sentence_embedding[0].tolist())
    language = task.corpus.language[sentences].tolist()
    group = task.corpus.group[sentences].tolist()
    chosen = [
        oracles.hardest_negative(i, vectors, language, group, "partner_language")
        for i in range(len(sentences))
    ]
    return sentences[chosen].tolist()


@pytest.mark.parametrize("is_before", [True, False])
def test_negatives_are_the_hardest_before_or_after_scrambling(is_before, tmp_path):
    found = task(tmp_path, *(BEFORE if is_before else []))
    epoch, step = 1, 100
    batches = list(found.mega_batch(epoch, 0, step))
    assert len(batches) == 3
    sentences = np.concatenate([batch.pairs.T.reshape(-1) for batch in batches])
    chosen = np.concatenate([batch.negatives.T.reshape(-1) for batch in batches]).tolist()
    plain = [np.asarray(found.corpus.sentences[i]) for i in sentences]
    scrambled = list(found._texts(sentences, epoch, step))
    expected = {True: hardest(found, sentences, scrambled), False: hardest(found, sentences, plain)}
    assert chosen == expected[is_before]
    assert chosen != expected[not is_before]


@pytest.mark.parametrize("order", [[], BEFORE])
@pytest.mark.parametrize("swaps", [[], ["--scramble_swaps", "3"]])
def test_an_order_is_drawn_for_each_step_or_for_the_epoch(swaps, order, tmp_path):
    found = task(tmp_path, *order, *swaps)
    plain = found.corpus.sentences.select(np.arange(20), found.max_length)
    one, same, later = (found._texts(np.arange(20), 1, step).ids for step in (7, 7, 8))
    assert np.array_equal(one, same)
    assert np.array_equal(one, later) == bool(order)
    assert 0 < (one != plain.ids).mean() < (0.9 if swaps else 1)  # swaps move only some tokens
    if order:
        assert not np.array_equal(found._texts(np.arange(20), 2, 7).ids, one)
        alone, together = found._texts(np.arange(3, 4), 1, 9), found._texts(np.arange(20), 1, 7)
        assert alone[0].tolist() == together[3].tolist()


def test_without_dropout_vectors_for_negatives_are_reused_in_training(tmp_path):
    options = ["--embedding_dropout", "0", "--mega_batch", "1"]
    before, after = task(tmp_path, *options, *BEFORE), task(tmp_path, *options)
    assert next(before.mega_batch(0, 0, 0)).negatives is None
    assert next(after.mega_batch(0, 0, 0)).negatives is not None


def test_a_one_sided_hinge_has_negatives_of_first_sides_only(tmp_path):
    found = task(tmp_path, "--hinge", "one_sided")
    two_sided = task(tmp_path)
    two_sided.model.load_state_dict(found.model.state_dict())
    for one, two in zip(found.mega_batch(0, 0, 100), two_sided.mega_batch(0, 0, 100), strict=True):
        assert one.negatives.tolist() == two.negatives[:1].tolist()
        assert one.sentences.shape == (3, one.pairs.shape[1])


def test_swaps_keep_tokens_and_marks_and_follow_a_poisson_distribution():
    ids = np.tile(np.array([[2, *range(10, 28), 3, 0]]), (400, 1))
    mask = (ids > 0).astype(np.int64)
    movable = ids[0] >= 10
    generator = np.random.default_rng(1)
    keys = np.stack([swap_keys(movable, 2.0, generator) for _ in ids])
    moved = ids.copy()
    scramble(moved, mask, np.arange(len(ids)), keys, [2], [3])
    assert (np.sort(moved, 1) == np.sort(ids, 1)).all()
    assert (moved[:, [0, 19, 20]] == [2, 3, 0]).all()
    single = swap_keys(np.array([False, True, False]), 50.0, generator)
    assert single.tolist() == [0, 1 / 3, 2 / 3]
    places = (moved != ids).sum(1)
    assert 0.10 < (places == 0).mean() < 0.20  # Poisson of mean 2: no swap 0.135
    assert 0.22 < (places == 2).mean() < 0.33  # one swap 0.271
    assert abs(places.mean() - 3.7) < 0.4  # 4 for two swaps, minus overlaps


def test_sides_apart_are_scrambled_independently(tmp_path):
    together = task(tmp_path, "--scramble", "0.5")._plan(0)[1].reshape(-1, 2)
    apart = task(tmp_path, "--scramble", "0.5", "--scramble_sides", "apart")._plan(0)[1]
    assert (together[:, 0] == together[:, 1]).all()
    assert (apart[::2] != apart[1::2]).any()
