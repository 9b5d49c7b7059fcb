"""`paraphrastic corpus stats CORPUS ...`."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.pipelines.statistics.describe import Description, Idf, Mean, describe_corpus

SAMPLE = 100_000  # of the thesis
EXAMPLES = """examples:
  paraphrastic corpus stats corpora/es corpora/fr --score paraphrase_score
  paraphrastic corpus stats pairs.tsv.xz --idf wikipedia.txt
  paraphrastic corpus stats pairs.tsv --word-counts enwiki_vocab_min200.txt.xz --json

The figures are those of the references of a random sample (thesis, Table 25): words of a text by
white space; the mean inverse document frequency of its words in nats; the paraphrase score of a
pair; the entropy of all words in nats; and that of parses cut to two levels. The thesis takes IDF
from Wikipedia and does not say how; without --idf or --word-counts it is that of the sample.
"""
THESIS = (  # Table 25
    ("Common Crawl (thesis)", "100,000", "24.0 ± 34.7", "7.7 ± 1.1", "0.83 ± 0.16", "7.2", "3.5"),
    ("CzEng 1.6 (thesis)", "100,000", "13.3 ± 19.3", "7.4 ± 1.2", "0.84 ± 0.16", "6.8", "4.1"),
    ("Europarl (thesis)", "100,000", "26.1 ± 15.4", "7.1 ± 0.6", "0.95 ± 0.05", "6.4", "3.0"),
    ("News Comm. (thesis)", "100,000", "25.2 ± 13.9", "7.5 ± 1.1", "0.92 ± 0.12", "7.0", "3.4"),
)
HEADER = ("corpus", "rows", "length", "IDF", "para. score", "vocab. entropy", "parse entropy")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("corpus", nargs="+", help="what `corpus make` wrote, parquet, or TSV")
    parser.add_argument(
        "--side",
        choices=("reference", "translation"),
        default="reference",
        help="whose text is described (default: reference, as in the thesis)",
    )
    parser.add_argument(
        "--sample",
        type=int,
        default=SAMPLE,
        metavar="ROWS",
        help="rows that are read at random, 0 for all (default: %(default)s, as in the thesis)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--score", metavar="COLUMN", help="the column that has the paraphrase score")
    which.add_argument(
        "--encoder",
        default="english",
        help="the encoder that gives the paraphrase score (default: english)",
    )
    idf = parser.add_mutually_exclusive_group()
    idf.add_argument("--idf", metavar="FILE", help="text whose lines are the documents of IDF")
    idf.add_argument(
        "--word-counts",
        metavar="FILE",
        help="words with their counts, a word a line, from which IDF is -ln p",
    )
    parser.add_argument(
        "--parses", metavar="COLUMN", help="the column that has parses of the texts, in brackets"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON value, and no table")
    parser.epilog = EXAMPLES
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print a line of Table 25 for each corpus, then the thesis's."""
    from paraphrastic_hf.io.markdown import markdown_table
    from paraphrastic_hf.pipelines.read import numbers_of, sample_rows
    from paraphrastic_hf.pipelines.steps.scores import ParaphraseScore

    if arguments.score is None:
        check_model_name(arguments.encoder)
    idf = None
    if arguments.idf or arguments.word_counts:
        idf = Idf.of_file(arguments.idf) if arguments.idf else Idf.of_counts(arguments.word_counts)
    columns = [name for name in (arguments.score, arguments.parses) if name]
    by_model = ParaphraseScore(model=arguments.encoder)
    score = numbers_of(arguments.score) if arguments.score else by_model.score
    found: dict[str, Description] = {}
    for path in arguments.corpus:
        rows = sample_rows(path, arguments.sample or None, columns, seed=arguments.seed)
        found[path] = describe_corpus(
            rows, side=arguments.side, idf=idf, scores=score(rows), parses=arguments.parses
        )
    if arguments.json:
        print(json.dumps({path: _plain(each) for path, each in found.items()}, indent=2))
        return
    lines = [_line(_name(path), each) for path, each in found.items()]
    print("\n".join(markdown_table(HEADER, [*lines, *map(list, THESIS)])))


def _name(path: str) -> str:
    """What a corpus is called: the last part of its path, without the endings of files."""
    return Path(path).name.partition(".")[0] or path


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


def _plain(found: Description) -> dict[str, object]:
    def mean(value: Mean | None) -> dict[str, float] | None:
        known = value is not None and not math.isnan(value.mean)
        return {"mean": value.mean, "deviation": value.deviation} if known and value else None

    return {
        "rows": found.rows,
        "length": mean(found.length),
        "idf": mean(found.idf),
        "paraphrase_score": mean(found.paraphrase_score),
        "vocabulary_entropy": found.vocabulary_entropy,
        "parse_entropy": found.parse_entropy,
    }
