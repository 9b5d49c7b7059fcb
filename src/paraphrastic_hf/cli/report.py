"""`paraphrastic report DIR... --output DIR`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import holds_output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "results", nargs="+", help="folders that `paraphrastic evaluate --output` wrote"
    )
    parser.add_argument(
        "--output", required=True, help="the folder that report.html and report.md are written into"
    )
    parser.add_argument(
        "--title", default="Evaluation", help="the title of the page (default: Evaluation)"
    )
    parser.epilog = (
        "example:\n  paraphrastic report runs/sp/evaluation runs/word/evaluation --output report"
    )
    parser.set_defaults(run=run)


@holds_output("writing a report")
def run(arguments: argparse.Namespace) -> None:
    """Write the page and say where."""
    from paraphrastic_hf.evaluation.page import merge, write_page

    html, text = write_page(merge(arguments.results), arguments.output, title=arguments.title)
    print(f"{html}: the page, for a browser")
    print(f"{text}: its tables as Markdown")
