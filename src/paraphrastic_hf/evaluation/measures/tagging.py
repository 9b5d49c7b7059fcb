"""Accuracy of a tagger on all words and on words unseen in training (thesis, 3.7.3)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from paraphrastic_hf.corpora.readers.tagging import TaggedSentence


@dataclass(frozen=True)
class TagCounts:
    """Counts of correctly tagged words. Unknown words have a spelling unseen in training."""

    words: int
    correct: int
    unknown_words: int
    unknown_correct: int

    @property
    def accuracy(self) -> float:
        """Percentage of words with the correct tag, or 0 without words."""
        return 100 * self.correct / max(1, self.words)

    @property
    def unknown_accuracy(self) -> float:
        """Percentage of unknown words with the correct tag, or 0 without unknown words."""
        return 100 * self.unknown_correct / max(1, self.unknown_words)


def count_right(
    found: Sequence[Sequence[str]], sentences: Sequence[TaggedSentence], known: Collection[str]
) -> TagCounts:
    """Compare predicted tags with gold tags. Words outside `known` are unknown words."""
    words = [
        (tag == right, word in known)
        for tags, sentence in zip(found, sentences, strict=True)
        for tag, right, word in zip(tags, sentence.tags, sentence.words, strict=True)
    ]
    correct = sum(is_right for is_right, _ in words)
    unknown = [is_right for is_right, is_known in words if not is_known]
    return TagCounts(len(words), correct, len(unknown), sum(unknown))
