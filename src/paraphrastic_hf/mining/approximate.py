"""Nearest neighbors with FAISS, exact (`flat`) or approximate (`ivf`). The index is in memory.

An inverted file (IVF) assigns vectors to k-means cells and searches only the cells nearest to a
query, so it is fast but misses some neighbors.
"""

import math
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.extras import require
from paraphrastic_hf.mining.neighbors import Neighbors, plan_search, rescored
from paraphrastic_hf.mining.vectors import ROWS_AT_A_TIME, UnitRows

PROBES = 32
ROWS_A_CELL = 39  # FAISS warns below this number of training vectors per cell


def nearest_by_faiss(
    source: UnitRows,
    target: UnitRows,
    k: int,
    *,
    kind: str = "flat",
    probes: int = PROBES,
    progress: bool = False,
) -> tuple[Neighbors, Neighbors]:
    """Find the neighbors that `neighbors.nearest` finds. `ivf` searches only `probes` cells."""
    require("mining", "faiss", what="--index faiss")
    keep = plan_search(source, target, k, 1).keep
    found = []
    with tqdm(
        total=len(source) + len(target), desc="searching", unit=" rows", disable=not progress
    ) as bar:
        for queries, corpus in ((source, target), (target, source)):
            index = _index(corpus, kind, probes)
            columns = np.full((len(queries), keep), -1, np.int64)
            for start in range(0, len(queries), ROWS_AT_A_TIME):
                part = queries.take(slice(start, start + ROWS_AT_A_TIME))
                columns[start : start + len(part)] = index.search(part, keep)[1]
                bar.update(len(part))
            del index
            found.append(rescored(queries, corpus, columns, k, ROWS_AT_A_TIME))
    return found[0], found[1]


def cells(rows: int) -> int:
    """Choose the number of cells of an inverted file: 4 sqrt(rows), or fewer for few vectors."""
    return max(1, min(int(4 * math.sqrt(rows)), rows // ROWS_A_CELL))


def _index(corpus: UnitRows, kind: str, probes: int) -> Any:
    import faiss

    index: Any = faiss.IndexFlatIP(corpus.dimension)
    if kind == "ivf" and len(corpus) > 0:
        number = cells(len(corpus))
        index = faiss.IndexIVFFlat(index, corpus.dimension, number, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = probes
        most = min(len(corpus), number * index.cp.max_points_per_centroid)
        chosen = np.sort(np.random.default_rng(1).choice(len(corpus), most, replace=False))
        index.train(corpus.take(chosen))
    for start in range(0, len(corpus), ROWS_AT_A_TIME):
        index.add(corpus.take(slice(start, start + ROWS_AT_A_TIME)))
    return index
