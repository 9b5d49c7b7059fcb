"""Collect the English text that `english-window` learns from, as rows of two unrelated texts.

Sources: the open and share-alike sources of the data folder, and Debian packages, unpacked into one
folder (commands: trials.md beside this file). Two further sources are made from their sentences:
phrases cut out of sentences, and sentences with a negation, a swap or another word. A text of four
words or more that is also a line of the evaluation data is left out, except for spans that may
begin and end anywhere. Compressed evaluation files are not read.

    python recipes/default/teacher_text.py DATA DEBIAN DATA/collected
"""

import argparse
import csv
import html
import lzma
import random
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tqdm.auto import tqdm

from paraphrastic_hf.hub.source_lists import write_source

# texts per source at most, first in the shuffled corpus, then in the text to learn
FEWER = {
    "bible": (15000, 8000),
    "bible_versions": (40000, 20000),
    "canada_laws": (25000, 15000),
    "php_manual": (45000, 20000),
    "python_docs": (55000, 25000),
    "django_docs": (35000, 15000),
    "wordnet_lemmas": (60000, None),
    "gene_ontology": (None, 60000),
    "libreoffice-help-en-us": (60000, 20000),
    "debian-handbook": (30000, None),
    "sqlite3-doc": (40000, 10000),
    "rust-doc": (50000, 15000),
    "nodejs-doc": (20000, 5000),
    "phrases": (250000, None),
    "changed": (220000, 150000),
}
MANUALS = ("libreoffice-help-en-us", "debian-handbook", "sqlite3-doc", "rust-doc", "nodejs-doc")
CUT = (  # sources of phrases and of changed sentences
    *("tatoeba", "indian_mturk_translations", "coco_val2017_captions", "wiki_auto_gem_valid"),
    *("onestop_english", "fisher_4refs", "suttacentral", "wordnet_examples", "wordnet_glosses"),
    *("freecodecamp", "gene_ontology"),
)
CUT_ANYWHERE = (  # sources of phrases that may begin and end with function words
    *("tatoeba", "indian_mturk_translations", "coco_val2017_captions", "wiki_auto_gem_valid"),
    *("onestop_english", "fisher_4refs", "suttacentral", "wordnet_examples", "canada_laws"),
    *("bible_versions", "python_docs", "freecodecamp"),
)
ANYWHERE = 320_000
FUNCTION_WORDS = set(
    re.findall(
        r"\w+",
        "a an the of to in on at for and or but with by from as is are was were be been it he she "
        "they we you i his her their this that these those not do does did has have had who which "
        "there",
    )
)
MARKS = frozenset('.,;:!?"()“”')
EDGES = ".,;:!?\"'()“”-"
AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|has been|does|do|did)\b(?! not|n't)",
    re.I,
)


def words_of(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


class Collection:
    """Distinct texts by source, without texts of the evaluation data."""

    def __init__(self, evaluation: Path) -> None:
        self.random = random.Random(7)
        self.texts: dict[str, list[str]] = {}
        self.seen: set[str] = set()
        self.tested = set()
        for path in tqdm(sorted(evaluation.rglob("*")), desc="evaluation data", unit=" files"):
            is_text = path.is_file() and path.suffix not in (".xz", ".md", ".py", ".pdf")
            if is_text and path.stat().st_size < 60e6:
                for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
                    self.tested.update(map(words_of, (line, *line.split("\t"))))

    def add(self, source: str, texts: Iterable[str]) -> None:
        kept = []
        for text in texts:
            text = " ".join(text.split())
            words = words_of(text)
            is_tested = words.count(" ") >= 3 and words in self.tested
            if 2 <= len(text) <= 400 and words and words not in self.seen and not is_tested:
                self.seen.add(words)
                kept.append(text)
        self.random.shuffle(kept)
        self.texts[source] = kept[: FEWER.get(source, (None, None))[0]]


def bitext(train: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each source of the data folder with its English texts."""
    found: dict[str, list[str]] = defaultdict(list)
    with open(train / "SOURCES.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        if row["release"] in ("open", "share-alike"):
            path = train / row["pair"] / f"{row['source']}.tsv.xz"
            sides = 2 if row["pair"] == "en-en" else 1
            with lzma.open(path, "rt", encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    found[row["source"]] += line.rstrip("\n").split("\t")[:sides]
    yield from found.items()


class WordNet:
    """Glosses, examples and words of WordNet, with antonyms and words of one hypernym."""

    def __init__(self, folder: Path) -> None:
        self.glosses: list[str] = []
        self.examples: list[str] = []
        self.lemmas: list[str] = []
        self.antonyms: dict[str, set[str]] = defaultdict(set)
        self.siblings: dict[str, list[str]] = defaultdict(list)
        synsets: dict[tuple[str, str], list[str]] = {}
        opposites, under = [], defaultdict(list)
        for name, part in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
            for line in (folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
                if line.startswith("  "):
                    continue
                data, _, gloss = line.partition("|")
                fields = data.split()
                count = int(fields[3], 16)
                words = [fields[4 + 2 * i].replace("_", " ") for i in range(count)]
                words = [re.sub(r"\(\w+\)", "", word) for word in words]
                synsets[part, fields[0]] = words
                start = 4 + 2 * count
                for i in range(int(fields[start])):
                    symbol, offset, of, ends = fields[start + 1 + 4 * i : start + 5 + 4 * i]
                    if symbol == "!":
                        opposites.append((words, of.replace("s", "a"), offset, ends))
                    if symbol == "@":
                        under[part, offset].append(words)
                self.lemmas += words
                parts = [each.strip() for each in gloss.strip().split(";")]
                self.glosses.append("; ".join(p for p in parts if not p.startswith('"')))
                self.examples += re.findall(r'"([^"]{8,})"', gloss)
        for words, of, offset, ends in opposites:
            one, other = int(ends[:2], 16) - 1, int(ends[2:], 16) - 1
            self.antonyms[words[one].lower()].add(synsets[of, offset][other].lower())
        for group in under.values():
            flat = [words[0].lower() for words in group if words[0].isalpha()]
            for word in flat if len(flat) > 1 else ():
                self.siblings[word] += flat[:12]


def gene_ontology(path: Path) -> Iterator[str]:
    with sqlite3.connect(path) as database:
        for term, definition in database.execute("select term, definition from go_term"):
            yield term
            yield from filter(None, re.split(r"(?<=[.])\s+(?=[A-Z])", definition or ""))


def sentences_of_pages(folder: Path) -> Iterator[str]:
    """Yield the sentences of the paragraphs of HTML pages that have three words or more."""
    for path in sorted(folder.rglob("*.html")):
        if folder.name == "debian-handbook" and "en-US" not in str(path):
            continue
        page = path.read_text(encoding="utf-8", errors="replace")
        for paragraph in re.findall(r"<p[^>]*>(.*?)</p>", page, re.S) if len(page) <= 2e6 else ():
            text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", paragraph)).split())
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text):
                if sentence.count(" ") >= 2:
                    yield sentence


def phrases(sentences: list[str], chance: random.Random) -> Iterator[str]:
    """Yield spans of one to six words without function words and punctuation at their ends."""
    for sentence in chance.sample(sentences, 400_000):
        words = sentence.split()
        if len(words) < 5:
            continue
        size = min(len(words), chance.choice([1, 2, 2, 2, 3, 3, 3, 4, 5, 6]))
        start = chance.randrange(len(words) - size + 1)
        span = " ".join(words[start : start + size]).strip(EDGES).split()
        while span and span[-1].lower() in FUNCTION_WORDS:
            span.pop()
        while span and size > 1 and span[0].lower() in FUNCTION_WORDS - {"not", "no"}:
            span.pop(0)
        if span and not MARKS & set(" ".join(span)):
            yield " ".join(span)


def changed(sentences: list[str], net: WordNet, chance: random.Random) -> Iterator[str]:
    """Yield sentences with or without *not*, with two words swapped, or with another word."""
    short = [text for text in sentences if 4 <= text.count(" ") + 1 <= 18]
    for text in chance.sample(short, 420_000):
        words, draw = text.split(), chance.random()
        if re.search(r"\bnot\b|n't\b", text) and draw < 0.6:
            for pattern in (r"\b(do|does|did) not ", r"\bnot ", r"n't\b"):
                without = re.sub(pattern, "", text, count=1)
                if without != text:
                    break
            yield without
        elif draw < 0.25:
            if found := AUXILIARY.search(text):
                yield f"{text[: found.end()]} not{text[found.end() :]}"
        elif draw < 0.55:
            places = [
                i for i, w in enumerate(words) if w.isalpha() and w.lower() not in FUNCTION_WORDS
            ]
            if len(places) >= 2:
                i, j = chance.sample(places, 2)
                words[i], words[j] = words[j], words[i]
                yield " ".join(words)
        else:
            choices = net.antonyms if draw < 0.75 else net.siblings
            if places := [i for i, word in enumerate(words) if word.lower() in choices]:
                i = chance.choice(places)
                words[i] = chance.choice(
                    sorted(choices[words[i].lower()]) if draw < 0.75 else choices[words[i].lower()]
                )
                yield " ".join(words)


def spans_anywhere(sentences: list[str], seen: set[str], count: int) -> list[str]:
    """Return distinct spans of one to seven words."""
    chance, found = random.Random(11), []
    while len(found) < count:
        words = chance.choice(sentences).split()
        if len(words) < 4:
            continue
        size = chance.choice([1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6, 7])
        if size >= len(words):
            continue
        start = chance.randrange(len(words) - size + 1)
        span = " ".join(words[start : start + size]).strip(EDGES)
        key = words_of(span)
        if span and key and key not in seen and not MARKS & set(span):
            seen.add(key)
            found.append(span)
    return found


def collect(data: Path, debian: Path) -> list[str]:
    corpus = Collection(data / "eval")
    for source, texts in bitext(data / "train"):
        corpus.add(source, texts)
    net = WordNet(debian / "wordnet-base" / "usr/share/wordnet")
    corpus.add("wordnet_glosses", net.glosses)
    corpus.add("wordnet_examples", net.examples)
    corpus.add("wordnet_lemmas", net.lemmas)
    site = debian / "r-bioc-go.db" / "usr/lib/R/site-library/GO.db/extdata/GO.sqlite"
    corpus.add("gene_ontology", gene_ontology(site))
    for name in MANUALS:
        corpus.add(name, sentences_of_pages(debian / name))
    sentences = [text for source in CUT for text in corpus.texts[source]]
    corpus.add("phrases", list(phrases(sentences, corpus.random)))
    corpus.add("changed", list(changed(sentences, net, corpus.random)))
    every = [(source, text) for source, texts in corpus.texts.items() for text in texts]
    corpus.random.shuffle(every)
    left = {source: most for source, (_, most) in FEWER.items() if most is not None}
    learned = []
    for source, text in every:
        left[source] = left.get(source, len(every)) - 1
        if left[source] >= 0:
            learned.append(text)
    seen = {words_of(text) for _, text in every}
    sentences = [text for source, text in every if source in CUT_ANYWHERE]
    learned += spans_anywhere(sentences, seen, ANYWHERE)
    random.Random(3).shuffle(learned)
    return learned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path, metavar="DATA", help="data folder")
    parser.add_argument("debian", type=Path, metavar="DEBIAN", help="folder of unpacked packages")
    parser.add_argument("output", type=Path, metavar="FOLDER", help="folder to write")
    arguments = parser.parse_args()
    texts = collect(arguments.data, arguments.debian)
    path = write_source(
        arguments.output,
        "en-en",
        "english",
        list(zip(texts[::2], texts[1::2], strict=False)),
        license="CC-BY-SA 3.0",  # of the sources whose license asks most
        domain="sentences, phrases and changed sentences of many domains",
    )
    print(f"{len(texts)} texts are in {path}")


if __name__ == "__main__":
    main()
