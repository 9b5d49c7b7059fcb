"""Training speed of translators, compared with `Seq2SeqTrainer` on the same Marian.

It measures target tokens per second on the same German-English pairs, in one run, and the loss of
held-out pairs afterwards.

* **marian** and **gated_conv** are `TrainingLoop` with `kind: translation`.
* **trainer** is `Seq2SeqTrainer` with batches by length. Its Marian has the same width, depth,
  vocabulary and initial values.

All train in float32 once over the pairs, with equally many tokens of both sides per batch on
average, and score the whole vocabulary. They take turns. Figures are medians, with the range.

Quick test: --pairs 100 --repetitions 1
"""

import argparse
import tempfile
from pathlib import Path

import torch
from common import training
from common.report import Table, options, save, settings
from common.timing import in_turns, spread, timed
from transformers import MarianMTModel

from paraphrastic_hf.training.seq2seq.objective import nats_of_targets
from paraphrastic_hf.training.translation.job import Translation

RECIPES = Path(__file__).parents[1] / "recipes" / "beyond-bleu-2019"
NAMES = {"marian": "small-marian", "trainer": "small-marian", "gated_conv": "small-mle"}
OPTIONS = "--epochs 1 --average 1 --development none --log_every 1000 --schedule inverse_root"
OPTIONS += f" --warmup_steps {training.WARM_UP} --anneal null --anneal_from null"
HELD_OUT = 200


def run_trainer(setting: training.Setting, folder: Path, batch_tokens: int) -> float:
    """Train a stock Marian with `Seq2SeqTrainer`, copy its weights, and return the seconds."""
    torch.manual_seed(1)
    marian = MarianMTModel(setting.model.config)
    texts = setting.kind.corpus.sentences
    pairs = [(texts[a].tolist(), texts[b].tolist()) for a, b in setting.kind.kept]
    trainer = training.stock_trainer(marian, pairs, setting.recipe.training, batch_tokens, folder)
    seconds, _ = timed(trainer.train)
    setting.model.load_state_dict(marian.state_dict(), strict=False)
    return seconds


def measure(name: str, args: argparse.Namespace, work: Path, folder: Path) -> tuple[float, float]:
    """Return target tokens per second of one contender, and held-out nats per token afterwards."""
    options = [*OPTIONS.split(), "--batch_tokens", str(args.batch_tokens)]
    recipe = RECIPES / f"{NAMES[name]}.yaml"
    setting = training.Setting(Translation, recipe, options, work, args)
    kind = setting.kind
    kind.kept = kind.kept[setting.chosen]
    if name == "trainer":
        seconds = run_trainer(setting, folder, args.batch_tokens)
    else:
        seconds = training.run_ours(setting, folder)
    texts, held_out = kind.corpus.sentences, kind.held_out[:HELD_OUT]
    nats = nats_of_targets(setting.model, texts, held_out, kind.start, 2000).sum()
    tokens = texts.lengths(kind.kept)[:, 1].sum()
    return float(tokens / seconds), float(nats / texts.lengths(held_out[:, 1]).sum())


def main() -> None:
    parser = options(__doc__, threads=2, repetitions=3, data=True)
    parser.add_argument("--pairs", type=int, default=4000, help="pairs to train on once")
    parser.add_argument(
        "--batch-tokens", type=int, default=2000, help="tokens per step, both sides"
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in in_turns(NAMES, args.repetitions):
            place = Path(folder) / f"{name}-{number}"
            runs[name].append(measure(name, args, Path(folder) / NAMES[name], place))
    found = {}
    for name, each in runs.items():
        speeds, nats = map(spread, zip(*each, strict=True))
        found[name] = {"target tokens/s": speeds, "held-out nats a token": nats}
    results = {"settings": settings(args, "torch", "transformers"), "measured": found}
    save(args, results, Table("translator", found, ",.4g"))


if __name__ == "__main__":
    main()
