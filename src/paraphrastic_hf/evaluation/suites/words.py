"""Similarity of words (thesis, 3.5.2 to 3.5.6 and 3.7.2.3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.errors import NotApplicableError
from paraphrastic_hf.evaluation.suite import Row, Suite
from paraphrastic_hf.evaluation.suites.pairs import corpus_task, scores_of
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.word import WordTokenizer, word_splitter


def unknown_share(encoder: Any, words: Sequence[str]) -> float | None:
    """Return the percentage of distinct words without a known token.

    It is None for tokenizers of other packages.
    """
    tokenizer = getattr(encoder, "tokenizer", None)
    if not hasattr(tokenizer, "keeps_to_words"):
        return None
    return 100 * float(_are_unknown(tokenizer, sorted(set(words))).mean())


def count_unknown(encoder: Any, texts: Sequence[str]) -> list[int]:
    """Count each text's words that are not in the vocabulary of the encoder's `WordTokenizer`."""
    tokenizer = getattr(encoder, "tokenizer", None)
    if not isinstance(tokenizer, WordTokenizer):
        raise NotApplicableError(f"requires a WordTokenizer, got a {type(tokenizer).__name__}")
    splitter = word_splitter()
    words = [
        [word for word, _ in splitter.pre_tokenize_str(normalize(text, tokenizer.lowercase))]
        for text in texts
    ]
    distinct = sorted({word for each in words for word in each})
    is_unknown = dict(zip(distinct, _are_unknown(tokenizer, distinct), strict=True))
    return [sum(bool(is_unknown[word]) for word in each) for each in words]


def _are_unknown(tokenizer: Any, words: Sequence[str]) -> np.ndarray:
    """Return, for each word, whether all its ids are 0 (padding) or 1 (unknown), (words,)."""
    return np.array([not (ids > 1).any() for ids in tokenizer.encode_batch(words)], bool)


# configuration of `wordsim` -> name in the papers
NAMES = {
    "simlex": "SL999",
    "ws353": "WS353",
    "ws353-sim": "WS-S",
    "ws353-rel": "WS-R",
    "rw": "RW",
    "men": "MEN",
    "simverb": "SimVerb",
    "mturk287": "MTurk287",
    "mturk771": "MTurk771",
    "rg65": "RG65",
    "mc30": "MC30",
    "yp130": "YP130",
    "verb143": "VERB143",
}
TUNED = "2 WS-S - WS-R"
GROUP = "words"


def _unknown(encoder: Any, pairs: ScoredPairs) -> dict[str, float]:
    share = unknown_share(encoder, pairs.first + pairs.second)
    return {} if share is None else {"unknown words, %": share}


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    scores = scores_of(rows, "spearman", GROUP, NAMES.values())
    first = _paper(*(scores[name] for name in ("SL999", "WS353", "WS-S", "WS-R")))
    return first | scores


def _paper(sl999: float, ws353: float, similar: float, related: float) -> dict[str, float]:
    scores = {"SL999": sl999, "WS353": ws353, "WS-S": similar, "WS-R": related}
    return {**scores, TUNED: 2 * similar - related}


WORDS = Suite(
    "Similarity of words: SimLex-999, WordSim-353 and its parts, RW, MEN and smaller sets (3.5, "
    "3.7.2.3)",
    "Spearman's rho x 100",
    {
        NAMES[config]: corpus_task(
            "wordsim", config, name=NAMES[config], group=GROUP, measure="spearman", more=_unknown
        )
        for config in SOURCES["wordsim"].configs
    },
    _headline,
    {
        "thesis PARAGRAM, tuned on WS353 (Table 11)": _paper(66.7, 76.9, 81.4, 73.0),
        "thesis PARAGRAM, tuned on SL999 (Table 11)": _paper(68.5, 72.0, 77.9, 65.2),
        "thesis PARAGRAM, 25 numbers, with constraints (Table 9)": {"SL999": 58.0},
        "skip-gram, 1,000 numbers (Table 9)": {"SL999": 38.0},
        "GloVe (Table 11)": _paper(37.6, 57.9, 63.0, 57.1),
        "thesis CHARAGRAM, tuned on SL999 (Table 14, RW 3.7.2.3)": {
            "SL999": 63.33,
            "WS353": 53.87,
            "RW": 47.1,
        },
        "thesis CHARAGRAM, large (Table 15)": {"SL999": 70.6},
    },
    notes=(
        f"{TUNED}: the score by which the thesis tunes word vectors (3.5.3).",
        "Unknown words: distinct words of a set without a known token; only for tokenizers of "
        "this package. Pairs with one have cosine 0.",
    ),
)
