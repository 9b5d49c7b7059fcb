"""`paraphrastic corpus mine SOURCE TARGET --output DIR`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from paraphrastic_hf.cli.mine import add_pair_options, kept_pairs, pair_options, write_parquet
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import counted

EPILOG = """\
Each file of one side is searched in each file of the other, which is a task; what they find is
joined, so that DIR/pairs.parquet has the pairs of one search over all text: score, source, target,
and the file and line of both. For two files, or on one machine, `paraphrastic mine` is simpler.

The same command goes on where it was interrupted. With the executor slurm it submits the jobs and
returns; given again when they have ended, it chooses the pairs. When all is searched, --score,
--candidates, --threshold and --allow-many-to-many may change, and the pairs are chosen again from
what was found.

DIR has a copy of the text. A task has a quarter of `memory` (4 gigabytes) for vectors; choosing
pairs takes some 200 bytes for each line of both sides.

Any key of `make` in a recipe of `paraphrastic corpus make` can be set: executor, workers,
partition, memory, cpus, gpus, patience, attempts.

example:
  paraphrastic corpus encode multilingual fr/*.txt.xz --output vectors/fr --workers 8
  paraphrastic corpus encode multilingual en/*.txt.xz --output vectors/en --workers 8
  paraphrastic corpus mine vectors/fr vectors/en --output mined --workers 8 --threshold 1.25"""


def configure(parser: Parser) -> None:
    """Add this action's arguments."""
    parser.add_argument("source", help="a folder that `paraphrastic corpus encode` wrote")
    parser.add_argument("target", help="that of the other side, by the same model")
    parser.add_argument("--output", required=True, help="the folder of the searches and the pairs")
    add_pair_options(parser)
    parser.add_argument(
        "--quiet", action="store_true", help="show neither progress bars nor counts"
    )
    parser.epilog = EPILOG
    parser.set_defaults(run=run, takes_overrides=True, recipe_kinds=("make",))


def run(arguments: argparse.Namespace) -> None:
    """Search, choose, then write the pairs, best first."""
    options = pair_options(arguments)
    from paraphrastic_hf.extras import require

    require("corpora", "datatrove", "pyarrow", what="corpus mine")
    from paraphrastic_hf.config.recipe import build, check_bounds, parse_overrides
    from paraphrastic_hf.pipelines.mine import mine_shards
    from paraphrastic_hf.pipelines.recipe import MakeArguments

    make = build(MakeArguments, dict(parse_overrides(arguments.overrides)))
    check_bounds(make)
    path = Path(arguments.output) / "pairs.parquet"
    with mine_shards(
        arguments.source,
        arguments.target,
        arguments.output,
        make,
        memory=make.memory * 1024 / 4,
        different=arguments.exclude_identical,
        progress=not arguments.quiet and sys.stderr.isatty(),
        **options,
    ) as mined:
        if isinstance(mined, int):
            print(
                f"{arguments.output}: {counted(mined, 'task')} not complete; when no job is at "
                "work any more, give the same command again"
            )
            return
        mined = replace(mined, pairs=kept_pairs(mined.pairs, arguments, arguments.threshold))
        write_parquet(mined, path)
    print(f"{path}: {counted(len(mined.pairs.score), 'pair')}")
