"""`paraphrastic COMMAND`: finds a command's module and runs it. `--help` imports nothing else."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import threading
from collections.abc import Collection, Iterator, Sequence

import paraphrastic_hf
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import Interrupted, ParaphrasticError, disk_error
from paraphrastic_hf.extras import missing_extra

GROUPS = {  # commands by purpose, with a few words for the list and a sentence for their own help
    "use": {
        "encode": ("embeddings of lines of text", "Write the embedding of each line of a file."),
        "score": ("cosine of each text pair", "Write the cosine similarity of each text pair."),
        "neighbors": (
            "nearest lines of a corpus",
            "Print the lines of a corpus that are nearest to a query, by cosine.",
        ),
        "predict": (
            "labels or scores of texts",
            "Write the label or score that a supervised model gives each text or text pair.",
        ),
        "parse": (
            "constituency trees of lines",
            "Write the constituency tree of each sentence or sentence pair.",
        ),
        "perplexity": (
            "perplexity of each line",
            "Write the perplexity of each line under a language model.",
        ),
        "serve": (
            "HTTP server of embeddings",
            "Serve embeddings over HTTP to clients of OpenAI, Cohere and Jina.",
        ),
    },
    "train": {
        "train": (
            "train a model by a recipe",
            "Train a sentence encoder, classifier, tagger, parser, language model, translator or "
            "generator\nfrom a recipe.",
        ),
        "tune": (
            "search hyperparameters",
            "Search the values of recipe keys that score best on the development set.",
        ),
        "pack": (
            "fewer bytes or dimensions",
            "Write a smaller copy of an averaging model: fewer bytes or fewer dimensions.",
        ),
        "export": (
            "formats of other libraries",
            "Write an encoder in the format of sentence-transformers, model2vec or ONNX.",
        ),
        "convert": (
            "import released models",
            "Convert released word vectors or checkpoints of the papers to a model directory.",
        ),
    },
    "evaluate": {
        "evaluate": (
            "run evaluation suites",
            "Score a model on evaluation suites or on your own pairs, beside the papers' results.",
        ),
        "significance": (
            "p-values of two models",
            "Test whether two models differ significantly, dataset by dataset.",
        ),
        "report": (
            "several evaluations on a page",
            "Combine the evaluations of several models into one page.",
        ),
        "analyze": (
            "analyses of the papers",
            "Run an analysis of the papers on a model, its training data or its training runs.",
        ),
        "simile": (
            "score translations by meaning",
            "Score translations with SimiLE and SIM, with confidence intervals and p-values.",
        ),
        "compare": (
            "SIM and BLEU of two systems",
            "Compare two translation systems: where SIM and BLEU agree and where they do not.",
        ),
        "judge": (
            "many metrics of MT systems",
            "Score translation systems with BLEU, chrF, SIM, SimiLE and the F1 of words.",
        ),
        "attack": (
            "robustness of a classifier",
            "Test whether paraphrases of its inputs change the labels of a text classifier.",
        ),
    },
    "translate": {
        "translate": (
            "translate lines",
            "Translate each line with an encoder-decoder or a generative model.",
        ),
        "paraphrase": ("paraphrase lines", "Paraphrase each line, with or without a given syntax."),
        "reconstruct": (
            "decode lines from latents",
            "Encode each line to its latent variables and decode it from them.",
        ),
        "transfer": (
            "combine meaning and style",
            "Write the meaning of one sentence in the style of another.",
        ),
    },
    "data": {
        "data": ("corpora of the papers", "List, load, export and describe the papers' corpora."),
        "corpus": (
            "build a paraphrase corpus",
            "Build, describe and split corpora of paraphrases, and mine bitext on a cluster.",
        ),
        "mine": (
            "find parallel sentences",
            "Find the sentences of two files that are translations or paraphrases.",
        ),
        "align": (
            "align two documents",
            "Align the sentences of a document with those of its translation, in order.",
        ),
    },
    "publish": {
        "publish": (
            "upload to the Hub",
            "Upload a model, dataset, metric or Space to the Hugging Face Hub, with its card.",
        ),
        "card": ("write a model card", "Write the model card of a trained model."),
        "install-metric": (
            "the metric, offline",
            'Install the metric so that evaluate.load("simile") works offline.',
        ),
        "completion": (
            "shell completion",
            "Print a script that completes commands and options in bash, zsh or fish.",
        ),
    },
}
COMMANDS = {name: texts[1] for group in GROUPS.values() for name, texts in group.items()}
EXAMPLES = """\
examples:
  paraphrastic encode english lines.txt --output vectors.npy
  paraphrastic train own --sources pairs.tsv --output runs/mine
  paraphrastic evaluate runs/mine --pairs scored.tsv

paraphrastic COMMAND --help explains a command. paraphrastic --version prints the version."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline
HUB_BARS = ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS")
BAR = re.compile(r"\r|(?:\n|\x1b\[A)+\Z|")  # how tqdm begins a bar, and moves between bars


class _MainParser(Parser):
    def format_help(self) -> str:
        lines = "\n".join(_command_lines())
        return f"{self.format_usage()}\n{self.description}\n\n{lines}\n\n{EXAMPLES}\n"


def _command_lines() -> Iterator[str]:
    for group, commands in GROUPS.items():
        cells = [f"{name:15}{short}" for name, (short, _) in commands.items()]
        for row, first in enumerate(cells[::2]):
            second = cells[2 * row + 1] if 2 * row + 1 < len(cells) else ""
            yield f"{'' if row else group:10}{first:46}{second}".rstrip()


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
        if os.path.isfile(str(getattr(known, "output", ""))):
            from paraphrastic_hf.cli.shared.lines import refuse_overwriting  # slow to import

            refuse_overwriting(vars(known))
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


class _Terminal(io.TextIOWrapper):
    """Terminal stream that prints control characters as escapes such as `\\x1b`."""

    def write(self, text: str) -> int:
        start = BAR.match(text)[0] if self is sys.stderr else ""  # type: ignore[index]
        shown = CONTROLS.sub(lambda found: repr(found.group())[1:-1], text.removeprefix(start))
        super().write(start + shown)
        return len(text)


def _prepare_streams() -> None:
    """Make output UTF-8 in any locale, and control characters visible in a terminal.

    Without a terminal, hide the progress bars of transformers, datasets and downloads.
    """
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
        elif name == "stderr" and not stream.isatty():
            for variable in HUB_BARS:
                os.environ.setdefault(variable, "1")


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
    full = disk_error(error, place)
    if full is not None:
        return str(full)
    is_no_folder = isinstance(error, (FileExistsError, NotADirectoryError))
    if is_no_folder and output and os.path.isfile(output):
        return f"{output} is a file. Name a folder to write to"
    cache = os.path.join(os.path.expanduser("~"), ".cache")
    if error.filename in (cache, os.path.join(cache, "huggingface")):
        return f"{error}: cannot create the cache. Set HF_HOME to another folder"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
