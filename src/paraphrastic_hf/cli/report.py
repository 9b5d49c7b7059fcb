"""`paraphrastic report DIR... --output DIR`."""

import argparse

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.parser import Parser

EPILOG = """\
examples:
  paraphrastic report runs/sp/evaluation runs/word/evaluation --output report"""


def configure(parser: Parser) -> None:
    parser.option("results DIR", "folders that `paraphrastic evaluate --output` wrote", nargs="+")
    parser.option("--output DIR", "folder of report.html, report.md and results.tsv", required=True)
    parser.option("--title", "title of the page", default="Evaluation")


@holds_output("writing a report")
def run(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.evaluation.page import merge, write_page

    html, text, figures = write_page(
        merge(arguments.results), arguments.output, title=arguments.title
    )
    print(f"{html}: the page, for a browser")
    print(f"{text}: its tables as Markdown")
    print(f"{figures}: every figure as a line")
