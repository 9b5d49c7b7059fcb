"""`paraphrastic corpus ACTION`: make, describe and split corpora of paraphrases."""

from paraphrastic_hf.cli.shared.parser import Parser

ACTIONS = {
    "make": "back-translate bitext, then score and filter the paraphrases",
    "encode": "embed many files, on one machine or a cluster",
    "mine": "find parallel sentences of many files, on one machine or a cluster",
    "stats": "describe corpora: lengths, IDF, paraphrase scores, entropies (thesis, Table 25)",
    "sample": "sample rows by score for annotators, and summarize their answers (thesis, Table 27)",
    "lexicon": "extract word paraphrases by PMI (thesis, 4.9.1)",
    "tenths": "split a corpus into ten parts by a score (thesis, Table 29)",
}
EPILOG = """\
examples:
  paraphrastic corpus make back-translation-2017/smoke --output corpora/smoke
  paraphrastic corpus stats corpora/smoke

`paraphrastic corpus ACTION --help` explains an action."""


def configure(parser: Parser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, summary in ACTIONS.items():
        sentence = f"{summary[0].upper()}{summary[1:]}."
        action = actions.add_parser(name, help=summary, description=sentence)
        action.add_module(f"paraphrastic_hf.cli.corpus.{name}")
