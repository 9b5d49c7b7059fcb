"""Choice of negative examples: MAX, RAND and MIX (thesis, 3.1.3.1, 4.4 and 5.1.1).

The pool is a mega-batch: the sentences of both sides of its pairs. What an anchor may be given:

* `partner_language`: sentences in the language of its partner. For bitext this is the opposite
  language (thesis, 5.1.1), for paraphrases both sides of every pair, and it holds for a mixture
  too.
* `opposite_side`: sentences in the other column, whatever their language (the released code).

Never itself, its partner, or a sentence that `group` says is the same: two sentences with one group
number are never each other's negatives, nor a negative of the other's partner. Nor, where a pool
has such a list, one that `never` names (the constraints of 3.5.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from paraphrastic_hf.layers.product import linear

STRATEGIES = ("max", "mix", "rand")
POOLS = ("partner_language", "opposite_side")
ROWS_AT_A_TIME = 2048
RANDOM_TRIES = 8


@dataclass(frozen=True)
class Pool:
    """The sentences of a mega-batch; pair i is sentences 2i and 2i + 1.

    Attributes:
        embeddings: (sentences, dim), any scale.
        language: (sentences,) a number for each language.
        group: (sentences,) equal numbers for sentences that must not be each other's negatives.
        never: (sentences, most) groups that may not be negatives of a sentence besides, filled up
            with -1; None if there are none.
    """

    embeddings: Tensor
    language: Tensor
    group: Tensor
    never: Tensor | None = None


def select_negatives(
    pool: Pool,
    strategy: str,
    allowed: str,
    generator: torch.Generator | None,
    *,
    rows: Tensor | None = None,
    similarity: str = "cosine",
) -> Tensor:
    """A negative for each sentence of the pool.

    Args:
        pool: The mega-batch.
        strategy: `max`, the sentence with the highest similarity; `rand`, any; `mix`, `max` or
            `rand` with equal chance for each anchor.
        allowed: `partner_language` or `opposite_side`.
        generator: Source of the random choices (CPU); None will do for `max`.
        rows: Anchors to choose for, (anchors,); all sentences if absent.
        similarity: `cosine`, or `dot` for dot products.

    Returns:
        Index into the pool for each anchor, (anchors,), or -1 where nothing is allowed. Ties go to
        the lowest index.

    Raises:
        ValueError: If `strategy` or `allowed` is none of the names above.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    if allowed not in POOLS:
        raise ValueError(f"allowed must be one of {', '.join(POOLS)}, got {allowed!r}")
    total = len(pool.embeddings)
    device = pool.embeddings.device
    vectors = pool.embeddings.float()
    if similarity == "cosine":
        vectors = torch.nn.functional.normalize(vectors, dim=1)
    if rows is None and strategy == "max" and (sides := _two_sides(pool, allowed)) is not None:
        return _hardest_both_ways(pool, vectors, *sides)
    rows = torch.arange(total, device=device) if rows is None else rows
    # Drawn for every sentence, so that the choice for one does not depend on which rows are asked
    # for.
    is_random = (
        torch.rand(total, generator=generator).to(device)[rows]
        < {"max": 0, "mix": 0.5, "rand": 1}[strategy]
    )
    draws = torch.rand(total, RANDOM_TRIES, generator=generator).to(device)[rows]
    chosen = torch.full((len(rows),), -1, device=device)
    for anchors, candidates in _classes(pool, allowed, rows):
        at_random = is_random[anchors]
        hard, drawn = anchors[~at_random], anchors[at_random]
        if len(hard):
            chosen[hard] = _hardest(pool, vectors, rows[hard], candidates)
        if len(drawn):
            chosen[drawn] = _random(pool, rows[drawn], candidates, draws[drawn])
    return chosen


def _two_sides(pool: Pool, allowed: str) -> tuple[Tensor, Tensor] | None:
    """The two halves of a pool in which each half's candidates are the other half; or None."""
    sentences = torch.arange(len(pool.embeddings), device=pool.embeddings.device)
    if allowed == "opposite_side":
        return sentences[::2], sentences[1::2]
    is_first, is_second = pool.language == pool.language[:1], pool.language == pool.language[1:2]
    if bool((is_first != is_second).all()) and torch.equal(is_first[::2], is_second[1::2]):
        return sentences[is_first], sentences[is_second]
    return None


def _classes(pool: Pool, allowed: str, rows: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Anchors that share a set of candidates, as (positions in `rows`, candidate sentences)."""
    if allowed == "opposite_side":
        wanted, offered = 1 - rows % 2, torch.arange(len(pool.embeddings), device=rows.device) % 2
    else:
        wanted, offered = pool.language[rows ^ 1], pool.language
    return [
        (torch.nonzero(wanted == kind)[:, 0], torch.nonzero(offered == kind)[:, 0])
        for kind in torch.unique(wanted).tolist()
    ]


def _hardest(pool: Pool, vectors: Tensor, anchors: Tensor, candidates: Tensor) -> Tensor:
    others = vectors[candidates]
    best = []
    for block in anchors.split(ROWS_AT_A_TIME):
        similarity = linear(vectors[block], others)  # (block, candidates)
        similarity[_forbidden(pool, block, candidates)] = -torch.inf
        value, column = _largest(similarity)
        best.append(torch.where(value > -torch.inf, candidates[column], -1))
    return torch.cat(best)


def _hardest_both_ways(pool: Pool, vectors: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The hardest of `right` for each of `left`, and the reverse, from one matrix of cosines.

    Sentence i of `left` and of `right` are partners.
    """
    chosen = torch.full((len(vectors),), -1, device=vectors.device)
    best, best_of_left = vectors.new_full((len(right),), -torch.inf), chosen[right]
    groups = torch.sort(pool.group)[0]
    bars_more = pool.never is not None or bool((groups[1:] == groups[:-1]).any())
    others = vectors[right]
    start = 0
    for block in left.split(ROWS_AT_A_TIME):
        similarity = linear(vectors[block], others)  # (block, right)
        similarity.diagonal(start).fill_(-torch.inf)
        reverse = similarity.T.contiguous()
        if bars_more:  # sentences like one's own partner are no symmetric relation
            similarity[_forbidden(pool, block, right)] = -torch.inf
            reverse[_forbidden(pool, right, block)] = -torch.inf
        value, column = _largest(similarity)
        chosen[block] = torch.where(value > -torch.inf, right[column], -1)
        value, column = _largest(reverse)
        best_of_left = torch.where(value > best, block[column], best_of_left)
        best = torch.maximum(best, value)
        start += len(block)
    chosen[right] = best_of_left
    return chosen


def _largest(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Each row's largest number, and the first column that has it."""
    if rows.device.type != "cpu" or rows.dtype != torch.float32:
        return rows.max(1)
    # numpy finds it with vector instructions, ten times faster
    column = torch.from_numpy(rows.numpy().argmax(1))
    return rows.gather(1, column[:, None])[:, 0], column


def _random(pool: Pool, anchors: Tensor, candidates: Tensor, draws: Tensor) -> Tensor:
    tries = candidates[
        (draws * len(candidates)).long().clamp(max=len(candidates) - 1)
    ]  # (anchors, tries)
    allowed = ~_is_forbidden(pool, anchors[:, None], tries)
    found, first = allowed.max(1)  # argmax of a boolean is its first True
    chosen = tries.gather(1, first[:, None])[:, 0]
    for i in torch.nonzero(~found)[:, 0].tolist():  # tiny or repetitive pools
        open_ = candidates[~_is_forbidden(pool, anchors[i : i + 1], candidates)]
        chosen[i] = open_[int(draws[i, 0] * len(open_))] if len(open_) else -1
    return chosen


def _barred(pool: Pool, anchors: Tensor) -> Tensor:
    """Groups that each anchor may not get, (2 or more, *anchors.shape)."""
    own = torch.stack([pool.group[anchors], pool.group[anchors ^ 1]])
    return own if pool.never is None else torch.cat([own, pool.never[anchors].movedim(-1, 0)])


def _is_forbidden(pool: Pool, anchors: Tensor, candidates: Tensor) -> Tensor:
    return (pool.group[candidates] == _barred(pool, anchors)).any(0)


def _forbidden(pool: Pool, anchors: Tensor, candidates: Tensor) -> Tensor | tuple[Tensor, Tensor]:
    """An index of the forbidden places of a similarity block, (anchors, candidates).

    Found by sorting, as rows and columns, since they are few; where one group is most of the
    pool, by comparing all, as a mask.
    """
    sorted_groups, order = torch.sort(pool.group[candidates])
    wanted = _barred(pool, anchors).reshape(-1)
    start = torch.searchsorted(sorted_groups, wanted)
    count = torch.searchsorted(sorted_groups, wanted, right=True) - start
    if pool.never is None and count.sum() > len(anchors) * len(candidates) // 8:
        return _is_forbidden(pool, anchors[:, None], candidates[None])
    entry = torch.repeat_interleave(count)
    within = torch.arange(len(entry), device=entry.device) - (count.cumsum(0) - count)[entry]
    return entry % len(anchors), order[start[entry] + within]
