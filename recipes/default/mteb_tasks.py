"""Scores models on mteb's own tasks: `pip install 'paraphrastic-hf[mteb]'`.

    python recipes/default/mteb_tasks.py english tiny multilingual --data DATA

Main scores x 100: Spearman's rho for STS, F1 for Tatoeba, average precision for XNLI. STS12-16 is
the mean of five tasks, "across" of STS17 en-ar, en-tr and es-en, and Tatoeba of seven languages.
"""

import argparse
import sys
from pathlib import Path

import mteb
import numpy as np

from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.evaluation.mteb_tasks import MtebEncoder, local_tasks
from paraphrastic_hf.io.markdown import markdown_table

SEVEN = ("ara", "cmn", "deu", "fra", "rus", "spa", "tur")
COLUMNS = {  # (task, subset) pairs to average; tasks without languages have the subset `default`
    "STS12-16": [(f"STS{year}", "default") for year in range(12, 17)],
    "STS-B": [("STSBenchmark", "default")],
    "SICK-R": [("SICK-R", "default")],
    "STS17 en-en": [("STS17", "en-en")],
    "es-es": [("STS17", "es-es")],
    "across": [("STS17", name) for name in ("en-ar", "en-tr", "es-en")],
    "Tatoeba": [("Tatoeba", f"{name}-eng") for name in SEVEN],
    "XNLI en": [("XNLI", "en")],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "models", nargs="+", help="packaged models, directories or Hub repositories"
    )
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.models:
        encoder, tasks = MtebEncoder(load_encoder(name), name), local_tasks(arguments.data / "eval")
        scores = {
            (result.task_name, each["hf_subset"]): 100 * each["main_score"]
            for result in mteb.evaluate(encoder, tasks, cache=None).task_results
            for each in next(iter(result.scores.values()))
        }
        means = [np.mean([scores[part] for part in parts]) for parts in COLUMNS.values()]
        rows.append([name, *(f"{mean:.1f}" for mean in means)])
    print(*markdown_table(["model", *COLUMNS], rows, "l" + "r" * len(COLUMNS)), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ParaphrasticError) as error:
        sys.exit(str(error))
