"""`paraphrastic parse [MODEL] FILE`."""

import argparse
import sys
from collections import Counter

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    open_output,
    pair_blocks,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.encoders.storage.locate import DEFAULT_PARSER
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.io.lines import is_blank, read_blocks, shown_input
from paraphrastic_hf.syntax.parsed import EMPTY

BLOCK = 1024


EPILOG = """\
One tree is written per line. A line without words, or too long to parse, gives (ROOT).
A pair with such a sentence is left out. Standard error shows their number.
Sentences are tokenized as in the Penn Treebank. Tokenized text stays unchanged.

examples:
  echo 'She sold a small house.' | paraphrastic parse -
  paraphrastic parse lines.txt --template
  paraphrastic parse runs/parser --pairs pairs.tsv --output parsed.tsv"""


def configure(parser: Parser) -> None:
    parser.option(
        "model",
        "parser: model directory of `paraphrastic train`, or Hub repository (default: the "
        "packaged parser)",
        nargs="?",
    )
    parser.option("file", "file with one sentence per line (also .gz, .xz, .bz2), or -", nargs="?")
    parser.option(
        "--pairs FILE",
        "table of sentence pairs to parse instead of lines (TSV, CSV, JSON Lines, parquet). "
        "Writes sentences and trees of each pair whose trees differ even when the words are "
        "ignored",
    )
    parser.option("--output FILE", "file to write (default: print)", default="-")
    parser.flag("--template", "write the top two levels without words: (ROOT (S (NP) (VP) (.)))")
    parser.flag("--keep-same", "with --pairs, keep pairs with equal trees, too")
    add_bad_lines(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.file is None and arguments.pairs is None:  # the only argument is the file
        arguments.model, arguments.file = None, arguments.model
    arguments.model = arguments.model or DEFAULT_PARSER
    if (arguments.file is None) == (arguments.pairs is None):
        raise DataError("Pass either a file of lines or --pairs FILE")
    if arguments.pairs is None and arguments.keep_same:
        raise DataError("--keep-same requires --pairs")
    if arguments.pairs is not None and arguments.template:
        raise DataError("--pairs writes whole trees. Leave out --template")
    check_inputs(arguments.file or arguments.pairs, tables=arguments.file is None)
    check_output(arguments.output)
    problems = _parse_pairs(arguments) if arguments.pairs else _parse_lines(arguments)
    if problems:
        told = "; ".join(f"{count:,} {problem}" for problem, count in problems.items())
        what = "pairs left out" if arguments.pairs else "lines without a tree"
        name = shown_input(arguments.file or arguments.pairs)
        print(f"{name}: {what}: {told}", file=sys.stderr)


def _parse_lines(arguments: argparse.Namespace) -> Counter[str]:
    from paraphrastic_hf.predictors.parser import SentenceParser
    from paraphrastic_hf.syntax.parse_tree import TEMPLATE_DEPTH, cut

    parser = SentenceParser.from_pretrained(arguments.model)
    problems: Counter[str] = Counter()
    number = 0
    with open_output(arguments.output) as output:
        for block in read_blocks(arguments.file, BLOCK, bad_lines=arguments.bad_lines):
            number += len(block)
            for found in parser.parse(block):
                tree = cut(found.tree, TEMPLATE_DEPTH) if arguments.template else found.tree
                output.write(f"{tree}\n")
                if found.problem:
                    problems[found.problem] += 1
    tell_if_empty(arguments.file, number, "tree")
    return problems


def _parse_pairs(arguments: argparse.Namespace) -> Counter[str]:
    from paraphrastic_hf.pipelines.parsed_pairs import PairParser
    from paraphrastic_hf.predictors.parser import SentenceParser

    parser = PairParser(
        SentenceParser.from_pretrained(arguments.model), keep_same=arguments.keep_same
    )
    number = 0
    with open_output(arguments.output) as output:
        for block in pair_blocks(arguments.pairs, BLOCK, bad_lines=arguments.bad_lines):
            number += len(block)
            pairs = []
            for pair in block:
                if pair.wrong or pair.is_header:
                    continue
                if is_blank("".join(pair.texts)):
                    parser.left_out[EMPTY] += 1
                else:
                    pairs.append((pair.texts[0], pair.texts[1]))
            for kept in parser.rows(pairs):
                output.write(tsv_line(*kept))
    tell_if_empty(arguments.pairs, number, "tree")
    return parser.left_out
