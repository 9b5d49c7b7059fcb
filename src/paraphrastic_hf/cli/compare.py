"""`paraphrastic compare -s first.txt second.txt -r ref.txt`."""

import argparse

from paraphrastic_hf.cli.shared.lines import check_inputs, holds_output
from paraphrastic_hf.cli.shared.options import shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.simile import (
    add_resampling_arguments,
    add_scorer_arguments,
    read_segments,
    scorer_and_systems,
)

EPILOG = """\
The report shows:
* the corpus scores, with two-sided p-values (paired permutation test)
* spread and ties of SimiLE, SIM and sentence BLEU (thesis, 7.5.1)
* the segments on which SIM and BLEU disagree most: |change of BLEU| - |change of SIM| (thesis, 7.7)

With --output DIR the command writes compare.md, compare.json, segments.tsv and two plots. N-best
lists are the output of `paraphrastic translate --outputs 8`, or Moses's lines of
`number ||| text ||| ...`, counted from 0. BLEU needs sacrebleu: pip install
'paraphrastic-hf[compare]'.

examples:
  paraphrastic compare -s baseline.txt new.txt -r reference.txt --output report
  paraphrastic compare -s a.txt b.txt -r reference.txt --nbest nbest.tsv"""


def configure(parser: Parser) -> None:
    add_scorer_arguments(parser, systems=2)
    parser.option(
        "--nbest FILE", "n-best lists in which to count ties (default: between the two systems)"
    )
    parser.option("--output DIR", "folder of the report (default: print it)")
    parser.option(
        "--count", "segments to show of each kind: only SIM differs, only BLEU differs", default=5
    )
    add_resampling_arguments(parser)
    parser.flag("--quiet", "show no progress bar")


@holds_output("comparing")
def run(arguments: argparse.Namespace) -> None:
    nbest_file = [arguments.nbest] if arguments.nbest else []
    check_inputs(*arguments.systems, *arguments.references, *nbest_file)
    from pathlib import Path

    from paraphrastic_hf.extras import require
    from paraphrastic_hf.metrics.compare import (
        compare,
        comparison_markdown,
        read_nbest,
        write_comparison,
    )
    from paraphrastic_hf.metrics.corpus_bleu import compare_bleu
    from paraphrastic_hf.metrics.matching import load_matching
    from paraphrastic_hf.metrics.systems import compare_systems

    if arguments.output:
        require("compare", "matplotlib", what="a report with plots")
    scorer, references, named = scorer_and_systems(arguments)
    bleu = load_matching("BLEU", progress=shows_progress(arguments))
    (first, second), outputs = arguments.systems, [segments for _, segments in named]
    resampling = {"samples": arguments.samples, "seed": arguments.seed}
    systems = compare_systems(scorer, named, references, **resampling)
    corpus = compare_bleu(named, references, **resampling)
    nbest = None
    if arguments.nbest:
        nbest = read_nbest(
            read_segments(arguments.nbest, arguments.bad_lines), len(references), arguments.nbest
        )
    comparison = compare(scorer, bleu, (first, second), (outputs[0], outputs[1]), references, nbest)
    if arguments.output:
        folder = Path(arguments.output)
        options = {"count": arguments.count, "bleu": corpus}
        for path in write_comparison(comparison, systems, folder, **options):
            print(path)
    else:
        text = comparison_markdown(
            comparison, systems, count=arguments.count, plots=False, bleu=corpus
        )
        print(text, end="")
