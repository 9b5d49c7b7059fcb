"""Scores each encoder on STS-B dev before and after one epoch on 20,000 pairs.

    python recipes/encoders/first_epoch.py --data DATA --output runs/first-epoch
    python recipes/encoders/first_epoch.py --data DATA --output runs/first-epoch --only 'lstm*'

Each row is a recipe on a tenth of its pairs with batches of 128, learning rate 1e-3, no penalty
and the recipe's seed. Scores are Pearson's r x 100. A second call resumes.
"""

import argparse
import json
from fnmatch import fnmatch
from pathlib import Path

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.corpora.readers.sts_files import read_stsb
from paraphrastic_hf.evaluation.measures.similarity import score_suite
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_contrastive

RECIPES = Path(__file__).resolve().parent.parent
SHARE = 10  # train on one pair in ten
SETTINGS = "--batch_size 128 --learning_rate 1e-3 --lambda_w 0 --lambda_c 0 --lambda_all 0"
SETTINGS += " --development none"
ICLR, ACL, EMNLP = "towards-universal-2016", "revisiting-recurrent-2017", "charagram-2016"
ROWS = [  # name, recipe, options, epochs
    ("average", f"{ICLR}/paragram-phrase", "", 1),
    ("projection", f"{ICLR}/projection", "", 1),
    ("DAN, 2 layers, tanh", f"{ICLR}/dan", "--layers 2", 1),
    ("RNN", f"{ICLR}/rnn", "", 1),
    ("RNN, 3 epochs", f"{ICLR}/rnn", "", 3),
    ("identity-RNN, lambda_c 1", f"{ICLR}/identity-rnn", "--lambda_c 1", 1),
    ("LSTM, last state", f"{ICLR}/lstm", "", 1),
    ("LSTM without output gate", f"{ICLR}/lstm-no-output-gate", "", 1),
    (
        "LSTM without output gate, recurrent_std 0.1",
        f"{ICLR}/lstm-no-output-gate",
        "--recurrent_std 0.1",
        1,
    ),
    ("LSTM with end marks, last state", f"{ACL}/lstm", "", 1),
    ("LSTM AVG", f"{ACL}/lstm-avg", "", 1),
    ("LSTM AVG, dropout, scrambling", f"{ACL}/lstm-avg-regularized", "", 1),
    (
        "LSTM AVG, dropout, scrambling after negatives",
        f"{ACL}/lstm-avg-regularized",
        "--scramble_before_negatives false",
        1,
    ),
    ("LSTM AVG without peepholes", f"{ACL}/lstm-avg", "--peepholes false", 1),
    (
        "BiLSTM AVG, added",
        f"{ACL}/bilstm-avg",
        "--embedding_dropout 0 --scramble 0",
        1,
    ),
    ("GRAN", f"{ACL}/gran-unregularized", "", 1),
    ("CHARAGRAM-PHRASE", f"{EMNLP}/charagram-phrase", "", 1),
    ("charCNN", f"{EMNLP}/char-cnn", "", 1),
    ("charLSTM, MIX", f"{EMNLP}/char-lstm", "", 1),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--only", default="*", help="glob pattern of row names (default: all)")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if fnmatch(row[0], arguments.only)]
    if not rows:
        names = ", ".join(name for name, *_ in ROWS)
        parser.error(f"--only {arguments.only!r} matches no row. Rows: {names}")
    for name, recipe, options, epochs in rows:
        folder = arguments.output / name.replace(", ", "-").replace(" ", "-")
        scores = []
        for number in (0, epochs):
            path = folder / str(number)
            scores.append(score(recipe, options, number, path, arguments.data))
        print(f"| {name} | {scores[0]:.1f} | {scores[1]:.1f} |", flush=True)


def score(recipe: str, options: str, epochs: int, folder: Path, data_root: Path) -> float:
    """Return Pearson's r x 100 on STS-B dev after `epochs`, cached in the folder."""
    record = folder / "first_epoch.json"
    if not record.exists():
        path, given = RECIPES / f"{recipe}.yaml", [*SETTINGS.split(), *options.split()]
        given += ["--epochs", str(epochs)]
        sources = []
        for source in load_contrastive(path).data.sources:
            assert source.max_pairs is not None
            sources.append({"path": source.path, "max_pairs": source.max_pairs // SHARE})
        made = load_contrastive(path, [*given, "--sources", *map(json.dumps, sources)])
        train(made, folder, data_root=data_root, progress=False)
        encoder = SentenceEncoder.from_pretrained(folder)
        (found,) = score_suite(encoder.encode, [read_stsb(data_root / "eval", "dev")])
        write_json(record, {"pearson": found.scores["pearson"]})
    return float(json.loads(record.read_text(encoding="utf-8"))["pearson"])


if __name__ == "__main__":
    main()
