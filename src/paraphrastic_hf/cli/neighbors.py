"""`paraphrastic neighbors MODEL corpus.txt --query ...`."""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from paraphrastic_hf.cli.shared.lines import add_bad_lines, check_inputs
from paraphrastic_hf.cli.shared.options import add_encoder_options, named_encoder
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.blocks import is_blank, read_blocks, shown_input, valid_texts
from paraphrastic_hf.io.files import one_line, tsv_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model",
        help="a model directory, a packaged model such as english, or the name of one on the Hub",
    )
    parser.add_argument(
        "corpus",
        help="the texts to search, one a line (also .gz, .xz, .bz2), or - for standard input",
    )
    parser.add_argument(
        "--query",
        nargs="+",
        required=True,
        help="the texts whose neighbors are wanted; - alone reads them from standard input, one "
        "a line",
    )
    parser.add_argument(
        "--neighbors",
        type=int,
        default=5,
        help="how many neighbors to print for each query (default: 5)",
    )
    add_bad_lines(parser)
    parser.epilog = (
        "Each query is printed, then its nearest lines: cosine (-1 to 1), line number and text.\n"
        "A blank line is nobody's neighbor, and neither a blank query nor one without a token\n"
        "that the model knows has any.\n\n"
        "example:\n"
        "  paraphrastic neighbors runs/sp corpus.txt --query 'how do I get home?' --neighbors 3"
    )
    add_encoder_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Keep the best of each block of the corpus; memory does not grow with it."""
    check_model_name(arguments.model)
    check_inputs(arguments.corpus)

    from paraphrastic_hf.mining.search import nearest_texts

    if arguments.neighbors < 1:
        raise DataError(f"--neighbors must be at least 1, got {arguments.neighbors}")
    queries = arguments.query
    if len(queries) > 1 and "-" in queries:
        raise DataError(
            "--query - reads all queries from standard input, and cannot be among others; give it "
            "alone, or leave it out"
        )
    if queries == ["-"]:
        if arguments.corpus == "-":
            raise DataError("the corpus and the queries cannot both come from standard input")
        queries = [
            line for block in read_blocks("-", bad_lines=arguments.bad_lines) for line in block
        ]
    else:
        queries = valid_texts(queries, "--query", bad_lines=arguments.bad_lines)
    encoder = named_encoder(arguments)

    def vectors(texts: list[str]) -> np.ndarray:
        return np.asarray(encoder.encode(texts), np.float32)

    blanks: list[int] = []  # of each blank line, how many lines with text come before it

    def blocks() -> Iterator[tuple[list[str], np.ndarray]]:
        number = 0
        for block in read_blocks(arguments.corpus, bad_lines=arguments.bad_lines):
            texts: list[str] = []
            for line in block:
                if is_blank(line):
                    blanks.append(number + len(texts))
                else:
                    texts.append(line)
            number += len(texts)
            if texts:
                yield texts, vectors(texts)
        if not number:
            name = shown_input(arguments.corpus)
            print(f"{name} has no line with text, and so no neighbor", file=sys.stderr)

    asked = vectors(queries)
    found = nearest_texts(asked, blocks(), arguments.neighbors)
    for query, vector, matches in zip(queries, asked, found, strict=True):
        print(one_line(query))
        if not is_blank(query) and not vector.any():
            print(f"{query!r} has no token that the model knows, and no neighbor", file=sys.stderr)
        for cosine, place, text in matches if vector.any() and not is_blank(query) else []:
            line = place + 1 + bisect_right(blanks, place)
            print(tsv_line(f"  {cosine:.4f}", str(line), text), end="")
