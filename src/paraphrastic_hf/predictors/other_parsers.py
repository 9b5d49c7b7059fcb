"""Parsers of other people behind the call of `SentenceParser`, where they are installed.

stanza (Qi et al., 2020) and benepar (Kitaev et al., 2019) download their models on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.storage.locate import HubOptions
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.predictors.link_grammar import LinkGrammarParser
from paraphrastic_hf.syntax.parse_tree import Tree, normalised, read_tree
from paraphrastic_hf.syntax.parsed import EMPTY, LineParser, ParsedLine
from paraphrastic_hf.syntax.treebank_words import treebank_words

BENEPAR_MODEL = "benepar_en3"


class StanzaParser:
    """stanza's constituency parser.

    Args:
        pipeline: A `stanza.Pipeline` with the processors tokenize, pos and constituency, for words
            that are cut already; made if absent.

    Raises:
        ModelError: stanza is not installed.
    """

    def __init__(self, pipeline: Any = None) -> None:
        if pipeline is None:
            try:
                import stanza
            except ImportError as error:
                raise ModelError("stanza is not installed: pip install stanza") from error
            pipeline = stanza.Pipeline(
                "en", processors="tokenize,pos,constituency", tokenize_pretokenized=True
            )
        self.pipeline = pipeline

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        """The tree of every line."""
        words = [treebank_words(line) for line in lines]
        asked = [each for each in words if each]
        sentences = iter(self.pipeline(asked).sentences if asked else [])
        return [
            _parsed(each, str(next(sentences).constituency))
            if each
            else ParsedLine.without_tree(each, EMPTY)
            for each in words
        ]


class BeneparParser:
    """The Berkeley neural parser.

    Args:
        parser: A `benepar.Parser`; one of `benepar_en3` if absent.

    Raises:
        ModelError: benepar is not installed.
    """

    def __init__(self, parser: Any = None) -> None:
        if parser is None:
            try:
                import benepar
            except ImportError as error:
                raise ModelError("benepar is not installed: pip install benepar") from error
            parser = benepar.Parser(BENEPAR_MODEL)
        self.parser = parser

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        """The tree of every line."""
        words = [treebank_words(line) for line in lines]
        return [
            _parsed(each, " ".join(str(self.parser.parse(each)).split()))
            if each
            else ParsedLine.without_tree(each, EMPTY)
            for each in words
        ]


def _parsed(words: list[str], tree: str) -> ParsedLine:
    return ParsedLine(words, normalised(read_tree(tree)))


OTHERS = {"stanza": StanzaParser, "benepar": BeneparParser, "link-grammar": LinkGrammarParser}


def load_parser(name: str, *, device: Any = None, **hub: Any) -> LineParser:
    """A parser by name: `stanza`, `benepar`, `link-grammar`, or a directory of this package.

    Args:
        name: What to load.
        device: Where one of this package computes; a GPU if there is one, if None.
        **hub: Options of a Hub repository, as `SentenceParser.from_pretrained` takes them.

    Raises:
        ModelError: It is not installed, not there, or no parser.
    """
    if name.lower() in OTHERS:
        parser: LineParser = OTHERS[name.lower()]()  # type: ignore[assignment]
        return parser
    from paraphrastic_hf.predictors.parser import SentenceParser

    options: HubOptions = hub  # type: ignore[assignment]
    try:
        return SentenceParser.from_pretrained(name, device=device, **options)
    except ModelError as error:
        if Path(name).exists():
            raise
        others = ", ".join(OTHERS)
        raise ModelError(f"no parser {name!r}; others by name are {others}; {error}") from error


def tree_parser(name: str) -> Callable[[Sequence[str]], list[Tree | None]]:
    """What a paraphraser asks for the trees of sentences: None for one that has none.

    Args:
        name: A parser, as `load_parser` takes it.

    Raises:
        ModelError: It is not installed, not there, or no parser.
    """
    parser = load_parser(name)
    return lambda lines: [it.tree if not it.problem else None for it in parser.parse(list(lines))]
