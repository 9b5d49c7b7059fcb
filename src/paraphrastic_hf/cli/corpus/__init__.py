"""`paraphrastic corpus ACTION`: corpora of paraphrases are made, described and cut."""

from __future__ import annotations

import argparse
import importlib

from paraphrastic_hf.cli.shared.parser import Parser

ACTIONS = {  # each is configured and run by the module `cli/corpus_NAME.py`
    "make": "translate bitext back, score and filter it: a corpus of paraphrases",
    "encode": "turn the text of many files into vectors, on one machine or a cluster",
    "mine": "find sentences of many files that translate each other, here or on a cluster",
    "stats": "lengths, rarity of words, paraphrase score and entropies of corpora (Table 25)",
    "sample": "rows by score bin for people to judge, and what they judged (Table 27)",
    "lexicon": "the words that are paraphrases of each other, by PMI (thesis, 4.9.1)",
    "tenths": "cut a corpus into tenths by a score, to train on each (Table 29)",
}
EPILOG = "`paraphrastic corpus ACTION --help` explains an action, with examples."


def configure(parser: Parser) -> None:
    """Add this command's actions and their arguments."""
    parser.epilog = EPILOG
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, summary in ACTIONS.items():
        action = actions.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        importlib.import_module(f"paraphrastic_hf.cli.corpus.{name}").configure(action)
