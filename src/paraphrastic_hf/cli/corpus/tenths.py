"""`paraphrastic corpus tenths CORPUS --score COLUMN --output DIR`."""

import argparse
from pathlib import Path

from paraphrastic_hf.cli.shared.corpora import CORPORA, batches_of
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
    parser.option("corpus", CORPORA, nargs="+")
    which = parser.add_mutually_exclusive_group(required=True)
    parser.option("--score COLUMN", "column of the score", group=which)
    parser.option(
        "--step NAME", "step of `corpus make` for the score, such as overlap", group=which
    )
    parser.option("--output DIR", "folder of the parts", required=True)
    parser.option("--parts", "number of parts", default=10, least=2)
    parser.option("--most ROWS", "rows to sample of each part (default: all)", least=1)
    parser.option("--seed", "seed of this sample", default=1)


@holds_output("cutting tenths")
def run(arguments: argparse.Namespace) -> None:
    if Path(arguments.output).resolve() in {Path(path).resolve() for path in arguments.corpus}:
        raise DataError(f"{arguments.output} is both corpus and --output. Choose another --output")
    from paraphrastic_hf.pipelines.read import numbers_of
    from paraphrastic_hf.pipelines.statistics.tenths import write_tenths
    from paraphrastic_hf.pipelines.steps.registry import make_step

    score = (
        numbers_of(arguments.score)
        if arguments.score
        else make_step(arguments.step, where="--step").score
    )
    parts = write_tenths(
        lambda: batches_of(arguments),
        score,
        arguments.output,
        parts=arguments.parts,
        most=arguments.most,
        seed=arguments.seed,
    )
    for part in parts:
        print(f"{part.path}\t{part.low:.4f} to {part.high:.4f}\t{counted(part.written, 'row')}")
