"""Development sets for model selection, and a model's score on them.

`evaluation/suites/development.py` defines `clean`. `clean-and-bitext` averages the `clean` score
and the retrieval accuracy on held-out bitext (`held_out.py`). Other sets come from the papers and
overlap with reported test sets.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.folder import evaluation_files
from paraphrastic_hf.corpora.load import DATA_ROOT_VARIABLE
from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs, read_sts17, read_stsb
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.evaluation.measures.judged import Ranked
from paraphrastic_hf.evaluation.measures.similarity import Encode, cosines
from paraphrastic_hf.evaluation.own import OwnPairs, judge, read_own_pairs
from paraphrastic_hf.evaluation.suites.development import read_clean
from paraphrastic_hf.evaluation.suites.pairs import corpus_rows, scored_pairs
from paraphrastic_hf.metrics.resampling import Resampled
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.data.held_out import HeldOut, judged_retrieval
from paraphrastic_hf.training.engine.loop import Evaluation
from paraphrastic_hf.training.engine.paths import find_data_root, resolve_path

WORD_PARTS = ("ws353-sim", "ws353-rel")  # configurations of the corpus `wordsim`


def read_development(name: str, data_root: str | Path | None) -> Sequence[ScoredPairs] | None:
    """Read a development set: a named set from the data root, or a file of pairs.

    `none` gives None. `ws353-tuning` has two lists of word pairs (thesis, 3.5.3).
    """
    if name == "none":
        return None
    if names_file(name):
        return [read_own_pairs(resolve_path(name, data_root))]
    root = find_data_root(data_root)
    if root is None:
        raise RecipeError(
            f"run.development {name} requires the data folder. Set the folder with --data or "
            f"{DATA_ROOT_VARIABLE}, or train without a development set: --run.development none"
        )
    folder = evaluation_files(root)
    if name == "ws353-tuning":
        rows = {part: corpus_rows(folder, "wordsim", part) for part in WORD_PARTS}
        return [scored_pairs(part, "words", rows[part]) for part in WORD_PARTS]
    if name in ("clean", "clean-and-bitext"):
        return read_clean(folder)
    return [read_stsb(folder, "dev") if name == "stsb-dev" else read_sts17(folder, ["en-en"])[0]]


def development_scorer(
    name: str,
    tokenizer: TextTokenizer,
    suite: Sequence[ScoredPairs] | None,
    held_out: HeldOut | None = None,
) -> Callable[[SentenceEncoderModel], Evaluation] | None:
    """Return a function that computes a model's development score, or None without a set.

    The score is the mean of Pearson's r x 100 over the lists of `suite`. For `ws353-tuning` it is
    2 * rho(similar) - rho(related), with Spearman's rho x 100 (thesis, 3.5.3). With held-out bitext
    it is averaged with the retrieval accuracy.
    """
    if suite is None:
        return None

    def score(model: SentenceEncoderModel) -> Evaluation:
        encode = SentenceEncoder(model, tokenizer).encode
        parts = _parts(name, encode, suite)
        if held_out:
            found = judged_retrieval(encode, held_out)
            parts = [(weight / 2, part) for weight, part in parts]
            parts += [(1 / (2 * len(found)), part) for part in found]
        return Evaluation.of_parts(parts)

    return score


def _parts(
    name: str, encode: Encode, suite: Sequence[ScoredPairs]
) -> list[tuple[float, Resampled]]:
    if isinstance(suite[0], OwnPairs):
        return [(1.0, judge(encode, suite[0])[0])]
    measure = "spearman" if name == "ws353-tuning" else "pearson"
    weights = (2.0, -1.0) if name == "ws353-tuning" else (1 / len(suite),) * len(suite)
    return [
        (weight, Ranked(pairs.group, pairs.name, measure, cosine, np.asarray(pairs.scores)))
        for weight, pairs, cosine in zip(weights, suite, cosines(encode, suite), strict=True)
    ]
