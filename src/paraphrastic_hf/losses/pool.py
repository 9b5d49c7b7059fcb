"""Which sentences may be negatives of which (thesis, 3.1.3.1, 4.4 and 5.1.1).

The pool is a mega-batch, or a mini-batch: the sentences of both sides of its pairs. A sentence that
is given a negative is called an anchor. What it may be given:

* `partner_language`: sentences in the language of its partner. For bitext this is the opposite
  language (thesis, 5.1.1), for paraphrases both sides of every pair, and it holds for a mixture
  too.
* `opposite_side`: sentences in the other column, whatever their language (the released code).

It is never given itself, its partner, or a sentence that `group` says is the same: two sentences
with one group number are never negatives of each other, nor of each other's partners. Where a pool
has a list `never`, no sentence that it names is given either (the constraints of 3.5.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

POOLS = ("partner_language", "opposite_side")


@dataclass(frozen=True)
class Pool:
    """The sentences negatives are chosen from; pair i is sentences 2i and 2i + 1.

    Attributes:
        embeddings: The sentence embeddings, (sentences, dim), any scale.
        language: The number of each sentence's language, (sentences,).
        group: Equal numbers for sentences that must not be negatives of each other, (sentences,).
        never: For each sentence further groups that must not be its negatives, filled up with -1,
            (sentences, most); None if there are none.
    """

    embeddings: Tensor
    language: Tensor
    group: Tensor
    never: Tensor | None = None

    @property
    def bars_more(self) -> bool:
        """Whether more is forbidden than each sentence's partner."""
        groups = torch.sort(self.group)[0]
        return self.never is not None or bool((groups[1:] == groups[:-1]).any())

    def two_sides(self, allowed: str) -> tuple[Tensor, Tensor] | None:
        """Split the pool into two halves, if the candidates of each half are the other half.

        Args:
            allowed: Which sentences may be negatives, one of `POOLS`.

        Returns:
            The numbers of the sentences of either half, both (pairs,), where place i of one is the
            partner of place i of the other; None if the pool has no such halves.
        """
        sentences = torch.arange(len(self.embeddings), device=self.embeddings.device)
        if allowed == "opposite_side":
            return sentences[::2], sentences[1::2]
        is_first, is_second = (
            self.language == self.language[:1],
            self.language == self.language[1:2],
        )
        if bool((is_first != is_second).all()) and torch.equal(is_first[::2], is_second[1::2]):
            return sentences[is_first], sentences[is_second]
        return None

    def classes(self, allowed: str, rows: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Sort anchors into classes that share their candidates.

        Args:
            allowed: Which sentences may be negatives, one of `POOLS`.
            rows: Numbers of the sentences that are anchors, (anchors,).

        Returns:
            For each class the places of its anchors in `rows`, (members,), and the numbers of the
            sentences that are its candidates, (candidates,).
        """
        if allowed == "opposite_side":
            wanted, offered = (
                1 - rows % 2,
                torch.arange(len(self.embeddings), device=rows.device) % 2,
            )
        else:
            wanted, offered = self.language[rows ^ 1], self.language
        return [
            (torch.nonzero(wanted == kind)[:, 0], torch.nonzero(offered == kind)[:, 0])
            for kind in torch.unique(wanted).tolist()
        ]

    def _barred(self, anchors: Tensor) -> Tensor:
        """Groups that each anchor may not get, (2 or more, *anchors.shape)."""
        own = torch.stack([self.group[anchors], self.group[anchors ^ 1]])
        return own if self.never is None else torch.cat([own, self.never[anchors].movedim(-1, 0)])

    def is_forbidden(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        """Say whether each candidate must not be a negative of the anchor at the same place.

        Args:
            anchors: Numbers of sentences, any shape.
            candidates: Numbers of sentences, any shape that broadcasts with that of `anchors`.

        Returns:
            True where it must not, of any shape that the two broadcast to.
        """
        return (self.group[candidates] == self._barred(anchors)).any(0)

    def forbidden(self, anchors: Tensor, candidates: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Index the candidates that must not be negatives, in a matrix (anchors, candidates).

        Args:
            anchors: Numbers of sentences, the rows of the matrix, (anchors,).
            candidates: Numbers of sentences, the columns of the matrix, (candidates,).

        Returns:
            The rows and the columns of their places, (places,), which are found by sorting, since
            they are few; or, where one group is most of the pool, a mask, (anchors, candidates).
        """
        sorted_groups, order = torch.sort(self.group[candidates])
        wanted = self._barred(anchors).reshape(-1)
        start = torch.searchsorted(sorted_groups, wanted)
        count = torch.searchsorted(sorted_groups, wanted, right=True) - start
        if self.never is None and count.sum() > len(anchors) * len(candidates) // 8:
            return self.is_forbidden(anchors[:, None], candidates[None])
        entry = torch.repeat_interleave(count)
        within = torch.arange(len(entry), device=entry.device) - (count.cumsum(0) - count)[entry]
        return entry % len(anchors), order[start[entry] + within]
