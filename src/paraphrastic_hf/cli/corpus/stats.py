"""`paraphrastic corpus stats CORPUS ...`."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from paraphrastic_hf.cli.shared.corpora import CORPORA, add_score_options, chosen_score
from paraphrastic_hf.cli.shared.lines import dump_json
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.pipelines.statistics.describe import Description, Idf, Mean, describe_corpus

SAMPLE = 100_000  # of the thesis
EPILOG = """\
The columns describe a random sample of the corpus (thesis, Table 25):
  length          words of a text, split at white space
  IDF             mean inverse document frequency of its words, in nats, from the sample itself
                  unless --idf or --word-counts is given (the thesis uses Wikipedia)
  para. score     cosine of reference and translation
  vocab. entropy  entropy of the words, in nats
  parse entropy   entropy of the parses cut to two levels, in nats

examples:
  paraphrastic corpus stats corpora/es corpora/fr --score paraphrase_score
  paraphrastic corpus stats pairs.tsv.xz --idf wikipedia.txt
  paraphrastic corpus stats pairs.tsv --word-counts enwiki_vocab_min200.txt.xz --json"""
THESIS = (  # Table 25
    ("Common Crawl (thesis)", "100,000", "24.0 ± 34.7", "7.7 ± 1.1", "0.83 ± 0.16", "7.2", "3.5"),
    ("CzEng 1.6 (thesis)", "100,000", "13.3 ± 19.3", "7.4 ± 1.2", "0.84 ± 0.16", "6.8", "4.1"),
    ("Europarl (thesis)", "100,000", "26.1 ± 15.4", "7.1 ± 0.6", "0.95 ± 0.05", "6.4", "3.0"),
    ("News Comm. (thesis)", "100,000", "25.2 ± 13.9", "7.5 ± 1.1", "0.92 ± 0.12", "7.0", "3.4"),
)
HEADER = ("corpus", "rows", "length", "IDF", "para. score", "vocab. entropy", "parse entropy")


def configure(parser: Parser) -> None:
    parser.option("corpus", CORPORA, nargs="+")
    parser.option(
        "--side",
        "side to describe (default: reference, as in the thesis)",
        default="reference",
        choices=("reference", "translation"),
    )
    parser.option(
        "--sample ROWS",
        "rows to sample, 0 for all (default: %(default)s, as in the thesis)",
        default=SAMPLE,
    )
    parser.option("--seed", "seed of the sample", default=1)
    add_score_options(parser, "the paraphrase scores")
    idf = parser.add_mutually_exclusive_group()
    parser.option("--idf FILE", "text for IDF, one document per line", group=idf)
    parser.option(
        "--word-counts FILE",
        "file of words with counts, one word per line. IDF is then -ln of a word's share of all "
        "counts",
        group=idf,
    )
    parser.option("--parses COLUMN", "column of the bracketed parses")
    parser.flag("--json", "print JSON instead of a table")


def run(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.io.markdown import markdown_table
    from paraphrastic_hf.pipelines.read import sample_rows

    idf = None
    if arguments.idf or arguments.word_counts:
        idf = Idf.of_file(arguments.idf) if arguments.idf else Idf.of_counts(arguments.word_counts)
    columns = [name for name in (arguments.score, arguments.parses) if name]
    score = chosen_score(arguments)
    found: dict[str, Description] = {}
    for path in arguments.corpus:
        rows = sample_rows(path, arguments.sample or None, columns, seed=arguments.seed)
        found[path] = describe_corpus(
            rows, side=arguments.side, idf=idf, scores=score(rows), parses=arguments.parses
        )
    if arguments.json:
        dump_json({path: asdict(each) for path, each in found.items()}, sys.stdout)
        return
    lines = [_line(Path(p).name.partition(".")[0] or p, each) for p, each in found.items()]
    print("\n".join(markdown_table(HEADER, [*lines, *map(list, THESIS)])))


def _line(name: str, found: Description) -> list[str]:
    score, parses = found.paraphrase_score, found.parse_entropy
    return [
        name,
        f"{found.rows:,}",
        _cell(found.length, 1),
        _cell(found.idf, 1),
        "no score" if score is None else _cell(score, 2),
        f"{found.vocabulary_entropy:.1f}",
        "no parses" if parses is None else f"{parses:.1f}",
    ]


def _cell(mean: Mean, digits: int) -> str:
    return f"{mean.mean:.{digits}f} ± {mean.deviation:.{digits}f}"
