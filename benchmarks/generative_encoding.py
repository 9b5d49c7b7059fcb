"""Encoding speed of a generative model's sentence encoder, compared with a sentence transformer.

Both encode the same first sentences of STS 2012 to 2016 in batches of 64 sorted by length, in
float32 on the same threads, in turns. Figures are medians, with the range.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from common.report import Table, options, save, settings, times
from common.timing import in_turns, spread, timed
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import load_dataset
from paraphrastic_hf.encoders.load import load_encoder


def main() -> None:
    parser = options(__doc__, threads=2, repetitions=3, data=True)
    parser.add_argument("model", type=Path, help="model directory of `paraphrastic train`")
    parser.add_argument("--peer", required=True, help="model for SentenceTransformer")
    parser.add_argument("--lines", type=int, default=4000, help="sentences")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    names = [f"sts{year}" for year in range(12, 17)]
    sets = [load_dataset("sts", name, split="test", data_dir=args.data / "eval") for name in names]
    text = list(dict.fromkeys(line for rows in sets for line in rows["sentence1"]))[: args.lines]
    ours = load_encoder(str(args.model))
    peer = SentenceTransformer(args.peer, device="cpu")
    encoders: dict[str, Callable[[list[str]], object]] = {
        "ours": lambda texts: ours.encode(texts, batch_size=64),
        "peer": lambda texts: peer.encode(texts, batch_size=64),
    }
    for encode in encoders.values():
        encode(text[:64])
    runs: dict[str, list[float]] = {name: [] for name in encoders}
    for _, name in in_turns(encoders, args.repetitions):
        runs[name].append(len(text) / timed(encoders[name], text)[0])
    rates = {name: spread(each) for name, each in runs.items()}
    results = {"settings": settings(args, "torch", "sentence-transformers"), "measured": rates}
    over = {
        name: {"sentences/s": rate, "ours over it": times(rates["ours"], rate)}
        for name, rate in rates.items()
    }
    save(args, results, Table("encoder", over))


if __name__ == "__main__":
    main()
