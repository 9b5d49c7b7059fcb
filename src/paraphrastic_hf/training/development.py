"""The sets that pick the best checkpoint, by their recipe names, and a model's score on one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from paraphrastic_hf.data.folder import evaluation_files
from paraphrastic_hf.data.sts_files import ScoredPairs, read_sts17, read_stsb
from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.evaluation.pairs import corpus_rows, scored_pairs
from paraphrastic_hf.evaluation.similarity import score_suite
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.arguments import DATA_ROOT_VARIABLE

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
    root = data_root if data_root is not None else os.environ.get(DATA_ROOT_VARIABLE)
    if root is None:
        raise RecipeError(
            f"the development set {name} is read from the folder of all data: give --data or "
            f"{DATA_ROOT_VARIABLE}, or train without one: --development none"
        )
    folder = evaluation_files(root)
    if name == "ws353-tuning":
        rows = {part: corpus_rows(folder, "wordsim", part) for part in WORD_PARTS}
        return [scored_pairs(part, "words", rows[part]) for part in WORD_PARTS]
    return [read_stsb(folder, "dev") if name == "stsb-dev" else read_sts17(folder, ["en-en"])[0]]


def development_scorer(
    tokenizer: TextTokenizer, suite: list[ScoredPairs] | None
) -> Callable[[SentenceEncoderModel], float] | None:
    """A function from a model to its score on what `read_development` gave.

    Of one list it is Pearson's r x 100; of two, as words are tuned by (3.5.3), twice Spearman's
    rho x 100 on the first less that on the second: similar words near, related ones far.
    """
    if suite is None:
        return None

    def score(model: SentenceEncoderModel) -> float:
        found = score_suite(SentenceEncoder(model, tokenizer).encode, suite).datasets
        if len(found) == 1:
            return found[0].pearson
        return 2 * found[0].spearman - found[1].spearman

    return score
