"""`paraphrastic corpus lexicon CORPUS ... --output FILE`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from paraphrastic_hf.cli.shared.corpora import add_score_options, batches_of, chosen_score
from paraphrastic_hf.cli.shared.lines import check_output
from paraphrastic_hf.cli.shared.options import add_data_option, evaluation_folder
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, counted

if TYPE_CHECKING:
    from paraphrastic_hf.pipelines.statistics.lexicon import Entry, PairCounts

EPILOG = """\
Word pairs are ranked by adjusted PMI, in nats: the PMI of one word in a sentence and the other in
its paraphrase, minus the PMI of both within a sentence.

With --simlex the command prints Spearman's rho between SimLex-999's human ratings and the adjusted
PMI, the plain cross-sentence PMI and each list of --beside. The scores of both orders of a pair are
averaged, and an unseen pair scores 0. For ParaNMT-50M the thesis (Table 38) reports 61.59 with
adjusted and 52.12 with plain PMI.

examples:
  paraphrastic corpus lexicon corpora/es --score paraphrase_score --output lexicon.tsv
  paraphrastic corpus lexicon lexicon.tsv --word cat --word big
  paraphrastic corpus lexicon pairs.tsv.xz --simlex --beside ppdb_xl_lexical.tsv.xz"""


def configure(parser: Parser) -> None:
    parser.option(
        "corpus",
        "corpora: folders of `corpus make`, parquet, TSV, or a lexicon with --word",
        nargs="+",
    )
    parser.option(
        "--output FILE", "lexicon to write: parquet if its name ends in .parquet, else TSV"
    )
    parser.option(
        "--word WORD", "print paraphrases of this word. Repeatable", default=[], action="append"
    )
    parser.option("--count", "paraphrases printed per word", default=10, least=1)
    parser.option(
        "--min-count", "minimum count of sentence pairs with both words", default=10, least=1
    )
    parser.option("--max-words", "maximum words per sentence, 0 for no limit", default=30, least=0)
    add_score_options(parser, "the paraphrase scores", encoder=None)
    parser.option(
        "--min-score",
        "smallest paraphrase score, -1 to 1, with --score or --encoder (default: 0.35, as in "
        "the thesis)",
        default=0.35,
    )
    parser.flag("--simlex", "compare the scores with SimLex-999")
    parser.option(
        "--beside FILE",
        "with --simlex: TSV file of word pairs to compare with SimLex-999, such as PPDB. "
        "Scores are optional",
        default=[],
        action="append",
    )
    add_data_option(parser, "--simlex reads SimLex-999 from it")


def run(arguments: argparse.Namespace) -> None:
    if not (arguments.output or arguments.word or arguments.simlex):
        raise DataError("Nothing to do. Pass --output, --word or --simlex")
    folder = Path(evaluation_folder(arguments.data)) if arguments.simlex else None
    from paraphrastic_hf.io.files import output_file
    from paraphrastic_hf.pipelines.statistics.lexicon import is_lexicon, read_lexicon, write_lexicon

    kept = [path for path in arguments.corpus if is_lexicon(path)]
    if kept:
        if len(arguments.corpus) > 1 or arguments.output:
            raise DataError(f"{kept[0]} is a lexicon. Pass it alone with --word, without --output")
        _print(read_lexicon(kept[0]), arguments, f"in {kept[0]}")
        if folder is not None:
            _compare(None, [kept[0], *arguments.beside], folder)
        return
    if arguments.output:
        check_output(arguments.output)
        output_file(arguments.output)
    counts = _count(arguments)
    words_found = counted(len(counts.words), "word")
    print(f"{counted(counts.pairs, 'pair')}, {words_found}", file=sys.stderr)
    if arguments.output:
        written = write_lexicon(counts.entries(arguments.min_count), arguments.output)
        print(f"{counted(written, 'entry')}: {arguments.output}", file=sys.stderr)
    if arguments.word:
        words = [word.lower() for word in arguments.word]
        seen = counted(arguments.min_count, "pair")
        within = f"in at least {seen} of sentences. Lower --min-count for a small corpus"
        _print(counts.entries(arguments.min_count, words), arguments, within)
    if folder is not None:
        _compare(counts, arguments.beside, folder)


def _count(arguments: argparse.Namespace) -> PairCounts:
    from paraphrastic_hf.pipelines.statistics.lexicon import PairCounts

    score = chosen_score(arguments) if arguments.score or arguments.encoder else None

    def pairs() -> Iterator[tuple[str, str]]:
        for rows in batches_of(arguments):
            scores = score(rows) if score else [arguments.min_score] * len(rows)
            for row, number in zip(rows, scores, strict=True):
                if number is not None and number >= arguments.min_score:
                    yield row["reference"] or "", row["translation"] or ""

    return PairCounts(pairs(), max_words=arguments.max_words or None)


def _print(entries: Iterator[Entry], arguments: argparse.Namespace, within: str) -> None:
    wanted = {word.lower(): 0 for word in arguments.word}
    for each in entries:
        if wanted.get(each.word, arguments.count) < arguments.count:
            wanted[each.word] += 1
            print(f"{each.word}\t{each.paraphrase}\t{each.adjusted_pmi:.2f}\t{each.count}")
    for word, found in wanted.items():
        if not found:
            print(f"{word} has no paraphrase {within}", file=sys.stderr)


def _compare(counts: PairCounts | None, lists: list[str], folder: Path) -> None:
    from paraphrastic_hf.corpora.folder import corpus_folder
    from paraphrastic_hf.corpora.load import find_source
    from paraphrastic_hf.evaluation.suites.pairs import corpus_rows, scored_pairs
    from paraphrastic_hf.io.markdown import markdown_table
    from paraphrastic_hf.pipelines.statistics.lexicon import agreement, listed_scores, pmi_scores

    place = corpus_folder(find_source("wordsim"), folder)
    rows = corpus_rows(place or folder, "wordsim", "simlex")
    pairs = scored_pairs("SimLex-999", "words", rows)
    systems = {}
    if counts is not None:
        systems["cross-sentence PMI"] = pmi_scores(counts, adjusted=False)
        systems["adjusted PMI"] = pmi_scores(counts)
    systems |= {Path(path).name: listed_scores(path) for path in lists}
    lines = []
    for name, scores in systems.items():
        rho, share = agreement(scores, pairs)
        lines.append([name, f"{rho:.2f}", f"{100 * share:.0f}"])
    print("\n".join(markdown_table(["scored by", "rho x 100", "pairs seen, %"], lines)))
