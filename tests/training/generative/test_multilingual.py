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
from tests.training.generative import test_generative
from tests.training.generative.test_generative import PAIRS, SMALL
from tests.training.runs import log, train

CHINESE = (
    "猫 在 睡觉 | 狗 晚上 叫 | 她 读 一本 旧书 | 我们 吃 面包 | 火车 九点 开 | 雨 落在 屋顶上 | "
)
CHINESE += "他 弹 钢琴 | 鸟 在 唱歌"
LINES = [(*pair, line) for pair, line in zip(PAIRS, CHINESE.split(" | "), strict=True)]
SOURCES = "{{path: {0}/pairs.tsv, languages: [en, fr]}}"
SOURCES += ", {{path: {0}/zh-en.tsv, languages: [zh, en]}}"
MULTILINGUAL = SMALL.replace("{{hidden_size", "{{kind: mgt, hidden_size").replace("100", "200")


def write_recipe(folder: Path, sources: str = SOURCES) -> Path:
    rows = [f"{chinese}\t{english}\n" for english, _, chinese in LINES]
    (folder / "zh-en.tsv").write_text("".join(rows), encoding="utf-8")
    return test_generative.write_recipe(folder, MULTILINGUAL, sources.format(folder))


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
    more = ", {{path: {0}/en-es.tsv, languages: [en, es]}}"
    recipe = write_recipe(tmp_path, SOURCES + more)
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
    of_two = load_recipe(test_generative.write_recipe(tmp_path), ["--epochs", "0"])
    train(of_two, tmp_path / "bgt")
    path = write_recipe(tmp_path)
    recipe = load_recipe(path, ["--start", str(tmp_path / "bgt")])
    with pytest.raises(RecipeError):
        train(recipe, tmp_path / "out")
    with pytest.raises(RecipeError):
        load_recipe(path, ["--start", str(trained), "--hidden_size", "64"])
