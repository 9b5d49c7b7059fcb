"""Slow truth: each definition once more, in plain Python floats, straight from the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def cosine(a: Vector, b: Vector) -> float:
    """The zero vector has cosine 0 with everything."""
    scale = math.sqrt(dot(a, a) * dot(b, b))
    return dot(a, b) / scale if scale else 0.0


def margin_loss(
    first: Sequence[Vector],
    second: Sequence[Vector],
    negative_of_first: Sequence[Vector],
    negative_of_second: Sequence[Vector],
    margin: float,
) -> float:
    """Thesis, 3.1.3, both directions."""
    total = 0.0
    for s, t, t_, s_ in zip(first, second, negative_of_first, negative_of_second, strict=True):
        total += max(0.0, margin - cosine(s, t) + cosine(s, t_))
        total += max(0.0, margin - cosine(s, t) + cosine(t, s_))
    return total / len(first)


def allowed_negatives(
    anchor: int, language: Sequence[int], group: Sequence[int], pool: str
) -> list[int]:
    """Sentences `anchor` may get: in the pool, and neither the same as it nor as its partner."""
    partner = anchor + 1 if anchor % 2 == 0 else anchor - 1
    found = []
    for other in range(len(group)):
        if pool == "opposite_side":
            in_pool = other % 2 != anchor % 2
        else:
            in_pool = language[other] == language[partner]
        if in_pool and group[other] not in (group[anchor], group[partner]):
            found.append(other)
    return found


def hardest_negative(
    anchor: int,
    embeddings: Sequence[Vector],
    language: Sequence[int],
    group: Sequence[int],
    pool: str,
) -> int:
    """MAX: the allowed sentence with the highest cosine, the earliest if equal; -1 if none."""
    best, best_cosine = -1, -math.inf
    for other in allowed_negatives(anchor, language, group, pool):
        similarity = cosine(embeddings[anchor], embeddings[other])
        if similarity > best_cosine:
            best, best_cosine = other, similarity
    return best


def mean_of_rows(table: Sequence[Vector], ids: Sequence[int]) -> list[float]:
    """g(x) = 1/n sum_i W[x_i]; the zero vector for no ids."""
    return [sum(table[i][d] for i in ids) / max(1, len(ids)) for d in range(len(table[0]))]


def adam(
    start: Vector,
    gradients: Sequence[Vector],
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
) -> list[float]:
    """Algorithm 1 of Kingma and Ba (2015), one gradient a step."""
    theta, m, v = list(start), [0.0] * len(start), [0.0] * len(start)
    for t, gradient in enumerate(gradients, 1):
        for i, g in enumerate(gradient):
            m[i] = betas[0] * m[i] + (1 - betas[0]) * g
            v[i] = betas[1] * v[i] + (1 - betas[1]) * g * g
            m_hat = m[i] / (1 - betas[0] ** t)
            v_hat = v[i] / (1 - betas[1] ** t)
            theta[i] -= lr * m_hat / (math.sqrt(v_hat) + eps)
    return theta


def ngrams(text: str, orders: Sequence[int]) -> list[str]:
    """Every run of n characters of a padded text, shorter n first."""
    found = []
    for n in orders:
        start = 0
        while start + n <= len(text):
            found.append(text[start : start + n])
            start += 1
    return found
