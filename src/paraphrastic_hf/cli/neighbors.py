"""`paraphrastic neighbors MODEL corpus.txt --query ...`."""

import argparse
import sys
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np

from paraphrastic_hf.cli.shared.lines import add_bad_lines, add_json_option, check_inputs, dump_json
from paraphrastic_hf.cli.shared.options import MODEL, TEXTS, add_encoder_options, named_encoder
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import one_line, tsv_line
from paraphrastic_hf.io.lines import is_blank, read_blocks, shown_input, valid_texts

EPILOG = """\
Prints each query, then its nearest lines as cosine (-1 to 1), line number and text.
Blank lines are skipped. A query without a token that the model knows has no neighbors.

examples:
  paraphrastic neighbors english corpus.txt --query 'how do I get home?' --neighbors 3"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("corpus", TEXTS)
    parser.option(
        "--query TEXT",
        "query texts, or - for standard input, one per line",
        nargs="+",
        required=True,
    )
    parser.option("--neighbors", "neighbors printed per query", default=5, least=1)
    add_json_option(parser, "an object per query: query, neighbors with cosine, line and text")
    add_bad_lines(parser)
    add_encoder_options(parser)


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.corpus)

    from paraphrastic_hf.mining.search import nearest_texts

    queries = arguments.query
    if len(queries) > 1 and "-" in queries:
        raise DataError("--query - reads queries from standard input. Pass it alone")
    if queries == ["-"]:
        if arguments.corpus == "-":
            raise DataError("The corpus and the queries cannot both come from standard input")
        queries = [
            line for block in read_blocks("-", bad_lines=arguments.bad_lines) for line in block
        ]
    else:
        queries = valid_texts(queries, "--query", bad_lines=arguments.bad_lines)
    encoder = named_encoder(arguments)

    def vectors(texts: list[str]) -> np.ndarray:
        return np.asarray(encoder.encode(texts), np.float32)

    blanks: list[int] = []  # for each blank line, the number of lines with text before it

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
            print(f"{name} has no text: no neighbors found", file=sys.stderr)

    asked = vectors(queries)
    found = nearest_texts(asked, blocks(), arguments.neighbors)
    for query, vector, matches in zip(queries, asked, found, strict=True):
        if not is_blank(query) and not vector.any():
            print(f"the model knows no token of {query!r}: no neighbors found", file=sys.stderr)
        nearest: list[dict[str, Any]] = [
            {
                "cosine": round(float(cosine), 6),
                "line": place + 1 + bisect_right(blanks, place),
                "text": text,
            }
            for cosine, place, text in (matches if vector.any() and not is_blank(query) else [])
        ]
        if arguments.json:
            dump_json({"query": query, "neighbors": nearest}, sys.stdout, indent=None)
            continue
        print(one_line(query))
        for each in nearest:
            print(tsv_line(f"  {each['cosine']:.4f}", str(each["line"]), each["text"]), end="")
