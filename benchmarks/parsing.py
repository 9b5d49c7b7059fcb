"""Speed of the span parser, and growth of its time with sentence length.

The parser reads sentences of GUM's test split on one thread. Times are processor seconds, so other
programs matter little, without loading. Growth uses sentences of GUM joined and cut to each length.
For long sentences, chart decoding grows with the third power of the length and the scoring of spans
with the second.
"""

import time
from pathlib import Path

import torch
from common.report import Table, options, save, settings
from common.timing import timed

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.predictors.parser import SentenceParser

LENGTHS = [10, 20, 40, 80, 160, 320, 500]


def measure(parser: SentenceParser, lines: list[str]) -> dict[str, float]:
    """Return the speed on some sentences, and how many of them have a tree."""
    seconds, results = timed(parser.parse, lines, clock=time.process_time)
    return {
        "sentences/s": len(lines) / seconds,
        "milliseconds a sentence": 1000 * seconds / len(lines),
        "words a sentence": sum(len(each.words) for each in results) / len(lines),
        "sentences": len(lines),
        "trees": sum(not each.problem for each in results),
    }


def main() -> None:
    parser = options(__doc__, threads=None, data=True)
    option = parser.add_argument
    option("--model", type=Path, required=True, help="parser directory of `paraphrastic train`")
    option("--sentences", type=int, default=500, help="unchanged sentences of GUM")
    option("--lengths", type=int, nargs="+", default=LENGTHS, help="words per sentence")
    option("--words", type=int, default=2000, help="total words for each length")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = load_dataset("gum", split="test", streaming=True, data_dir=args.data / "eval")
    texts = [row["text"] for row in rows if not set(row["text"]) <= set("_ ")]
    model = SentenceParser.from_pretrained(args.model)
    model.parse(texts[:5])
    lines = texts[:: max(1, len(texts) // args.sentences)][: args.sentences]
    found = {"GUM": measure(model, lines)}
    words = " ".join(texts).split()
    for length in args.lengths:
        starts = range(0, max(length, args.words - length + 1), length)
        found[f"{length} words"] = measure(
            model, [" ".join(words[start : start + length]) for start in starts]
        )
    results = {"settings": settings(args, "torch"), "measured": found}
    save(args, results, Table("sentences of", found, ",.4g"))


if __name__ == "__main__":
    main()
