"""`paraphrastic COMMAND`: finds the command's module and runs it; nothing else is imported for
`--help`."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import sys
import threading
from collections.abc import Collection, Sequence

import paraphrastic_hf
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import Interrupted, ParaphrasticError, disk_error
from paraphrastic_hf.extras import missing_extra

COMMANDS = {
    "train": "train by a recipe: an encoder, a task, a language model, translator or generator",
    "tune": "search for the settings of a recipe that do best on its development set",
    "evaluate": "score a model on an evaluation suite, beside the thesis",
    "report": "evaluations of several models as one page",
    "analyze": "the analyses of the papers: neighbors, norms, gates, learning curves, languages",
    "significance": "whether one of two models is better, dataset by dataset of a suite",
    "encode": "turn lines of text into vectors",
    "score": "similarity of each pair of a two-column file",
    "predict": "scores or labels of lines by a model trained on a task",
    "parse": "the constituency trees of lines, or of sentence pairs",
    "translate": "translate lines, by an encoder-decoder or a generative model",
    "paraphrase": "write paraphrases of lines, of a syntax that is given or of any",
    "attack": "whether paraphrases change what a classifier says of sentences",
    "reconstruct": "write lines again from their latent variables",
    "transfer": "write the meaning of one sentence in the style of another",
    "perplexity": "how likely a language model finds lines of text",
    "simile": "score translations by meaning: SimiLE and SIM, with significance",
    "compare": "two systems side by side, SIM against BLEU, with plots",
    "judge": "translations of systems: BLEU, chrF, SIM, SimiLE, words by frequency and tag",
    "install-metric": 'make evaluate.load("simile") work offline',
    "card": "write the model card of a trained model",
    "publish": "put a model, dataset, metric or Space on the Hub, with its card",
    "pack": "a copy of an average in fewer bytes, or with fewer dimensions",
    "convert": "make a model of released vectors or checkpoints",
    "data": "list, read, export and describe the corpora of the papers",
    "corpus": "make a corpus of paraphrases by back-translation, describe it, or mine one",
    "neighbors": "the lines of a corpus nearest to a query",
    "mine": "find the sentences of two files that translate each other",
    "completion": "a script with which bash, zsh or fish complete commands and options",
}
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # but tabs and line ends
BAR = re.compile(r"\r|(?:\n|\x1b\[A)+\Z|")  # how tqdm begins a bar, and moves between bars


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors of this package are one line on stderr and exit status 2."""
    _prepare_streams()
    threading.excepthook = _tell_of_thread
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    chosen = next((item for item in arguments if not item.startswith("-")), None)
    try:
        parser = build_parser([chosen])
    except ModuleNotFoundError as error:
        return _name_extra(str(chosen), error)
    except KeyboardInterrupt:
        print("paraphrastic: interrupted", file=sys.stderr)
        return 130
    try:
        known, rest = parser.parse_known_args(arguments)
    except BrokenPipeError:  # of help
        _drop_output()
        return 0
    if rest and not getattr(known, "takes_overrides", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    known.overrides = rest
    try:
        if os.path.isfile(str(getattr(known, "output", ""))):
            from paraphrastic_hf.cli.shared.lines import refuse_overwriting  # which takes a while

            refuse_overwriting(vars(known))
        status = int(known.run(known) or 0)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except ParaphrasticError as error:
        print(f"paraphrastic {known.command}: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        return _name_extra(known.command, error)
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        _drop_output()
        return 0
    except OSError as error:  # a full disk, a folder that may not be written
        explained = _explained(error, getattr(known, "output", None))
        _drop_output()
        print(f"paraphrastic {known.command}: {explained}", file=sys.stderr)
        return 2
    except Interrupted as error:
        print(f"paraphrastic {known.command}: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print(f"paraphrastic {known.command}: interrupted", file=sys.stderr)
        return 130


def build_parser(commands: Collection[str | None]) -> Parser:
    """The parser with the names of all commands, and the arguments of those asked for."""
    parser = Parser(
        prog="paraphrastic",
        description="Train, evaluate and use small paraphrastic sentence encoders.",
        epilog="`paraphrastic COMMAND --help` explains a command, with examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"paraphrastic {paraphrastic_hf.__version__}"
    )
    added = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = added.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in commands:
            module = name.replace("-", "_")
            importlib.import_module(f"paraphrastic_hf.cli.{module}").configure(command)
    return parser


class _Terminal(io.TextIOWrapper):
    """Terminal stream that shows control characters instead of obeying them."""

    def write(self, text: str) -> int:
        """Write text, with `\\x1b` in place of an escape."""
        start = BAR.match(text)[0] if self is sys.stderr else ""  # type: ignore[index]
        shown = CONTROLS.sub(lambda found: repr(found.group())[1:-1], text.removeprefix(start))
        super().write(start + shown)
        return len(text)


def _prepare_streams() -> None:
    """Print in UTF-8 wherever it goes, as text is read in UTF-8 wherever it is from, and make
    control characters visible in a terminal."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        stream.reconfigure(encoding="utf-8", errors=stream.errors)
        if stream.isatty() and not isinstance(stream, _Terminal):
            os.environ.setdefault("NO_COLOR", "1")  # colors are control characters, too
            terminal = _Terminal(
                stream.buffer, encoding="utf-8", errors=stream.errors, line_buffering=True
            )
            setattr(sys, name, terminal)


def _drop_output() -> None:
    """Discard output that cannot be printed, since printing would fail again at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_of_thread(failure: threading.ExceptHookArgs) -> None:
    """Print the traceback of a thread, unless a disk failed: the main thread reports that."""
    if failure.exc_value is None or disk_error(failure.exc_value, os.curdir) is None:
        threading.__excepthook__(failure)


def _explained(error: OSError, output: str | None) -> str:
    """What an error of the system comes to for someone who gave an output."""
    printed = os.path.realpath("/dev/stdout")
    printed = printed if os.path.exists(printed) else os.curdir  # not of a pipe
    place = error.filename or (printed if output is None or output == "-" else output)
    full = disk_error(error, place)
    if full is not None:
        return str(full)
    is_no_folder = isinstance(error, (FileExistsError, NotADirectoryError))
    if is_no_folder and output and os.path.isfile(output):
        return f"{output} is a file; name a folder to write to"
    cache = os.path.join(os.path.expanduser("~"), ".cache")
    if error.filename in (cache, os.path.join(cache, "huggingface")):  # where it cannot be made
        return f"{error}: caches cannot be kept there; name another folder in the variable HF_HOME"
    return str(error)


def _name_extra(command: str, error: ModuleNotFoundError) -> int:
    """Say which extra brings the module that a command lacks."""
    named = missing_extra(error)
    if named is None:
        raise error
    print(f"paraphrastic {command}: {named}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
