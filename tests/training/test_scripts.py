"""Languages without spaces, from right to left, and with other scripts within a sentence."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe

LANGUAGES = ("en", "ar", "zh", "ja", "th")
LINES = [  # the fourth is of two scripts in every language, the fifth has digits and marks
    ("the cat sleeps", "القطة نائمة", "猫在睡觉", "猫が寝ている", "แมวกำลังนอน"),
    ("we eat bread", "نحن نأكل الخبز", "我们吃面包", "パンを食べます", "เรากินขนมปัง"),
    ("she reads a book", "هي تقرأ كتابا", "她读一本书", "彼女は本を読む", "เธออ่านหนังสือ"),
    ("I write Python", "أكتب Python", "我写Python", "Pythonを書く", "ฉันเขียน Python"),
    ("page 12: 50%", "صفحة 12: 50%", "第12页：50%", "12ページ：50%", "หน้า 12: 50%"),
    ("rain falls", "المطر يهطل", "下雨了", "雨が降る", "ฝนตก"),
]
RECIPE = """
kind: generative
data:
  sources: [{sources}]
  held_out: 0
tokenizer: {{kind: sentencepiece, vocab_size: 160, character_coverage: 1.0, marks: end}}
model: {{kind: mgt, hidden_size: 64, encoder_layers: 1, heads: 2, feed_forward: 64, dropout: 0}}
training:
  epochs: 75
  batch_tokens: 200
  learning_rate: 0.015
  warmup_steps: 5
  kl_weight: 0.02
  schedule: linear
run: {{log_every: 50, development: none}}
"""


def as_read(text: str) -> str:
    """What a vocabulary keeps of a text: lower case, and one form of characters that are alike."""
    return normalize("NFKC", text).lower()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    sources = []
    for side, language in enumerate(LANGUAGES[1:], 1):
        path = folder / f"en-{language}.tsv"
        rows = "".join(f"{line[0]}\t{line[side]}\n" for line in LINES)
        path.write_text(rows, encoding="utf-8")
        sources.append(f"{{path: {path}, languages: [en, {language}]}}")
    (folder / "recipe.yaml").write_text(RECIPE.format(sources=", ".join(sources)))
    train(load_recipe(folder / "recipe.yaml"), folder / "out", progress=False)
    return folder / "out"


@pytest.mark.parametrize("target", LANGUAGES)
def test_every_script_is_written_from_every_other(trained: Path, target: str) -> None:
    """Character by character; of two languages without English by what they mean alone."""
    generator = LatentGenerator.from_pretrained(trained)
    expected = [as_read(line[LANGUAGES.index(target)]) for line in LINES]
    for side, source in enumerate(LANGUAGES):
        texts = [line[side] for line in LINES]
        if source == target:
            found = generator.reconstruct(texts, language=target)
        else:
            found = generator.translate(texts, to=target)
        written = [as_read(best[0].text) for best in found]
        assert sum(map(str.__eq__, written, expected)) >= 5, (source, written)


def test_translations_of_five_languages_lie_near_each_other(trained: Path) -> None:
    encoder = SentenceEncoder.from_pretrained(trained)
    vectors = [
        encoder.encode([line[side] for line in LINES], normalize=True)
        for side in range(len(LANGUAGES))
    ]
    for second in range(len(LANGUAGES)):
        for first in range(second):
            nearest = (vectors[first] @ vectors[second].T).argmax(1)
            assert (nearest == np.arange(len(LINES))).sum() >= 5
