"""Options and output of the commands that generate text."""

import argparse
import logging
from collections.abc import Callable, Iterable
from typing import IO, TypeVar

from paraphrastic_hf.cli.shared.lines import add_bad_lines, open_output, tell_if_empty
from paraphrastic_hf.cli.shared.options import data_errors
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions
from paraphrastic_hf.io.files import one_line
from paraphrastic_hf.io.lines import read_blocks

Text = TypeVar("Text", str, tuple[str, str])

LINES_AT_A_TIME = 1024
GENERATIVE = "generative model: model directory of a recipe of kind generative"
logger = logging.getLogger(__name__)


def add_writing_options(
    parser: Parser,
    *,
    beams: int = 5,
    max_tokens: int = 100,
    outputs: str = (
        "sentences per line. If more than 1, each is printed as line number, mean "
        "log-probability of its tokens (nats) and sentence, tab-separated"
    ),
) -> None:
    """Add the options of beam search, sampling and output. `outputs` is the help of `--outputs`."""
    parser.option("--output FILE", "file to write (default: print)", default="-")
    parser.option(
        "--beams", f"beam size, at least 1 (default: {beams}, or --outputs if larger)", type=int
    )
    parser.flag("--sample", "sample the tokens instead of beam search")
    parser.option(
        "--top-p",
        "with --sample, total probability of the most likely tokens to sample from (nucleus "
        "sampling), above 0, at most 1 (default: 0.9)",
        type=float,
    )
    parser.option("--temperature", "with --sample: softmax temperature, above 0", type=float)
    parser.option("--outputs", outputs, default=1)
    parser.option("--max-tokens", "maximum length of a sentence, in tokens", default=max_tokens)
    parser.option("--seed", "seed of --sample", default=0)
    parser.flag("--quiet", "show no progress bar")
    parser.set_defaults(usual_beams=beams)
    add_bad_lines(parser)


def writing_of(arguments: argparse.Namespace) -> GenerationOptions:
    drawn = {name: getattr(arguments, name) for name in ("top_p", "temperature")}
    given = {name: value for name, value in drawn.items() if value is not None}
    if given and not arguments.sample:
        names = " and ".join(f"--{name}".replace("_", "-") for name in given)
        raise DataError(f"{names} requires --sample")
    beams = arguments.beams
    if beams is not None and arguments.sample:
        raise DataError("--beams and --sample cannot be used together. Leave one out")
    if beams is None:
        beams = arguments.usual_beams
        if not arguments.sample:
            beams = max(beams, arguments.outputs)
    with data_errors():
        return GenerationOptions(
            beams=beams,
            sample=arguments.sample,
            outputs=arguments.outputs,
            max_tokens=arguments.max_tokens,
            seed=arguments.seed,
            **given,
        )


def write_lines(
    arguments: argparse.Namespace,
    write: Callable[[list[str], GenerationOptions], list[list[GeneratedText]]],
    how: GenerationOptions,
) -> None:
    """Write the output of each line of `arguments.file`, block by block."""
    blocks = read_blocks(
        arguments.file, LINES_AT_A_TIME, bad_lines=arguments.bad_lines, as_they_come=True
    )
    write_blocks(arguments, blocks, write, how)


def write_blocks(
    arguments: argparse.Namespace,
    blocks: Iterable[list[Text]],
    write: Callable[[list[Text], GenerationOptions], list[list[GeneratedText]]],
    how: GenerationOptions,
) -> None:
    """Write the output of each block of lines, or pairs of lines. Each block has its own seed."""
    from tqdm.auto import tqdm

    before = 0
    without: list[int] = []  # lines with text and an empty output
    with (
        open_output(arguments.output) as output,
        tqdm(unit=" lines", disable=arguments.quiet or None) as bar,
    ):
        for block in blocks:
            with data_errors():
                found = write(block, how.after(before))
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
            "%s lines with text have an empty output. The first is line %s. The model may know "
            "none of their tokens",
            f"{len(without):,}",
            f"{without[0]:,}",
        )


def print_written(output: IO[str], first: int, found: Iterable[list[GeneratedText]]) -> None:
    """Print the generated sentences of consecutive lines, numbered from `first`."""
    for number, sentences in enumerate(found, first):
        for sentence in sentences:
            if len(sentences) > 1:
                output.write(f"{number}\t{sentence.nats:.4f}\t")
            output.write(one_line(sentence.text) + "\n")
    output.flush()
