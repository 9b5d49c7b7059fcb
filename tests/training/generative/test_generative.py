"""A generative model of translations: training, loading, generation and diagnostics."""

import logging
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from paraphrastic_hf import BGTConfig, BGTModel, SentenceEncoder
from paraphrastic_hf.encoders.storage.fingerprint import identity
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.evaluation.suites.probing import encoders_of
from paraphrastic_hf.generation.any_translator import load_translator
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.generative.job import Generative
from paraphrastic_hf.training.kinds import Context, load_recipe
from tests.training.runs import (
    CONTRASTIVE,
    log,
    logged,
    recipe_of,
    record,
    table,
    train,
    written,
)

PAIRS = [
    ("the cat sleeps", "le chat dort"), ("a dog barks at night", "un chien aboie la nuit"),
    ("she reads an old book", "elle lit un vieux livre"), ("we eat bread", "nous mangeons du pain"),
    ("the train leaves at nine", "le train part à neuf heures"),
    ("rain falls on the roof", "la pluie tombe sur le toit"),
    ("he plays the piano", "il joue du piano"), ("birds sing", "les oiseaux chantent"),
]  # fmt: skip
SMALL = """
kind: generative
data: {{sources: [{path}], held_out: 0}}
tokenizer: {{kind: word, vocab_size: 100, marks: end}}
model: {{hidden_size: 32, encoder_layers: 1, heads: 2, feed_forward: 32, dropout: 0}}
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
AGGRESSIVE = ["--held_out", "2", "--development", "held_out", "--aggressive", "true"]


def write_recipe(folder: Path, text: str = SMALL, sources: str = "") -> Path:
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    path = sources or f"{{path: {pairs}, languages: [en, fr]}}"
    return written(folder, text.format(path=path))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generative")
    train(load_recipe(write_recipe(folder)), folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def generator(trained):
    return LatentGenerator.from_pretrained(trained)


def test_it_memorizes_its_pairs(trained, generator):
    english, french = (list(side) for side in zip(*PAIRS, strict=True))
    for texts, to, expected in ((english, "fr", french), (french, "en", english)):
        found = generator.translate(texts, to=to)
        assert [sentences[0].text for sentences in found] == expected
    found = generator.reconstruct(english, language="en")
    assert sum(s[0].text == text for s, text in zip(found, english, strict=True)) >= 7
    encoder = SentenceEncoder.from_pretrained(trained)
    first, second = (encoder.encode(side, normalize_embeddings=True) for side in (english, french))
    assert ((first @ second.T).argmax(1) == np.arange(len(PAIRS))).all()
    half = LatentGenerator.from_pretrained(trained)
    half.model.to(torch.bfloat16)
    assert half.translate(["birds sing"], to="fr")[0][0].text == "les oiseaux chantent"
    losses = log(trained, "loss")
    names = {f"{verb}_{of}" for verb in ("translate", "reconstruct") for of in ("en", "fr")}
    for line in losses:
        parts = names | {"smoothing", "kl_semantic", "kl_en", "kl_fr"}
        assert line["loss"] == pytest.approx(sum(line[name] for name in parts), rel=1e-5)
    assert losses[-1]["translate_fr"] < losses[0]["translate_fr"] / 3


def test_text_without_known_tokens_gives_an_empty_sentence(generator):
    found = generator.translate(["", "   ", "zzz", "the cat sleeps"], to="fr")
    assert [sentences[0].text for sentences in found] == ["", "", "", "le chat dort"]
    assert math.isnan(found[0][0].nats)
    assert generator.translate([], to="fr") == []
    how, birds = GenerationOptions(max_tokens=5), ["birds sing"] * 6
    strange = ["the cat \ud800 sleeps", "the\0cat", "\U0001f600 \u4e16", "the cat", "cat " * 10_000]
    strange.append("")
    for texts, styles in ((strange, birds), (birds, strange)):
        found = generator.transfer(texts, styles, language="en", writing=how)
        written = [bool(sentences[0].text) for sentences in found]
        assert written == [True, True, False, True, True, False]
    with pytest.raises(TypeError):
        generator.translate("the cat sleeps", to="fr")


def test_interpolation_starts_and_ends_with_the_two_sentences(generator):
    first, second = PAIRS[0][0], PAIRS[7][0]
    found = [line[0].text for line in generator.interpolate(first, second, language="en", steps=4)]
    ends = [line[0].text for line in generator.reconstruct([first, second], language="en")]
    assert len(found) == 4
    assert [found[0], found[-1]] == ends
    assert [line[0].text for line in generator.interpolate("", second, language="en")] == [""] * 5


def test_batching_does_not_change_translations(generator):
    texts = [a for a, _ in PAIRS] + ["the dog sings at night on the old roof " * 3]
    how = GenerationOptions(outputs=2, max_tokens=12)
    for text, expected in zip(texts, generator.translate(texts, to="fr", writing=how), strict=True):
        (alone,) = generator.translate([text], to="fr", writing=how)
        assert [s.text for s in alone] == [s.text for s in expected]
        assert [s.nats for s in alone] == pytest.approx([s.nats for s in expected], abs=1e-4)
        assert expected[0].nats >= expected[1].nats


def test_unknown_languages_and_mismatched_styles_are_refused(generator):
    none = other(generator, reconstructs=[], has_language_variables=False)
    english = other(generator, reconstructs=["en"], translates=["fr"], has_language_variables=False)
    how, texts = GenerationOptions(max_tokens=3), ["the cat sleeps"]  # one language is the default
    assert english.translate(texts, writing=how) == english.translate(texts, to="fr", writing=how)
    assert len(english.reconstruct(texts, writing=how)) == 1
    for wrong, key in (
        (lambda: generator.translate(texts), "en, fr"),
        (lambda: generator.reconstruct(texts), "en, fr"),
        (lambda: generator.translate(texts, to="de"), "'de'"),
        (lambda: generator.transfer(texts, ["b", "c"], language="en"), "1 .*2"),
        (lambda: generator.interpolate("a", "b", language="en", steps=1), "steps"),
        (lambda: english.transfer(texts, texts), "style"),
        (lambda: none.reconstruct(texts), "language"),
        *((partial(GenerationOptions, **{key: 0}), key) for key in ("beams", "top_p")),
        (partial(GenerationOptions, temperature=0), "temperature"),
    ):
        with pytest.raises(ValueError, match=key):
            wrong()
    broken = other(generator)
    torch.nn.init.constant_(broken.model.inference["semantic"].mean.weight, torch.nan)
    with pytest.raises(ModelError):
        broken.translate(texts, to="fr")


def other(generator: LatentGenerator, **settings: Any) -> LatentGenerator:
    """Return an untrained model with the same tokenizer."""
    config = generator.model.config
    sizes = {name: getattr(config, name) for name in ("vocab_size", "eos_token_id")}
    torch.manual_seed(0)
    small = BGTConfig(
        **sizes, hidden_size=8, num_attention_heads=2, encoder_layers=1, intermediate_size=8,
        decoder_start_token_id=config.eos_token_id, **settings,
    )  # fmt: skip
    return LatentGenerator(BGTModel(small).eval(), generator.tokenizer)


def test_its_encoders_have_distinct_names_and_hashes(trained, tmp_path):
    encoder, text = SentenceEncoder.from_pretrained(trained), ["birds sing"]
    english = SentenceEncoder.from_pretrained(trained, latent="en")
    english.save_pretrained(tmp_path / "english")
    parts = encoders_of(encoder)
    assert list(parts) == ["semantic", "en", "fr"]
    assert list(encoders_of(english)) == ["embedding"]
    equal = (parts["semantic"], encoder), (parts["en"], english)
    for one, same in equal:
        np.testing.assert_array_equal(one.encode(text), same.encode(text))
        assert str(identity(one)) == str(identity(same))
    assert len({str(identity(each)) for each in (encoder, *parts.values())}) == 3
    saved = SentenceEncoder.from_pretrained(tmp_path / "english")
    np.testing.assert_array_equal(saved.encode(text), english.encode(text))
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(trained, latent="de")


@pytest.mark.slow
def test_seq2seq_trainer_trains_the_first_task(trained, tmp_path):
    model = AutoModelForSeq2SeqLM.from_pretrained(trained)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    pairs = [("the dog sleeps", "le chien dort"), ("a cat barks", "un chat aboie")] * 4
    rows = [dict(tokenizer(fr), labels=tokenizer(en)["input_ids"]) for en, fr in pairs]
    settings = Seq2SeqTrainingArguments(
        output_dir=str(tmp_path), max_steps=12, per_device_train_batch_size=4, learning_rate=0.01,
        gradient_accumulation_steps=2, logging_steps=1, save_strategy="no", report_to=[],
        predict_with_generate=True, generation_max_length=8, disable_tqdm=True, use_cpu=True,
        dataloader_pin_memory=False,
    )  # fmt: skip
    collator = DataCollatorForSeq2Seq(tokenizer, model=model)
    trainer = Seq2SeqTrainer(
        model, settings, data_collator=collator, train_dataset=rows, eval_dataset=rows[:2]
    )
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < 0.5 * losses[0]
    assert model.tasks()[0] == "translate_en"
    written = trainer.predict(rows[:1]).predictions
    trainer.save_model(str(tmp_path / "saved"))
    assert tokenizer.decode(written[0], skip_special_tokens=True).strip() == "the dog sleeps"
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "saved")
    for name, weight in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight)


def test_load_translator_loads_a_generative_model(trained):
    translate = load_translator(trained, to="fr")
    assert translate(["the cat sleeps"], GenerationOptions())[0][0].text
    for wrong, key in (({}, "--to "), ({"to": "fr", "source": "en"}, "source")):
        with pytest.raises(ValueError, match=key):
            load_translator(trained, **wrong)


def test_stock_generate_writes_translations(trained):
    model = AutoModelForSeq2SeqLM.from_pretrained(trained)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    batch = tokenizer(["birds sing", "he plays the piano"], return_tensors="pt", padding=True)
    for search in ({"do_sample": False}, {"num_beams": 3}, {"num_beams": 3, "use_cache": False}):
        ids = model.generate(**batch, task="translate_fr", max_new_tokens=12, **search)
        found = tokenizer.batch_decode(ids, skip_special_tokens=True)
        assert [text.strip() for text in found] == ["les oiseaux chantent", "il joue du piano"]


def test_evaluations_log_diagnostics_of_collapse(tmp_path):
    settings = ["--held_out", "3", "--development", "held_out", "--epochs", "4"]
    result = train(load_recipe(write_recipe(tmp_path), settings), tmp_path / "out")
    last = log(tmp_path / "out", "development")[-1]
    assert {"active_units/semantic", "mutual_information/en", "kl/fr"} <= set(last)
    tokens = [value for name, value in last.items() if name.startswith("nats_per_token/")]
    assert last["development"] == pytest.approx(-np.mean(tokens))
    assert result.best_score == max(logged(tmp_path / "out", "development"))
    run = record(tmp_path / "out")
    assert run["held_out_pairs"] == 3
    assert math.isfinite(run["held_out"]["importance_weighted_nll"])


@pytest.mark.slow
def test_posterior_collapse_is_logged(tmp_path, caplog):
    settings = "--held_out 3 --development none --epochs 100 --kl_weight 100 --kl_rise 0"
    recipe = load_recipe(write_recipe(tmp_path), settings.split())
    nouns = ("cat", "chat"), ("dog", "chien"), ("bird", "oiseau"), ("child", "enfant")
    verbs = ("sleeps", "dort"), ("eats", "mange"), ("sings", "chante"), ("runs", "court")
    pairs = [f"{n} {v}\t{m} {w}\n" for n, m in nouns for v, w in verbs]  # no unknown words
    (tmp_path / "pairs.tsv").write_text("".join(pairs), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        train(recipe, tmp_path / "out")
    assert "training.kl_weight" in caplog.text


OTHERS = {
    "candidates and contrast": "--candidates 10 --contrastive 20",
    "lstm": "--encoder lstm --encoder_layers null --decoder lstm --learning_rate 0.03",
    "translation": "--reconstructs [] --language_variables false --variational false --kl_weight 1",
    "no translation": "--translates []",
    "bfloat16": "--training.precision bf16",
    "average": "--encoder average --encoder_layers null",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_settings_learn_too(name, tmp_path):
    settings = [*OTHERS[name].split(), "--epochs", "20", "--log_every", "5"]
    train(load_recipe(write_recipe(tmp_path), settings), tmp_path / "out")
    losses = logged(tmp_path / "out", "loss")
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize(
    ("settings", "still"),
    [
        ([*AGGRESSIVE, "--steps", "5"], "decoders."),  # of six an epoch
        (["--decoders_first", "5", "--steps", "5"], "inference.semantic."),
        (["--decoders_first", "5", "--steps", "6"], "nothing"),
    ],
)
def test_aggressive_steps_leave_decoders_and_decoders_first_leave_encoders_unchanged(
    settings, still, tmp_path
):
    options = [*settings, "--batch_tokens", "10", "--accumulate", "1"]
    recipe = load_recipe(write_recipe(tmp_path), options)
    train(recipe, tmp_path / "out")
    torch.manual_seed(1)
    kind = Generative(recipe, Context())
    kind.prepare(tmp_path / "work")
    start = kind.build(tmp_path / "work").state_dict()
    for name, value in load_file(tmp_path / "out" / "model.safetensors").items():
        assert torch.equal(value, start[name]) == name.startswith(still), name


@pytest.mark.slow
def test_aggressive_training_ends_when_information_no_longer_rises(tmp_path):
    settings = [*AGGRESSIVE, "--batch_tokens", "10", "--accumulate", "1", "--epochs", "30"]
    train(load_recipe(write_recipe(tmp_path), settings), tmp_path / "out")
    scored = log(tmp_path / "out", "aggressive")
    turns = [line["aggressive"] for line in scored]
    assert turns[0] == 1.0  # the first evaluation
    assert turns[-1] == 0.0
    assert turns == sorted(turns, reverse=True)
    names = ("semantic", "en", "fr")
    information = [sum(line[f"mutual_information/{name}"] for name in names) for line in scored]
    ended = turns.index(0.0)
    assert information[ended] <= max(information[:ended])
    assert all(information[n] > max(information[:n]) for n in range(1, ended))


def test_vectors_initialize_the_semantic_table(tmp_path):
    path, sp, out = write_recipe(tmp_path), tmp_path / "sp", tmp_path / "out"
    start = CONTRASTIVE.replace("hidden_size: 8", "hidden_size: 32")
    pairs = f"[{{path: {tmp_path}/pairs.tsv, languages: [en, fr]}}]"
    sp.mkdir()
    train(recipe_of(sp, start, "--sources", pairs), sp / "out")
    train(load_recipe(path, ["--vectors", str(sp / "out"), "--epochs", "0"]), out)
    ours = AutoModel.from_pretrained(out).get_input_embeddings().weight
    rows, theirs = (load_tokenizer(each).tokens().index("cat") for each in (out, sp / "out"))
    assert torch.equal(ours[rows], table(sp / "out")[theirs])
