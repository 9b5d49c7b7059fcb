"""Speed of minimum Bayes risk decoding, compared with `mbrs` (Deguchi et al., 2024).

    pip install --no-deps --target mbrs-only mbrs fastchrf simple-parsing tabulate docstring-parser
    paraphrastic translate runs/mle captions.de --sample --top-p 1 --outputs 64 --output samples.tsv
    PYTHONPATH=mbrs-only python benchmarks/bayes_risk.py samples.tsv

Both choose from the same lists, in one run on one thread. Times are processor seconds. Metrics of
mbrs that need transformers 4 (COMET, BLEURT, BERTScore, MetricX) are left out. mbrs uses SimiLE and
SIM through `mbrs_plugin.py`, BLEU of sacrebleu and chrF of fastchrf.
"""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import mbrs_plugin
import torch
from common.report import Table, options, save, settings
from common.timing import timed

from paraphrastic_hf.generation.bayes_risk import minimum_bayes_risk
from paraphrastic_hf.metrics.utilities import UTILITIES, make_utility

LEFT_OUT = ("bertscore", "bleurt", "comet", "cometkiwi", "metricx", "xcomet")
WITH_MEAN = ("simile", "sim")  # utilities that can also compare with the mean of the samples

Choose = Callable[[list[str]], int]


def load_mbrs() -> tuple[Any, Any]:
    """Import the decoders and metrics of mbrs, except metrics that cannot be imported here."""
    for name in LEFT_OUT:
        module = ModuleType(f"mbrs.metrics.{name}")
        module.__getattr__ = lambda wanted: type(wanted, (), {})  # type: ignore[method-assign]
        sys.modules[module.__name__] = module
    import mbrs.decoders
    import mbrs.metrics

    mbrs_plugin.register()
    return mbrs.decoders, mbrs.metrics


def contenders() -> Iterator[tuple[str, Choose, Choose]]:
    """Yield, for each metric, its name, our decoder and the decoder of mbrs."""
    decoders, metrics = load_mbrs()
    for name in UTILITIES:
        utility, kind = make_utility(name), metrics.get_metric(name)
        metric = kind(kind.Config())
        for by_mean in (False, True) if name in WITH_MEAN else (False,):
            decoder = decoders.DecoderAggregateMBR if by_mean else decoders.DecoderMBR
            peer = decoder(decoder.Config(), metric)
            yield (
                f"{name}, by the mean" if by_mean else name,
                lambda texts, u=utility, m=by_mean: (
                    minimum_bayes_risk([texts], u, aggregate=m)[0].index
                ),
                lambda texts, peer=peer: int(peer.decode(texts, texts).idx[0]),
            )


def main() -> None:
    parser = options(__doc__, threads=None)
    text = "tab-separated candidates: sentence number, optional score, candidate"
    parser.add_argument("lists", type=Path, help=text)
    parser.add_argument("--most", type=int, default=50, help="maximum number of sentences")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = [line.split("\t") for line in args.lists.read_text(encoding="utf-8").splitlines()]
    grouped = itertools.islice(itertools.groupby(rows, key=lambda row: row[0]), args.most)
    lists = [[row[-1] for row in group] for _, group in grouped]
    found: dict[str, dict[str, float]] = {}
    for name, *both in contenders():
        seconds, chosen = [], []
        for choose in both:
            choose(lists[0])
            spent, indices = timed(list, map(choose, lists), clock=time.process_time)
            seconds.append(spent / len(lists))
            chosen.append(indices)
        same = sum(map(int.__eq__, *chosen)) / len(lists)
        ours, mbrs = (1e3 * each for each in seconds)
        found[name] = {"ours": ours, "mbrs": mbrs, "same choice": 100 * same}
    results = {"settings": settings(args, "mbrs", "torch"), "measured": found}
    save(args, results, Table("metric, ms a list", found, ".1f"))


if __name__ == "__main__":
    main()
