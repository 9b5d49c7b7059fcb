"""Minimum Bayes risk decoding beside `mbrs` (Deguchi et al., 2024), in one run: the same lists, the
choices of both and processor seconds a list.

    pip install --no-deps --target mbrs-only mbrs fastchrf simple-parsing tabulate docstring-parser
    PYTHONPATH=mbrs-only python benchmarks/bayes_risk.py LISTS

`mbrs` is as its authors wrote it, but for the metrics of packages that want transformers 4 (COMET,
BLEURT, BERTScore, MetricX), which are left out. By SimiLE and SIM it decides through
`metrics/mbrs_plugin.py`; its BLEU is sacrebleu's and its chrF fastchrf's. A line of LISTS is the
number of a sentence and a candidate, tab-separated, as `paraphrastic translate --outputs` writes
them, with its score between or without.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from paraphrastic_hf.generation.bayes_risk import minimum_bayes_risk
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.metrics import mbrs_plugin
from paraphrastic_hf.metrics.utilities import UTILITIES, make_utility

LEFT_OUT = ("bertscore", "bleurt", "comet", "cometkiwi", "metricx", "xcomet")

Lists = list[list[str]]
Choose = Callable[[list[str]], int]


def load_mbrs() -> tuple[Any, Any]:
    """Its decoders and metrics, without what does not import beside this package."""
    for name in LEFT_OUT:
        module = ModuleType(f"mbrs.metrics.{name}")
        module.__getattr__ = lambda wanted: type(wanted, (), {})  # type: ignore[method-assign]
        sys.modules[module.__name__] = module
    import mbrs.decoders
    import mbrs.metrics

    return mbrs.decoders, mbrs.metrics


def theirs() -> dict[str, Choose]:
    """The decoders of mbrs by names."""
    decoders, metrics = load_mbrs()
    mbrs_plugin.register()
    found: dict[str, Choose] = {}
    for name in UTILITIES:
        kind = metrics.get_metric(name)
        metric = kind(kind.Config())
        ways = {"": decoders.DecoderMBR}
        if name in ("simile", "sim"):
            ways[", by the mean"] = decoders.DecoderAggregateMBR
        for way, decoder in ways.items():
            found[f"{name}{way}"] = partial(_first, decoder(decoder.Config(), metric))
    return found


def ours() -> dict[str, Choose]:
    """Ours by the same names."""
    found: dict[str, Choose] = {}
    for name in UTILITIES:
        utility = make_utility(name)
        for way in ["", ", by the mean"] if name in ("simile", "sim") else [""]:
            found[f"{name}{way}"] = partial(_ours, utility, bool(way))
    return found


def _first(decoder: Any, texts: list[str]) -> int:
    return int(decoder.decode(texts, texts).idx[0])


def _ours(utility: Any, aggregate: bool, texts: list[str]) -> int:
    return minimum_bayes_risk([texts], utility, aggregate=aggregate)[0].index


def timed(choose: Choose, lists: Lists) -> tuple[list[int], float]:
    """What is chosen of every list, and the processor seconds of one."""
    choose(lists[0])
    begun = time.process_time()
    chosen = [choose(texts) for texts in lists]
    return chosen, (time.process_time() - begun) / len(lists)


def read_lists(path: Path, most: int) -> Lists:
    """The candidates of the first sentences."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    grouped = itertools.groupby(rows, key=lambda row: row[0])
    return [[row[-1] for row in group] for _, group in itertools.islice(grouped, most)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", type=Path)
    parser.add_argument("--most", type=int, default=50, help="sentences (default: 50)")
    parser.add_argument("--output", type=Path, help="write a JSON file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lists, own, other = read_lists(arguments.lists, arguments.most), ours(), theirs()
    print(f"{len(lists)} lists of {len(lists[0])}")
    print("| metric | ours, ms a list | mbrs, ms a list | same choice |\n|---|---:|---:|---:|")
    found = {}
    for name, choose in own.items():
        (chosen, seconds), (peer, peer_seconds) = timed(choose, lists), timed(other[name], lists)
        same = sum(map(int.__eq__, chosen, peer)) / len(lists)
        found[name] = {"ours": seconds, "mbrs": peer_seconds, "same": same}
        print(f"| {name} | {1e3 * seconds:.1f} | {1e3 * peer_seconds:.1f} | {100 * same:.0f} % |")
    if arguments.output:
        write_json(arguments.output, found)


if __name__ == "__main__":
    main()
