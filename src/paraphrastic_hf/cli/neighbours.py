"""`paraphrastic neighbours MODEL corpus.txt --query ...`."""

from __future__ import annotations

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("model", help="a model directory or the name of a model on the Hub")
    parser.add_argument(
        "corpus",
        help="the texts to search, one a line (.gz and .xz are unpacked), or - for standard input",
    )
    parser.add_argument(
        "--query",
        nargs="+",
        required=True,
        help="the texts whose neighbours are wanted; - reads them from standard input, one a line",
    )
    parser.add_argument(
        "--count",
        type=int,
        default=5,
        help="how many neighbours to print for each query (default: 5)",
    )
    parser.epilog = (
        "example:\n"
        "  paraphrastic neighbours runs/sp corpus.txt --query 'how do I get home?' --count 3"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Keep the best of each block of the corpus; memory does not grow with it."""
    import numpy as np

    from paraphrastic_hf.cli.lines import read_blocks
    from paraphrastic_hf.encoding.load import load_encoder
    from paraphrastic_hf.errors import DataError
    from paraphrastic_hf.mining.search import nearest_texts
    from paraphrastic_hf.text.normalize import valid_unicode

    if arguments.count < 1:
        raise DataError(f"--count must be at least 1, got {arguments.count}")
    queries = arguments.query
    if queries == ["-"]:
        if arguments.corpus == "-":
            raise DataError("the corpus and the queries cannot both come from standard input")
        queries = [line for block in read_blocks("-") for line in block]
    queries = [valid_unicode(query) for query in queries]
    encoder = load_encoder(arguments.model)

    def vectors(texts: list[str]) -> np.ndarray:
        return np.asarray(encoder.encode(texts), np.float32)

    blocks = ((block, vectors(block)) for block in read_blocks(arguments.corpus))
    found = nearest_texts(vectors(queries), blocks, arguments.count)
    for query, matches in zip(queries, found, strict=True):
        print(query)
        for cosine, place, text in matches:
            print(f"  {cosine:.4f}\t{place + 1}\t{text}")
