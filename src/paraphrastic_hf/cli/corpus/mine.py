"""`paraphrastic corpus mine SOURCE TARGET --output DIR`."""

import argparse
from dataclasses import replace
from pathlib import Path

from paraphrastic_hf.cli.mine import add_pair_options, kept_pairs, pair_options, write_parquet
from paraphrastic_hf.cli.shared.corpora import MAKE_KEYS, make_arguments
from paraphrastic_hf.cli.shared.options import shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import counted

EPILOG = f"""\
Each task searches one source file in one target file. The results are joined, so
DIR/pairs.parquet has the pairs of a single search over all text: score, source, target, and the
file and line of both. For two files, `paraphrastic mine` is simpler.

The same command resumes an interrupted run. With the executor slurm it submits jobs and returns.
Repeat it when they have ended to choose the pairs. After the search, another --score,
--candidates, --threshold or --allow-many-to-many chooses again without searching.

DIR holds a copy of the text. A task uses a quarter of `memory` (4 GB by default) for vectors.
Choosing the pairs needs about 200 bytes per line of both sides.

{MAKE_KEYS}
examples:
  paraphrastic corpus encode multilingual fr/*.txt.xz --output vectors/fr --workers 8
  paraphrastic corpus encode multilingual en/*.txt.xz --output vectors/en --workers 8
  paraphrastic corpus mine vectors/fr vectors/en --output mined --workers 8 --threshold 1.25"""


def configure(parser: Parser) -> None:
    parser.option("source", "folder of source vectors (`paraphrastic corpus encode`)")
    parser.option("target", "folder of target vectors by the same model")
    parser.option("--output DIR", "folder of the search and the pairs", required=True)
    add_pair_options(parser)
    parser.flag("--quiet", "show no progress bars and no counts")
    parser.set_defaults(takes_overrides=True, recipe_kinds=("make",))


def run(arguments: argparse.Namespace) -> None:
    options = pair_options(arguments)
    from paraphrastic_hf.extras import require

    require("corpora", "datatrove", "pyarrow", what="corpus mine")
    from paraphrastic_hf.pipelines.mine import mine_shards

    make = make_arguments(arguments.overrides)
    path = Path(arguments.output) / "pairs.parquet"
    with mine_shards(
        arguments.source,
        arguments.target,
        arguments.output,
        make,
        memory=make.memory * 1024 / 4,
        different=arguments.exclude_identical,
        progress=shows_progress(arguments),
        **options,
    ) as mined:
        if isinstance(mined, int):
            print(
                f"{arguments.output}: {counted(mined, 'task')} not complete. Repeat the command "
                "when all jobs have ended"
            )
            return
        mined = replace(mined, pairs=kept_pairs(mined.pairs, arguments, arguments.threshold))
        write_parquet(mined, path)
    print(f"{path}: {counted(len(mined.pairs.score), 'pair')}")
