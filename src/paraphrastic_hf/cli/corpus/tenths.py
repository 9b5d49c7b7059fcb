"""`paraphrastic corpus tenths CORPUS --score COLUMN --output DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, counted

EPILOG = """\
Rows are sorted by the score, so the first part has the lowest scores (thesis, 4.5.4). Each part is
DIR/part-NUMBER.tsv.

examples:
  paraphrastic corpus tenths corpora/es --score paraphrase_score --output tenths
  paraphrastic corpus tenths pairs.tsv.xz --step overlap --most 1000000 --output tenths
  for part in tenths/part-*.tsv; do
    paraphrastic train own --sources $part --epochs 1 --output runs/$(basename $part .tsv)
  done"""


def configure(parser: Parser) -> None:
    parser.option("corpus", "corpora: folders of `corpus make`, parquet or TSV files", nargs="+")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--score", metavar="COLUMN", help="column of the score")
    which.add_argument(
        "--step", metavar="NAME", help="step of `corpus make` for the score, such as overlap"
    )
    parser.option("--output DIR", "folder of the parts", required=True)
    parser.option("--parts", "number of parts, at least 2", default=10)
    parser.option("--most ROWS", "rows to sample of each part (default: all)", type=int)
    parser.option("--seed", "seed of this sample", default=1)


@holds_output("cutting tenths")
def run(arguments: argparse.Namespace) -> None:
    wrong = arguments.parts < 2 or (arguments.most is not None and arguments.most < 1)
    if wrong:
        raise DataError(
            f"--parts must be >= 2 and --most >= 1, got {arguments.parts} and {arguments.most}"
        )
    if Path(arguments.output).resolve() in {Path(path).resolve() for path in arguments.corpus}:
        raise DataError(f"{arguments.output} is both corpus and --output. Choose another --output")
    from paraphrastic_hf.pipelines.read import numbers_of, read_corpus
    from paraphrastic_hf.pipelines.statistics.tenths import write_tenths
    from paraphrastic_hf.pipelines.steps.registry import make_step

    columns = [arguments.score] if arguments.score else []

    def batches() -> Iterator[Sequence[Any]]:
        for path in arguments.corpus:
            yield from read_corpus(path, columns)

    score = (
        numbers_of(arguments.score)
        if arguments.score
        else make_step(arguments.step, where="--step").score
    )
    parts = write_tenths(
        batches,
        score,
        arguments.output,
        parts=arguments.parts,
        most=arguments.most,
        seed=arguments.seed,
    )
    for part in parts:
        print(f"{part.path}\t{part.low:.4f} to {part.high:.4f}\t{counted(part.written, 'row')}")
