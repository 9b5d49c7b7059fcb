"""`paraphrastic perplexity MODEL FILE`."""

import argparse
import sys

from paraphrastic_hf.cli.shared.lines import add_bad_lines, check_inputs, check_output, open_output
from paraphrastic_hf.cli.shared.options import TEXTS
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import counted
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.io.lines import read_blocks

EPILOG = """\
Perplexity is exp of the mean negative log-probability of a token: 1 for a sentence that the model
predicts with certainty, the vocabulary size for a uniform guess. Compare only values of one model.

Each line is written after its perplexity, tab-separated. A line without a known token has nan.
Lines are cut at 1,000 tokens. Standard error shows the perplexity of the whole text.

examples:
  paraphrastic perplexity runs/language-model translations.txt | grep -v ^nan | sort -n | head"""


def configure(parser: Parser) -> None:
    parser.option("model", "language model: model directory of a recipe of kind language_model")
    parser.option("file", TEXTS)
    parser.option("--output FILE", "TSV file to write (default: print)", default="-")
    add_bad_lines(parser, "A blank line scores nan. ")


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.file)
    check_output(arguments.output)
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
