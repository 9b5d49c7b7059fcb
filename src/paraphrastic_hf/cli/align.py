"""`paraphrastic align MODEL SRC.txt TGT.txt`."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    add_json_option,
    check_inputs,
    check_output,
    dump_json,
    open_output,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.options import MODEL, add_encoder_options, named_encoder
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.mining.alignment import MAX_SENTENCES, SKIP_COST, align

FORMATS = ("tsv", "tmx", "vecalign")
EPILOG = """\
Sentences of both files must be in the same order, as in a document and its translation. Use `mine`
for sentences in any order. Blank lines are skipped.

formats:
  tsv       score, source and target, tab-separated, for each group with a translation
  tmx       the same groups as translation units of TMX 1.4. Requires --languages
  vecalign  line numbers of all groups, from 0, and 1 - cosine: [3]:[3, 4]:0.2

examples:
  paraphrastic align multilingual de.txt en.txt --output pairs.tsv --threshold 0.5
  paraphrastic align multilingual de.txt en.txt --output pairs.tmx --format tmx --languages de en"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("source", "file with one sentence per line, in document order, or -")
    parser.option("target", "file of the translation, in the same format, or -")
    parser.option("--output FILE", "file to write (default: print)", default="-")
    parser.option("--format", "format of the output (default: tsv)", default="tsv", choices=FORMATS)
    parser.option(
        "--threshold", "tsv, tmx: lowest cosine to keep, -1 to 1 (default: keep all)", default=-1.0
    )
    parser.option(
        "--max-sentences N",
        "maximum number of sentences in a group, both sides together (default: %(default)s)",
        default=MAX_SENTENCES,
    )
    parser.option(
        "--skip-cost COST",
        "cost of a sentence without a translation, where a random pair costs 1. Lower values "
        "leave out more sentences. 0 to 1,000 (default: %(default)s)",
        default=SKIP_COST,
    )
    parser.option("--languages", "tmx: codes such as de en", nargs=2, metavar=("SRC", "TGT"))
    add_json_option(
        parser, "an object per group: score, source, target, source_lines, target_lines"
    )
    add_bad_lines(parser)
    add_encoder_options(parser)


class Lines(NamedTuple):
    """The sentences of a file and their line numbers, from 0."""

    texts: list[str]
    numbers: list[int]


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.source, arguments.target)
    check_output(arguments.output)
    if arguments.format == "tmx" and arguments.languages is None:
        raise DataError("--format tmx requires --languages, such as --languages de en")
    if not -1 <= arguments.threshold <= 1:
        raise DataError(f"--threshold must be from -1 to 1, got {arguments.threshold}")
    encoder = named_encoder(arguments)
    source, target = (
        read_lines(path, arguments.bad_lines) for path in (arguments.source, arguments.target)
    )
    groups = align(
        source.texts,
        target.texts,
        encoder,
        max_sentences=arguments.max_sentences,
        skip_cost=arguments.skip_cost,
    )
    paired = [group for group in groups if group.source and group.target]
    kept = [group for group in paired if group.score >= arguments.threshold]
    with open_output(arguments.output) as file:
        if arguments.json:
            for group in groups:
                dump_json(
                    {
                        "score": group.score,
                        "source": [source.texts[i] for i in group.source],
                        "target": [target.texts[j] for j in group.target],
                        "source_lines": [source.numbers[i] + 1 for i in group.source],
                        "target_lines": [target.numbers[j] + 1 for j in group.target],
                    },
                    file,
                    indent=None,
                )
        elif arguments.format == "vecalign":
            for group in groups:
                rows = [source.numbers[i] for i in group.source]
                columns = [target.numbers[j] for j in group.target]
                file.write(f"{rows}:{columns}:{1 - group.score:.6f}\n")
        else:
            pairs = (
                (group.score, joined(source, group.source), joined(target, group.target))
                for group in kept
            )
            if arguments.format == "tmx":
                write_tmx(pairs, file, arguments.languages)
            else:
                write_tsv(pairs, file)
    for path, side in ((arguments.source, source), (arguments.target, target)):
        tell_if_empty(path, len(side.texts), "pair")
    left = [
        len(source.texts) - sum(len(group.source) for group in paired),
        len(target.texts) - sum(len(group.target) for group in paired),
    ]
    print(
        f"{counted(len(kept), 'pair')} from {len(source.texts):,} and {len(target.texts):,} "
        f"sentences; without a translation: {left[0]:,} and {left[1]:,}",
        file=sys.stderr,
    )


def read_lines(path: str, bad_lines: str) -> Lines:
    from paraphrastic_hf.io.lines import is_blank, read_blocks

    lines = [line for block in read_blocks(path, bad_lines=bad_lines) for line in block]
    numbers = [number for number, line in enumerate(lines) if not is_blank(line)]
    return Lines([lines[number].strip() for number in numbers], numbers)


def joined(lines: Lines, chosen: range) -> str:
    return " ".join(lines.texts[number] for number in chosen)


Pairs = Iterator[tuple[float, str, str]]


def write_tsv(pairs: Pairs, file: IO[str]) -> None:
    from paraphrastic_hf.io.files import tsv_line

    for score, *texts in pairs:
        file.write(tsv_line(f"{score:.6f}", *texts))


def write_tmx(pairs: Pairs, file: IO[str], languages: Sequence[str]) -> None:
    from paraphrastic_hf import __version__

    file.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header '
        f'creationtool="paraphrastic" creationtoolversion="{__version__}" segtype="sentence" '
        f'o-tmf="text" adminlang="en" srclang={quoteattr(languages[0])} datatype="plaintext"/>\n'
        "<body>\n"
    )
    for score, *texts in pairs:
        sides = "".join(
            f"<tuv xml:lang={quoteattr(code)}><seg>{escape(xml_text(text))}</seg></tuv>"
            for code, text in zip(languages, texts, strict=True)
        )
        file.write(f'<tu><prop type="score">{score:.6f}</prop>{sides}</tu>\n')
    file.write("</body>\n</tmx>\n")


def xml_text(text: str) -> str:
    """Replace characters that XML 1.0 does not allow by U+FFFD."""
    return re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text)
