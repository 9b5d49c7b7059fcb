"""Builders of rated phrases and words: Annotated-PPDB, Pavlick's PPDB, bigrams, word similarity."""

from __future__ import annotations

from collections.abc import Iterator

from datasets import Sequence as ListOf

from paraphrastic_hf.corpora.builder import NUMBER, TEXT, Corpus, Row, scored_pair
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.io.lines import number_in, table_rows

BARS = "|||"


class AnnotatedPpdb(Corpus):
    NAME = "annotated_ppdb"
    FEATURES = scored_pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        return annotated_rows(folder, split)


def annotated_rows(folder: Folder, split: str) -> Iterator[Row]:
    path = folder.find(f"ppdb_{'dev' if split == 'validation' else split}.txt")
    for number, row in table_rows(path, 3, separator=BARS):
        score = number_in(row[2], f"{path}:{number}", low=1, high=5)
        yield {"sentence1": row[0].strip(), "sentence2": row[1].strip(), "score": score}


class PavlickPpdb(Corpus):
    NAME = "pavlick_ppdb"
    FEATURES = scored_pair(syntax=TEXT, ratings=ListOf(NUMBER))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = folder.find("ppdb-sample.tsv")
        for number, row in table_rows(path, 5):
            place = f"{path}:{number}"
            yield {
                "sentence1": row[2],
                "sentence2": row[3],
                "score": number_in(row[0], place, low=0, high=5),
                "syntax": row[1],
                "ratings": [
                    number_in(rating, place, low=0, high=5) for rating in row[4].split(",")
                ],
            }


class Bigrams(Corpus):
    """Mitchell and Lapata's bigrams (thesis, 3.5.6): one row per pair, with the mean rating.

    Both splits have the same pairs. 5 people rated the validation split, 13 others the test split.
    """

    NAME = "bigrams"
    FEATURES = scored_pair(ratings=ListOf(NUMBER))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        part = "dev" if split == "validation" else split
        path = folder.find(f"bigram_{part}.{self.config.name}.txt")
        ratings: dict[tuple[str, str], list[float]] = {}
        for number, row in table_rows(path, 3, separator=BARS):
            score = number_in(row[2], f"{path}:{number}", low=1, high=7)
            ratings.setdefault((row[0].strip(), row[1].strip()), []).append(score)
        for (first, second), scores in ratings.items():
            mean = sum(scores) / len(scores)
            yield {"sentence1": first, "sentence2": second, "score": mean, "ratings": scores}


class WordSimilarity(Corpus):
    """Word similarity sets (thesis, 3.5.3), one per configuration. Their score scales differ."""

    NAME = "wordsim"
    FEATURES = scored_pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        (official,) = SOURCES["wordsim"].remotes(self.config.name)
        path = folder.find(official.path)
        for number, row in table_rows(path, 3):
            score = number_in(row[2], f"{path}:{number}")
            yield {"sentence1": row[0], "sentence2": row[1], "score": score}
