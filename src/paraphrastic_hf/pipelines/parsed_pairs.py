"""Sentence pairs with parses, to train SCPN and its parse generator (thesis, 6.2.2)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from paraphrastic_hf.syntax.parsed import LineParser

COLUMNS = ("sentence1", "sentence2", "tree1", "tree2")
SAME = "the same parse"

Row = tuple[str, str, str, str]


@dataclass
class PairParser:
    """Parser of both sides of sentence pairs. Pairs unfit for training are dropped and counted."""

    parser: LineParser
    keep_same: bool = False
    left_out: Counter[str] = field(default_factory=Counter)

    def rows(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Row]:
        """Yield both sentences and trees of each kept pair. Repeated texts are parsed only once."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        found = dict(zip(texts, self.parser.parse(texts), strict=True))
        for first, second in pairs:
            one, other = found[first], found[second]
            problem = one.problem or other.problem
            if not problem and not self.keep_same and one.tree.linear() == other.tree.linear():
                problem = SAME
            if problem:
                self.left_out[problem] += 1
                continue
            yield first, second, str(one.tree), str(other.tree)
