"""Builders of tagged and parsed text: the Penn Treebank sample, GUM, UD English EWT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets

from paraphrastic_hf.corpora.builder import TEXT, Corpus, Row, parsed_sentence
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.syntax.parse_tree import Tree, normalized, read_tree

# GUM's documents outside training, from its splits.md
GUM_VALIDATION = """
    academic_exposure academic_librarians bio_byron bio_emperor conversation_grounded
    conversation_risk court_loan court_negligence essay_evolved essay_tools fiction_beast
    fiction_lunre interview_cyclone interview_gaming letter_arendt letter_wiki news_homeopathic
    news_iodine podcast_bangladesh podcast_wrestling reddit_macroeconomics reddit_pandas
    speech_impeachment speech_inauguration textbook_governments textbook_labor vlog_portland
    vlog_radiology voyage_athens voyage_coron whow_joke whow_overalls"""
GUM_TEST = """
    academic_discrimination academic_eegimaa bio_dvorak bio_jespersen conversation_lambada
    conversation_retirement court_insanity court_mitigation essay_fear essay_system
    fiction_falling fiction_teeth interview_hill interview_libertarian letter_attorney
    letter_mandela news_nasa news_sensitive podcast_bezos podcast_multitasking reddit_escape
    reddit_monsters speech_austria speech_newzealand textbook_chemistry textbook_union
    vlog_london vlog_studying voyage_oakland voyage_vavau whow_cactus whow_mice"""

# genres with texts under CC BY or CC BY-SA, from its LICENSE.txt
GUM_OPEN = ("academic", "bio", "court", "interview", "news", "voyage")


class TreeCorpus(Corpus):
    """Base of treebanks in bracketed format. The leaves give the tokens and tags."""

    PATTERN = ""
    FEATURES = parsed_sentence(tree=TEXT, document=TEXT)

    def split_of(self, document: str) -> str:
        return "train"

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        for path in folder.files(self.PATTERN):
            if self.split_of(path.stem) != split:
                continue
            for text, tree in read_trees(path):
                leaves = [leaf for leaf in tree.leaves() if leaf[0] != "-NONE-"]
                if leaves:  # some trees hold only traces
                    tokens = [token for _, token in leaves]
                    yield {
                        "text": " ".join(tokens),
                        "tokens": tokens,
                        "tags": [tag for tag, _ in leaves],
                        "tree": text,
                        "document": path.stem,
                    }


class Treebank(TreeCorpus):
    NAME = "treebank"
    PATTERN = "**/combined/*.mrg"


class Gum(TreeCorpus):
    """GUM's constituency trees. The split `gentle` has genres that the training split lacks.

    In the configuration `open`, the training split has only texts under CC BY and CC BY-SA.
    """

    NAME = "gum"
    PATTERN = "**/const/*.ptb"

    def split_of(self, document: str) -> str:
        if document.startswith("GENTLE_"):
            return "gentle"
        name = document.removeprefix("GUM_")
        if name in GUM_TEST.split():
            return "test"
        if name in GUM_VALIDATION.split():
            return "validation"
        is_left_out = self.config.name == "open" and not name.startswith(GUM_OPEN)
        return "left out" if is_left_out else "train"


class Ewt(Corpus):
    """UD English EWT: words with universal tags (`tags`), Penn tags and dependency relations."""

    NAME = "ewt"

    def features(self) -> datasets.Features:
        words = datasets.Sequence(TEXT)
        return parsed_sentence(penn_tags=words, relations=words)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = folder.find(f"en_ewt-ud-{'dev' if split == 'validation' else split}.conllu")
        words: list[list[str]] = []
        text = ""
        for number, line in text_lines(path):
            if line.startswith("# text ="):
                text = line.partition("=")[2].strip()
            elif line and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != 10:
                    raise DataError(f"{path}:{number} has {len(columns)} columns, not CoNLL-U's 10")
                if columns[0].isdigit():  # else the range of a contraction, or an empty node
                    words.append(columns)
            elif not line:
                if words:
                    yield _tagged(text, words)
                words, text = [], ""
        if words:
            yield _tagged(text, words)


def _tagged(text: str, words: list[list[str]]) -> Row:
    tokens = [word[1] for word in words]
    return {
        "text": text or " ".join(tokens),
        "tokens": tokens,
        "tags": [word[3] for word in words],
        "penn_tags": [word[4] for word in words],
        "relations": [word[7] for word in words],
    }


def read_trees(path: Path) -> Iterator[tuple[str, Tree]]:
    """Yield each bracketed tree of a file twice: as one line of text, and as a `Tree`."""
    depth, start = 0, 0
    parts: list[str] = []
    for number, line in text_lines(path):
        for piece in line.replace("(", " ( ").replace(")", " ) ").split():
            depth += (piece == "(") - (piece == ")")
            start = start if parts else number
            parts.append(piece)
            if depth < 0 or (depth == 0 and piece != ")"):
                raise DataError(f"{path}:{number} has {piece!r} outside a tree")
            if depth == 0:
                text = " ".join(parts).replace("( ", "(").replace(" )", ")")
                try:
                    tree = read_tree(text)
                except DataError as error:
                    raise DataError(f"{path}:{start}: {error}") from error
                if any(node.word is None and not node.children for node in tree.nodes()):
                    raise DataError(f"{path}:{start} has a phrase without words: {text[:80]!r}")
                yield text, tree
                parts = []
    if parts:
        raise DataError(f"{path}:{start} opens a tree that is never closed")


QUOTES = {"``": '"', "''": '"'}


def parsed_sentences(
    rows: Iterable[Mapping[str, Any]], name: str, max_words: int | None = None
) -> list[Tree]:
    """Read and normalize the column `tree` of rows.

    Sentences with withheld words (underscores in GUM's Reddit texts) are skipped. Treebank quotes
    become plain quotes (`"`).
    """
    trees = []
    for number, row in enumerate(rows):
        if "tree" not in row:
            raise DataError(f"{name} has no column 'tree'. Its columns are {', '.join(row)}")
        try:
            tree = normalized(read_tree(row["tree"]))
        except DataError as error:
            raise DataError(f"Row {number} of {name}: {error}") from error
        words = tree.words()
        is_withheld = all(set(word) == {"_"} for word in words)
        if words and not is_withheld and (max_words is None or len(words) <= max_words):
            trees.append(_plain(tree))
    if not trees:
        raise DataError(f"{name} contains no parsed sentences")
    return trees


def _plain(tree: Tree) -> Tree:
    word = tree.word if tree.word is None else QUOTES.get(tree.word, tree.word)
    return Tree(tree.label, tuple(map(_plain, tree.children)), word)
