"""`paraphrastic corpus encode MODEL FILE... --output DIR`."""

from __future__ import annotations

import argparse
import sys

from paraphrastic_hf.cli.shared.lines import check_inputs
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import counted

EPILOG = """\
Each file is a task: its vectors are DIR/NAME.npy, a float32 array with a row for each line, in
their place once they are complete. The same command goes on where it was interrupted. For one file,
or on one machine with all its cores, `paraphrastic encode` is simpler.

Any key of `make` in a recipe of `paraphrastic corpus make` can be set: executor, workers,
partition, memory, cpus, gpus, patience, attempts.

examples:
  paraphrastic corpus encode multilingual shards/*.txt.xz --output vectors --workers 8
  paraphrastic corpus encode runs/sp parts/*.txt --output out --executor slurm --partition cpu"""


def configure(parser: Parser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "model",
        help="a model directory, the name of a model on the Hub, or english, tiny or multilingual "
        "(packaged)",
    )
    parser.add_argument("texts", nargs="+", help="files with one text a line (also .gz, .xz, .bz2)")
    parser.add_argument("--output", required=True, help="the folder of the vectors")
    parser.add_argument(
        "--normalize-embeddings", action="store_true", help="scale vectors to unit length"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    parser.epilog = EPILOG
    parser.set_defaults(run=run, takes_overrides=True, recipe_kinds=("make",))


def run(arguments: argparse.Namespace) -> None:
    """Encode, then say where the vectors are."""
    check_model_name(arguments.model)
    check_inputs(*arguments.texts)
    from paraphrastic_hf.extras import require

    require("corpora", "datatrove", "torch", what="corpus encode")
    from paraphrastic_hf.config.recipe import build, check_bounds, parse_overrides
    from paraphrastic_hf.pipelines.encode import encode_files
    from paraphrastic_hf.pipelines.recipe import MakeArguments

    make = build(MakeArguments, dict(parse_overrides(arguments.overrides)))
    check_bounds(make)
    unfinished = encode_files(
        arguments.model,
        arguments.texts,
        arguments.output,
        make,
        normalize_embeddings=arguments.normalize_embeddings,
        progress=not arguments.quiet and sys.stderr.isatty(),
    )
    count = len(arguments.texts)
    if unfinished:
        print(
            f"{arguments.output}: {count - unfinished} of {counted(count, 'file')}; the others "
            "are at work"
        )
    else:
        print(f"{arguments.output}: {counted(count, 'file')}")
