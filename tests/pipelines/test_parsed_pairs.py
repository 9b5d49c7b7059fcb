from paraphrastic_hf.pipelines.parsed_pairs import PairParser
from paraphrastic_hf.syntax.parse_tree import Tree
from paraphrastic_hf.syntax.parsed import ParsedLine


class Rule:
    """Parser with an NP for each word that ends in a comma; lines without words have no tree."""

    def __init__(self):
        self.asked = []

    def parse(self, lines):
        self.asked += lines
        return [self._one(line.split()) for line in lines]

    def _one(self, words):
        if not words:
            return ParsedLine.without_tree(words, "empty")
        leaves = [Tree("NP" if word.endswith(",") else "NN", word=word) for word in words]
        return ParsedLine(words, Tree("ROOT", tuple(leaves)))


PAIRS = [("a b", "a, b"), ("a b", "c d"), ("a b", ""), ("a, b", "a b")]


def test_pairs_with_equal_or_missing_parses_are_left_out():
    parser = PairParser(Rule())
    assert list(parser.rows(PAIRS)) == [
        ("a b", "a, b", "(ROOT (NN a) (NN b))", "(ROOT (NP a,) (NN b))"),
        ("a, b", "a b", "(ROOT (NP a,) (NN b))", "(ROOT (NN a) (NN b))"),
    ]
    assert parser.left_out == {"the same parse": 1, "empty": 1}


def test_keep_same_keeps_equal_parses():
    rows = list(PairParser(Rule(), keep_same=True).rows(PAIRS[:2]))
    assert [row[:2] for row in rows] == [("a b", "a, b"), ("a b", "c d")]


def test_repeated_texts_are_parsed_once():
    rule = Rule()
    list(PairParser(rule).rows(PAIRS))
    assert sorted(rule.asked) == ["", "a b", "a, b", "c d"]
