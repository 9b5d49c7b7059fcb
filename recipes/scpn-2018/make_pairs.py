"""Writes `pairs.tsv`: paraphrases with trees from a small grammar.

    python recipes/scpn-2018/make_pairs.py

Six orders of the same phrases. They show whether a model follows a tree, nothing about real text.
"""

import argparse
import itertools
import random
from pathlib import Path

PAIRS = 450
WHO = ["the girl", "the boy", "a man", "my sister", "an old woman", "the doctor", "our teacher"]
DOES = [
    ("wrote", "written"),
    ("found", "found"),
    ("sold", "sold"),
    ("read", "read"),
    ("took", "taken"),
]
WHAT = ["a letter", "the book", "an old map", "the red bag", "a small box", "the paper"]
WHERE = ["in the garden", "at school", "near the river", "on the train", "behind the house"]
TAGS = {
    "the": "DT",
    "a": "DT",
    "an": "DT",
    "my": "PRP$",
    "our": "PRP$",
    "old": "JJ",
    "red": "JJ",
    "small": "JJ",
}


def np(text: str) -> str:
    words = text.split()
    return "(NP " + " ".join(f"({TAGS.get(word, 'NN')} {word})" for word in words) + ")"


def pp(text: str) -> str:
    head, rest = text.split(" ", 1)
    return f"(PP (IN {head}) {np(rest)})"


def orders(who: str, does: tuple[str, str], what: str, where: str) -> list[tuple[str, str]]:
    """Return six sentences of one meaning, each with its tree."""
    past, done = does
    said = f"(VBD {past}) {np(what)}"
    passive = f"(VBD was) (VP (VBN {done})"
    by = f"(PP (IN by) {np(who)})"
    who_did = f"(SBAR (WHNP (WP who)) (S (VP {said})))"
    dot, comma = "(. .)", "(, ,)"
    return [
        (f"{who} {past} {what} {where} .", f"(ROOT (S {np(who)} (VP {said} {pp(where)}) {dot}))"),
        (
            f"{where} , {who} {past} {what} .",
            f"(ROOT (S {pp(where)} {comma} {np(who)} (VP {said}) {dot}))",
        ),
        (
            f"{what} was {done} by {who} {where} .",
            f"(ROOT (S {np(what)} (VP {passive} {by} {pp(where)})) {dot}))",
        ),
        (
            f"{where} , {what} was {done} by {who} .",
            f"(ROOT (S {pp(where)} {comma} {np(what)} (VP {passive} {by})) {dot}))",
        ),
        (
            f"{where} was {who} who {past} {what} .",
            f"(ROOT (SINV {pp(where)} (VP (VBD was)) (NP {np(who)} {who_did}) {dot}))",
        ),
        (
            f"{what} {who} {past} {where} .",
            f"(ROOT (S {np(what)} {np(who)} (VP (VBD {past}) {pp(where)}) {dot}))",
        ),
    ]


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    draw = random.Random(1)
    facts = list(itertools.product(WHO, DOES, WHAT, WHERE))
    lines = []
    for fact in draw.sample(facts, PAIRS):
        (first, tree1), (second, tree2) = draw.sample(orders(*fact), 2)
        lines.append("\t".join([first, second, tree1, tree2]))
    Path(__file__).with_name("pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
