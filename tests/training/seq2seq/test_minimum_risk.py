"""Minimum risk training of a Marian trained by plain transformers."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from torch.nn import functional as F
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianMTModel

from paraphrastic_hf.errors import DataError, ModelError, RecipeError
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.metrics.costs import make_cost
from paraphrastic_hf.training.kinds import Context, load_recipe
from paraphrastic_hf.training.minimum_risk.candidates import CandidateLists, CandidateMaker
from paraphrastic_hf.training.minimum_risk.job import MinimumRisk
from paraphrastic_hf.training.minimum_risk.recipe import CandidateArguments
from tests.generation import scpn
from tests.training.runs import (
    assert_equal_weights,
    breaking_at,
    card,
    logged,
    record,
    train,
    written,
)
from tests.training.seq2seq.marian import RECIPE, sentences, write_marian, write_pairs


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return write_marian(tmp_path_factory.mktemp("start"))


@pytest.fixture(scope="module")
def recipe(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    return written(folder, RECIPE.format(start=start, pairs=write_pairs(folder)))


@pytest.fixture(scope="module")
def trained(recipe, tmp_path_factory):
    output = tmp_path_factory.mktemp("trained") / "out"
    train(load_recipe(recipe), output)
    return output


def test_an_encoder_with_additional_outputs_is_trained(recipe, tmp_path):
    start, pairs = scpn.make("untemplated", tmp_path), tmp_path / "pairs.tsv"
    lines = scpn.PAIRS.read_text(encoding="utf-8").splitlines()[:40]
    pairs.write_text("".join("\t".join(line.split("\t")[:2]) + "\n" for line in lines))
    source = f"{{path: {pairs}, languages: [de, en]}}"
    settings = ["--start", str(start), "--sources", source, "--training.steps", "2"]
    train(load_recipe(recipe, settings), tmp_path / "out")
    assert all(math.isfinite(risk) for risk in logged(tmp_path / "out", "risk"))


def right(folder: Path) -> int:
    """Count the sentences that transformers translates correctly with a model directory."""
    model, tokenizer = (
        auto.from_pretrained(folder) for auto in (AutoModelForSeq2SeqLM, AutoTokenizer)
    )
    german, english = zip(*sentences(), strict=True)
    batch = tokenizer(list(german), return_tensors="pt", padding=True)
    ids = model.generate(**batch, num_beams=1, do_sample=False, max_length=12)
    found = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return sum(a == b for a, b in zip(found, english, strict=True))


@pytest.mark.slow
def test_expected_cost_falls_and_translations_improve(start, trained):
    costs = logged(trained, "expected_cost")
    assert costs[-1] < 0.85 * costs[0], costs
    for other in ("simile", "bleu"):
        of_other = logged(trained, f"expected_cost_{other}")
        assert of_other[-1] < 0.9 * of_other[0]
    risks = logged(trained, "risk")
    assert np.mean(risks[-5:]) < 0.7 * np.mean(risks[:5])
    assert right(trained) > right(start) + 10


@pytest.mark.slow
def test_transformers_loads_the_trained_model(start, trained):
    assert type(AutoModelForSeq2SeqLM.from_pretrained(trained)) is MarianMTModel
    for name in ("config.json", "tokenizer.json", "generation_config.json"):
        ours, theirs = (json.loads((folder / name).read_text()) for folder in (trained, start))
        assert ours == theirs, name
    run = record(trained)
    assert run["pairs"] + run["held_out_pairs"] == len(sentences())
    best = run["progress"]["best_score"]
    assert run["held_out"]["expected_cost"] == pytest.approx(-best, rel=1e-4)
    assert "AutoModelForSeq2SeqLM.from_pretrained" in card(trained)
    assert "pipeline_tag: translation" in card(trained)
    assert not (trained / "work").exists()


def test_an_interrupted_run_resumes_exactly(recipe, tmp_path):
    settings = "--steps 8 --held_out 0 --development none --search sample"
    chosen = load_recipe(recipe, settings.split())
    train(chosen, tmp_path / "whole")
    with breaking_at(7):
        train(chosen, tmp_path / "broken")
    train(chosen, tmp_path / "broken")
    assert_equal_weights(tmp_path / "broken", tmp_path / "whole")


class Prepared:
    """A run ready to train, without dropout."""

    def __init__(self, recipe: Path, work: Path, *settings: str) -> None:
        self.recipe = load_recipe(recipe, settings)
        self.kind = MinimumRisk(self.recipe, Context())
        self.kind.prepare(work)
        self.model = self.kind.build(work)
        self.model.eval()
        self.objective = self.kind.objective(self.model, Accelerator(cpu=True))


def slow_loss(prepared: Prepared, batch: Any) -> torch.Tensor:
    """Compute the loss of thesis 7.3 one sentence and one candidate at a time."""
    args, pairs = prepared.recipe.training, prepared.kind.kept

    def log_probabilities(source: np.ndarray, target: list[int]) -> torch.Tensor:
        labels = torch.tensor([target])
        logits = prepared.model(torch.tensor(source)[None].long(), labels=labels).logits[0]
        return F.log_softmax(logits.double(), 1)

    nats, tokens, risks = torch.zeros(()), 0, torch.zeros(())
    row = 0
    for number, count in zip(batch.own, batch.lists.counts, strict=True):
        source, target = pairs.sources[number], pairs.targets[number].tolist()
        table = log_probabilities(source, target)
        own = -table[torch.arange(len(target)), target].sum()
        spread = -table.mean(1).sum()
        nats = nats + (1 - args.label_smoothing) * own + args.label_smoothing * spread
        tokens += len(target)
        scores = []
        for candidate in (batch.lists.ids[row + n].tolist() for n in range(count)):
            table = log_probabilities(source, candidate)
            of_tokens = table[torch.arange(len(candidate)), candidate]
            scores.append(of_tokens.mean() if args.probability == "token" else of_tokens.sum())
        costs = torch.from_numpy(batch.lists.costs[row : row + count])
        risks = risks + (torch.stack(scores).softmax(0) * costs).sum()
        row += int(count)
    return args.gamma * nats / tokens + (1 - args.gamma) * 100 * risks / len(batch.own)


@pytest.mark.parametrize("probability", ["sequence", "token"])
def test_loss_and_gradient_match_the_equations(probability, recipe, tmp_path):
    prepared = Prepared(
        recipe, tmp_path, "--probability", probability, "--training.batch_size", "5"
    )
    (step,) = prepared.objective.batches(0, 0, 0)
    (batch,) = step.batches
    assert (batch.lists.counts == 4).all()
    ours = prepared.objective.loss(prepared.model, batch, 0, 0)
    slow = slow_loss(prepared, batch)
    assert ours.total.item() == pytest.approx(slow.item(), rel=1e-4)
    assert set(ours.parts) == {"likelihood", "risk"}
    found, expected = (
        torch.autograd.grad(total, [p for p in prepared.model.parameters() if p.requires_grad])
        for total in (ours.total, slow)
    )
    assert len(found) > 20
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=2e-4, rtol=1e-3)


@pytest.fixture
def translator(start):
    return Translator.from_pretrained(start)


def make(
    translator: Translator, said: Callable[[str], str] = str, **settings: Any
) -> CandidateLists:
    """Return candidates of the first six sentences, with references rewritten by `said`."""
    maker = CandidateMaker(translator, CandidateArguments(**settings), make_cost("bleu"))
    german, english = zip(*sentences()[:6], strict=True)
    targets = translator.tokenizer(text_target=list(english))["input_ids"]
    return maker.make(translator.encode(german), list(map(said, english)), targets, 3)


def texts(translator: Translator, lists: CandidateLists) -> list[str]:
    ids = [lists.ids[row].tolist() for row in range(len(lists.ids))]
    return [str(text) for text in translator.tokenizer.batch_decode(ids, skip_special_tokens=True)]


def test_candidates_are_the_best_of_the_beam_within_max_ratio(translator):
    lists = make(translator, count=3, beams=5, max_ratio=0.1)
    assert lists.counts.tolist() == [3] * 6
    assert np.diff(lists.ids.offsets).max() <= 5  # max_ratio of a short source, plus 5
    expected = translator.translate([german for german, _ in sentences()[:6]], beams=5, outputs=3)
    assert texts(translator, lists) == [each.text for one in expected for each in one]


@pytest.mark.parametrize("said", [str, str.upper], ids=["by its text", "by its ids"])
def test_reference_decides_whether_it_is_a_candidate(said, translator):
    _, english = zip(*sentences()[:6], strict=True)
    targets = translator.tokenizer(text_target=list(english))["input_ids"]
    is_there = {}
    for keep in ("as_found", "excluded", "added"):
        lists = make(translator, said=said, count=16, search="sample", reference=keep)
        parts = [lists.part(number, number + 1).ids for number in range(6)]
        own = [[part[row].tolist() for row in range(len(part))] for part in parts]
        is_there[keep] = [target in ids for target, ids in zip(targets, own, strict=True)]
    assert any(is_there["as_found"])
    assert not any(is_there["excluded"])
    assert all(is_there["added"])


def test_rows_of_banned_tokens_do_not_change(recipe, tmp_path, start):
    model = MarianMTModel.from_pretrained(start)
    model.generation_config.bad_words_ids = [[model.config.pad_token_id]]
    with torch.no_grad():
        model.model.shared.weight[model.config.pad_token_id] = 0
    model.save_pretrained(tmp_path / "start")
    AutoTokenizer.from_pretrained(start).save_pretrained(tmp_path / "start")
    steps = ["--start", str(tmp_path / "start"), "--steps", "4", "--development", "none"]
    train(load_recipe(recipe, steps), tmp_path / "out")
    trained = MarianMTModel.from_pretrained(tmp_path / "out").model.shared.weight
    assert not trained[model.config.pad_token_id].any()
    assert not torch.equal(trained, model.model.shared.weight)


def always_nan(candidates: list[str], references: list[str]) -> list[float]:
    return [math.nan for _ in candidates]


def test_unusable_starts_and_settings_are_refused(recipe, start, tmp_path):
    other = tmp_path / "other"
    AutoModelForSeq2SeqLM.from_pretrained(start).save_pretrained(other)
    tokenizer = AutoTokenizer.from_pretrained(start)
    tokenizer.add_tokens(["new", "words"])
    tokenizer.save_pretrained(other)
    for settings, error, key in (
        (f"--start {other}", ModelError, "tokens"),
        ("--data.target_language fr", DataError, "fr"),
        ("--max_length 2", DataError, "max_length"),
        ("--held_out 90", DataError, "held_out"),
        ("--to_code fr", RecipeError, "to_code"),
        (f"--cost.metric function --cost.name {__name__}:always_nan", DataError, "always_nan"),
    ):
        with pytest.raises(error, match=key):
            train(load_recipe(recipe, settings.split()), tmp_path / "out")
        assert not (tmp_path / "out" / "model.safetensors").exists()


def test_the_target_language_must_fit_the_start_and_the_cost_model(recipe, start, tmp_path, caplog):
    MinimumRisk(load_recipe(recipe), Context())
    assert not caplog.records
    MinimumRisk(load_recipe(recipe, ["--data.target_language", "de"]), Context())
    assert "cost.model" in caplog.text
    shutil.copytree(start, tmp_path / "start")
    written(tmp_path / "start", "kind: translation\ndata: {target_language: de}\n")
    with pytest.raises(RecipeError):
        MinimumRisk(load_recipe(recipe, ["--start", str(tmp_path / "start")]), Context())


def test_a_development_file_replaces_held_out_pairs(recipe, tmp_path):
    development = tmp_path / "dev.tsv"
    rows = [f"{english}\t{german}\n" for german, english in sentences()[:6]]
    development.write_text("".join(rows), encoding="utf-8")
    train(
        load_recipe(recipe, ["--run.development", str(development), "--steps", "2"]),
        tmp_path / "out",
    )
    run = record(tmp_path / "out")
    assert (run["held_out_pairs"], run["pairs"]) == (6, len(sentences()) - 6)
    assert run["change"]["after"] == pytest.approx(-run["held_out"]["expected_cost"], rel=1e-4)
