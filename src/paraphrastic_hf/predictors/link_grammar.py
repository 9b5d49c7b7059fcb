"""Trees by link-grammar, a parser by rules that Debian packages (`apt install link-grammar`).

Its phrases are written like those of the Penn Treebank and are fewer; parts of speech are guessed
from the ends of its words, and only those of punctuation, which a template shows, are exact.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.child import child
from paraphrastic_hf.syntax.parse_tree import (
    PHRASES,
    PUNCTUATION,
    ROOT,
    WORD_TAGS,
    Tree,
    read_tree,
)
from paraphrastic_hf.syntax.parsed import EMPTY, FAILED, TOO_LONG, ParsedLine
from paraphrastic_hf.syntax.treebank_words import treebank_words

PROGRAM = "link-parser"
MARK, MARKED = "dogs bark", "(S (NP dogs.n) (VP bark.v))"  # stands after every sentence
SECONDS = 5  # for one sentence
MOST_WORDS = 200  # it reads no longer sentence
TAG_OF_END = {
    **{"n": "NN", "v": "VB", "a": "JJ", "e": "RB", "p": "PRP", "r": "IN", "ij": "CC", "j": "CC"},
    **{"q": "VB", "g": "VBG", "t": "NN", "d": "DT", "m": "NNP", "f": "NNP", "b": "NNP", "l": "NNP"},
}
TAG_OF_MARK = {"!": ".", "?": ".", ";": ":", "--": ":", "...": ":", "(": "-LRB-", ")": "-RRB-"}
TAG_OF_WORD = {
    **dict.fromkeys(["the", "a", "an", "this", "that", "these", "those"], "DT"),
    **dict.fromkeys(["of", "in", "on", "at", "by", "with", "from", "for"], "IN"),
    **dict.fromkeys(["and", "or", "but"], "CC"),
    **dict.fromkeys(["not", "n't"], "RB"),
    **{"to": "TO", '"': "''", "'s": "POS"},
}


class LinkGrammarParser:
    """link-grammar behind the call of `SentenceParser`.

    Args:
        program: Name or path of its program, `link-parser`.

    Raises:
        ModelError: The program is not there.
    """

    def __init__(self, program: str = PROGRAM) -> None:
        found = shutil.which(program)
        if found is None:
            raise ModelError(
                f"{program} is not installed: `apt install link-grammar`, or name the directory of "
                "a parser of this package"
            )
        self.program = found

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        """The tree of every line; where link-grammar finds none, it is marked."""
        words = [treebank_words(line) for line in lines]
        found = [
            ParsedLine.without_tree(
                each, EMPTY if not each else TOO_LONG if len(each) > MOST_WORDS else FAILED
            )
            for each in words
        ]
        asked = [number for number, each in enumerate(found) if each.problem == FAILED]
        # A line that begins with ! or % is a command to it.
        texts = [f" {' '.join(words[number]).lstrip('!%')}\n" for number in asked]
        blocks = self._blocks(texts)
        if len(blocks) != len(asked):  # a line has the tree of the mark, or ended the program
            blocks = [self._alone(text) for text in texts]
        for number, block in zip(asked, blocks, strict=True):
            tree = None if block is None else _tree(block, words[number])
            if tree is not None:
                found[number] = ParsedLine(words[number], tree)
        return found

    def _blocks(self, texts: Sequence[str]) -> list[str | None]:
        """What the program prints for each sentence: its first tree, or None."""
        found: list[str | None] = []
        first = None
        for line in self._printed("".join(f"{text}{MARK}\n" for text in texts)):
            if line == MARKED:
                found.append(first)
                first = None
            elif first is None:
                first = line
        return found

    def _alone(self, text: str) -> str | None:
        """The same of one sentence, by a process of its own."""
        return next(iter(self._printed(text)), None)

    def _printed(self, text: str) -> list[str]:
        options = ["-graphics=0", "-constituents=3", "-verbosity=0", f"-timeout={SECONDS}"]
        command = [self.program, "en", *options]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with child(command, text=True, **pipes) as process:
            written, _ = process.communicate(text)
        return [line.strip() for line in written.splitlines() if line.startswith("(")]


def _tree(block: str, words: Sequence[str]) -> Tree | None:
    """The tree of one line that link-grammar printed, with our words; None if it has others."""
    text = re.sub(r"\{(\S+)\}", r"\1", block)  # words without a link
    text = re.sub(r"\(([A-Z]+)\b", r"(\1 ", text)
    pieces = []
    for piece in re.findall(r"\([A-Z]+(?= )|\)|[^\s()]+", text):
        is_bracket = piece == ")" or re.fullmatch(r"\([A-Z]+", piece)
        pieces.append(f" {piece} " if is_bracket else f" ({_tag(piece)} x)")
    try:
        tree = read_tree("".join(pieces))
    except DataError:
        return None
    left = iter(words)

    def walk(node: Tree) -> Tree:
        if node.word is not None:
            return Tree(_better(node.label, word := next(left)), word=word)
        label = node.label if node.label in PHRASES else "X"
        return Tree(label, tuple(walk(child) for child in node.children))

    return Tree(ROOT, (walk(tree),)) if len(tree.words()) == len(words) else None


def _tag(piece: str) -> str:
    """A part of speech by the end of a word, such as `.n-u`."""
    end = re.search(r"\.([a-z]+)(?:-[\w-]+)?$", re.sub(r"\[[^]]*\]|\{[^}]*\}", "", piece))
    return TAG_OF_END.get(end[1] if end else "", "NN")


def _better(tag: str, word: str) -> str:
    if word in PUNCTUATION:
        return word
    known = TAG_OF_MARK.get(word) or TAG_OF_WORD.get(word.lower())
    return known or (tag if tag in WORD_TAGS else "NN")
