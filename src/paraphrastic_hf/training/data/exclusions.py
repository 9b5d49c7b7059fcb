"""Find sentences that are never negatives of each other."""

import hashlib

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from paraphrastic_hf.text.ragged import Ragged


def exclusions(
    sentences: Ragged, exclude: str, lemmas: Ragged | None = None
) -> tuple[np.ndarray, Ragged | None]:
    """Group sentences so that two sentences of one group are never negatives of each other.

    * `duplicates`: a group contains all sentences with equal ids.
    * `clusters`: a group contains all sentences that a chain of pairs connects.
    * `partners`: as `duplicates`. In addition, partners of a group's sentences are never negatives
      of the group.
    * `partners_and_lemmas`: as `partners`. In addition, sentences that equal the `lemmas` of a
      partner are never negatives of the group (thesis, 3.5.1).

    Pair i consists of sentences 2i and 2i + 1. `exclude` is the recipe key `training.exclude`.
    Return the group of each sentence, and, for `partners` and `partners_and_lemmas`, the other
    groups that are never negatives of each group.
    """
    keys = _keys(sentences)
    if exclude == "duplicates":
        return keys, None
    unique, node = np.unique(keys, return_inverse=True)
    if exclude == "clusters":
        links = _links(node[::2], node[1::2], len(unique))
        return np.asarray(connected_components(links, directed=False)[1][node], np.int64), None
    partner = node.reshape(-1, 2)[:, ::-1].reshape(-1)
    anchors, barred = [node], [partner]
    if lemmas is not None:
        key = _keys(lemmas).reshape(-1, 2)[:, ::-1].reshape(-1)  # each partner's lemmas
        place = np.searchsorted(unique, key).clip(max=len(unique) - 1)
        is_in_corpus = unique[place] == key
        anchors, barred = [*anchors, node[is_in_corpus]], [*barred, place[is_in_corpus]]
    links = _links(np.concatenate(anchors), np.concatenate(barred), len(unique))
    return node.astype(np.int64), Ragged(links.indices, links.indptr.astype(np.int64))


def _links(first: np.ndarray, second: np.ndarray, count: int) -> csr_matrix:
    """Return the (count, count) adjacency matrix of groups."""
    return coo_matrix((np.ones(len(first), bool), (first, second)), (count, count)).tocsr()


def _keys(sentences: Ragged) -> np.ndarray:
    """Return a hash of each sentence's ids, (sentences,) int64."""
    digests = (
        hashlib.blake2b(sentences[row].tobytes(), digest_size=8).digest()
        for row in range(len(sentences))
    )
    return np.fromiter(
        (int.from_bytes(d, "little", signed=True) for d in digests), np.int64, len(sentences)
    )
