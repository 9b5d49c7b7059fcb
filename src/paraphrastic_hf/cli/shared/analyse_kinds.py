"""From the arguments of `paraphrastic analyse KIND` to the analysis of that kind, by its name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paraphrastic_hf.analyses.report import Analysis
from paraphrastic_hf.cli.shared.options import data_root
from paraphrastic_hf.corpora.folder import evaluation_files
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import DataError, RecipeError

if TYPE_CHECKING:
    from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe

WORDS = "words/enwiki_vocab_min200.txt.xz"


def neighbours(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.neighbours import neighbours as analyse
    from paraphrastic_hf.corpora.readers.words import read_word_list

    among = None
    if arguments.rows and arguments.among:
        raise DataError("--rows looks in the model's own table; leave out --rows or --among")
    if not arguments.rows:
        path = arguments.among or Path(data_root(arguments.data, "the word list")) / WORDS
        among = list(read_word_list(path, arguments.most))
    encoders = {_name(model): load_encoder(model) for model in arguments.models}
    if len(encoders) < len(arguments.models):
        raise DataError("two models have one name; rename a directory")
    return analyse(
        encoders, arguments.query, among=among, most=arguments.most, count=arguments.neighbours
    )


def norms(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.norms import norms as analyse
    from paraphrastic_hf.analyses.tagged import read_tagged
    from paraphrastic_hf.corpora.readers.words import read_word_list

    root = Path(data_root(arguments.data, "the tagged corpus"))
    counts = read_word_list(arguments.words or root / WORDS)
    sentences = read_tagged(arguments.corpus, evaluation_files(root))
    return analyse(load_encoder(arguments.model), sentences, counts, name=_name(arguments.model))


def weighting(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses import weighting as analysis

    root = data_root(arguments.data, "the STS files")
    encoder, name = load_encoder(arguments.model), _name(arguments.model)
    table = analysis.trained_table(encoder, name)
    start = analysis.random_start(table)
    if arguments.start:
        earlier = load_encoder(arguments.start)
        start = analysis.given_start(table, encoder.tokenizer.tokens(), earlier)
    counts = analysis.token_counts(encoder.tokenizer, _counted_text(arguments, root))
    return analysis.weighting(encoder, start, counts, evaluation_files(root), name=name)


def fit(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.fit import fit as analyse

    pairs = _drawn_pairs(arguments.models[0], arguments, "name another model first")
    encoders = {_name(model): load_encoder(model) for model in arguments.models}
    if len(encoders) < len(arguments.models):
        raise DataError("two models have one name; rename a directory")
    return analyse(encoders, pairs, batch_size=arguments.batch_size)


def negatives(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.negatives import negatives as analyse

    pairs = _drawn_pairs(arguments.model, arguments, "give another model")
    return analyse(
        load_encoder(arguments.model),
        pairs,
        name=_name(arguments.model),
        sizes=arguments.sizes,
        batch_size=arguments.batch_size,
        count=arguments.count,
    )


def under_training(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.under_training import read_22
    from paraphrastic_hf.analyses.under_training import under_training as analyse
    from paraphrastic_hf.analyses.weighting import token_counts

    root = data_root(arguments.data, "the STS files")
    datasets = read_22(evaluation_files(root))
    encoder = load_encoder(arguments.model)
    counts = token_counts(encoder.tokenizer, _counted_text(arguments, root))
    return analyse(encoder, counts, datasets, name=_name(arguments.model))


def errors(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.errors import errors as analyse
    from paraphrastic_hf.corpora.readers.sts_files import read_sts_year

    data_dir = evaluation_files(data_root(arguments.data, "the STS files"))
    datasets = [
        pairs
        for year in ("2012", "2013", "2014", "2015")
        for pairs in read_sts_year(data_dir, year)
    ]
    models = arguments.models
    if len(models) != 2:
        raise DataError(f"errors are compared of two models, got {len(models)}")
    return analyse(
        load_encoder(models[0]),
        load_encoder(models[1]),
        datasets,
        names=(_name(models[0]), _name(models[1])),
        count=arguments.count,
    )


def gates(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.gates import gates as analyse
    from paraphrastic_hf.analyses.tagged import read_tagged

    encoder = load_encoder(arguments.model)
    root = Path(data_root(arguments.data, "the tagged corpus"))
    return analyse(
        encoder, read_tagged(arguments.corpus, evaluation_files(root)), name=_name(arguments.model)
    )


def variables(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.variables import read_probes
    from paraphrastic_hf.analyses.variables import variables as analyse
    from paraphrastic_hf.corpora.load import load_dataset
    from paraphrastic_hf.generation.latent import LatentGenerator
    from paraphrastic_hf.io.lines import text_lines

    generator = LatentGenerator.from_pretrained(arguments.model)
    judge = load_encoder(arguments.encoder)
    if arguments.text is not None:
        texts = [line for _, line in text_lines(Path(arguments.text))]
    else:
        root = data_root(arguments.data, "SICK's sentences")
        rows = load_dataset("sick", split="validation", data_dir=evaluation_files(root))
        texts = [row["sentence1"] for row in rows]
    probes = None
    if arguments.probes is not None:
        probes = read_probes(arguments.probes, load_encoder(arguments.model))
    try:
        return analyse(
            generator,
            judge,
            list(dict.fromkeys(text for text in texts if text.strip())),
            language=arguments.language,
            probes=probes,
            count=arguments.count,
            samples=arguments.samples,
            name=_name(arguments.model),
            progress=not arguments.quiet and sys.stderr.isatty(),
        )
    except ValueError as error:  # of a language that the model has not
        raise DataError(str(error)) from error


def convergence(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.convergence import convergence as analyse

    return analyse(arguments.runs)


def expected_costs(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses.expected_costs import expected_costs as analyse

    return analyse(arguments.runs)


def data_amount(arguments: argparse.Namespace) -> Analysis:
    recipe = _recipe(arguments.recipe, arguments.overrides)
    root = data_root(arguments.data, "the training text")
    from paraphrastic_hf.analyses.data_amount import data_amount as analyse

    return analyse(
        recipe,
        arguments.output,
        sizes=arguments.sizes,
        orders=arguments.orders,
        data_root=root,
    )


def ngram_vocabulary(arguments: argparse.Namespace) -> Analysis:
    recipe = _recipe(arguments.recipe, arguments.overrides)
    root = data_root(arguments.data, "the training text")
    from paraphrastic_hf.analyses.ngram_vocabulary import ngram_vocabulary as analyse

    return analyse(
        recipe,
        arguments.output,
        most=arguments.most,
        orders=arguments.lengths,
        data_root=root,
    )


def languages(arguments: argparse.Namespace) -> Analysis:
    from paraphrastic_hf.analyses import distances as uriel
    from paraphrastic_hf.analyses import language_scores as scores
    from paraphrastic_hf.analyses.languages import languages as analyse
    from paraphrastic_hf.corpora.load import find_source

    is_recipe = Path(arguments.model).suffix in (".yaml", ".yml")
    if arguments.overrides and not is_recipe:
        raise RecipeError(
            f"unknown option {arguments.overrides[0]}: {arguments.model} is no recipe (.yaml), "
            "whose keys are options"
        )
    if arguments.pairs < 1:
        raise DataError(f"--pairs must be 1 or more, got {arguments.pairs}")
    root = Path(data_root(arguments.data, "the text"))
    if arguments.distances:
        distances, source = (
            uriel.read_distances(arguments.distances),
            Path(arguments.distances).name,
        )
    else:
        names = {*find_source("tatoeba").configs, *scores.TATOEBA}
        distances, source = uriel.uriel_distances(sorted(names)), uriel.CITED
    for name in arguments.without:
        if distances.pop(name, None) is None:
            raise DataError(
                f"--without {name}: no such language; Tatoeba's codes have three letters, those of "
                "bitext folders two"
            )
    if arguments.apart and not is_recipe:
        raise RecipeError(
            f"--apart is about models to train, and {arguments.model} is no recipe (.yaml): leave "
            "it out"
        )
    if not is_recipe:
        found = scores.of_one_model(
            load_encoder(arguments.model),
            evaluation_files(root),
            distances,
            bitext=arguments.bitext,
            pairs=arguments.pairs,
        )
        unit, name = "Tatoeba accuracy x 100", _name(arguments.model)
    else:
        found = scores.of_runs(
            _recipe(arguments.model, arguments.overrides),
            arguments.output,
            arguments.bitext or root / "train",
            distances,
            pairs=arguments.pairs,
            apart=arguments.apart,
            data_root=root,
        )
        unit, name = "STS 2012-2016, Pearson r x 100", Path(arguments.model).stem
    options = {"threshold": arguments.threshold, "apart": arguments.apart}
    return analyse(found, unit=unit, source=source, name=name, **options)


def _name(model: str) -> str:
    return Path(model).name


def _recipe(path: str, overrides: Sequence[str]) -> ContrastiveRecipe:
    from paraphrastic_hf.training.kinds import load_contrastive

    return load_contrastive(path, overrides)


def _counted_text(arguments: argparse.Namespace, root: str) -> Iterable[str]:
    """The lines of `--text`; if not given, both sides of the model's training pairs."""
    from paraphrastic_hf.io.blocks import read_blocks

    if arguments.text:
        return chain.from_iterable(chain.from_iterable(map(read_blocks, arguments.text)))
    return chain.from_iterable(_training_pairs(arguments.model, root, "give --text"))


def _drawn_pairs(model: str, arguments: argparse.Namespace, way_out: str) -> list[tuple[str, str]]:
    """`--pairs` of those that a model's recipe names, at random."""
    root = data_root(arguments.data, "the training pairs")
    found = list(_training_pairs(model, root, way_out))
    drawn = np.random.default_rng(1).permutation(len(found))[: arguments.pairs]
    return [found[number] for number in drawn]


def _training_pairs(model: str, root: str, way_out: str) -> Iterator[tuple[str, str]]:
    """The pairs that a model's recipe names."""
    from paraphrastic_hf.encoders.storage.locate import packaged_folder
    from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
    from paraphrastic_hf.training.data.sources import read_sources
    from paraphrastic_hf.training.kinds import load_recipe

    folder = Path(model) if Path(model).is_dir() else packaged_folder(model)
    try:
        recipe = load_recipe(folder / "recipe.yaml")
        has_pairs = isinstance(recipe, ContrastiveRecipe)
        sources = read_sources(recipe, root) if has_pairs else None
    except (RecipeError, DataError) as error:
        raise DataError(
            f"the text {model} was trained on is not at hand ({error}); {way_out}"
        ) from error
    if sources is None:
        raise DataError(
            f"{model} was not trained by a contrastive recipe, whose pairs alone are read; "
            f"{way_out}"
        )
    return (pair for source in sources for pair in source.pairs)
