"""Small encoders and corpora with known results."""

from pathlib import Path

import numpy as np

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.text.word import WordTokenizer
from tests.corpora.made_files import put

DEMO = Path(__file__).parents[2] / "recipes" / "demo" / "pairs.tsv"


class Degrees:
    """Encodes a number as an angle in degrees, multiplied by `times`."""

    def __init__(self, times=1.0):
        self.times = times

    def encode(self, texts):
        angles = np.radians([self.times * float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], 1)


def word_encoder(vectors):
    """An averaging encoder with a given vector for each word."""
    rows = list(vectors.values())
    table = np.array([[0.0] * len(rows[0])] * 2 + [list(row) for row in rows], np.float32)
    return SentenceEncoder.from_table(table, WordTokenizer(list(vectors)), "made")


def demo_encoder(seed):
    """An averaging encoder with random vectors of the words of the demo pairs."""
    lines = DEMO.read_text().replace("\t", "\n").splitlines()
    tokenizer = WordTokenizer.train(lines, vocab_size=300)
    table = np.random.default_rng(seed).standard_normal((tokenizer.vocab_size, 8))
    return SentenceEncoder.from_table(table.astype(np.float32), tokenizer, "made")


def write_ewt(folder, sentences):
    """Write both splits of UD English EWT, from words with Penn tags and relations."""
    text = ""
    for sentence in sentences:
        for number, (word, tag, relation) in enumerate(sentence, 1):
            text += f"{number}\t{word}\t_\tX\t{tag}\t_\t0\t{relation}\t_\t_\n"
        text += "\n"
    files = [f"ud_english_ewt/en_ewt-ud-{split}.conllu" for split in ("dev", "test")]
    return put(folder, dict.fromkeys(files, text))


def column(table, name):
    place = table.columns.index(name)
    return [row[place] for row in table.rows]
