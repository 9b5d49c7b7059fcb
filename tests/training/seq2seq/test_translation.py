"""Training translation models: they learn, resume, and load everywhere."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianMTModel

from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.models.seq2seq.marian import TrainedMarian, marian_config
from paraphrastic_hf.training.engine.annealing import Annealing
from paraphrastic_hf.training.engine.checkpoint import load_average, save_checkpoint, weights_of
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import Context, load_recipe
from paraphrastic_hf.training.minimum_risk.job import MinimumRisk
from paraphrastic_hf.training.translation.job import Translation
from tests import fresh
from tests.training.processes import train_in_two_processes

BITEXT = Path(__file__).parents[3] / "recipes" / "default" / "en-fr.tsv"
SMALL = f"""
kind: translation
data:
  sources: [{{path: {BITEXT}, languages: [en, fr]}}]
  held_out: 0
  max_length: 60
tokenizer: {{kind: word, vocab_size: 400, marks: end}}
model: {{hidden_size: 32, encoder_layers: 1, decoder_layers: 1, dropout: 0, positions: 64}}
training:
  {{epochs: 60, batch_tokens: 200, learning_rate: 1.e-2, schedule: constant, warmup_steps: 10}}
run: {{log_every: 10, development: none}}
"""
MARIAN = ["--model.kind", "marian", "--heads", "2"]
PAIRS = [line.split("\t") for line in BITEXT.read_text(encoding="utf-8").splitlines()]


def write_recipe(folder: Path) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "logs" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module", params=["gated_conv", "marian"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    options = MARIAN if request.param == "marian" else []
    train(load_recipe(write_recipe(folder), options), folder / "out", progress=False)
    return folder / "out"


def test_it_learns_its_pairs_by_heart(trained: Path) -> None:
    losses = [line["cross_entropy"] for line in log_of(trained) if "loss" in line]
    assert losses[-1] < losses[0] / 10
    found = Translator.from_pretrained(trained).translate([f for _, f in PAIRS], beams=1)
    same = [best[0].text == english for best, (english, _) in zip(found, PAIRS, strict=True)]
    assert np.mean(same) > 0.9


def test_minimum_risk_starts_from_it_and_trains_what_it_saves(
    trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "risk.yaml").write_text(
        f"kind: minimum_risk\nstart: {trained}\n"
        f"data: {{sources: [{{path: {BITEXT}, languages: [en, fr]}}], to: en, held_out: 4}}\n"
        "candidates: {count: 2}\ncost: {metric: bleu}\ntraining: {epochs: 1, steps: 2}\n",
        encoding="utf-8",
    )
    kind = MinimumRisk(load_recipe(tmp_path / "risk.yaml"), Context(None, [], False))
    kind.prepare(tmp_path / "work")
    model = kind.build(tmp_path / "work")
    names = {name for name, each in model.named_parameters() if each.requires_grad}
    assert names
    assert names <= set(load_file(trained / "model.safetensors"))
    train(load_recipe(tmp_path / "risk.yaml"), tmp_path / "out", progress=False)


def test_stock_classes_load_it_and_generate(trained: Path) -> None:
    model = AutoModelForSeq2SeqLM.from_pretrained(trained).eval()
    tokenizer = AutoTokenizer.from_pretrained(trained)
    inputs = tokenizer([PAIRS[1][1], PAIRS[3][1]], return_tensors="pt", padding=True)
    ids = model.generate(**inputs, num_beams=3, max_new_tokens=20)
    texts = [text.strip() for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]
    assert texts == [PAIRS[1][0], PAIRS[3][0]]
    assert (trained / "generation_config.json").exists()
    assert not (trained / "modules.json").exists()
    card = (trained / "README.md").read_text(encoding="utf-8")
    assert "pipeline_tag: translation" in card
    assert "Translator.from_pretrained" in card


@pytest.mark.parametrize("options", [[], MARIAN], ids=["gated_conv", "marian"])
def test_bfloat16_learns_too(options: list[str], tmp_path: Path) -> None:
    short = [*options, "--training.precision", "bf16", "--epochs", "25"]
    train(load_recipe(write_recipe(tmp_path), short), tmp_path / "out", progress=False)
    losses = [line["cross_entropy"] for line in log_of(tmp_path / "out") if "loss" in line]
    assert losses[-1] < losses[0] / 3


STOCK = """
import sys
sys.modules["paraphrastic_hf"] = None
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
remote = {"trust_remote_code": True} if sys.argv[3] == "gated" else {}
model = AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1], **remote)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], **remote)
ids = model.generate(**tokenizer(sys.argv[2], return_tensors="pt"), max_new_tokens=20, num_beams=2)
print(type(model).__name__, tokenizer.decode(ids[0], skip_special_tokens=True))
"""


def test_it_translates_where_the_package_is_not_installed(trained: Path, tmp_path: Path) -> None:
    is_marian = not list(trained.glob("paraphrastic_models_*.py"))
    kind = "marian" if is_marian else "gated"
    done = fresh.run(STOCK, str(trained), PAIRS[1][1], kind, folder=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    name = "MarianMTModel" if is_marian else "GatedConvModel"
    assert done.stdout.strip() == f"{name} {PAIRS[1][0]}"


def test_what_is_saved_for_a_marian_is_the_stock_class_and_nothing_else(tmp_path: Path) -> None:
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
    assert not stock.model.shared.weight[-1].any()  # with zeros every translation begins


def test_dropout_is_of_the_places_where_the_stock_class_has_it() -> None:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    model = TrainedMarian(marian_config(20, 19, **sizes, dropout=0.999)).train()
    layer = model.model.encoder.layers[0]
    inputs = torch.randn(1, 3, layer.fc2.in_features)
    assert (layer.fc2(inputs) == 0).float().mean() > 0.9
    inner = model.model.decoder.layers[0].encoder_attn.q_proj(torch.randn(1, 3, 8))
    assert (inner != 0).all()
    assert layer.dropout == 0  # not twice
    assert model.stock().model.encoder.layers[0].dropout == 0.999


HELD_OUT = ["--held_out", "6", "--run.development", "held_out"]
ANNEALED = [*HELD_OUT, "--anneal", "0.1", "--anneal_until", "0.0001", "--epochs", "200"]


@pytest.fixture(scope="module")
def annealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("annealed")
    recipe = load_recipe(write_recipe(folder), [*ANNEALED, "--checkpoint_every", "7"])
    train(recipe, folder / "out", progress=False)
    return folder / "out"


def test_the_rate_falls_where_the_held_out_loss_does_not_and_ends_the_run(annealed: Path) -> None:
    lines = log_of(annealed)
    scores = [line["development"] for line in lines if "development" in line]
    best, expected = -math.inf, 0
    for score in scores:
        expected += score <= best
        best = max(best, score)
    assert expected == 3  # 1e-2, 1e-3, 1e-4, and then below
    assert scores[-1] <= best
    run = json.loads((annealed / "run.json").read_text())
    assert run["progress"]["epoch"] == len(scores) < 200
    assert run["progress"]["best_score"] == best
    assert run["held_out"]["nats_per_token"] == pytest.approx(-best, abs=1e-6)


def test_a_resumed_run_repeats_an_unbroken_one(annealed: Path, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    recipe = load_recipe(write_recipe(tmp_path), [*ANNEALED, "--checkpoint_every", "7"])
    import paraphrastic_hf.training.engine.loop as loop

    save, count = loop.save_checkpoint, 0

    def stop_later(*args: object) -> None:
        nonlocal count
        save(*args)  # type: ignore[arg-type]
        count += 1
        if count == 2:
            raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "save_checkpoint", stop_later)
        with pytest.raises(Stopped):
            train(recipe, tmp_path / "out", progress=False)
    train(recipe, tmp_path / "out", progress=False)
    first, second = (load_file(f / "model.safetensors") for f in (annealed, tmp_path / "out"))
    assert all(torch.equal(first[name], second[name]) for name in first)

    def losses(folder: Path) -> list[Any]:
        lines = [line for line in log_of(folder) if "loss" in line]
        return [(line["step"], line["loss"], line.get("lr")) for line in lines]

    assert losses(annealed) == losses(tmp_path / "out")


def test_the_rate_falls_at_every_epoch_from_the_one_that_is_named(tmp_path: Path) -> None:
    options = ["--anneal", "0.1", "--anneal_from", "3", "--epochs", "50", "--log_every", "1"]
    recipe = load_recipe(write_recipe(tmp_path), options)
    train(recipe, tmp_path / "out", progress=False)
    lines = log_of(tmp_path / "out")
    rates = [line["lr"] for line in lines if "lr" in line]
    assert rates[-1] == pytest.approx(1e-4)
    assert max(line["epoch"] for line in lines) == 4  # the third and the fourth ended by it


def test_before_the_epoch_that_is_named_no_score_lowers_the_rate() -> None:
    annealing = Annealing(factor=0.1, first=4, least=1e-3, rate=1.0)
    shares = []
    for epoch, score in enumerate([-2.0, -3.0, -4.0, -1.0, -2.0]):
        annealing.observe(epoch, score)
        shares.append(annealing.share)
    assert shares == pytest.approx([1, 1, 1, 0.1, 0.01])


def test_the_mean_of_the_last_checkpoints_is_kept_where_it_is_better(tmp_path: Path) -> None:
    options = ["--average", "3", "--keep_checkpoints", "3", "--checkpoint_every", "5"]
    recipe = load_recipe(write_recipe(tmp_path), [*options, "--epochs", "10"])
    train(recipe, tmp_path / "out", progress=False)
    assert json.loads((tmp_path / "out" / "run.json").read_text())["averaged_checkpoints"] == 3
    model, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    weights = []
    for step in range(3):
        torch.nn.init.constant_(model.weight, float(step))
        weights.append(weights_of(model)["weight"].clone())
        save_checkpoint(tmp_path / "c", step, model, optimizer, {}, keep=5)
    assert load_average(other, tmp_path / "c", 2) == 2
    torch.testing.assert_close(other.weight.detach(), (weights[1] + weights[2]) / 2)
    assert load_average(other, tmp_path / "nothing", 2) == 0


AVERAGE = ["--average", "2", "--keep_checkpoints", "2", "--checkpoint_every", "3", "--epochs", "4"]


def test_a_mean_that_scores_worse_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nats = itertools.count(1.0)
    monkeypatch.setattr(Translation, "nats", lambda *_: next(nats))
    train(
        load_recipe(write_recipe(tmp_path), [*AVERAGE, *HELD_OUT]), tmp_path / "out", progress=False
    )
    assert json.loads((tmp_path / "out" / "run.json").read_text())["averaged_checkpoints"] == 0


def test_held_out_pairs_choose_no_mean_where_nothing_is_chosen_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nats = itertools.count(1.0)
    monkeypatch.setattr(Translation, "nats", lambda *_: next(nats))
    options = [*AVERAGE, "--held_out", "6"]  # development is none
    train(load_recipe(write_recipe(tmp_path), options), tmp_path / "out", progress=False)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (run["averaged_checkpoints"], run["held_out"]["nats_per_token"]) == (2, 1.0)


def test_the_bleu_of_held_out_pairs_may_choose(tmp_path: Path) -> None:
    options = ["--held_out", "6", "--run.development", "bleu", "--epochs", "3"]
    train(load_recipe(write_recipe(tmp_path), options), tmp_path / "out", progress=False)
    lines = log_of(tmp_path / "out")
    scored = [line for line in lines if "development" in line]
    assert len(scored) == 3
    assert all(0 <= line["development"] <= 100 and line["held_out"] < 0 for line in scored)


def test_two_processes_train_the_same_model(tmp_path: Path) -> None:
    """The gradients of a step are those of one process but for rounding."""
    options = ["--epochs", "2", "--anneal", "0.5", *HELD_OUT]
    path = write_recipe(tmp_path)
    recipe = load_recipe(path, options)
    train(recipe, tmp_path / "one", progress=False)
    train_in_two_processes(path, tmp_path / "two", *options)
    first, second = (load_file(tmp_path / n / "model.safetensors") for n in ("one", "two"))
    for name, weight in first.items():
        torch.testing.assert_close(second[name], weight, atol=1e-4, rtol=1e-3)


def test_several_languages_are_read_and_long_pairs_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    german = tmp_path / "de.tsv"
    german.write_text(f"ein Hund\ta dog\neine Katze\ta cat\n{'lang ' * 90}\tlong\n")
    sources = f"[{{path: {BITEXT}, languages: [en, fr]}}, {{path: {german}, languages: [de, en]}}]"
    recipe = load_recipe(write_recipe(tmp_path), ["--sources", sources, "--epochs", "60"])
    train(recipe, tmp_path / "out", progress=False)
    assert "1 pair left out: a side has more than data.max_length (60) tokens" in caplog.text
    translator = Translator.from_pretrained(tmp_path / "out")
    (best,) = translator.translate(["ein Hund"], beams=1)
    assert best[0].text == "a dog"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--heads", "2"], "model.heads is a key of marian, not of gated_conv"),
        ([*MARIAN, "--kernel_width", "3"], "model.kernel_width is a key of gated_conv"),
        ([*MARIAN, "--hidden_size", "33"], "with 2 heads must be even and a multiple of 2"),
        ([*MARIAN, "--tie", "false"], "model.tie is for gated_conv"),
        (["--kernel_width", "2"], "kernel_width must be odd"),
        (["--marks", "both"], "set tokenizer.marks to end"),
        (["--max_length", "65"], "data.max_length with 64 model.positions must be at most"),
        (["--average", "3"], "run.keep_checkpoints with training.average 3"),
        (["--anneal", "0.1"], "run.development with training.anneal must be"),
        (["--anneal_from", "2"], "training.anneal_from without training.anneal"),
        (["--run.development", "bleu"], "data.held_out with run.development"),
    ],
)
def test_settings_without_a_meaning_are_refused(
    tmp_path: Path, options: list[str], message: str
) -> None:
    with pytest.raises(RecipeError, match=message.replace("(", r"\(")):
        train(load_recipe(write_recipe(tmp_path), options), tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_a_source_without_the_language_that_is_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"every source must have data.to \(de\) on one side"):
        train(load_recipe(write_recipe(tmp_path), ["--to", "de"]), tmp_path / "out", progress=False)


def test_a_development_file_is_what_is_held_out(tmp_path: Path) -> None:
    development = tmp_path / "dev.tsv"
    rows = [*PAIRS[:6], ["good night", "bonne nuit"]]
    development.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    options = ["--run.development", str(development), "--epochs", "2"]
    result = train(load_recipe(write_recipe(tmp_path), options), tmp_path / "out", progress=False)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (run["held_out_pairs"], run["pairs"]) == (7, len(PAIRS) - 6)
    assert run["change"]["before"] < run["change"]["after"] == result.best_score
    assert run["change"]["after"] == pytest.approx(-run["held_out"]["nats_per_token"], rel=1e-4)
    assert 2 / 2**7 <= run["change"]["p_value"] <= 1
