"""Scrambling before or after the negatives are chosen (Wieting and Gimpel, 2017, section 4.2)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf.training.contrastive import ContrastiveObjective
from tests import oracles
from tests.training.test_encoders import LSTM, WORD, task_of
from tests.training.test_train import small_recipe

BEFORE = ["--scramble_before_negatives", "true"]


def task(folder: Path, *options: str) -> ContrastiveObjective:
    """An LSTM that starts wide, so that the order of words matters."""
    wide = ["--initializer_std", "1", "--embedding_dropout", "0.1", "--scramble", "1"]
    return task_of(small_recipe(folder, *WORD, *LSTM, *wide, *options), folder)


def hardest(task: ContrastiveObjective, sentences: np.ndarray, texts: list[np.ndarray]) -> list:
    """Of each of the interleaved sentences the hardest negative, from these ids."""
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
def test_negatives_are_the_hardest_of_the_sentences_as_scrambled_or_as_they_are(
    is_before: bool, tmp_path: Path
) -> None:
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


def test_a_sentence_keeps_its_order_for_an_epoch_and_gets_another_in_the_next(
    tmp_path: Path,
) -> None:
    """Whatever batch it is in: so the steps train on what the negatives were chosen by."""
    found = task(tmp_path, *BEFORE)
    sentences = np.arange(20)
    together = found._texts(sentences, 1, 7)
    for i in sentences:
        assert found._texts(sentences[i : i + 1], 1, 9)[0].tolist() == together[i].tolist()
    later = found._texts(sentences, 2, 7)
    assert not np.array_equal(later.ids, together.ids)
    assert np.array_equal(later.offsets, together.offsets)


def test_scrambled_after_each_step_draws_an_order_of_its_own(tmp_path: Path) -> None:
    found = task(tmp_path)
    one, same, other = (found._texts(np.arange(20), 1, step).ids for step in (7, 7, 8))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_mini_batch_scrambled_before_chooses_from_its_own_vectors(tmp_path: Path) -> None:
    """Without dropout they are those of training, so nothing is computed twice."""
    options = ["--embedding_dropout", "0", "--mega_batch", "1"]
    before, after = task(tmp_path, *options, *BEFORE), task(tmp_path, *options)
    assert next(before.mega_batch(0, 0, 0)).negatives is None
    assert next(after.mega_batch(0, 0, 0)).negatives is not None


def test_one_sided_no_negative_of_a_second_side_is_read(tmp_path: Path) -> None:
    found = task(tmp_path, "--hinge", "one_sided")
    two_sided = task(tmp_path)
    two_sided.model.load_state_dict(found.model.state_dict())
    for one, two in zip(found.mega_batch(0, 0, 100), two_sided.mega_batch(0, 0, 100), strict=True):
        assert one.negatives.tolist() == two.negatives[:1].tolist()
        assert one.sentences.shape == (3, one.pairs.shape[1])
