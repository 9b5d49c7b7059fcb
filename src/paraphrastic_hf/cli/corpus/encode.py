"""`paraphrastic corpus encode MODEL FILE... --output DIR`."""

import argparse

from paraphrastic_hf.cli.shared.corpora import MAKE_KEYS, make_arguments
from paraphrastic_hf.cli.shared.lines import check_inputs
from paraphrastic_hf.cli.shared.options import MODEL, shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import counted

EPILOG = f"""\
Each file is a task. Its vectors are DIR/NAME.npy, a float32 array with a row per line, which
appears once it is complete. The same command resumes an interrupted run. For one file,
`paraphrastic encode` is simpler and uses all cores.

{MAKE_KEYS}
examples:
  paraphrastic corpus encode multilingual shards/*.txt.xz --output vectors --workers 8
  paraphrastic corpus encode runs/sp parts/*.txt --output out --executor slurm --partition cpu"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("texts FILE", "files, one text per line (also .gz, .xz, .bz2)", nargs="+")
    parser.option("--output DIR", "folder of the vectors", required=True)
    parser.flag("--normalize-embeddings", "scale the vectors to unit length")
    parser.flag("--quiet", "show no progress bar")
    parser.set_defaults(takes_overrides=True, recipe_kinds=("make",))


def run(arguments: argparse.Namespace) -> None:
    check_model_name(arguments.model)
    check_inputs(*arguments.texts)
    from paraphrastic_hf.extras import require

    require("corpora", "datatrove", "torch", what="corpus encode")
    from paraphrastic_hf.pipelines.encode import encode_files

    unfinished = encode_files(
        arguments.model,
        arguments.texts,
        arguments.output,
        make_arguments(arguments.overrides),
        normalize_embeddings=arguments.normalize_embeddings,
        progress=shows_progress(arguments),
    )
    running = f". {counted(unfinished, 'file')} still running" if unfinished else ""
    print(f"{arguments.output}: {counted(len(arguments.texts) - unfinished, 'file')}{running}")
