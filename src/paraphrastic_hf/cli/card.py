"""`paraphrastic card MODEL --evaluation DIR`."""

import argparse
import os

from paraphrastic_hf.cli.shared.options import add_data_option, data_root
from paraphrastic_hf.cli.shared.parser import Parser

EPILOG = """\
Writes README.md into the model directory, with every source, its license and checksum.
The command fails if a source does not allow training a public model.

examples:
  paraphrastic card runs/sp --evaluation runs/sp/evaluation --data DATA \\
      --summary 'A sentence encoder.' --command-line 'paraphrastic train own'"""


def configure(parser: Parser) -> None:
    parser.option("model", "model directory that `paraphrastic train` wrote")
    parser.option(
        "--evaluation DIR",
        "folder of `paraphrastic evaluate --output` for this model",
        required=True,
    )
    add_data_option(parser, "training text and its licenses")
    parser.option("--command-line COMMAND", "training command, to quote on the card", required=True)
    parser.option("--summary TEXT", "one or two sentences about the model", required=True)
    parser.option(
        "--languages CODE",
        "language codes (default: those of the recipe, or en)",
        default=[],
        nargs="+",
    )
    parser.option("--license", "Hub name of the license of the weights", default="cc-by-sa-4.0")


def run(arguments: argparse.Namespace) -> None:
    root = data_root(arguments.data, "the sources")
    from paraphrastic_hf.hub.cards import ModelDetails, full_card, write_card
    from paraphrastic_hf.hub.trained import TrainedModel

    trained = TrainedModel.read(arguments.model)
    details = ModelDetails(
        evaluation=arguments.evaluation,
        data_root=root,
        license=arguments.license,
        summary=arguments.summary,
        languages=arguments.languages or trained.languages or ["en"],
    )
    text, _ = full_card(
        trained,
        details,
        indexed=["sts"],
        title=f"paraphrastic {trained.name}",
        checksums=root,
        command=arguments.command_line,
    )
    write_card(arguments.model, text)
    print(os.path.join(arguments.model, "README.md"))
