"""Suites of one corpus: SICK and Twitter (thesis, 3.2), and STS 2017 (5.2.3, 5.6.4)."""

from collections.abc import Callable, Sequence

from paraphrastic_hf.corpora.readers.sts_files import STS17_TRACKS, read_sts17
from paraphrastic_hf.evaluation.suite import Row, Suite
from paraphrastic_hf.evaluation.suites.pairs import PairsTask, corpus_task, scores_of

TRACKS = ("ar-ar", "ar-en", "es-es", "es-en", "en-en", "tr-en")  # order of Table 43


def _both(group: str) -> Callable[[Sequence[Row]], dict[str, float]]:
    return lambda rows: {
        measure.title(): scores_of(rows, measure, group, ["test"])["test"]
        for measure in ("pearson", "spearman")
    }


def _sts17_headline(rows: Sequence[Row]) -> dict[str, float]:
    return scores_of(rows, "pearson", "STS17", dict.fromkeys((*TRACKS, *STS17_TRACKS)))


def _tracks(*values: float) -> dict[str, float]:
    return dict(zip(TRACKS, values, strict=True))


SICK = Suite(
    "SICK: relatedness of sentence pairs by cosine, without training (3.2.2, 3.7.2.4)",
    "Pearson's r and Spearman's rho x 100, test set",
    {"SICK": corpus_task("sick", name="test", group="SICK")},
    _both("SICK"),
    {
        "thesis PARAGRAM-PHRASE XXL (Table 4)": {"Pearson": 72.7},
        "thesis CHARAGRAM-PHRASE (Table 16)": {"Pearson": 70.0},
        "GRAN (2017 paper)": {"Pearson": 72.9},
        "GloVe (Table 2)": {"Pearson": 65.9},
    },
)
TWITTER = Suite(
    "Twitter: paraphrases among tweets of one topic, PIT-2015 (3.2.2, 3.7.2.4)",
    "Pearson's r and Spearman's rho x 100, test set",
    {"Twitter": corpus_task("twitter", name="test", group="Twitter")},
    _both("Twitter"),
    {
        "thesis PARAGRAM-PHRASE XXL (Table 4)": {"Pearson": 52.4},
        "thesis CHARAGRAM-PHRASE (Table 16)": {"Pearson": 53.6},
        "GloVe (Table 2)": {"Pearson": 30.3},
    },
    notes=("All 972 test pairs, scored by the experts' degree of similarity.",),
)
STS17 = Suite(
    "STS 2017: similarity within and across languages (5.2.3, 5.6.4)",
    "Pearson r x 100",
    {"STS17": PairsTask(read_sts17)},
    _sts17_headline,
    {
        "thesis SP, 1M OpenSubtitles pairs (Table 43)": _tracks(75.6, 74.7, 85.4, 76.4, 84.5, 77.2),
        "thesis SP, 10M, 1024 numbers (Table 43)": _tracks(76.2, 75.0, 86.2, 78.3, 84.5, 77.5),
        "random SP (Table 43)": _tracks(58.3, 16.1, 68.2, 10.4, 66.6, 22.2),
        "thesis BGT (Table 50)": {
            "es-es": 85.7,
            "ar-ar": 74.9,
            "es-en": 75.6,
            "ar-en": 73.5,
            "tr-en": 74.9,
        },
        "best of the task (Table 43)": _tracks(75.4, 74.9, 85.6, 83.0, 85.5, 77.1),
    },
    notes=(
        "es-en-wmt is track 4b, which the papers omit. The papers' models of en-es, en-ar and "
        "en-tr know these languages; English models do not.",
    ),
)
