"""The sets that pick the best checkpoint, by their recipe names, and a model's score on one.

`clean` is the mean that `evaluation/development.py` defines; `clean-and-bitext` is the mean of it
and of how often translations are found among pairs held out of training (`held_out.py`). The others
are the papers': parts of them are in sets that are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from paraphrastic_hf.data.folder import evaluation_files
from paraphrastic_hf.data.load import DATA_ROOT_VARIABLE
from paraphrastic_hf.data.sts_files import ScoredPairs, read_sts17, read_stsb
from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.evaluation.development import read_clean
from paraphrastic_hf.evaluation.pairs import corpus_rows, scored_pairs
from paraphrastic_hf.evaluation.similarity import DatasetScore, score_suite
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.held_out import HeldOut, retrieval
from paraphrastic_hf.training.places import find_data_root

WORD_PARTS = ("ws353-sim", "ws353-rel")  # configurations of `wordsim`, in this order


def read_development(name: str, data_root: str | Path | None) -> list[ScoredPairs] | None:
    """A development set by its recipe name, from `eval/` in the data root; None for `none`.

    `ws353-tuning` is two lists, the similar and the related pairs of WordSim-353 (thesis, 3.5.3).

    Raises:
        DataError: Its files are not there.
        RecipeError: There is no data root to look in.
    """
    if name == "none":
        return None
    root = find_data_root(data_root)
    if root is None:
        raise RecipeError(
            f"the development set {name} is read from the folder of all data: give --data or "
            f"{DATA_ROOT_VARIABLE}, or train without one: --development none"
        )
    try:
        return _read(name, evaluation_files(root))
    except DataError as error:
        way_out = "or train without a development set: --development none"
        raise type(error)(f"{error}; {way_out}") from error


def _read(name: str, folder: Path) -> list[ScoredPairs]:
    if name == "ws353-tuning":
        rows = {part: corpus_rows(folder, "wordsim", part) for part in WORD_PARTS}
        return [scored_pairs(part, "words", rows[part]) for part in WORD_PARTS]
    if name in ("clean", "clean-and-bitext"):
        return read_clean(folder)
    return [read_stsb(folder, "dev") if name == "stsb-dev" else read_sts17(folder, ["en-en"])[0]]


def development_scorer(
    name: str,
    tokenizer: TextTokenizer,
    suite: list[ScoredPairs] | None,
    held_out: HeldOut | None = None,
) -> Callable[[SentenceEncoderModel], float] | None:
    """A function from a model to its score on what `read_development` gave.

    It is the mean of Pearson's r x 100 of the lists. Words are tuned by another figure (3.5.3):
    twice Spearman's rho x 100 on the first list less that on the second, similar words near,
    related ones far. Held-out pairs of bitext count as much as all lists together.

    Args:
        name: The recipe's name of the set.
        tokenizer: The model's.
        suite: What `read_development` gave.
        held_out: Pairs of bitext that training does not see, by their languages.
    """
    if suite is None:
        return None
    of_pairs = _words_apart if name == "ws353-tuning" else _mean_pearson

    def score(model: SentenceEncoderModel) -> float:
        encoder = SentenceEncoder(model, tokenizer)
        similarity = of_pairs(score_suite(encoder.encode, suite).datasets)
        return (similarity + retrieval(encoder.encode, held_out)) / 2 if held_out else similarity

    return score


def _mean_pearson(found: list[DatasetScore]) -> float:
    return float(np.mean([each.pearson for each in found]))


def _words_apart(found: list[DatasetScore]) -> float:
    similar, related = found
    return 2 * similar.spearman - related.spearman
