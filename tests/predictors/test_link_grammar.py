"""link-grammar behind the call of `SentenceParser`."""

from __future__ import annotations

import shutil

import pytest

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.predictors.link_grammar import LinkGrammarParser
from paraphrastic_hf.syntax.parse_tree import LABELS, template

NEEDS_IT = pytest.mark.skipif(
    shutil.which("link-parser") is None, reason="link-grammar is not installed"
)


@NEEDS_IT
def test_lines_have_trees_with_labels_of_the_treebank() -> None:
    lines = ["The man is smiling.", "", "!help", "I think (and I know) it , too", "the cat " * 150]
    found = LinkGrammarParser().parse(lines)
    assert str(template(found[0].tree)) == "(ROOT (S (NP) (VP) (.)))"
    assert found[0].tree.words() == ["The", "man", "is", "smiling", "."]
    assert found[1].problem == "empty"
    assert [each.problem for each in found[3:]] == ["", "too long"]
    for each in found:
        assert each.problem or each.tree.words() == each.words
        assert {node.label for node in each.tree.nodes()} <= LABELS


@NEEDS_IT
def test_the_mark_as_a_line_moves_no_tree() -> None:
    lines = ["the cat sleeps .", "dogs bark", "he gave her a book ."]
    parser = LinkGrammarParser()
    together = parser.parse(lines)
    assert together == [parser.parse([line])[0] for line in lines]
    assert not any(each.problem for each in together)


def test_it_is_said_how_to_install_it() -> None:
    with pytest.raises(ModelError, match="no-such-parser is not installed: `apt install link-"):
        LinkGrammarParser("no-such-parser")
