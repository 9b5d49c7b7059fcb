"""Which sentences may be whose negatives (thesis, 3.1.3.1, 4.4 and 5.1.1).

The pool is a mega-batch, or a mini-batch: the sentences of both sides of its pairs. What an anchor
may be given:

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

POOLS = ("partner_language", "opposite_side")


@dataclass(frozen=True)
class Pool:
    """The sentences negatives are chosen from; pair i is sentences 2i and 2i + 1.

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

    @property
    def bars_more(self) -> bool:
        """Whether more is forbidden than each sentence's partner."""
        groups = torch.sort(self.group)[0]
        return self.never is not None or bool((groups[1:] == groups[:-1]).any())

    def two_sides(self, allowed: str) -> tuple[Tensor, Tensor] | None:
        """The two halves of a pool in which each half's candidates are the other half; or None."""
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
        """Anchors that share a set of candidates, as (positions in `rows`, candidate sentences)."""
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
        """Whether each candidate is forbidden to the anchor it stands beside."""
        return (self.group[candidates] == self._barred(anchors)).any(0)

    def forbidden(self, anchors: Tensor, candidates: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """An index of the forbidden places of a similarity block, (anchors, candidates).

        Found by sorting, as rows and columns, since they are few; where one group is most of the
        pool, by comparing all, as a mask.
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
