"""Learn to combine six features of a translation on the human scores of one year, score the other.

    learned.py DATA

Ridge regression on newstest2015 is scored on newstest2016, and the reverse. The features were
selected by cross-validation over the language pairs of newstest2015. Prints Spearman's rho x 100.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import numpy as np

from paraphrastic_hf import SentenceEncoder, SimileScorer
from paraphrastic_hf.corpora.load import find_source, load_dataset
from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.evaluation.measures.similarity import spearman
from paraphrastic_hf.io.markdown import markdown_table
from paraphrastic_hf.metrics.matching import load_matching
from paraphrastic_hf.metrics.windows import LEAST, SHIFT

RIDGE = 1e-3  # times the number of translations
YEARS = ("newstest2015", "newstest2016")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the data folder")
    data = parser.parse_args().data
    scorer = SimileScorer("english-window", similarity="strict-windows")
    features, human, windows = {}, {}, {}
    for config in find_source("wmt_da").configs:
        rows = load_dataset("wmt_da", config, data_dir=data, streaming=True, split="test")
        references, outputs, scores = zip(
            *((row["sentence1"], row["sentence2"], row["score"]) for row in rows), strict=True
        )
        windows[config] = scorer.score(outputs, references).sim
        features[config] = featurize(list(outputs), list(references), windows[config])
        human[config] = np.array(scores)
    table = {}
    for learned, tested in (YEARS, YEARS[::-1]):
        predict = fit(
            *(
                [each[name] for name in each if name.startswith(learned)]
                for each in (features, human)
            )
        )
        for name in (name for name in features if name.startswith(tested)):
            pair = (windows[name], predict(features[name]))
            table[name] = [spearman(each, human[name]) for each in pair]
        found = [row for name, row in table.items() if name.startswith(tested)]
        table[f"{tested}, mean"] = [fmean(column) for column in zip(*found, strict=True)]
    lines = [[name, *(f"{value:.1f}" for value in row)] for name, row in table.items()]
    print("\n".join(markdown_table(["", "strict windows", "learned on the other year"], lines)))


def featurize(outputs: list[str], references: list[str], windows: np.ndarray) -> np.ndarray:
    """Return six features of each translation, (segments, 6)."""
    encoder = SentenceEncoder.from_pretrained("english-window")
    rows = encoder.token_vectors()
    ids, reference_ids = map(encoder.tokenizer.encode_batch, (outputs, references))
    matches = [
        token_precision(rows[own], rows[other])
        for own, other in zip(ids, reference_ids, strict=True)
    ]
    words, reference_words = (
        np.log([len(text.split()) + 1 for text in texts]) for texts in (outputs, references)
    )
    chrf = load_matching("chrF")(outputs, [[text] for text in references])
    return np.column_stack([windows, chrf, reference_words, words - reference_words, matches])


def token_precision(tokens: np.ndarray, references: np.ndarray) -> tuple[float, float]:
    """Return the arithmetic mean of the tokens' best cosines, and the log of the geometric mean.

    Means are weighted by the square root of the length of the token vectors. As in strict windows,
    distance in the text lowers a cosine.
    """
    if not len(tokens) or not len(references):
        return LEAST, np.log(LEAST)
    weights = np.sqrt(np.linalg.norm(tokens, axis=1))
    here, there = ((np.arange(len(side)) + 0.5) / len(side) for side in (tokens, references))
    cosines = unit_length(tokens) @ unit_length(references).T
    cosines -= SHIFT * np.abs(here[:, None] - there)
    best = np.maximum(cosines.max(1), LEAST)
    return np.average(best, weights=weights), np.average(np.log(best), weights=weights)


def fit(features: list[np.ndarray], human: list[np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Fit ridge regression to the standardized human scores of several language pairs."""
    x = np.concatenate(features)
    y = np.concatenate([(scores - scores.mean()) / scores.std() for scores in human])
    mean, deviation = x.mean(0), x.std(0)
    scaled = (x - mean) / deviation
    penalty = RIDGE * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(scaled.T @ scaled + penalty, scaled.T @ y)
    return lambda values: (values - mean) / deviation @ weights


if __name__ == "__main__":
    main()
