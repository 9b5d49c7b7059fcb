"""A generative model of three languages, trained on pairs with English."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from accelerate import Accelerator
from transformers import AutoModelForSeq2SeqLM

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.training.generative import job as generative_run
from paraphrastic_hf.training.generative.job import Generative
from paraphrastic_hf.training.generative.objective import PairBatch
from paraphrastic_hf.training.kinds import Context, load_recipe
from tests.training.runs import log, train, written

LINES = [
    ("the cat sleeps", "le chat dort", "猫 在 睡觉"),
    ("a dog barks at night", "un chien aboie la nuit", "狗 晚上 叫"),
    ("she reads an old book", "elle lit un vieux livre", "她 读 一本 旧书"),
    ("we eat bread", "nous mangeons du pain", "我们 吃 面包"),
    ("the train leaves at nine", "le train part à neuf heures", "火车 九点 开"),
    ("rain falls on the roof", "la pluie tombe sur le toit", "雨 落在 屋顶上"),
    ("he plays the piano", "il joue du piano", "他 弹 钢琴"),
    ("birds sing", "les oiseaux chantent", "鸟 在 唱歌"),
]
SMALL = """
kind: generative
data:
  sources:
    - {{path: {folder}/en-fr.tsv, languages: [en, fr]}}
    - {{path: {folder}/zh-en.tsv, languages: [zh, en]}}
  held_out: 0
tokenizer: {{kind: word, vocab_size: 200, marks: end}}
model: {{kind: mgt, hidden_size: 32, encoder_layers: 1, heads: 2, feed_forward: 32, dropout: 0}}
training:
  epochs: 150
  batch_tokens: 60
  accumulate: 2
  learning_rate: 0.01
  warmup_steps: 5
  kl_weight: 0.02
  schedule: constant
run: {{log_every: 50, development: none}}
"""


def write_recipe(folder: Path, text: str = SMALL) -> Path:
    for name, chosen in (("en-fr", (0, 1)), ("zh-en", (2, 0))):
        rows = ["\t".join(line[side] for side in chosen) for line in LINES]
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return written(folder, text.format(folder=folder))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("multilingual")
    train(load_recipe(write_recipe(folder)), folder / "out")
    return folder / "out"


@pytest.mark.slow
def test_it_translates_between_any_two_languages(trained):
    """French and Chinese are never paired in training."""
    generator, encoder = (of.from_pretrained(trained) for of in (LatentGenerator, SentenceEncoder))
    sides = list(zip(*LINES, strict=True))
    vectors = [encoder.encode(list(side), normalize_embeddings=True) for side in sides]
    for source, target in permutations(range(3), 2):
        found = generator.translate(sides[source], to=("en", "fr", "zh")[target])
        right = sum(s[0].text == text for s, text in zip(found, sides[target], strict=True))
        assert right >= (7 if 0 in (source, target) else 6)
        nearest = (vectors[source] @ vectors[target].T).argmax(1)
        assert (nearest == np.arange(len(LINES))).sum() >= 7


def test_holding_out_all_pairs_of_a_language_is_refused(tmp_path, monkeypatch):
    halves = np.arange(len(LINES)), np.arange(len(LINES), 2 * len(LINES))  # fr, zh
    monkeypatch.setattr(generative_run, "hold_out_pairs", lambda *_: halves)
    recipe = load_recipe(write_recipe(tmp_path), ["--held_out", str(len(LINES))])
    with pytest.raises(DataError):
        train(recipe, tmp_path / "out")


def test_loss_terms_are_logged_by_language(tmp_path):
    options = ["--epochs", "2", "--held_out", "2", "--development", "held_out", "--log_every", "1"]
    train(load_recipe(write_recipe(tmp_path), options), tmp_path / "out")
    names = set().union(*log(tmp_path / "out"))
    assert {f"kl_{name}" for name in ("semantic", "en", "fr", "zh")} <= names
    assert {f"{v}_{c}" for v in ("translate", "reconstruct") for c in ("en", "fr", "zh")} <= names


@pytest.mark.slow
def test_a_trained_model_can_add_a_language(trained, tmp_path):
    """The new language is French read backwards, so the vocabulary has its words."""
    backwards = [" ".join(reversed(line[1].split())) for line in LINES]
    pairs = "".join(f"{line[0]}\t{new}\n" for line, new in zip(LINES, backwards, strict=True))
    (tmp_path / "en-es.tsv").write_text(pairs, encoding="utf-8")
    recipe = write_recipe(tmp_path)
    more = recipe.read_text().replace(
        "  held_out", f"    - {{path: {tmp_path}/en-es.tsv, languages: [en, es]}}\n  held_out"
    )
    recipe.write_text(more)
    options = ["--start", str(trained), "--epochs", "30", "--learning_rate", "0.005"]
    train(load_recipe(recipe, options), tmp_path / "out")
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    assert model.config.languages == ["en", "fr", "zh", "es"]
    generator = LatentGenerator.from_pretrained(tmp_path / "out")
    assert generator.translate([LINES[7][0]], to="fr")[0][0].text == LINES[7][1]
    found = [text[0].text for text in generator.translate([LINES[7][0]], to="es")]
    assert found == [backwards[7]]
    chinese = [text[0].text for text in generator.translate(backwards, to="zh")]
    assert sum(text == line[2] for text, line in zip(chinese, LINES, strict=True)) >= 5


def test_languages_are_balanced_as_in_the_thesis(tmp_path):
    """English is in both bitexts, so it is chosen for a third of the pairs, and translation into
    it has half the weight (5.12 and 5.13.1)."""
    recipe = load_recipe(write_recipe(tmp_path))
    kind = Generative(recipe, Context())
    kind.prepare(tmp_path / "work")
    objective = kind.objective(kind.build(tmp_path / "work"), Accelerator(cpu=True))
    weights = [objective._factor(f"translate_{code}") for code in ("en", "fr", "zh")]
    assert weights == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert objective._factor("reconstruct_fr") == 1
    random = np.random.default_rng(0)
    for number, languages in enumerate(kind.kept.languages):
        batch = PairBatch(np.zeros((30, 2), int), number, 1.0, 1.0, 0)
        chosen = [languages[side] for _ in range(9) for side in objective._chosen(batch, random)]
        assert chosen.count("en") == pytest.approx(90, abs=9)


@pytest.mark.slow
def test_a_start_fixes_the_model_and_a_bgt_its_languages(trained, tmp_path):
    path = write_recipe(tmp_path)
    of_two = "\n".join(line for line in SMALL.splitlines() if "zh-en" not in line)
    bgt = of_two.replace("kind: mgt", "kind: bgt").replace("epochs: 150", "epochs: 0")
    path.write_text(bgt.format(folder=tmp_path), encoding="utf-8")
    train(load_recipe(path), tmp_path / "bgt")
    path = write_recipe(tmp_path)
    recipe = load_recipe(path, ["--start", str(tmp_path / "bgt")])
    with pytest.raises(RecipeError):
        train(recipe, tmp_path / "out")
    with pytest.raises(RecipeError):
        load_recipe(path, ["--start", str(trained), "--hidden_size", "64"])
