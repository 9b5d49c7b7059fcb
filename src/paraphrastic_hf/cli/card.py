"""`paraphrastic card MODEL --evaluation DIR`."""

from __future__ import annotations

import argparse
import os

from paraphrastic_hf.cli.shared.options import add_data_option, data_root


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("model", help="the model directory that `paraphrastic train` wrote")
    parser.add_argument(
        "--evaluation",
        required=True,
        help="the folder that `paraphrastic evaluate --output` wrote for this model",
    )
    add_data_option(parser, "which holds the text it was trained on")
    parser.add_argument(
        "--command-line",
        required=True,
        help="the command that trained the model, as the card is to quote it",
    )
    parser.add_argument("--summary", required=True, help="one or two sentences about the model")
    parser.add_argument(
        "--languages",
        nargs="+",
        default=[],
        help="the ISO codes of its languages (default: those that its recipe names, else en)",
    )
    parser.add_argument(
        "--license",
        default="cc-by-sa-4.0",
        help="the license of the weights, as the Hub names it (default: cc-by-sa-4.0)",
    )
    parser.epilog = (
        "Writes README.md into the model's folder, with every source, its license and checksum.\n"
        "Refused if a source does not allow a public model to be trained on it."
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the card and say where."""
    root = data_root(arguments.data, "the sources")
    from paraphrastic_hf.hub.cards import model_card, write_card

    text = model_card(
        arguments.model,
        data_root=root,
        evaluation=arguments.evaluation,
        command=arguments.command_line,
        summary=arguments.summary,
        languages=arguments.languages,
        license=arguments.license,
    )
    write_card(arguments.model, text)
    print(os.path.join(arguments.model, "README.md"))
