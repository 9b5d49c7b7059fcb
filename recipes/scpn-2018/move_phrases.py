"""Make paraphrases by moving a phrase to the front of a sentence, or from there to its end.

    move_phrases.py LINES TREES --output pairs.tsv

TREES has the parse of each line, as `paraphrastic parse` writes it. Only phrases move that rarely
depend on the verb: clauses with *when*, *because* and the like, times, and adverbs of time. Each
row has two sentences and the template of each, for a paraphraser to learn in both directions:

    She left when it rained.    When it rained, she left.    (S (NP) (VP) (.))    (S (SBAR) (,) ...
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.syntax.parse_tokens import checked_tree
from paraphrastic_hf.syntax.parse_tree import Tree, template

CLAUSES = re.compile(
    "when|whenever|while|after|before|since|until|once|if|unless|because|although|though"
)
PHRASES = re.compile("during|after|before|since|despite|until|throughout")
ADVERBS = re.compile(
    "today|yesterday|tomorrow|now|then|recently|later|soon|currently|usually|sometimes|often|"
    "finally|eventually"
)
TIME = re.compile(
    r"(in|on|by) (the )?(\d{4}s?|(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|"
    r"april|may|june|july|august|september|october|november|december)\b"
)
MOST_WORDS = 12  # of a phrase that moves


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lines", type=Path)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    count = 0
    lines, trees = (
        path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for path in (given.lines, given.trees)
    )
    with given.output.open("w", encoding="utf-8") as output:
        for line, text in zip(lines, trees, strict=True):
            for row in moved(line, text):
                output.write("\t".join(row) + "\n")
                count += 1
    print(f"{count:,} pairs of {len(lines):,} lines")


def moved(line: str, text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the sentence, the moved sentence and both templates, if a phrase can move."""
    try:
        tree = checked_tree(text)
        spans = positions(line, tree)
    except (DataError, ValueError):  # no tree, or words that the line does not contain
        return
    top = tree.top
    kinds = [child.label for child in top.children]
    if top.label != "S" or line[-1:] not in ".!":
        return
    starts = [spans[id(child)][0] for child in top.children]
    if kinds[1:] == [",", "NP", "VP", "."] and can_move(top.children[0]):
        end = spans[id(top.children[0])][1]
        body = line[starts[2] : starts[4]].rstrip()
        phrase = lowered(line[starts[0] : end], top.children[0])
        new = f"{raised(body)} {phrase}{line[starts[4] :]}"
        labels = kinds[2:]
    elif kinds == ["NP", "VP", "."] and (found := last_phrase(top.children[1])):
        start, end = spans[id(found)]
        body = lowered(line[:start].rstrip(" ,"), top.children[0])
        new = f"{raised(line[start:end])}, {body}{line[end:]}"
        labels = [found.label, ",", *kinds]
    else:
        return
    made = Tree("S", tuple(Tree(label) for label in labels))
    yield line, new, str(template(tree)), str(template(Tree("ROOT", (made,))))


def positions(line: str, tree: Tree) -> dict[int, tuple[int, int]]:
    """Return the first and last character of each node in the line, by the node's `id`."""
    spans, place = {}, 0
    for node in tree.nodes():
        if node.word is not None:
            start = line.index(node.word, place)
            place = start + len(node.word)
            spans[id(node)] = (start, place)
    for node in reversed(list(tree.nodes())):
        if node.children:
            first, last = node.children[0], node.children[-1]
            spans[id(node)] = (spans[id(first)][0], spans[id(last)][1])
    return spans


def can_move(node: Tree) -> bool:
    words = [word.lower() for word in node.words()]
    if len(words) > MOST_WORDS:
        return False
    if node.label == "SBAR":
        return bool(CLAUSES.fullmatch(words[0]))
    if node.label == "ADVP":
        return len(words) == 1 and bool(ADVERBS.fullmatch(words[0]))
    is_known = PHRASES.fullmatch(words[0]) or TIME.match(" ".join(words))
    return node.label == "PP" and bool(is_known)


def last_phrase(verb: Tree) -> Tree | None:
    """Return the last phrase below a verb phrase if it can move to the front."""
    while verb.children and verb.children[-1].label == "VP":
        verb = verb.children[-1]
    found = verb.children[-1] if len(verb.children) > 1 else verb
    return found if can_move(found) else None


def lowered(text: str, node: Tree) -> str:
    tag, word = node.leaves()[0]
    is_name = tag in ("NNP", "NNPS") or word == "I" or (word.isupper() and len(word) > 1)
    return text if is_name else text[:1].lower() + text[1:]


def raised(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    main()
