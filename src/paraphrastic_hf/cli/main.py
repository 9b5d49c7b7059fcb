"""`paraphrastic COMMAND`: finds a command's module and runs it. `--help` imports nothing else."""

import argparse
import io
import os
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import paraphrastic_hf
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, Interrupted, ParaphrasticError, disk_error
from paraphrastic_hf.extras import missing_extra

GROUPS = {  # commands by purpose
    "use": {
        "encode": "Write the embedding of each line of a file.",
        "score": "Write the cosine similarity of each text pair.",
        "neighbors": "Print the lines of a corpus that are nearest to a query, by cosine.",
        "predict": "Write the label or score that a supervised model gives each text.",
        "parse": "Write the constituency tree of each sentence or sentence pair.",
        "perplexity": "Write the perplexity of each line under a language model.",
        "serve": "Serve embeddings over HTTP to clients of OpenAI, Cohere and Jina.",
    },
    "train": {
        "train": "Train an encoder, classifier, parser, translator or generator by a recipe.",
        "tune": "Search the values of recipe keys that score best on the development set.",
        "pack": "Write a smaller copy of an averaging model: fewer bytes or dimensions.",
        "export": "Write an encoder for sentence-transformers, model2vec or ONNX.",
        "convert": "Convert released word vectors or checkpoints to a model directory.",
    },
    "evaluate": {
        "evaluate": "Score a model on evaluation suites or on your own pairs.",
        "significance": "Test whether two models differ significantly, dataset by dataset.",
        "report": "Combine the evaluations of several models into one page.",
        "analyze": "Run an analysis of the papers on a model, its training data or its runs.",
        "simile": "Score translations with SimiLE and SIM, with intervals and p-values.",
        "compare": "Compare two translation systems: where SIM and BLEU agree or differ.",
        "judge": "Score translation systems with BLEU, chrF, SIM, SimiLE and F1 of words.",
        "attack": "Test whether paraphrases change the labels of a text classifier.",
    },
    "translate": {
        "translate": "Translate each line with an encoder-decoder or a generative model.",
        "paraphrase": "Paraphrase each line, with or without a given syntax.",
        "reconstruct": "Encode each line to its latent variables and decode it from them.",
        "transfer": "Write the meaning of one sentence in the style of another.",
    },
    "data": {
        "data": "List, load, export and describe the papers' corpora.",
        "corpus": "Build, describe and split corpora of paraphrases, and mine on a cluster.",
        "mine": "Find the sentences of two files that are translations or paraphrases.",
        "align": "Align the sentences of a document with those of its translation.",
    },
    "publish": {
        "publish": "Upload a model, dataset, metric or Space to the Hub, with its card.",
        "card": "Write the model card of a trained model.",
        "install-metric": 'Install the metric so that evaluate.load("simile") works offline.',
        "completion": "Print a script of completions for bash, zsh or fish.",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
EXAMPLES = """\
examples:
  paraphrastic encode english lines.txt --output vectors.npy
  paraphrastic train own --sources pairs.tsv --output runs/mine
  paraphrastic evaluate runs/mine --pairs scored.tsv

paraphrastic COMMAND --help explains a command. paraphrastic --version prints the version."""
HUB_BARS = ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS")


class _MainParser(Parser):
    def format_help(self) -> str:
        lines = "\n".join(_command_lines())
        return f"{self.format_usage()}\n{self.description}\n\n{lines}\n\n{EXAMPLES}\n"


def _command_lines() -> Iterator[str]:
    for group, commands in GROUPS.items():
        for row, (name, summary) in enumerate(commands.items()):
            yield f"{'' if row else group:10}{name:15}{summary}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. For an error of this package, print one line on stderr and return 2."""
    _prepare_streams()
    threading.excepthook = _print_thread_error
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command = next((item for item in arguments if not item.startswith("-")), None)
    program = "paraphrastic" if command is None else f"paraphrastic {command}"
    known = argparse.Namespace()
    try:
        parser = build_parser([command])
        known, rest = parser.parse_known_args(arguments)
        if rest and not getattr(known, "takes_overrides", False):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        known.overrides = rest
        _refuse_overwriting(vars(known))
        status = int(known.run(known) or 0)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except ParaphrasticError as error:
        message, status = str(error), 2
    except ModuleNotFoundError as error:
        named = missing_extra(error)
        if named is None:
            raise
        message, status = str(named), 2
    except BrokenPipeError:  # the reader of the output has ended, as with `| head`
        _drop_output()
        return 0
    except OSError as error:  # such as a full disk
        message, status = _describe_os_error(error, getattr(known, "output", None)), 2
        _drop_output()
    except Interrupted as error:
        message, status = str(error), error.exit_status
    except KeyboardInterrupt:
        message, status = "interrupted", 130
    print(f"{program}: {message}", file=sys.stderr)
    return status


def build_parser(commands: Collection[str | None]) -> Parser:
    """Return the parser with the names of all commands and the full arguments of `commands`."""
    parser = _MainParser(
        prog="paraphrastic",
        description="Train, evaluate and use small paraphrastic sentence encoders.",
    )
    parser.add_argument(
        "--version", action="version", version=f"paraphrastic {paraphrastic_hf.__version__}"
    )
    added = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    for name, summary in COMMANDS.items():
        command = added.add_parser(name, help=summary, description=summary)
        if name in commands:
            command.add_module(f"paraphrastic_hf.cli.{name.replace('-', '_')}")
    return parser


def _prepare_streams() -> None:
    """Make output UTF-8 in any locale.

    Without a terminal, hide the progress bars of transformers, datasets and downloads.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
    if sys.stderr is not None and not sys.stderr.isatty():
        for variable in HUB_BARS:
            os.environ.setdefault(variable, "1")


def _refuse_overwriting(options: Mapping[str, Any]) -> None:
    """Raise an error if `--output` is an existing file that another option names, or a file of the
    model.
    """
    output = options.get("output")
    if not isinstance(output, str) or not os.path.isfile(output):
        return
    model = options.get("model")
    if isinstance(model, str) and Path(output).resolve().is_relative_to(Path(model).resolve()):
        raise DataError(f"{output} is a file of the model {model}. Choose another --output")
    others = [value for name, value in options.items() if name != "output"]
    for value in others:
        for given in value if isinstance(value, list) else [value]:
            if isinstance(given, str) and os.path.exists(given) and os.path.samefile(given, output):
                raise DataError(f"{output} is both input and output. Choose another --output")


def _drop_output() -> None:
    """Discard buffered output that cannot be written, so that exit does not write it again."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_thread_error(failure: threading.ExceptHookArgs) -> None:
    """Print the traceback of a thread, except for disk errors, which the main thread reports."""
    if failure.exc_value is None or disk_error(failure.exc_value, os.curdir) is None:
        threading.__excepthook__(failure)


def _describe_os_error(error: OSError, output: str | None) -> str:
    printed = os.path.realpath("/dev/stdout")
    printed = printed if os.path.exists(printed) else os.curdir  # a pipe has no path
    place = error.filename or (printed if output is None or output == "-" else output)
    return str(disk_error(error, place) or error)


if __name__ == "__main__":
    sys.exit(main())
