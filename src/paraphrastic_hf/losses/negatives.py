"""Choice of negative examples: hardest, random or a mixture (thesis, 3.1.3.1, 4.4 and 5.1.1).

`pool.py` defines which sentences may be chosen.
"""

import torch
from torch import Tensor

from paraphrastic_hf.layers.product import linear
from paraphrastic_hf.losses.pool import POOLS, Pool

STRATEGIES = ("max", "mix", "rand")
ROWS_AT_A_TIME = 2048
RANDOM_TRIES = 8


def select_negatives(
    pool: Pool,
    strategy: str,
    allowed: str,
    generator: torch.Generator | None,
    *,
    rows: Tensor | None = None,
    similarity: str = "cosine",
) -> Tensor:
    """Choose a negative from the pool for each anchor.

    Args:
        strategy: `max` takes the most similar sentence, `rand` a random sentence. `mix` takes the
            most similar or a random one, each for half of the anchors on average.
        allowed: Which sentences may be chosen, `partner_language` or `opposite_side`.
        generator: Source of the random choices, on the CPU. `max` needs none.
        rows: Indices of the anchors, (anchors,). None for all sentences.

    Returns:
        Index of each negative in the pool, (anchors,), or -1 if no sentence is allowed. Among
        equally similar sentences the lowest index wins.
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
    if rows is None and strategy == "max" and (sides := pool.two_sides(allowed)) is not None:
        return _hardest_both_ways(pool, vectors, *sides)
    rows = torch.arange(total, device=device) if rows is None else rows
    # Numbers are drawn for every sentence, so that a choice does not depend on `rows`.
    is_random = (
        torch.rand(total, generator=generator).to(device)[rows]
        < {"max": 0, "mix": 0.5, "rand": 1}[strategy]
    )
    draws = torch.rand(total, RANDOM_TRIES, generator=generator).to(device)[rows]
    chosen = torch.full((len(rows),), -1, device=device)
    for anchors, candidates in pool.classes(allowed, rows):
        at_random = is_random[anchors]
        hard, drawn = anchors[~at_random], anchors[at_random]
        if len(hard):
            chosen[hard] = _hardest(pool, vectors, rows[hard], candidates)
        if len(drawn):
            chosen[drawn] = _random(pool, rows[drawn], candidates, draws[drawn])
    return chosen


def _hardest(pool: Pool, vectors: Tensor, anchors: Tensor, candidates: Tensor) -> Tensor:
    others = vectors[candidates]
    best = []
    for block in anchors.split(ROWS_AT_A_TIME):
        similarity = linear(vectors[block], others)  # (block, candidates)
        similarity[pool.forbidden(block, candidates)] = -torch.inf
        value, column = _largest(similarity)
        best.append(torch.where(value > -torch.inf, candidates[column], -1))
    return torch.cat(best)


def _hardest_both_ways(pool: Pool, vectors: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Choose the hardest negative from `right` for each sentence of `left`, and the reverse.

    Sentence i of `left` is the partner of sentence i of `right`.
    """
    chosen = torch.full((len(vectors),), -1, device=vectors.device)
    best, best_of_left = vectors.new_full((len(right),), -torch.inf), chosen[right]
    others, bars_more = vectors[right], pool.bars_more
    start = 0
    for block in left.split(ROWS_AT_A_TIME):
        similarity = linear(vectors[block], others)  # (block, right)
        similarity.diagonal(start).fill_(-torch.inf)
        reverse = similarity.T.contiguous()
        if bars_more:  # not symmetric: the group of an anchor's partner is barred too
            similarity[pool.forbidden(block, right)] = -torch.inf
            reverse[pool.forbidden(right, block)] = -torch.inf
        value, column = _largest(similarity)
        chosen[block] = torch.where(value > -torch.inf, right[column], -1)
        value, column = _largest(reverse)
        best_of_left = torch.where(value > best, block[column], best_of_left)
        best = torch.maximum(best, value)
        start += len(block)
    chosen[right] = best_of_left
    return chosen


def _largest(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the maximum of each row and the first column with that value."""
    if rows.device.type != "cpu" or rows.dtype != torch.float32:
        return rows.max(1)
    # numpy's argmax uses vector instructions and is ten times faster.
    column = torch.from_numpy(rows.numpy().argmax(1))
    return rows.gather(1, column[:, None])[:, 0], column


def _random(pool: Pool, anchors: Tensor, candidates: Tensor, draws: Tensor) -> Tensor:
    tries = candidates[
        (draws * len(candidates)).long().clamp(max=len(candidates) - 1)
    ]  # (anchors, tries)
    allowed = ~pool.is_forbidden(anchors[:, None], tries)
    found, first = allowed.max(1)  # argmax of a boolean is its first True
    chosen = tries.gather(1, first[:, None])[:, 0]
    for i in torch.nonzero(~found)[:, 0].tolist():  # all tries forbidden: rare, in tiny pools
        open_ = candidates[~pool.is_forbidden(anchors[i : i + 1], candidates)]
        chosen[i] = open_[int(draws[i, 0] * len(open_))] if len(open_) else -1
    return chosen
