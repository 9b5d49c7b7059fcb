"""A small data folder for `--data`."""

from pathlib import Path

from tests.corpora.layouts import SICK_HEADER
from tests.corpora.made_files import put

DEMO = Path(__file__).parents[1] / "recipes" / "demo" / "pairs.tsv"
CLASSES = ("NEUTRAL", "ENTAILMENT", "CONTRADICTION")


def demo_pairs():
    lines = DEMO.read_text().splitlines()
    return [(first, second) for first, second in (line.split("\t")[:2] for line in lines)]


def write_supervised(root):
    """Write SICK, SST and two treebanks, for supervised recipes, taggers and parsers."""
    pairs = demo_pairs()
    sick = {
        name: SICK_HEADER
        + "".join(
            f"{number}\t{a}\t{b}\t{1 + number % 5}\t{CLASSES[number % 3]}\n"
            for number, (a, b) in enumerate(pairs[start : start + 20])
        )
        for start, name in zip(
            (0, 20, 40), ("SICK_train", "SICK_trial", "SICK_test_annotated"), strict=True
        )
    }
    put(root / "eval" / "sick2014", {f"{name}.txt": text for name, text in sick.items()})
    sst = "".join(f"{number % 2} {a}\n" for number, (a, _) in enumerate(pairs[:20]))
    put(root / "sst", {f"stsa.binary.{split}": sst for split in ("train", "dev", "test")})
    trees = {
        f"wsj_{document:04}.mrg": "".join(
            f"((S (PRP I) (VBD saw) (DT a) (NN {a.split()[-1].strip('.?!,')}) (. .)))\n\n"
            for a, _ in pairs[4 * document : 4 * document + 4]
        )
        for document in range(10)
    }
    put(root / "treebank" / "combined", trees)
    gum = {
        f"{document}.ptb": "".join(
            f"(ROOT (S (NP (PRP I)) (VP (VBD saw) (NP (DT a) (NN {word}))) (. .)))\n"
            for word in ("cat", "dog", "house", "child")
        )
        for document in ("GUM_academic_art", "GUM_bio_byron", "GUM_bio_dvorak")  # one per split
    }
    put(root / "gum" / "const", gum)
    return root
