"""Sentences a second of a span parser, and how its time grows with the length.

    python benchmarks/parsing.py --model runs/parser --output results/parsing.json

It parses sentences of GUM's test split, from text, on one thread. Seconds are of the processor, so
that others at work on the machine count less. Growth: the first words of sentences strung together;
chart decoding grows with the third power of the length at last, and scores of spans with the
second. Loading is not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import torch

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.predictors.parser import SentenceParser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a parser that this package trained")
    parser.add_argument("--data", default=os.environ.get("PARAPHRASTIC_DATA"))
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 20, 40, 80, 160, 320, 500])
    parser.add_argument("--words", type=int, default=2000, help="of all sentences of one length")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = load_dataset("gum", split="test", streaming=True, data_dir=f"{given.data}/eval")
    texts = [row["text"] for row in rows if not set(row["text"]) <= set("_ ")]
    ours = SentenceParser.from_pretrained(given.model)
    ours.parse(texts[:5])
    found: dict[str, object] = {"load_average_before": os.getloadavg()[0]}
    lines = texts[:: max(1, len(texts) // given.sentences)][: given.sentences]
    found["text"] = {"ours": measured(ours, lines)}
    words = " ".join(texts).split()
    found["growth"] = {
        str(length): {"ours": measured(ours, strung(words, length, given.words))}
        for length in given.lengths
    }
    text = json.dumps(found, indent=1)
    print(text)
    if given.output:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(text + "\n", encoding="utf-8")


def strung(words: list[str], length: int, total: int) -> list[str]:
    """Texts of so many words each, at least one."""
    count = max(1, total // length)
    return [" ".join(words[k * length : (k + 1) * length]) for k in range(count)]


def measured(parser: SentenceParser, lines: list[str]) -> dict[str, float]:
    """Sentences a second of processor time, and how many of the sentences have a tree."""
    before, clock = time.process_time(), time.perf_counter()
    results = parser.parse(lines)
    seconds = time.process_time() - before
    return {
        "sentences": len(lines),
        "words": sum(len(each.words) for each in results),
        "trees": sum(not each.problem for each in results),
        "sentences_a_second": round(len(lines) / seconds, 2),
        "milliseconds_a_sentence": round(1000 * seconds / len(lines), 2),
        "wall_seconds": round(time.perf_counter() - clock, 2),
    }


if __name__ == "__main__":
    main()
