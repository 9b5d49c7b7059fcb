"""Options of the commands that write sentences, and their output."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, TypeVar

from paraphrastic_hf.cli.shared.lines import add_bad_lines, open_output, tell_if_empty
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions
from paraphrastic_hf.io.blocks import read_blocks, shown_input
from paraphrastic_hf.io.files import one_line

Text = TypeVar("Text", str, tuple[str, str])

LINES_AT_A_TIME = 1024
logger = logging.getLogger(__name__)


def add_writing_options(
    parser: argparse.ArgumentParser,
    *,
    beams: int = 5,
    max_tokens: int = 100,
    outputs: str = "sentences written from each line; with more than one, each is printed after "
    "the line's number and its score, tab-separated",
) -> None:
    """Add what says how sentences are searched or sampled, and where they go.

    Args:
        beams: Beginnings that are kept if nothing else is said.
        max_tokens: Most tokens if nothing else is said.
        outputs: What `--outputs` counts.
    """
    parser.add_argument("--output", default="-", help="file to write (default: print)")
    parser.add_argument(
        "--beams",
        type=int,
        help=f"beginnings kept at each step (default: {beams}, or as many as --outputs)",
    )
    parser.add_argument(
        "--sample", action="store_true", help="draw tokens instead of searching for likely ones"
    )
    parser.add_argument(
        "--top-p",
        type=float,
        help="with --sample, draw among the likeliest tokens that share this much of the "
        "probability (default: 0.9)",
    )
    parser.add_argument(
        "--temperature",
        type=float,
        help="with --sample, below 1 for likelier sentences, above 1 for others (default: 1)",
    )
    parser.add_argument("--outputs", type=int, default=1, help=f"{outputs} (default: 1)")
    parser.add_argument(
        "--max-tokens",
        type=int,
        default=max_tokens,
        help=f"most tokens of a sentence (default: {max_tokens})",
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    parser.set_defaults(usual_beams=beams)
    add_bad_lines(parser)


def writing_of(arguments: argparse.Namespace) -> GenerationOptions:
    """What the options say."""

    drawn = {name: getattr(arguments, name) for name in ("top_p", "temperature")}
    given = {name: value for name, value in drawn.items() if value is not None}
    if given and not arguments.sample:
        names = " and ".join(f"--{name}".replace("_", "-") for name in given)
        raise DataError(f"{names} is for draws: add --sample, or leave it out")
    beams = arguments.beams
    if beams is not None and arguments.sample:
        raise DataError("--beams is for searching: leave it or --sample out")
    if beams is None:
        beams = arguments.usual_beams
        if not arguments.sample:
            beams = max(beams, arguments.outputs)
    try:
        return GenerationOptions(
            beams=beams,
            sample=arguments.sample,
            outputs=arguments.outputs,
            max_tokens=arguments.max_tokens,
            seed=arguments.seed,
            **given,
        )
    except ValueError as error:
        raise DataError(str(error)) from error


def check_reconstruction(config: Mapping[str, Any], language: str | None) -> None:
    """Refuse a language that a generative model does not write.

    Args:
        config: Its configuration; empty if it is not known yet.
        language: The language; None where the model writes one alone.
    """
    from paraphrastic_hf.generation.tasks import chosen_task, tasks_of

    if config:
        try:
            chosen_task(tasks_of(config), "reconstruct", language)
        except ValueError as error:
            raise DataError(str(error)) from error


def write_lines(
    arguments: argparse.Namespace,
    write: Callable[[list[str], GenerationOptions], list[list[GeneratedText]]],
    how: GenerationOptions,
) -> None:
    """Print what is written from the lines of `arguments.file`, some at a time; those of standard
    input as they come."""
    blocks = read_blocks(
        arguments.file, LINES_AT_A_TIME, bad_lines=arguments.bad_lines, as_they_come=True
    )
    write_blocks(arguments, _warn_of_columns(blocks, arguments.file), write, how)


def _warn_of_columns(blocks: Iterable[list[str]], path: str) -> Iterator[list[str]]:
    """The blocks as they are, with a warning where all lines look like rows of a table."""
    for number, block in enumerate(blocks):
        if not number and all("\t" in line for line in block):
            logger.warning(
                "every line of %s has a tab and is read as one sentence all the same; of a table, "
                "cut out the column that is meant: cut -f1 %s",
                shown_input(path),
                path,
            )
        yield block


def write_blocks(
    arguments: argparse.Namespace,
    blocks: Iterable[list[Text]],
    write: Callable[[list[Text], GenerationOptions], list[list[GeneratedText]]],
    how: GenerationOptions,
) -> None:
    """Print what is written from blocks, whose draws are apart.

    Args:
        blocks: Lines, or pairs of them.
    """
    from tqdm.auto import tqdm

    before = 0
    without: list[int] = []  # lines with text from which nothing was written
    with (
        open_output(arguments.output) as output,
        tqdm(unit=" lines", disable=arguments.quiet or None) as bar,
    ):
        for block in blocks:
            try:
                found = write(block, how.after(before))
            except ValueError as error:
                raise DataError(str(error)) from error
            print_written(output, before + 1, found)
            without += [
                before + number
                for number, (line, sentences) in enumerate(zip(block, found, strict=True), 1)
                if "".join(line).strip() and not any(sentence.text for sentence in sentences)
            ]
            before += len(block)
            bar.update(len(block))
    tell_if_empty(getattr(arguments, "file", None) or arguments.source, before, "sentence")
    if without:
        logger.warning(
            "for %s of the lines with text an empty one was written, such as for line %s: the "
            "model may know none of its tokens",
            f"{len(without):,}",
            f"{without[0]:,}",
        )


def print_written(output: IO[str], first: int, found: Iterable[list[GeneratedText]]) -> None:
    """Print what was written from some lines, the first of which has the number `first`."""
    for number, sentences in enumerate(found, first):
        for sentence in sentences:
            if len(sentences) > 1:
                output.write(f"{number}\t{sentence.nats:.4f}\t")
            output.write(one_line(sentence.text) + "\n")
    output.flush()
