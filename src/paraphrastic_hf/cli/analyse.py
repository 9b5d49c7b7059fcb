"""`paraphrastic analyse KIND ... --output DIR`: the analyses of the papers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.folders import add_data_option
from paraphrastic_hf.cli.shared.lines import check_inputs, holds_output
from paraphrastic_hf.encoders.storage.locate import check_model_kind, check_model_name

if TYPE_CHECKING:
    from paraphrastic_hf.analyses.report import Analysis

EPILOG = """\
An analysis prints its tables and writes them with a plot: KIND.md, KIND.json, KIND.tsv, KIND.png.
`paraphrastic analyse KIND --help` says what a kind does, with an example."""
OF_RUNS = ("convergence", "expected-costs")  # finished or not
OF_A_MODEL = (
    "norms",
    "weighting",
    "under-training",
    "gates",
    "variables",
    "negatives",
)  # kinds that take one model
ANALYSES: dict[str, tuple[str, str]] = {
    "neighbours": (
        "nearest words, phrases or n-grams, models side by side (thesis 3.4, 3.8.2)",
        "  paraphrastic analyse neighbours runs/word english --query vehicals huge 'not able' \\\n"
        "      --most 50000 --output analysis\n"
        "  paraphrastic analyse neighbours runs/charagram-phrase --rows --query die foo _2 "
        "--output analysis",
    ),
    "norms": (
        "norms of word vectors by part of speech and by frequency (thesis 3.4)",
        "  paraphrastic analyse norms runs/word --data DATA --output analysis",
    ),
    "weighting": (
        "how much of a trained table is the weight of each token (thesis 3.4)",
        "  paraphrastic analyse weighting runs/word --data DATA --output analysis\n\n"
        "The start is random unless --start names an earlier run. Tokens are counted in the pairs "
        "that the\nmodel's recipe names, unless --text gives other text.",
    ),
    "fit": (
        "how well encoders fit the pairs that they were trained on (thesis 3.3)",
        "  paraphrastic analyse fit runs/avg runs/lstm --data DATA --output analysis\n\n"
        "The pairs are those of the first model's recipe.",
    ),
    "negatives": (
        "the negatives that mega-batches of several sizes hold (thesis 4.5.5, Table 31)",
        "  paraphrastic analyse negatives runs/word --sizes 1 20 40 --data DATA "
        "--output analysis\n\n"
        "The pairs are those of the model's recipe.",
    ),
    "under-training": (
        "words that were rarely trained, beside the score of each dataset (thesis 3.3.1)",
        "  paraphrastic analyse under-training runs/paragram-phrase --data DATA --output analysis",
    ),
    "errors": (
        "sentence pairs on which one model is right and another wrong (2017 paper, Table 7)",
        "  paraphrastic analyse errors runs/lstm-avg runs/avg --data DATA --output analysis",
    ),
    "gates": (
        "gates of a GRAN by part of speech and dependency relation (2017 paper, 5.2)",
        "  paraphrastic analyse gates runs/gran --data DATA --output analysis",
    ),
    "variables": (
        "what the variables of a generative model hold: probes, style transfer, lines between "
        "sentences (thesis 5.7)",
        "  paraphrastic evaluate runs/bgt --suite probing --data DATA --output scores\n"
        "  paraphrastic analyse variables runs/bgt --probes scores/probing.json --data DATA "
        "--output analysis",
    ),
    "convergence": (
        "development scores over training, from the logs of runs (thesis 3.7.4)",
        "  paraphrastic analyse convergence runs/charagram-phrase runs/char-cnn --output analysis",
    ),
    "expected-costs": (
        "what translations are expected to cost over minimum risk training (thesis 7.5.2, Figure "
        "12)",
        "  paraphrastic analyse expected-costs runs/bleu runs/simile --output analysis",
    ),
    "data-amount": (
        "train a recipe on more and more pairs, in order and at random (thesis 3.3.2)",
        "  paraphrastic analyse data-amount \\\n"
        "      recipes/towards-universal-2016/paragram-phrase.yaml \\\n"
        "      --sizes 1000 10000 100000 --data DATA --output analysis/amount\n\n"
        "Run again, finished runs are kept; sizes may be added. Keys of the recipe are options, as "
        "in\n`paraphrastic train` (--epochs 5).",
    ),
    "ngram-vocabulary": (
        "train a recipe with other numbers and lengths of n-grams (thesis 3.7.5)",
        "  paraphrastic analyse ngram-vocabulary recipes/charagram-2016/charagram-phrase.yaml \\\n"
        "      --most 100 1000 50000 --lengths 2 2,3 2,3,4 --epochs 5 --lambda_all 0 \\\n"
        "      --data DATA --output analysis/ngrams",
    ),
    "languages": (
        "scores against shared pieces and language distance (thesis 5.3.2)",
        "  paraphrastic analyse languages multilingual --data DATA --output analysis\n"
        "  paraphrastic analyse languages recipes/simple-and-effective-2019/sp.yaml \\\n"
        "      --pairs 20000 --data DATA --output analysis/languages\n\n"
        "A model is scored on Tatoeba, language by language. Of a recipe a model is trained for "
        "each\nDATA/train/en-XX and scored on STS 2012-2016, as in the thesis. Distances are "
        "URIEL's:\npip install 'paraphrastic-hf[languages]'.",
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the kinds and their arguments."""
    parser.epilog = EPILOG
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    added = {}
    for name, (summary, example) in ANALYSES.items():
        kind = added[name] = kinds.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=f"example:\n{example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        kind.add_argument(
            "--output", required=True, help="the folder that tables and plots are written into"
        )
        if name not in OF_RUNS:
            add_data_option(kind, "which holds train, eval and words")
        recipe = name in ("data-amount", "ngram-vocabulary", "languages")
        kind.set_defaults(run=run, takes_overrides=recipe, recipe_kinds=("contrastive",))
    _neighbours_arguments(added["neighbours"])
    for name in OF_A_MODEL:
        added[name].add_argument(
            "model", help="a model directory, a packaged model or the name of a model on the Hub"
        )
    norms, weighting = added["norms"], added["weighting"]
    for kind, corpora in ((norms, ("ewt", "treebank")), (added["gates"], ("ewt",))):
        kind.add_argument(
            "--corpus",
            default="ewt",
            choices=corpora,
            help="the tagged corpus to take words from (default: ewt)",
        )
    norms.add_argument(
        "--words",
        metavar="FILE",
        help="a list of words with their counts (default: the one in DATA/words)",
    )
    weighting.add_argument(
        "--start",
        metavar="MODEL",
        help="the model that training started from (default: a random table)",
    )
    for kind in (weighting, added["under-training"]):
        kind.add_argument(
            "--text",
            nargs="+",
            metavar="FILE",
            help="text files to count tokens in (default: the pairs of the model's recipe)",
        )
    _fit_arguments(added["fit"])
    _negatives_arguments(added["negatives"])
    added["errors"].add_argument("models", nargs="+", help="the two models to compare")
    added["errors"].add_argument(
        "--count", type=int, default=10, help="how many pairs to show for each (default: 10)"
    )
    _variables_arguments(added["variables"])
    for name in OF_RUNS:
        added[name].add_argument("runs", nargs="+", help="folders that `paraphrastic train` wrote")
    amount, ngrams = added["data-amount"], added["ngram-vocabulary"]
    for kind in (amount, ngrams):
        kind.add_argument("recipe", help="the recipe to train, a YAML file with a development set")
    amount.add_argument(
        "--sizes",
        nargs="+",
        type=int,
        help="the numbers of pairs to train on (default: all, then half as many, until fewer than "
        "10)",
    )
    amount.add_argument(
        "--orders", nargs="+", default=["random", "ordered"], choices=["random", "ordered"],
        help="whether the first pairs are taken or random ones (default: both)",
    )  # fmt: skip
    ngrams.add_argument(
        "--most", nargs="+", type=int, default=[100, 1000, 50000],
        help="how many n-grams of each length to keep, one run for each number (default: 100 1000 "
        "50000)",
    )  # fmt: skip
    ngrams.add_argument(
        "--lengths", nargs="+", type=_lengths, metavar="N,N",
        default=[(2,), (2, 3), (2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 6)],
        help="the lengths of n-grams, one run for each set (default: 2 2,3 2,3,4 2,3,4,5 "
        "2,3,4,5,6)",
    )  # fmt: skip
    _languages_arguments(added["languages"])


def _neighbours_arguments(kind: argparse.ArgumentParser) -> None:
    kind.add_argument("models", nargs="+", help="one or more models, which are shown side by side")
    kind.add_argument(
        "--query",
        nargs="+",
        required=True,
        help="the words, phrases or n-grams whose neighbours are wanted",
    )
    kind.add_argument(
        "--among",
        metavar="FILE",
        help="the words or phrases to search, one a line (default: the list in DATA/words)",
    )
    kind.add_argument(
        "--rows", action="store_true",
        help="search the rows of the model's own table instead; _ stands for a space",
    )  # fmt: skip
    kind.add_argument(
        "--most", type=int, help="search only this many words or rows, from the first on"
    )
    kind.add_argument(
        "--neighbours",
        type=int,
        default=7,
        help="how many neighbours to show for each query (default: 7)",
    )


def _fit_arguments(kind: argparse.ArgumentParser) -> None:
    kind.add_argument("models", nargs="+", help="one or more models that were trained on the pairs")
    kind.add_argument("--pairs", type=int, help="how many pairs to draw at random (default: all)")
    kind.add_argument(
        "--batch-size", type=int, default=100,
        help="among how many pairs a negative is looked for (default: 100)",
    )  # fmt: skip


def _negatives_arguments(kind: argparse.ArgumentParser) -> None:
    kind.add_argument(
        "--sizes", nargs="+", type=int, default=[1, 20, 40], metavar="M",
        help="mini-batches of a mega-batch (default: 1 20 40)",
    )  # fmt: skip
    kind.add_argument(
        "--batch-size", type=int, default=100, help="pairs of a mini-batch (default: 100)"
    )
    kind.add_argument(
        "--pairs", type=int, default=20_000,
        help="how many pairs to draw at random (default: 20000)",
    )  # fmt: skip
    kind.add_argument(
        "--count", type=int, default=5, help="how many sentences to show (default: 5)"
    )


def _variables_arguments(kind: argparse.ArgumentParser) -> None:
    kind.add_argument(
        "--probes",
        metavar="FILE",
        help="probing.json of `paraphrastic evaluate MODEL --suite probing` (default: no probes)",
    )
    kind.add_argument(
        "--text",
        metavar="FILE",
        help="sentences, one a line (default: those of SICK's trial split)",
    )
    kind.add_argument("--language", default="en", help="the language to write (default: en)")
    kind.add_argument(
        "--encoder",
        metavar="MODEL",
        default="english",
        help="the model whose cosines say what is near in meaning (default: english)",
    )
    kind.add_argument(
        "--count", type=int, default=300, help="how many sentences to rewrite (default: 300)"
    )
    kind.add_argument(
        "--samples", type=int, default=8, help="how many of them to show (default: 8)"
    )
    kind.add_argument("--quiet", action="store_true", help="show no progress bars")


def _languages_arguments(kind: argparse.ArgumentParser) -> None:
    kind.add_argument(
        "model", metavar="MODEL_OR_RECIPE",
        help="a model directory or packaged model, or a recipe (.yaml) to train for each language",
    )  # fmt: skip
    kind.add_argument(
        "--bitext", metavar="DIR",
        help="a folder of folders en-XX with bitext (default: Tatoeba's sentences; for a recipe, "
        "DATA/train)",
    )  # fmt: skip
    kind.add_argument(
        "--pairs", type=int, default=10_000,
        help="how many sentence pairs of each language's bitext to use (default: 10000; of "
        "Tatoeba's sentences always all)",
    )  # fmt: skip
    kind.add_argument(
        "--apart", action="store_true",
        help="of a recipe: keep the pieces of each language apart from the English ones, as by the "
        "mark of thesis 5.3.2; overlap is that of pieces without marks",
    )  # fmt: skip
    kind.add_argument(
        "--without", nargs="+", default=[], metavar="CODE",
        help="the languages to leave out, such as those a model was trained on",
    )  # fmt: skip
    kind.add_argument(
        "--distances",
        metavar="FILE",
        help="a TSV file of distances between languages, to use instead of URIEL's",
    )
    kind.add_argument(
        "--threshold", type=float, default=0.3,
        help="the share of common pieces above which an overlap counts as high (default: 0.3)",
    )  # fmt: skip


@holds_output("analysing")
def run(arguments: argparse.Namespace) -> None:
    """Analyse, print the tables and say where the files are."""
    models = getattr(arguments, "models", [])
    for model in [arguments.model] if arguments.kind in OF_A_MODEL else models:
        check_model_name(model)
    if arguments.kind == "variables":
        check_model_kind(arguments.model, "LatentGenerator")
        check_model_name(arguments.encoder)
        check_inputs(*(each for each in (arguments.text, arguments.probes) if each))
    import logging

    from paraphrastic_hf.analyses.report import analysis_markdown, write_analysis
    from paraphrastic_hf.cli.shared import analyse_kinds

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("accelerate").setLevel(logging.WARNING)
    analyse: Callable[[Any], Analysis] = getattr(analyse_kinds, arguments.kind.replace("-", "_"))
    analysis = analyse(arguments)
    paths = write_analysis(analysis, arguments.output)
    print(analysis_markdown(analysis), *paths, sep="\n")


def _lengths(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))
