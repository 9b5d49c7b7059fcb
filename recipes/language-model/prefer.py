"""Shows how often a language model prefers a sentence to itself with two words swapped.

    python recipes/language-model/prefer.py runs/language-model lines.txt

In each line of at least four words, two different neighboring words, drawn with seed 1, are
swapped. The output is the share of lines whose original order has the higher likelihood.
"""

import argparse
import random
import sys

import numpy as np

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.generation.likelihood import LanguageScorer
from paraphrastic_hf.io.lines import read_blocks


def swapped(line: str, choice: random.Random) -> str | None:
    """Swap two neighboring words. Return None for a line of fewer than four words."""
    words = line.split()
    places = [n for n in range(len(words) - 1) if words[n].lower() != words[n + 1].lower()]
    if len(words) < 4 or not places:
        return None
    n = choice.choice(places)
    words[n], words[n + 1] = words[n + 1], words[n]
    return " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="run of a language model")
    parser.add_argument("lines", help="text file, one sentence per line")
    args = parser.parse_args()
    choice = random.Random(1)
    lines = [line for block in read_blocks(args.lines) for line in block]
    pairs = [(line, other) for line in lines if (other := swapped(line, choice)) is not None]
    scorer = LanguageScorer.from_pretrained(args.model)
    own, others = (scorer.score([pair[side] for pair in pairs]).nats for side in (0, 1))
    print(f"{100 * np.mean(own > others):.1f} % of {len(pairs):,} sentences")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ParaphrasticError) as error:
        sys.exit(str(error))
