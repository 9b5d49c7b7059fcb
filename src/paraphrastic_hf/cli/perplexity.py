"""`paraphrastic perplexity MODEL FILE`."""

from __future__ import annotations

import argparse
import sys

from paraphrastic_hf.cli.shared.lines import add_bad_lines, check_inputs, check_output, open_output
from paraphrastic_hf.encoders.storage.locate import check_model_kind, check_model_name
from paraphrastic_hf.errors import counted
from paraphrastic_hf.io.blocks import read_blocks
from paraphrastic_hf.io.files import tsv_line

EXAMPLES = """examples:
  paraphrastic perplexity runs/language-model lines.txt --output scored.tsv
  paraphrastic perplexity runs/language-model translations.txt | grep -v ^nan | sort -n | head

Perplexity is the number of tokens that a choice among equally likely ones would have: 1 for a
sentence the model is sure of, the size of its vocabulary for one it knows nothing about. It
compares lines that one model scored. A line without a known token has none (nan), unless the
tokenizer has one for all unknown words; one of more than 1,000 tokens is cut there. The last line,
on standard error, is that of the whole text.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model", help="output of `paraphrastic train` with a recipe of kind language_model"
    )
    parser.add_argument("file", help="a text a line; .gz, .xz, .bz2, or - for standard input")
    parser.add_argument(
        "--output", default="-", help="TSV file: perplexity, then the line (default: print)"
    )
    add_bad_lines(parser, "a blank line scored nan and ")
    parser.epilog = EXAMPLES
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the perplexity of each line before it; `nan` for a line without a known token."""
    check_model_name(arguments.model)
    check_inputs(arguments.file)
    check_output(arguments.output)
    check_model_kind(arguments.model, "LanguageScorer")

    import numpy as np

    from paraphrastic_hf.generation.likelihood import LanguageScorer, perplexity_of

    scorer = LanguageScorer.from_pretrained(arguments.model)
    nats, tokens = 0.0, 0
    with open_output(arguments.output) as output:
        for block in read_blocks(arguments.file, bad_lines=arguments.bad_lines):
            found = scorer.score(block)
            for value, line in zip(found.perplexity, block, strict=True):
                output.write(tsv_line(f"{value:.2f}", line))
            known = np.isfinite(found.nats)
            nats, tokens = nats + found.nats[known].sum(), tokens + int(found.tokens[known].sum())
    if not tokens:
        print(f"{arguments.file} has no line with a known token", file=sys.stderr)
    else:
        print(
            f"perplexity {perplexity_of(-nats / tokens):.2f}, {counted(tokens, 'token')}",
            file=sys.stderr,
        )
