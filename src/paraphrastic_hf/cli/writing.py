"""Options of the commands that write sentences, and their output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING

from paraphrastic_hf.cli.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    one_line,
    open_output,
)
from paraphrastic_hf.data.blocks import read_blocks
from paraphrastic_hf.encoding.locate import check_model_name
from paraphrastic_hf.errors import DataError

if TYPE_CHECKING:
    from paraphrastic_hf.generation.latent import LatentGenerator
    from paraphrastic_hf.generation.writing import Writing, Written

LINES_AT_A_TIME = 1024


def add_writing_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how sentences are searched or sampled, and where they go."""
    parser.add_argument("--output", default="-", help="file to write (default: print)")
    parser.add_argument(
        "--beams", type=int, default=5, help="beginnings kept at each step (default: 5)"
    )
    parser.add_argument(
        "--sample", action="store_true", help="draw tokens instead of searching for likely ones"
    )
    parser.add_argument(
        "--top-p",
        type=float,
        default=0.9,
        help="with --sample, draw among the likeliest tokens that share this much of the "
        "probability (default: 0.9)",
    )
    parser.add_argument(
        "--temperature",
        type=float,
        default=1.0,
        help="with --sample, below 1 for likelier sentences, above 1 for others (default: 1)",
    )
    parser.add_argument(
        *("--outputs", "--count"),
        dest="count",
        type=int,
        default=1,
        help="sentences written from each line; with more than one, each is printed after the "
        "line's number and its score, tab-separated (default: 1)",
    )
    parser.add_argument(
        "--max-tokens", type=int, default=100, help="most tokens of a sentence (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draws of --sample (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    add_bad_lines(parser)


def writing_of(arguments: argparse.Namespace) -> Writing:
    """What the options say.

    Raises:
        DataError: A number is out of range.
    """
    from paraphrastic_hf.generation.writing import Writing

    try:
        return Writing(
            beams=arguments.beams,
            sample=arguments.sample,
            top_p=arguments.top_p,
            temperature=arguments.temperature,
            count=arguments.count,
            max_tokens=arguments.max_tokens,
            seed=arguments.seed,
        )
    except ValueError as error:
        raise DataError(str(error)) from error


def write_lines(
    arguments: argparse.Namespace,
    write: Callable[[LatentGenerator, list[str], Writing], list[list[Written]]],
) -> None:
    """Print what a model of variables writes from the lines of `arguments.file`.

    Raises:
        DataError: The model cannot write that, or an option is out of range.
    """
    check_model_name(arguments.model)
    check_inputs(arguments.file)
    check_output(arguments.output)
    from paraphrastic_hf.generation.latent import LatentGenerator

    how = writing_of(arguments)
    generator = LatentGenerator.from_pretrained(arguments.model)
    write_blocks(arguments, lambda block: write(generator, block, how))


def write_blocks(
    arguments: argparse.Namespace, write: Callable[[list[str]], list[list[Written]]]
) -> None:
    """Print what is written from the lines of `arguments.file`, some at a time; those of standard
    input as they come.

    Raises:
        DataError: What writes refuses.
    """
    from tqdm.auto import tqdm

    blocks = read_blocks(
        arguments.file, LINES_AT_A_TIME, bad_lines=arguments.bad_lines, as_they_come=True
    )
    bar = tqdm(unit=" lines", disable=arguments.quiet or None)
    number = 1
    with open_output(arguments.output) as output, bar:
        for block in blocks:
            try:
                found = write(block)
            except ValueError as error:
                raise DataError(str(error)) from error
            print_written(output, number, found)
            number += len(block)
            bar.update(len(block))


def print_written(output: IO[str], first: int, found: Iterable[list[Written]]) -> None:
    """Print what was written from some lines, the first of which has the number `first`."""
    for number, sentences in enumerate(found, first):
        for sentence in sentences:
            if len(sentences) > 1:
                output.write(f"{number}\t{sentence.nats:.4f}\t")
            output.write(one_line(sentence.text) + "\n")
    output.flush()
