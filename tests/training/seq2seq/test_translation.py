"""Translation models: training, annealing, averaging and loading."""

import itertools
import math

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianMTModel

from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.models.seq2seq.stock import TrainedMarian, marian_config
from paraphrastic_hf.training.engine.checkpoint import load_average, save_checkpoint, weights_of
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.minimum_risk.job import MinimumRisk
from paraphrastic_hf.training.translation.job import Translation
from tests.training import runs
from tests.training.runs import BITEXT, card, log, logged, record, train

SMALL = f"""
kind: translation
data:
  sources: [{{path: {BITEXT}, languages: [en, fr]}}]
  held_out: 0
  max_length: 60
tokenizer: {{kind: word, vocab_size: 400, marks: end}}
model: {{hidden_size: 32, encoder_layers: 1, decoder_layers: 1, dropout: 0, positions: 64}}
training:
  {{epochs: 90, batch_tokens: 200, learning_rate: 1.e-2, schedule: constant, warmup_steps: 10}}
run: {{log_every: 10, development: none}}
"""
RISK = f"""
kind: minimum_risk
start: absent
data: {{sources: [{{path: {BITEXT}, languages: [en, fr]}}], target_language: en, held_out: 4}}
candidates: {{count: 2}}
cost: {{metric: bleu}}
training: {{epochs: 1, steps: 2}}
"""
MARIAN = ["--model.kind", "marian", "--heads", "2"]
PAIRS = [line.split("\t") for line in BITEXT.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(
    scope="module", params=["gated_conv", pytest.param("marian", marks=pytest.mark.slow)]
)
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    options = MARIAN if request.param == "marian" else []
    return runs.trained(folder, SMALL, *options)


def test_it_memorizes_its_pairs(trained):
    losses = logged(trained, "cross_entropy")
    assert losses[-1] < losses[0] / 10
    found = Translator.from_pretrained(trained).translate([f for _, f in PAIRS], beams=1)
    same = [best[0].text == english for best, (english, _) in zip(found, PAIRS, strict=True)]
    assert np.mean(same) > 0.9


def test_minimum_risk_trains_only_saved_parameters(trained, tmp_path):
    recipe = runs.recipe_of(tmp_path, RISK, "--start", str(trained))
    kind = MinimumRisk(recipe, Context(None, [], False))
    kind.prepare(tmp_path / "work")
    model = kind.build(tmp_path / "work")
    names = {name for name, each in model.named_parameters() if each.requires_grad}
    assert names
    assert names <= set(load_file(trained / "model.safetensors"))
    train(recipe, tmp_path / "out")


def test_transformers_loads_it_and_generates(trained):
    model = AutoModelForSeq2SeqLM.from_pretrained(trained).eval()
    tokenizer = AutoTokenizer.from_pretrained(trained)
    inputs = tokenizer([PAIRS[1][1], PAIRS[3][1]], return_tensors="pt", padding=True)
    ids = model.generate(**inputs, num_beams=3, max_new_tokens=20)
    texts = [text.strip() for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]
    assert texts == [PAIRS[1][0], PAIRS[3][0]]
    assert (trained / "generation_config.json").exists()
    assert not (trained / "modules.json").exists()
    assert "pipeline_tag: translation" in card(trained)
    assert "Translator.from_pretrained" in card(trained)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], MARIAN], ids=["gated_conv", "marian"])
def test_bfloat16_learns_too(options, tmp_path):
    options = [*options, "--training.precision", "bf16", "--epochs", "15", "--log_every", "5"]
    output = runs.trained(tmp_path, SMALL, *options)
    losses = logged(output, "cross_entropy")
    assert losses[-1] < losses[0] / 2


def test_a_saved_marian_is_the_stock_class(tmp_path):
    torch.manual_seed(0)
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    sizes |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    model = TrainedMarian(marian_config(20, 19, **sizes)).eval()
    stock = model.stock()
    assert type(stock) is MarianMTModel
    source, mask = torch.tensor([[3, 4, 19], [5, 19, 0]]), torch.tensor([[1, 1, 1], [1, 1, 0]])
    read = torch.tensor([[20, 6, 7], [20, 8, 0]])
    wanted = stock(source, attention_mask=mask, decoder_input_ids=read).logits
    given = {"attention_mask": mask, "decoder_input_ids": read}
    torch.testing.assert_close(model(source, **given).logits, wanted)
    places = torch.tensor([[True, True, True], [True, True, False]])
    found = model(source, **given, logits_at=places).logits
    torch.testing.assert_close(found, wanted[places][:, :-1])
    assert not stock.model.shared.weight[-1].any()  # every translation begins with zeros


def test_dropout_is_where_the_stock_class_has_it():
    torch.manual_seed(0)
    sizes = {"d_model": 8, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    model = TrainedMarian(marian_config(20, 19, **sizes, dropout=0.999)).train()
    layer = model.model.encoder.layers[0]
    inputs = torch.randn(1, 3, layer.fc2.in_features)
    assert (layer.fc2(inputs) == 0).float().mean() > 0.9
    inner = model.model.decoder.layers[0].encoder_attn.q_proj(torch.randn(1, 3, 8))
    assert (inner != 0).all()
    assert layer.dropout == 0  # not applied twice
    assert model.stock().model.encoder.layers[0].dropout == 0.999


HELD_OUT = ["--held_out", "6", "--run.development", "held_out"]


@pytest.mark.slow
def test_annealing_by_the_held_out_loss_ends_the_run(tmp_path):
    options = [*HELD_OUT, "--anneal", "0.1", "--anneal_until", "0.0001", "--epochs", "200"]
    output = runs.trained(tmp_path, SMALL, *options)
    scores = logged(output, "development")
    best, falls = -math.inf, 0
    for score in scores:
        falls += score <= best
        best = max(best, score)
    assert falls == 3  # 1e-2, 1e-3, 1e-4, and then below
    assert scores[-1] <= best
    run = record(output)
    assert run["progress"]["epoch"] == len(scores) < 200
    assert run["progress"]["best_score"] == best
    assert run["held_out"]["nats_per_token"] == pytest.approx(-best, abs=1e-6)


def test_anneal_from_lowers_the_rate_after_every_epoch(tmp_path):
    options = ["--anneal", "0.1", "--anneal_from", "3", "--epochs", "50", "--log_every", "1"]
    output = runs.trained(tmp_path, SMALL, *options)
    assert logged(output, "lr")[-1] == pytest.approx(1e-4)
    assert max(logged(output, "epoch")) == 4  # annealed after the third and the fourth


def test_load_average_averages_the_last_checkpoints(tmp_path):
    model, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    kept = []
    for step in range(3):
        torch.nn.init.constant_(model.weight, float(step))
        kept.append(weights_of(model)["weight"].clone())
        save_checkpoint(tmp_path / "c", step, model, optimizer, {}, keep=5)
    assert load_average(other, tmp_path / "c", 2) == 2
    torch.testing.assert_close(other.weight.detach(), (kept[1] + kept[2]) / 2)
    assert load_average(other, tmp_path / "nothing", 2) == 0


@pytest.mark.parametrize(
    ("options", "averaged"), [([], 2), (HELD_OUT, 0), (["--held_out", "6"], 2)]
)
def test_an_average_is_kept_unless_it_scores_worse(options, averaged, tmp_path, monkeypatch):
    nats = itertools.count(1.0)
    monkeypatch.setattr(Translation, "nats", lambda *_: next(nats))
    average = ["--average", "2", "--keep_checkpoints", "2", "--checkpoint_every", "3"]
    output = runs.trained(tmp_path, SMALL, *average, "--epochs", "4", *options)
    run = record(output)
    assert run["averaged_checkpoints"] == averaged
    if options == ["--held_out", "6"]:
        assert run["held_out"]["nats_per_token"] == 1.0


def test_bleu_of_held_out_pairs_may_select_the_checkpoint(tmp_path):
    options = ["--held_out", "6", "--run.development", "bleu", "--epochs", "3"]
    output = runs.trained(tmp_path, SMALL, *options)
    scored = log(output, "development")
    assert len(scored) == 3
    assert all(0 <= line["development"] <= 100 and line["held_out"] < 0 for line in scored)


@pytest.mark.slow
def test_several_source_languages_are_read_and_long_pairs_left_out(tmp_path, caplog):
    german = tmp_path / "de.tsv"
    german.write_text(f"ein Hund\ta dog\neine Katze\ta cat\n{'lang ' * 90}\tlong\n")
    sources = f"[{{path: {BITEXT}, languages: [en, fr]}}, {{path: {german}, languages: [de, en]}}]"
    output = runs.trained(tmp_path, SMALL, "--sources", sources, "--epochs", "60")
    assert "data.max_length" in caplog.text
    translator = Translator.from_pretrained(output)
    (best,) = translator.translate(["ein Hund"], beams=1)
    assert best[0].text == "a dog"
