"""Sentences per second of a model's sentence encoder beside a stock sentence transformer, in one
run on the same lines: `python benchmarks/generative_encoding.py MODEL --peer DIR --data DATA
--output DIR`.

Both encode the lines in batches of 64 sorted by length, in float32 on the same threads, in turn;
the figure is the best of the repetitions. The lines are first sentences of STS 2012 to 2016.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import load_dataset
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.io.files import write_json

SETS = ("sts12", "sts13", "sts14", "sts15", "sts16")


def lines(data: str, count: int) -> list[str]:
    """First sentences of the sets of STS, each once."""
    found: dict[str, None] = {}
    for name in SETS:
        rows = load_dataset("sts", name, split="test", data_dir=Path(data) / "eval")
        found.update(dict.fromkeys(rows["sentence1"]))
    return list(found)[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a directory that `paraphrastic train` wrote")
    parser.add_argument("--peer", required=True, help="what SentenceTransformer loads")
    parser.add_argument("--data", required=True, help="the folder of all data")
    parser.add_argument("--lines", type=int, default=4000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", required=True, help="folder of the results")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    text = lines(args.data, args.lines)
    ours = load_encoder(args.model)
    peer = SentenceTransformer(args.peer, device="cpu")
    contenders: dict[str, Callable[[Sequence[str]], np.ndarray]] = {
        "ours": lambda texts: ours.encode(texts, batch_size=64),
        "peer": lambda texts: peer.encode(list(texts), batch_size=64),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for encode in contenders.values():
        encode(text[:64])
    for _ in range(args.repetitions):
        for name, encode in contenders.items():
            start = time.perf_counter()
            encode(text)
            best[name] = min(best[name], time.perf_counter() - start)
    results = {
        "lines": len(text),
        "threads": args.threads,
        "repetitions": args.repetitions,
        "load_average": os.getloadavg()[0],
        "machine": platform.processor() or platform.machine(),
        "sentences_per_second": {name: round(len(text) / best[name], 1) for name in best},
        "ours_over_peer": round(best["peer"] / best["ours"], 2),
    }
    Path(args.output).mkdir(parents=True, exist_ok=True)
    write_json(Path(args.output) / "generative-encoding.json", results)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
