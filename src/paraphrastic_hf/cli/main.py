"""`paraphrastic COMMAND`: finds the command's module and runs it; nothing else is imported for
`--help`."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence

import paraphrastic_hf
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.extras import missing_extra

COMMANDS = {
    "train": "train a sentence encoder, a model of a task or a language model, from a recipe",
    "tune": "search for the settings of a recipe that do best on its development set",
    "evaluate": "score a model on an evaluation suite, beside the thesis",
    "report": "evaluations of several models as one page",
    "analyse": "the analyses of the papers: neighbours, norms, gates, learning curves, languages",
    "significance": "whether one of two models is better, dataset by dataset of a suite",
    "encode": "turn lines of text into vectors",
    "score": "similarity of each pair of a two-column file",
    "predict": "scores or labels of lines by a model trained on a task",
    "perplexity": "how likely a language model finds lines of text",
    "simile": "score translations by meaning: SimiLE and SIM, with significance",
    "compare": "two systems side by side, SIM against BLEU, with plots",
    "install-metric": 'make evaluate.load("simile") work offline',
    "card": "write the model card of a trained model",
    "convert": "make a model of released vectors or checkpoints",
    "data": "list, read, export and describe the corpora of the papers",
    "neighbours": "the lines of a corpus nearest to a query",
    "mine": "find the sentences of two files that translate each other",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors of this package are one line on stderr and exit status 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="paraphrastic",
        description="Train, evaluate and use small paraphrastic sentence encoders.",
        epilog="`paraphrastic COMMAND --help` explains a command, with examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"paraphrastic {paraphrastic_hf.__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((item for item in arguments if not item.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            conflict_handler="resolve",  # `simile -h` is the hypotheses
        )
        if name == chosen:
            module = name.replace("-", "_")
            try:
                importlib.import_module(f"paraphrastic_hf.cli.{module}").configure(command)
            except ModuleNotFoundError as error:
                return _name_extra(name, error)
    known, rest = parser.parse_known_args(arguments)
    if rest and not getattr(known, "takes_overrides", False):
        command = commands.choices[known.command]
        options = [name for name in command.format_help().split() if name.startswith("--")]
        close = difflib.get_close_matches(rest[0].partition("=")[0], options, n=1)
        hint = f"; did you mean {close[0].strip('[],')}?" if close else ""
        command.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
    known.overrides = rest
    try:
        return int(known.run(known) or 0)
    except ParaphrasticError as error:
        print(f"paraphrastic {known.command}: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        return _name_extra(known.command, error)
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"paraphrastic {known.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"paraphrastic {known.command}: interrupted", file=sys.stderr)
        return 130


def _name_extra(command: str, error: ModuleNotFoundError) -> int:
    """Say which extra brings the module that a command lacks."""
    named = missing_extra(error)
    if named is None:
        raise error
    print(f"paraphrastic {command}: {named}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
