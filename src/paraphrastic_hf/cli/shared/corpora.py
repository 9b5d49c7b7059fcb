"""Options that several actions of `corpus` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.parser import Parser

if TYPE_CHECKING:
    from paraphrastic_hf.pipelines.recipe import MakeArguments
    from paraphrastic_hf.pipelines.steps.base import Score

CORPORA = "corpora: folders of `corpus make`, parquet or TSV files"
MAKE_KEYS = """\
Set any key of the group `make` of a corpus recipe with --KEY VALUE: executor, workers, partition,
memory, cpus, gpus, patience, attempts. `paraphrastic corpus make RECIPE --keys make` explains them.
"""


def make_arguments(overrides: Sequence[str]) -> MakeArguments:
    """Return the settings of `--KEY VALUE`, for tasks of an executor."""
    from paraphrastic_hf.config.recipe import build, check_bounds, parse_overrides
    from paraphrastic_hf.pipelines.recipe import MakeArguments

    make = build(MakeArguments, dict(parse_overrides(overrides)))
    check_bounds(make)
    return make


def add_score_options(parser: Parser, what: str, encoder: str | None = "english") -> None:
    """Add `--score` and `--encoder`. `what` describes the scores."""
    which = parser.add_mutually_exclusive_group()
    parser.option("--score COLUMN", f"column of {what}", group=which)
    parser.option(
        "--encoder MODEL", f"encoder for {what}, unless --score is given", encoder, group=which
    )


def chosen_score(arguments: argparse.Namespace) -> Score:
    """Return the function from rows to scores that `--score` or `--encoder` names."""
    from paraphrastic_hf.pipelines.read import numbers_of
    from paraphrastic_hf.pipelines.steps.scores import ParaphraseScore

    if arguments.score:
        return numbers_of(arguments.score)
    return ParaphraseScore(model=arguments.encoder).score


def batches_of(arguments: argparse.Namespace) -> Iterator[Sequence[Any]]:
    """Yield the rows of the corpora in batches, with the column of `--score` if given."""
    from paraphrastic_hf.pipelines.read import read_corpus

    columns = [arguments.score] if arguments.score else []
    for path in arguments.corpus:
        yield from read_corpus(path, columns)
