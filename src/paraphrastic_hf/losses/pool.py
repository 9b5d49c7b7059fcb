"""Rules for which sentences may be negatives of a sentence (thesis, 3.1.3.1, 4.4 and 5.1.1).

The pool holds both sentences of every pair in a mega-batch or mini-batch. An anchor is a sentence
that needs a negative. Its candidates are the sentences that may be chosen:

* `partner_language`: sentences in the language of its partner. For bitext this is the opposite
  language (thesis, 5.1.1), for paraphrases both sides of every pair.
* `opposite_side`: sentences on the other side of the pairs, in any language (the released code).

Some sentences are never candidates: the anchor, its partner, the groups of these two sentences, and
the groups in `never` (the constraints of 3.5.1).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

POOLS = ("partner_language", "opposite_side")


@dataclass(frozen=True)
class Pool:
    """Sentences that negatives are chosen from. Sentences 2i and 2i + 1 are pair i.

    Sentences of one group are never each other's negatives.
    """

    embeddings: Tensor  # (sentences, dim), any scale
    language: Tensor  # index of each sentence's language, (sentences,)
    group: Tensor  # index of each sentence's group, (sentences,)
    never: Tensor | None = None  # other forbidden groups, (sentences, groups), padded with -1

    @property
    def bars_more(self) -> bool:
        """Whether any anchor has forbidden candidates besides itself and its partner."""
        groups = torch.sort(self.group)[0]
        return self.never is not None or bool((groups[1:] == groups[:-1]).any())

    def two_sides(self, allowed: str) -> tuple[Tensor, Tensor] | None:
        """Split the pool into two halves. The candidates of one half are the other half.

        Return the indices of the sentences of each half, (pairs,) each, with partners at the same
        position. None if the pool has no such halves.
        """
        sentences = torch.arange(len(self.embeddings), device=self.embeddings.device)
        if allowed == "opposite_side":
            return sentences[::2], sentences[1::2]
        is_first, is_second = (self.language == self.language[i : i + 1] for i in (0, 1))
        if bool((is_first != is_second).all()) and torch.equal(is_first[::2], is_second[1::2]):
            return sentences[is_first], sentences[is_second]
        return None

    def classes(self, allowed: str, rows: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Group the anchors `rows` into classes with the same candidates.

        Return, for each class, the positions of its anchors in `rows`, (members,), and the indices
        of its candidates, (candidates,).
        """
        if allowed == "opposite_side":
            wanted = 1 - rows % 2
            offered = torch.arange(len(self.embeddings), device=rows.device) % 2
        else:
            wanted, offered = self.language[rows ^ 1], self.language
        return [
            (torch.nonzero(wanted == kind)[:, 0], torch.nonzero(offered == kind)[:, 0])
            for kind in torch.unique(wanted).tolist()
        ]

    def _barred(self, anchors: Tensor) -> Tensor:
        """Return the groups that are forbidden for each anchor, (groups, *anchors.shape)."""
        own = torch.stack([self.group[anchors], self.group[anchors ^ 1]])
        return own if self.never is None else torch.cat([own, self.never[anchors].movedim(-1, 0)])

    def is_forbidden(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        """Whether each candidate must not be a negative of the anchor at the same position.

        Both are sentence indices. The result has the shape given by broadcasting.
        """
        return (self.group[candidates] == self._barred(anchors)).any(0)

    def forbidden(self, anchors: Tensor, candidates: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return the forbidden entries of a matrix (anchors, candidates), as an index into it.

        These are the rows and columns of the forbidden entries, (entries,) each. If one group makes
        up most of the pool, a mask, (anchors, candidates), is returned instead.
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
