"""How many words a tagger gets right, and how many of those it never saw (thesis, 3.7.3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from paraphrastic_hf.data.tagging import TaggedSentence


@dataclass(frozen=True)
class TagCounts:
    """Words, and those with the right tag.

    Attributes:
        words: All words.
        correct: Those with the right tag.
        unknown_words: Words that the training sentences do not have, as they stand.
        unknown_correct: Those of them with the right tag.
    """

    words: int
    correct: int
    unknown_words: int
    unknown_correct: int

    @property
    def accuracy(self) -> float:
        """Per cent of all words; 0 where there is none."""
        return 100 * self.correct / max(1, self.words)

    @property
    def unknown_accuracy(self) -> float:
        """Per cent of the unknown words; 0 where there is none."""
        return 100 * self.unknown_correct / max(1, self.unknown_words)


def count_right(
    found: Sequence[Sequence[str]], sentences: Sequence[TaggedSentence], known: Collection[str]
) -> TagCounts:
    """Compare tags word by word.

    Args:
        found: Tags of each sentence, such as `Tagger.tag` gives.
        sentences: The same sentences with their right tags.
        known: Words of the training sentences.

    Raises:
        ValueError: Not a tag for every word.

    Example:
        >>> gold = [TaggedSentence(["the", "cat"], ["DT", "NN"])]
        >>> counts = count_right([["DT", "VB"]], gold, {"the"})
        >>> counts.accuracy, counts.unknown_accuracy
        (50.0, 0.0)
    """
    words = correct = unknown_words = unknown_correct = 0
    for tags, sentence in zip(found, sentences, strict=True):
        for tag, right, word in zip(tags, sentence.tags, sentence.words, strict=True):
            words += 1
            correct += tag == right
            if word not in known:
                unknown_words += 1
                unknown_correct += tag == right
    return TagCounts(words, correct, unknown_words, unknown_correct)
