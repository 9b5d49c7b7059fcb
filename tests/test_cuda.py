"""Training and inference on a GPU agree with the CPU (`make test-gpu`)."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from paraphrastic_hf import (
    BGTConfig,
    BGTModel,
    GenerationOptions,
    SentenceEncoder,
    load_recipe,
    train,
)
from paraphrastic_hf.encoders.device import chosen_device
from paraphrastic_hf.losses.negatives import select_negatives
from paraphrastic_hf.models.generative.latent import Side
from tests.data_root import DEMO, write_supervised
from tests.hub.families import TEXTS, loader, outputs
from tests.losses.test_negatives import random_pool
from tests.trained import FAMILIES, GENERATIVE
from tests.trained import trained as trained_recipe
from tests.training.runs import breaking_at, logged, record

needs_gpu = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="it needs a GPU, and TEST_GPU=1"
)
AVERAGING = ("sentencepiece", "word")


def test_an_unavailable_device_is_refused():
    for name in ("gpu", "hpu", "meta", "privateuseone", 1.5):
        with pytest.raises(ValueError, match=f"'{name}'"):
            chosen_device(name)
    assert chosen_device("cpu").type == "cpu"
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert chosen_device(None).type == expected


@pytest.fixture(params=FAMILIES)
def family(request):
    return str(request.param)


def trained(family, folder, *settings):
    return trained_recipe(FAMILIES[family], folder, write_supervised(folder / "data"), *settings)


def assert_devices_agree(family, place):
    found, expected = (
        outputs(family, loader(family).from_pretrained(place, device=device))
        for device in ("cuda", "cpu")
    )
    if isinstance(found, list) and isinstance(found[0], str):
        assert found == expected
    else:
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-3, atol=1e-3)


@needs_gpu
def test_a_family_trains_on_a_gpu_and_agrees_with_the_cpu(family, tmp_path):
    place = trained(family, tmp_path)
    assert record(place)["device"] == "cuda"
    assert_devices_agree(family, place)
    model = loader(family).from_pretrained(place)
    model = getattr(model, "writer", model)  # paraphrasers wrap theirs
    found = model.device if hasattr(model, "device") else model.model.device
    assert torch.device(found).type == ("cpu" if family in AVERAGING else "cuda")
    if family in GENERATIVE:
        alone = SentenceEncoder.from_pretrained(place)
        assert torch.device(alone.device).type == "cuda"
        on_cpu = SentenceEncoder.from_pretrained(place, device="cpu")
        np.testing.assert_allclose(alone.encode(TEXTS), on_cpu.encode(TEXTS), atol=1e-3)


@needs_gpu
@pytest.mark.parametrize("name", ["sentencepiece", "recurrent", "gated", "bgt", "mgt", "marian"])
def test_a_run_in_bfloat16_has_finite_weights(name, tmp_path):
    place = trained(name, tmp_path, "--training.precision", "bf16")
    for weights in load_file(place / "model.safetensors").values():
        assert weights.isfinite().all()


@needs_gpu
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("word", "--negatives mix --mega_batch 3 --anneal_steps 2 --lambda_w 1e-4"),
        ("word", "--negatives rand --matryoshka 4 --optimizer adagrad"),
        ("word", "--objective infonce --optimizer nesterov --momentum 0.9"),
        ("recurrent", "--scramble 0.5 --scramble_before_negatives true --lambda_c 1e-4"),
        ("weighted", "--freeze tables"),
        ("word", "--finish.whiten 0.3 --finish.dimension 4"),
        ("sentencepiece", "--finish.precision int4"),
        ("charagram", "--lambda_all 1e-4 --hinge one_sided"),
        ("bgt", "--contrastive 10 --candidates 50 --center 20 --label_smoothing 0.1"),
        ("bgt", "--model.encoder lstm --encoder_layers null --decoder lstm --latent_at logit"),
        ("bgt", "--aggressive true --kl_weight 1 --development held_out"),
        ("bgt", "--adds_average true --sample false --accumulate 2"),
        ("mgt", "--contrastive 10 --translation_scorer true"),
        ("gated_conv", "--optimizer nesterov --momentum 0.9 --average 2 --checkpoint_every 1"),
    ],
)
def test_settings_of_training_work_on_a_gpu(name, settings, tmp_path):
    place = trained(name, tmp_path, *settings.split())
    assert_devices_agree(name, place)


@needs_gpu
def test_minimum_risk_trains_on_a_gpu(tmp_path):
    bitext = f"[{{path: {DEMO.parents[1]}/default/en-fr.tsv, languages: [en, fr]}}]"
    settings = ["--sources", bitext, "--held_out", "3"]
    start, place = tmp_path / "start", tmp_path / "out"
    likelihood = load_recipe("beyond-bleu-2019/smoke-mle", [*settings, "--epochs", "4"])
    train(likelihood, start, progress=False)
    settings += ["--start", str(start), "--epochs", "1"]
    risk = load_recipe("beyond-bleu-2019/smoke-minimum-risk", settings)
    assert train(risk, place, progress=False).step > 0
    assert_devices_agree("gated_conv", place)


@needs_gpu
@pytest.mark.parametrize("name", ["word", "charagram", "recurrent", "bgt", "gated_conv", "scpn"])
def test_an_interrupted_run_resumes(name, tmp_path):
    settings = ["--run.checkpoint_every", "2", "--log_every", "1", "--training.epochs", "8"]
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken").mkdir()
    whole = logged(trained(name, tmp_path / "whole", *settings), "loss")
    with breaking_at(4):
        trained(name, tmp_path / "broken", *settings)
    broken = logged(trained(name, tmp_path / "broken", *settings), "loss")
    # sums on a GPU have no fixed order, so losses differ slightly
    assert len(whole) > 4
    assert broken == pytest.approx(whole, rel=0.02)


@needs_gpu
@pytest.mark.parametrize("strategy", ["max", "rand", "mix"])
def test_negatives_equal_those_on_the_cpu(strategy):
    pool = random_pool(3)
    parts = {name: getattr(pool, name).cuda() for name in ("embeddings", "language", "group")}
    moved = replace(pool, **parts)
    for kind in ("partner_language", "opposite_side"):
        chosen = select_negatives(pool, strategy, kind, torch.Generator().manual_seed(1))
        found = select_negatives(moved, strategy, kind, torch.Generator().manual_seed(1))
        assert found.device.type == "cuda"
        assert found.tolist() == chosen.tolist()


@needs_gpu
def test_a_packaged_model_gives_equal_vectors_on_a_gpu():
    on_gpu = SentenceEncoder.from_pretrained("tiny", device="cuda")
    assert torch.device(on_gpu.device).type == "cuda"
    own = SentenceEncoder.from_pretrained("tiny")
    assert own.device == "cpu"
    np.testing.assert_allclose(on_gpu.encode(TEXTS), own.encode(TEXTS), atol=1e-4)


@needs_gpu
def test_samples_on_a_gpu_depend_only_on_the_seed(tmp_path):
    generator = loader("bgt").from_pretrained(trained("bgt", tmp_path))
    how = GenerationOptions(sample=True, outputs=3, max_tokens=12, seed=5)
    first = generator.translate(TEXTS, to="fr", writing=how)
    torch.manual_seed(99)
    again = generator.translate(TEXTS, to="fr", writing=how)
    texts = [[[each.text for each in line] for line in written] for written in (first, again)]
    assert texts[0] == texts[1]


@needs_gpu
@pytest.mark.parametrize("lengths", [([6, 5], [4, 6]), ([6, 6], [6, 6])])
def test_a_step_of_a_generative_model_does_not_synchronize_with_the_gpu(lengths):
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_attention_heads": 2}
    marks = {"eos_token_id": 3, "decoder_start_token_id": 3}
    model = BGTModel(BGTConfig(**sizes, **marks)).cuda().train()
    ids = torch.randint(4, 50, (2, 6), device="cuda")
    chosen = torch.tensor([0, 1], device="cuda")
    sides = [
        Side(code, ids, torch.tensor(own)) for code, own in zip(("en", "fr"), lengths, strict=True)
    ]
    try:
        with warnings.catch_warnings(action="ignore"):  # the debug mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        with torch.autocast("cuda", torch.bfloat16):
            terms = model.pair_terms(sides, chosen, smoothing=0.1, sample=True)
        sum(terms.nll.values()).backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
