"""A generative model of several languages: it learns from pairs with English, and goes beyond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError, ModelError, RecipeError
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.models.generative.mgt import MGTModel
from paraphrastic_hf.training import generative_run, loop
from paraphrastic_hf.training.engine.checkpoint import save_checkpoint
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.generative.job import Generative
from paraphrastic_hf.training.generative.objective import PairBatch
from paraphrastic_hf.training.kinds import Context, load_recipe
from tests.training.processes import train_in_two_processes

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
    path = folder / "recipe.yaml"
    path.write_text(text.format(folder=folder), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("multilingual")
    train(load_recipe(write_recipe(folder)), folder / "out", progress=False)
    return folder / "out"


@pytest.mark.parametrize(("source", "target"), [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)])
def test_it_translates_between_any_two_languages(trained: Path, source: int, target: int) -> None:
    """French and Chinese were never seen together: their translations go by the meaning alone."""
    generator = LatentGenerator.from_pretrained(trained)
    found = generator.translate([line[source] for line in LINES], to=("en", "fr", "zh")[target])
    right = sum(s[0].text == line[target] for s, line in zip(found, LINES, strict=True))
    assert right >= (7 if 0 in (source, target) else 6)


def test_translations_of_three_languages_lie_near_each_other(trained: Path) -> None:
    encoder = SentenceEncoder.from_pretrained(trained)
    vectors = [encoder.encode([line[i] for line in LINES], normalize=True) for i in range(3)]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        nearest = (vectors[first] @ vectors[second].T).argmax(1)
        assert (nearest == np.arange(len(LINES))).sum() >= 7


def test_a_sentence_is_reconstructed_in_its_language(trained: Path) -> None:
    generator = LatentGenerator.from_pretrained(trained)
    chinese = [line[2] for line in LINES]
    found = generator.reconstruct(chinese, language="zh")
    assert sum(s[0].text == text for s, text in zip(found, chinese, strict=True)) >= 7


def test_stock_generate_writes_the_language_of_the_task(trained: Path) -> None:
    model = AutoModelForSeq2SeqLM.from_pretrained(trained)
    assert isinstance(model, MGTModel)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    batch = tokenizer("birds sing", return_tensors="pt")
    for search in ({"do_sample": False}, {"num_beams": 3}, {"num_beams": 3, "use_cache": False}):
        ids = model.generate(**batch, task="translate_fr", max_new_tokens=12, **search)
        assert tokenizer.decode(ids[0, 1:], skip_special_tokens=True) == "les oiseaux chantent"


def test_a_resumed_run_is_the_unbroken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uneven languages are drawn anew each epoch, and a resumed run draws the same."""
    path = write_recipe(tmp_path)
    path.write_text(path.read_text().replace("[zh, en]}", "[zh, en], max_pairs: 5}"))
    options = ["--language_exponent", "0.3", "--contrastive", "5", "--checkpoint_every", "3"]
    recipe = load_recipe(path, [*options, "--epochs", "6"])
    train(recipe, tmp_path / "whole", progress=False)
    saved = 0

    def save_and_break(*arguments: Any) -> None:
        nonlocal saved
        save_checkpoint(*arguments)
        saved += 1
        if saved == 2:
            raise RuntimeError("the power failed")

    with monkeypatch.context() as patch:
        patch.setattr(loop, "save_checkpoint", save_and_break)
        with pytest.raises(RuntimeError, match="the power failed"):
            train(recipe, tmp_path / "broken", progress=False)
    train(recipe, tmp_path / "broken", progress=False)
    first, second = (
        load_file(tmp_path / name / "model.safetensors") for name in ("whole", "broken")
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_language_whose_pairs_are_all_held_out_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halves = np.arange(len(LINES)), np.arange(len(LINES), 2 * len(LINES))  # fr, zh
    monkeypatch.setattr(generative_run, "hold_out_pairs", lambda *_: halves)
    recipe = load_recipe(write_recipe(tmp_path), ["--held_out", str(len(LINES))])
    with pytest.raises(DataError, match="all pairs in fr are held out"):
        train(recipe, tmp_path / "out", progress=False)


def test_terms_are_logged_by_language(tmp_path: Path) -> None:
    options = ["--epochs", "2", "--held_out", "2", "--development", "held_out", "--log_every", "1"]
    train(load_recipe(write_recipe(tmp_path), options), tmp_path / "out", progress=False)
    rows = [json.loads(row) for row in (tmp_path / "out/logs/train.jsonl").read_text().splitlines()]
    names = set().union(*rows)
    assert {f"kl_{name}" for name in ("semantic", "en", "fr", "zh")} <= names
    assert {f"{v}_{c}" for v in ("translate", "reconstruct") for c in ("en", "fr", "zh")} <= names


def test_a_trained_model_takes_in_a_language_and_keeps_the_others(
    trained: Path, tmp_path: Path
) -> None:
    """The new language is French read backwards: its words are in the vocabulary."""
    backwards = [" ".join(reversed(line[1].split())) for line in LINES]
    pairs = "".join(f"{line[0]}\t{new}\n" for line, new in zip(LINES, backwards, strict=True))
    (tmp_path / "en-es.tsv").write_text(pairs, encoding="utf-8")
    recipe = write_recipe(tmp_path)
    more = recipe.read_text().replace(
        "  held_out", f"    - {{path: {tmp_path}/en-es.tsv, languages: [en, es]}}\n  held_out"
    )
    recipe.write_text(more)
    options = ["--start", str(trained), "--epochs", "30", "--learning_rate", "0.005"]
    train(load_recipe(recipe, options), tmp_path / "out", progress=False)
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    assert model.config.languages == ["en", "fr", "zh", "es"]
    generator = LatentGenerator.from_pretrained(tmp_path / "out")
    assert generator.translate([LINES[7][0]], to="fr")[0][0].text == LINES[7][1]
    found = [text[0].text for text in generator.translate([LINES[7][0]], to="es")]
    assert found == [backwards[7]]
    chinese = [text[0].text for text in generator.translate(backwards, to="zh")]
    assert sum(text == line[2] for text, line in zip(chinese, LINES, strict=True)) >= 5


def test_sides_are_chosen_and_languages_weighed_as_in_the_thesis(tmp_path: Path) -> None:
    """English, in both bitexts, feeds the meaning in a third of the pairs, and translation into it
    weighs half as much as into the others (5.12 and 5.13.1)."""
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


def test_two_processes_train_translation_alone_as_one_does(tmp_path: Path) -> None:
    """No weight is without a gradient, for which several processes would wait."""
    text = SMALL.replace("epochs: 150", "epochs: 3").replace(
        "{{kind: mgt,", "{{kind: mgt, reconstructs: [], language_variables: false, "
        "variational: false,"
    ).replace("  kl_weight: 0.02\n", "")  # fmt: skip
    path = write_recipe(tmp_path, text)
    train(load_recipe(path), tmp_path / "one", progress=False)
    train_in_two_processes(path, tmp_path / "two")
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    far = max((two[name] - one[name]).abs().max().item() for name in one)
    assert far < 5e-2  # sums in another order, and Adam makes whole steps of what is nearly zero


def test_a_start_brings_its_own_model_and_a_bgt_no_new_language(
    trained: Path, tmp_path: Path
) -> None:
    path = write_recipe(tmp_path)
    of_two = "\n".join(line for line in SMALL.splitlines() if "zh-en" not in line)
    bgt = of_two.replace("kind: mgt", "kind: bgt").replace("epochs: 150", "epochs: 0")
    path.write_text(bgt.format(folder=tmp_path), encoding="utf-8")
    train(load_recipe(path), tmp_path / "bgt", progress=False)
    path = write_recipe(tmp_path)
    recipe = load_recipe(path, ["--start", str(tmp_path / "bgt")])
    with pytest.raises(RecipeError, match="can take in no other language, and the sources have zh"):
        train(recipe, tmp_path / "out", progress=False)
    with pytest.raises(RecipeError, match="has a tokenizer and a model of its own"):
        load_recipe(path, ["--start", str(trained), "--hidden_size", "64"])
    recipe = load_recipe(path, ["--start", str(tmp_path / "absent")])
    with pytest.raises(ModelError, match="absent"):
        train(recipe, tmp_path / "out", progress=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model.kind", "bgt"], "a bgt is of two languages, and the sources have en, fr, zh"),
        (["--reconstructs", "[en]"], "model.reconstructs of an mgt must be absent, for all"),
        (["--translates", "[en]"], "model.translates of an mgt must be left out"),
        (["--encoder", "lstm"], "of an mgt must be transformer"),
        (["--language_exponent", "2"], "language_exponent must be"),
        (
            ["--model.kind", "bgt", "--translation_scorer", "true"],
            "model.translation_scorer is a key of mgt",
        ),
    ],
)
def test_settings_without_a_meaning_are_refused(
    options: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError, match=message):
        train(load_recipe(write_recipe(tmp_path), options), tmp_path / "out", progress=False)
