"""Scores the leading dimensions of a model in three orders of its axes.

    python recipes/default/prefixes.py --data DATA

Orders: widest first (principal axes), spread (as `nested_dimensions` orders them, and as
`multilingual` is packaged), and turned by a random rotation. `english` is packaged widest first,
which its row `spread` shows. Pearson's r x 100 on STS-B dev / STS17 en-en, and on SICK-R with
frozen vectors of all dimensions.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.corpora.readers.sts_files import read_sts17, read_stsb
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.evaluation.measures.similarity import score_suite
from paraphrastic_hf.evaluation.suites.transfer import TRANSFER
from paraphrastic_hf.training.encoder.finish import spread

SIZES = (32, 64, 128, 256, 512)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=["multilingual"])
    parser.add_argument("--seed", type=int, default=1, help="seed of the rotation (default: 1)")
    arguments = parser.parse_args()
    folder = arguments.data / "eval"
    suite = [read_stsb(folder, "dev"), *read_sts17(folder, ["en-en"])]
    for name in arguments.models:
        packaged = SentenceEncoder.from_pretrained(name)
        table = packaged.table()
        assert table is not None
        size = table.shape[1]
        widest = np.empty_like(table)
        widest[:, spread(size)] = table
        noise = np.random.default_rng(arguments.seed).standard_normal((size, size))
        turned = (table.astype(float) @ np.linalg.qr(noise)[0]).astype(np.float32)
        for order, rows in (("widest first", widest), ("spread", table), ("turned", turned)):
            encoder = SentenceEncoder.from_table(rows, packaged.tokenizer, name)
            cells = []
            for dimension in (each for each in SIZES if each <= size):
                found = score_suite(encoder.with_dimension(dimension).encode, suite)
                cells.append(" / ".join(f"{row.scores['pearson']:.1f}" for row in found))
            sick = TRANSFER.tasks["SICK-R"](encoder, folder)[0].scores["pearson"]
            print(f"| {name}, {order} | {' | '.join(cells)} | SICK-R {sick:.1f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ParaphrasticError) as error:
        sys.exit(str(error))
