"""`paraphrastic analyze KIND ... --output DIR`: the analyses of the papers.

The analysis KIND is the function of this name in the file `analyses/KIND.py`. Options with the name
of a parameter are passed to it. A function registered by the decorator `kind` returns the others.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.options import MODEL as ENCODER
from paraphrastic_hf.cli.shared.options import (
    add_data_option,
    data_errors,
    data_root,
    evaluation_folder,
    shows_progress,
)
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, RecipeError

if TYPE_CHECKING:
    from paraphrastic_hf.encoders.encoder import SentenceEncoder

WORDS = "words/enwiki_vocab_min200.txt.xz"
EPILOG = """\
An analysis prints its tables and writes KIND.md, KIND.json, KIND.tsv and a plot, KIND.png.
`paraphrastic analyze KIND --help` explains a kind.

examples:
  paraphrastic analyze neighbors english --query huge 'not able' --data DATA --output analysis
  paraphrastic analyze norms runs/word --data DATA --output analysis"""


Argument = dict[str, Any]  # arguments of `Parser.option`
Inputs = dict[str, Any]  # arguments of an analysis


class Kind(NamedTuple):
    inputs: Callable[[argparse.Namespace], Inputs]
    summary: str
    epilog: str
    arguments: tuple[Argument, ...]


ANALYSES: dict[str, Kind] = {}


def argument(name: str, help: str, default: Any = None, **options: Any) -> Argument:
    return {"name": name, "help": help, "default": default, **options}


def flag(name: str, help: str) -> Argument:
    return argument(name, help, False, action="store_true")


def kind(summary: str, example: str, *arguments: Argument, note: str = "") -> Callable[[Any], Any]:
    """Register an analysis under the name of the function that returns its inputs.

    `example` are the words of a command after the kind, without `--output analysis` at its end.
    """

    def register(inputs: Callable[[argparse.Namespace], Inputs]) -> Any:
        name = inputs.__name__.replace("_", "-")
        command = f"example:\n  paraphrastic analyze {name} {example} --output analysis"
        ANALYSES[name] = Kind(inputs, summary, f"{note}\n\n{command}".strip(), arguments)
        return inputs

    return register


def configure(parser: Parser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    for name, each in ANALYSES.items():
        added = kinds.add_parser(
            name,
            help=each.summary,
            description=f"{each.summary[0].upper()}{each.summary[1:]}.",
            epilog=each.epilog,
        )
        added.option("--output DIR", "folder for the tables and plots", required=True)
        if RUNS not in each.arguments:
            add_data_option(added, "analyses read its folders train, eval and words")
        for options in each.arguments:
            added.option(**options)
        takes_overrides = RECIPE in each.arguments or MODEL_OR_RECIPE in each.arguments
        added.set_defaults(takes_overrides=takes_overrides, recipe_kinds=("contrastive",))


@holds_output("analyzing")
def run(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.analyses.report import analysis_markdown, write_analysis

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("accelerate").setLevel(logging.WARNING)
    name = arguments.kind.replace("-", "_")
    analyze = getattr(importlib.import_module(f"paraphrastic_hf.analyses.{name}"), name)
    known = inspect.signature(analyze).parameters
    options = {option: value for option, value in vars(arguments).items() if option in known}
    inputs = ANALYSES[arguments.kind].inputs(arguments)
    with data_errors() if name == "variables" else nullcontext():
        analysis = analyze(**options | inputs)
    paths = write_analysis(analysis, arguments.output)
    print(analysis_markdown(analysis), *paths, sep="\n")


MODEL = argument("model", ENCODER)
RUNS = argument("runs", "folders that `paraphrastic train` wrote", nargs="+")
RECIPE = argument("recipe", "recipe to train: a YAML file with a development set")
MODEL_OR_RECIPE = argument(
    "model MODEL_OR_RECIPE",
    "model directory or packaged model, or a recipe (.yaml) to train per language",
)
TEXT = argument(
    "--text FILE", "text files whose tokens are counted (default: pairs of the recipe)", nargs="+"
)


@kind(
    "list the nearest words, phrases or n-grams, models side by side (thesis, 3.4, 3.8.2)",
    "runs/word english --query vehicals huge 'not able' --most 50000",
    argument("models", "one or more encoders", nargs="+"),
    argument(
        *("--query", "words, phrases or n-grams to find neighbors of"),
        nargs="+",
        required=True,
        dest="queries",
    ),
    argument(
        "--among FILE", "words or phrases to search, one per line (default: the list in DATA/words)"
    ),
    flag("--rows", "search the model's own table (_ is a space)"),
    argument(
        "--most", "words or rows to search, from the start of the list (default: all)", type=int
    ),
    argument("--neighbors", "neighbors shown per query", 7, dest="count"),
)
def neighbors(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.corpora.readers.words import read_word_list

    among = None
    if arguments.rows and arguments.among:
        raise DataError("--rows and --among cannot be used together. Leave one out")
    if not arguments.rows:
        path = arguments.among or Path(data_root(arguments.data, "the word list")) / WORDS
        among = list(read_word_list(path, arguments.most))
    return {"among": among, "encoders": _encoders(arguments.models)}


@kind(
    "average the norms of word vectors by part of speech and by frequency (thesis, 3.4)",
    "runs/word --data DATA",
    MODEL,
    argument("--corpus", "tagged corpus", "ewt", choices=("ewt", "treebank")),
    argument("--words FILE", "file of words with their counts (default: the one in DATA/words)"),
)
def norms(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.analyses.tagged import read_tagged
    from paraphrastic_hf.corpora.readers.words import read_word_list

    root = Path(data_root(arguments.data, "the tagged corpus"))
    return {
        "counts": read_word_list(arguments.words or root / WORDS),
        "sentences": read_tagged(arguments.corpus, evaluation_folder(arguments.data)),
        **_encoder(arguments),
    }


@kind(
    "measure how much of the training gain token weights alone explain (thesis, 3.4)",
    "runs/word --start runs/before --text text.txt --data DATA",
    MODEL,
    argument("--start MODEL", "model that training started from (default: a random table)"),
    TEXT,
)
def weighting(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.analyses import weighting as analysis

    data_dir, named = evaluation_folder(arguments.data), _encoder(arguments)
    encoder = named["encoder"]
    table = analysis.trained_table(**named)
    start = analysis.random_start(table)
    if arguments.start:
        earlier = _load(arguments.start)
        start = analysis.given_start(table, encoder.tokenizer.tokens(), earlier)
    counts = analysis.token_counts(encoder.tokenizer, _counted_text(arguments))
    return {"start": start, "counts": counts, "data_dir": data_dir, **named}


@kind(
    "measure how well encoders fit their training pairs (thesis, 3.3)",
    "runs/avg runs/lstm --data DATA",
    argument("models", "one or more encoders trained on the pairs", nargs="+"),
    argument("--pairs", "size of a random sample of pairs (default: all)", type=int),
    argument("--batch-size", "pairs among which a negative is chosen", 100),
    note="The pairs are those of the first model's recipe.",
)
def fit(arguments: argparse.Namespace) -> Inputs:
    pairs = _drawn_pairs(arguments.models[0], arguments, "Choose another model first")
    return {"pairs": pairs, "encoders": _encoders(arguments.models)}


@kind(
    "show the negatives in mega-batches of several sizes (thesis, 4.5.5, Table 31)",
    "runs/word --sizes 1 20 40 --data DATA",
    MODEL,
    argument(
        "--sizes M", "sizes in mini-batches (default: 1 20 40)", [1, 20, 40], nargs="+", type=int
    ),
    argument("--batch-size", "pairs per mini-batch", 100),
    argument("--pairs", "size of the random sample of pairs", 20_000),
    argument("--count", "sentences shown", 5),
    note="The pairs are those of the model's recipe.",
)
def negatives(arguments: argparse.Namespace) -> Inputs:
    pairs = _drawn_pairs(arguments.model, arguments, "Choose another model")
    return {"pairs": pairs, **_encoder(arguments)}


@kind(
    "relate rarely trained words to the score of each dataset (thesis, 3.3.1)",
    "runs/paragram-phrase --data DATA",
    MODEL,
    TEXT,
)
def under_training(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.analyses.under_training import read_22
    from paraphrastic_hf.analyses.weighting import token_counts

    datasets, named = read_22(evaluation_folder(arguments.data)), _encoder(arguments)
    counts = token_counts(named["encoder"].tokenizer, _counted_text(arguments))
    return {"counts": counts, "datasets": datasets, **named}


@kind(
    "list sentence pairs on which only one of two models is right (2017 paper, Table 7)",
    "runs/lstm-avg runs/avg --data DATA",
    argument("models", "two encoders to compare", nargs=2),
    argument("--count", "pairs shown per model", 10),
)
def errors(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.corpora.readers.sts_files import read_sts_year

    data_dir = evaluation_folder(arguments.data)
    years = ("2012", "2013", "2014", "2015")
    datasets = [pairs for year in years for pairs in read_sts_year(data_dir, year)]
    return {"datasets": datasets, "encoders": _encoders(arguments.models)}


@kind(
    "average a GRAN's gates by part of speech and dependency relation (2017 paper, 5.2)",
    "runs/gran --data DATA",
    MODEL,
)
def gates(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.analyses.tagged import read_tagged

    sentences = read_tagged("ewt", evaluation_folder(arguments.data))
    return {"sentences": sentences, **_encoder(arguments)}


@kind(
    "probe the latent variables of a generative model, transfer style and interpolate "
    "(thesis, 5.7)",
    "runs/bgt --probes scores/probing.json --data DATA",
    MODEL,
    argument(
        "--probes FILE", "probing.json of `paraphrastic evaluate --suite probing` (default: none)"
    ),
    argument("--text FILE", "file of sentences, one per line (default: SICK's trial split)"),
    argument("--language CODE", "language to write", "en"),
    argument("--encoder MODEL", "encoder for the similarity of meaning", "english"),
    argument("--count", "sentences to rewrite", 300),
    argument("--samples", "sentences shown", 8),
    flag("--quiet", "show no progress bars"),
)
def variables(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.analyses.variables import read_probes
    from paraphrastic_hf.corpora.load import load_dataset
    from paraphrastic_hf.generation.latent import LatentGenerator
    from paraphrastic_hf.io.lines import text_lines

    generator = LatentGenerator.from_pretrained(arguments.model)
    if arguments.text is not None:
        texts = [line for _, line in text_lines(Path(arguments.text))]
    else:
        data_dir = evaluation_folder(arguments.data)
        rows = load_dataset("sick", split="validation", data_dir=data_dir)
        texts = [row["sentence1"] for row in rows]
    return {
        "generator": generator,
        "judge": _load(arguments.encoder),
        "texts": list(dict.fromkeys(text for text in texts if text.strip())),
        "probes": arguments.probes and read_probes(arguments.probes, _load(arguments.model)),
        "name": _name(arguments.model),
        "progress": shows_progress(arguments),
    }


@kind(
    "plot development scores over training, from the logs of runs (thesis, 3.7.4)",
    "runs/charagram-phrase runs/char-cnn",
    RUNS,
)
def convergence(arguments: argparse.Namespace) -> Inputs:
    return {"runs": _by_name(arguments.runs)}


@kind(
    "plot the expected cost over minimum risk training (thesis, 7.5.2, Figure 12)",
    "runs/bleu runs/simile",
    RUNS,
)
def expected_costs(arguments: argparse.Namespace) -> Inputs:
    return {"runs": _by_name(arguments.runs)}


@kind(
    "train a recipe on increasing numbers of pairs (thesis, 3.3.2)",
    "own.yaml --sizes 1000 10000 100000 --epochs 5",
    RECIPE,
    argument(
        "--sizes",
        "numbers of training pairs (default: all, half, and so on to 10)",
        nargs="+",
        type=int,
    ),
    argument(
        "--orders",
        "pairs to train on: random pairs, the first pairs, or both in separate runs (default: "
        "both)",
        ["random", "ordered"],
        nargs="+",
        choices=["random", "ordered"],
    ),
    note="The same command keeps finished runs; sizes may be added. Set keys of the recipe with\n"
    "--KEY VALUE, as in `paraphrastic train`.",
)
def data_amount(arguments: argparse.Namespace) -> Inputs:
    return _recipe(arguments.recipe, arguments)


@kind(
    "train a recipe with several numbers and lengths of n-grams (thesis, 3.7.5)",
    "own.yaml --most 100 1000 50000 --lengths 2 2,3 2,3,4 --epochs 5",
    RECIPE,
    argument(
        "--most",
        "n-grams kept of each length, one run per number (default: 100 1000 50000)",
        [100, 1000, 50000],
        nargs="+",
        type=int,
    ),
    argument(
        "--lengths N,N",
        "lengths of n-grams, one run per set (default: 2 2,3 2,3,4 2,3,4,5 2,3,4,5,6)",
        [tuple(range(2, end)) for end in range(3, 8)],
        nargs="+",
        type=lambda text: tuple(map(int, text.split(","))),
        dest="orders",
    ),
)
def ngram_vocabulary(arguments: argparse.Namespace) -> Inputs:
    return _recipe(arguments.recipe, arguments)


@kind(
    "relate scores to shared subwords and language distance (thesis, 5.3.2)",
    "multilingual --data DATA",
    MODEL_OR_RECIPE,
    argument(
        "--bitext DIR",
        "folder with a folder en-XX of bitext per language (default: Tatoeba's sentences; for a "
        "recipe, DATA/train)",
    ),
    argument("--pairs", "pairs per language (not for Tatoeba's sentences)", 10_000, least=1),
    flag(
        "--apart",
        "for a recipe: mark the subwords of each language so that it shares none with English "
        "(thesis, 5.3.2). Overlap is computed without marks",
    ),
    argument("--without CODE", "languages to leave out, such as those of training", [], nargs="+"),
    argument("--distances FILE", "TSV file of language distances, instead of URIEL's"),
    argument("--threshold", "share of common subwords above which overlap is high, 0 to 1", 0.3),
    note="A model is scored on Tatoeba, per language. A recipe is trained on each\n"
    "DATA/train/en-XX and scored on STS 2012-2016, as in the thesis. Distances are URIEL's: pip\n"
    "install 'paraphrastic-hf[languages]'.",
)
def languages(arguments: argparse.Namespace) -> Inputs:
    from paraphrastic_hf.analyses import distances as uriel
    from paraphrastic_hf.analyses import language_scores as scores
    from paraphrastic_hf.corpora.load import find_source

    is_recipe = Path(arguments.model).suffix in (".yaml", ".yml")
    if arguments.overrides and not is_recipe:
        raise RecipeError(
            f"Unknown option {arguments.overrides[0]}. Only a recipe (.yaml) has keys to set"
        )
    root = Path(data_root(arguments.data, "the text"))
    if arguments.distances:
        distances, source = uriel.read_distances(arguments.distances), _name(arguments.distances)
    else:
        names = {*find_source("tatoeba").configs, *scores.TATOEBA}
        distances, source = uriel.uriel_distances(sorted(names)), uriel.CITED
    for name in arguments.without:
        if distances.pop(name, None) is None:
            raise DataError(
                f"--without {name}: unknown language. Codes have three letters for Tatoeba and "
                "two for bitext folders"
            )
    if arguments.apart and not is_recipe:
        raise RecipeError(f"--apart requires a recipe (.yaml), got {arguments.model}")
    if not is_recipe:
        found = scores.of_one_model(
            _load(arguments.model),
            evaluation_folder(arguments.data),
            distances,
            bitext=arguments.bitext,
            pairs=arguments.pairs,
        )
        unit, name = "Tatoeba accuracy x 100", _name(arguments.model)
    else:
        found = scores.of_runs(
            bitext=arguments.bitext or root / "train",
            distances=distances,
            pairs=arguments.pairs,
            apart=arguments.apart,
            **_recipe(arguments.model, arguments),
        )
        unit, name = "STS 2012-2016, Pearson r x 100", Path(arguments.model).stem
    return {"found": found, "unit": unit, "source": source, "name": name}


def _name(model: str) -> str:
    return Path(model).name


def _by_name(paths: Sequence[str]) -> dict[str, str]:
    """Return the paths by their last parts, or by the whole paths if two last parts are equal."""
    names = [_name(path) for path in paths]
    if len(set(names)) < len(paths):
        names = [str(Path(path)) for path in paths]
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{name} is given {count} times. Leave out all but one")
    return dict(zip(names, paths, strict=True))


def _load(model: str) -> SentenceEncoder:
    from paraphrastic_hf.encoders.load import load_encoder

    return load_encoder(model)


def _encoder(arguments: argparse.Namespace) -> Inputs:
    return {"encoder": _load(arguments.model), "name": _name(arguments.model)}


def _encoders(models: Sequence[str]) -> dict[str, SentenceEncoder]:
    return {name: _load(model) for name, model in _by_name(models).items()}


def _recipe(path: str, arguments: argparse.Namespace) -> Inputs:
    """Return the recipe with its overrides, the folder of its runs, and the data folder."""
    from paraphrastic_hf.training.kinds import load_contrastive

    recipe = load_contrastive(path, arguments.overrides)
    root = data_root(arguments.data, "the training text")
    return {"recipe": recipe, "folder": arguments.output, "data_root": root}


def _counted_text(arguments: argparse.Namespace) -> Iterable[str]:
    """Yield the lines of `--text`, or by default both sides of the model's training pairs."""
    from paraphrastic_hf.io.lines import read_blocks

    if arguments.text:
        return chain.from_iterable(chain.from_iterable(map(read_blocks, arguments.text)))
    return chain.from_iterable(_training_pairs(arguments.model, arguments, "Pass --text"))


def _drawn_pairs(model: str, arguments: argparse.Namespace, fix: str) -> list[tuple[str, str]]:
    import numpy as np

    found = list(_training_pairs(model, arguments, fix))
    drawn = np.random.default_rng(1).permutation(len(found))[: arguments.pairs]
    return [found[number] for number in drawn]


def _training_pairs(
    model: str, arguments: argparse.Namespace, fix: str
) -> Iterator[tuple[str, str]]:
    from paraphrastic_hf.encoders.storage.locate import packaged_folder
    from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
    from paraphrastic_hf.training.data.sources import read_sources
    from paraphrastic_hf.training.kinds import load_recipe

    root = data_root(arguments.data, "the training pairs")
    folder = Path(model) if Path(model).is_dir() else packaged_folder(model)
    try:
        recipe = load_recipe(folder / "recipe.yaml")
        has_pairs = isinstance(recipe, ContrastiveRecipe)
        sources = read_sources(recipe, root) if has_pairs else None
    except (RecipeError, DataError) as error:
        raise DataError(f"Cannot read the training text of {model} ({error}). {fix}") from error
    if sources is None:
        raise DataError(
            f"{model} has no recipe of kind contrastive, and thus no training pairs. {fix}"
        )
    return (pair for source in sources for pair in source.pairs)
