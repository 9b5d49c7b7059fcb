"""Trains skip-gram vectors with gensim, to start PARAGRAM from (thesis 3.5.2, Table 9).

    pip install gensim
    python recipes/paragram-2015/skip_gram.py DATA/train/en-en/*.tsv.xz --output skip-gram.txt
    paraphrastic train paragram-2015/words-25 --vectors skip-gram.txt --data DATA --output runs/25

As in the thesis: negative sampling, a window of 5, and the 100,000 most frequent words that occur
at least 60 times. The mean of the other vectors stands for unknown words. Each column of a line
is a sentence. The thesis reads English Wikipedia, 1.8 billion words.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.word import word_splitter

UNKNOWN_WORD = "UUUNKKK"  # in the papers' vector files, and in `model.vectors`


class Sentences:
    """Sentences of text files as lists of words. Can be iterated repeatedly."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths

    def __iter__(self) -> Iterator[list[str]]:
        splitter = word_splitter()
        for path in self.paths:
            for _, line in text_lines(path):
                for sentence in line.split("\t"):
                    words = splitter.pre_tokenize_str(normalize(sentence, True))
                    yield [word for word, _ in words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, nargs="+", help="text files, plain or compressed")
    parser.add_argument("--output", type=Path, required=True, help="file for the vectors")
    parser.add_argument("--size", type=int, default=25, help="dimensions (default: 25)")
    parser.add_argument(
        "--min_count", type=int, default=60, help="least count of a word (default: 60)"
    )
    parser.add_argument(
        "--most", type=int, default=100_000, help="most frequent words kept (default: 100000)"
    )
    parser.add_argument("--epochs", type=int, default=5, help="epochs (default: 5, as in word2vec)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        from gensim.models import Word2Vec
    except ModuleNotFoundError:
        raise SystemExit("gensim is not installed. Run: pip install gensim") from None
    vectors = Word2Vec(
        Sentences(arguments.text),
        sg=1,
        negative=5,
        window=5,
        vector_size=arguments.size,
        min_count=arguments.min_count,
        epochs=arguments.epochs,
        seed=arguments.seed,
        workers=1,  # makes runs reproducible
    ).wv
    known = {word: vectors[word] for word in vectors.index_to_key}  # by frequency
    write(arguments.output, kept(known, arguments.most))
    print(f"{len(known):,} words, of which {min(len(known), arguments.most):,} are kept")


def kept(vectors: Mapping[str, np.ndarray], most: int) -> dict[str, np.ndarray]:
    """Keep the first `most` vectors. The mean of the rest, or of all, is the unknown word's."""
    words = list(vectors)
    rest = words[most:] or words
    found = {word: vectors[word] for word in words[:most]}
    return {UNKNOWN_WORD: np.mean([vectors[word] for word in rest], axis=0), **found}


def write(path: Path, vectors: Mapping[str, np.ndarray]) -> None:
    """Write vectors in GloVe's text format."""
    with path.open("w", encoding="utf-8") as file:
        for word, vector in vectors.items():
            file.write(" ".join([word, *(f"{value:.6g}" for value in vector)]) + "\n")


if __name__ == "__main__":
    main()
