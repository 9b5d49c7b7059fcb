"""What may not be a negative, by hand: pairs (0, 1), (2, 3), ... of made ids."""

from __future__ import annotations

import numpy as np

from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.exclusions import exclusions

CAT, FELINE, CATS, DOG, HOUND = [2], [3], [4], [5], [6]
PAIRS = Ragged.from_lists([CAT, FELINE, CATS, FELINE, DOG, HOUND])


def barred(sentences: Ragged, lemmas: Ragged | None = None) -> dict[int, set[int]]:
    """First ids of the sentences that each may not get besides itself."""
    group, never = exclusions(sentences, "partners_and_lemmas" if lemmas else "partners", lemmas)
    first = {int(group[row]): int(sentences[row][0]) for row in range(len(sentences))}
    return {name: {first[other] for other in never[place]} for place, name in first.items()}


def test_equal_sentences_are_one_group() -> None:
    group, never = exclusions(PAIRS, "duplicates")
    assert never is None
    assert group[1] == group[3]
    assert len(np.unique(group)) == 5


def test_a_cluster_is_all_that_pairs_link() -> None:
    group, never = exclusions(PAIRS, "clusters")
    assert never is None
    assert group[0] == group[1] == group[2] == group[3] != group[4] == group[5]


def test_partners_reach_one_pair_far() -> None:
    """`feline` is paired with two; these two are not barred from each other."""
    assert barred(PAIRS) == {2: {3}, 4: {3}, 3: {2, 4}, 5: {6}, 6: {5}}


def test_a_pair_seen_twice_bars_once() -> None:
    group, never = exclusions(Ragged.from_lists([CAT, DOG, CAT, DOG]), "partners")
    assert [never[row].tolist() for row in group[:2]] == [[group[1]], [group[0]]]


def test_the_lemma_of_a_partner_is_barred_if_the_corpus_has_it() -> None:
    """The lemma of `cats`, a partner of `feline`, is `cat`; that of `hound` is unknown here."""
    pairs = Ragged.from_lists([CATS, FELINE, CAT, DOG, DOG, HOUND])
    lemmas = Ragged.from_lists([CAT, FELINE, CAT, DOG, DOG, [9]])
    assert barred(pairs, lemmas) == {4: {3}, 3: {4, 2}, 2: {5}, 5: {2, 6}, 6: {5}}
