"""`SentenceParser`: a span parser with its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

from paraphrastic_hf.encoders.saved import SavedModel
from paraphrastic_hf.encoders.storage.directory import PARSER
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.models.supervised.parser import ParserModel
from paraphrastic_hf.predictors.parse import predict_trees
from paraphrastic_hf.syntax.parse_tree import DEEPEST, Tree
from paraphrastic_hf.syntax.parsed import EMPTY, FAILED, TOO_LONG, ParsedLine
from paraphrastic_hf.syntax.treebank_words import treebank_words
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.sentences import Sentences

QUOTES = {"``": '"', "''": '"'}  # replaced in training too (`corpora/readers/syntax.py`)


class SentenceParser(SavedModel):
    """A span parser with its tokenizer.

    Args:
        model: Parser model.
        tokenizer: Tokenizer of the model's word encoder.

    Raises:
        ModelError: The sizes of model and tokenizer differ.

    Example:
        >>> parser = SentenceParser.from_pretrained("runs/parser")  # doctest: +SKIP
        >>> print(parser.parse(["She drove home."])[0].tree)  # doctest: +SKIP
        (ROOT (S (NP (PRP She)) (VP (VBD drove) (ADVP (RB home))) (. .)))
    """

    model: ParserModel
    tokenizer: TextTokenizer
    layout = PARSER
    noun = "parser"

    def parse(self, lines: Sequence[str], *, batch_size: int = 64) -> list[ParsedLine]:
        """Parse every line into a constituency tree.

        A line is a sentence. It is split into words as in the Penn Treebank
        (`syntax/treebank_words.py`). Text that is already split stays as it is.

        Args:
            lines: Sentences.
            batch_size: Maximum number of sentences per batch, at least 1.

        Returns:
            A result for each line. A line without words, or with more than `model.config.max_words`
            words, has no tree and a `problem`.

        Raises:
            DataError: `lines` is a string, or a line is not a string.
            ValueError: `batch_size` is below 1.
        """
        lines = lines if isinstance(lines, str) else list(lines)
        if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
            raise DataError(f"lines must be a list of strings, got {str(lines)[:40]!r}")
        return self.parse_words([treebank_words(line) for line in lines], batch_size=batch_size)

    def parse_words(
        self, sentences: Sequence[Sequence[str]], *, batch_size: int = 64
    ) -> list[ParsedLine]:
        """Parse sentences that are already split into words.

        Args:
            sentences: Lists of words, tokenized as in the Penn Treebank.
            batch_size: Maximum number of sentences per batch, at least 1.

        Returns:
            A result for each sentence, as in `parse`.

        Raises:
            DataError: A sentence is a string, or a word is not a string.
            ValueError: `batch_size` is below 1.
        """
        sentences = list(sentences)
        for words in sentences:
            if isinstance(words, str):
                raise DataError(
                    f"A sentence must be a list of words, got the string {words[:40]!r}. Use "
                    "`parse` for lines of text"
                )
        longest = self.model.config.max_words
        fit = [number for number, words in enumerate(sentences) if 0 < len(words) <= longest]
        plain = [[QUOTES.get(word, word) for word in sentences[number]] for number in fit]
        trees = predict_trees(
            self.model, Sentences.of(plain, self.tokenizer), batch_size=batch_size
        )
        found = [
            ParsedLine.without_tree(words, TOO_LONG if words else EMPTY) for words in sentences
        ]
        for number, tree in zip(fit, trees, strict=True):
            words = list(sentences[number])
            if tree.height > DEEPEST:
                found[number] = ParsedLine.without_tree(words, FAILED)
            else:
                found[number] = ParsedLine(words, with_words(tree, words))
        return found


def with_words(tree: Tree, words: Sequence[str]) -> Tree:
    """Return a copy of a tree with its words replaced, one word per leaf."""
    left = iter(words)

    def walk(node: Tree) -> Tree:
        if node.word is not None:
            return Tree(node.label, word=next(left))
        return Tree(node.label, tuple(walk(child) for child in node.children))

    return walk(tree)
