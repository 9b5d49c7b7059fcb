from unittest.mock import Mock

import numpy as np
import pytest
import torch

from paraphrastic_hf.generation.any_translator import tasks_of
from paraphrastic_hf.generation.gauges import importance_weighted_nll, measure
from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
from paraphrastic_hf.models.generative.mgt import MGTConfig, MGTModel
from paraphrastic_hf.text.ragged import Ragged

END = 11
SENTENCES = Ragged.from_lists([[3, 4, END], [5, END], [6, 7, 8, END], [9, 10, END]])
SIDES = np.array([[0, 1], [2, 3]])


def deaf(scale, **settings):
    """A model whose decoders ignore their variables, so that p(x | z) = p(x)."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 12, "hidden_size": 2, "state_size": 8, "num_attention_heads": 2}
    config = BGTConfig(
        **sizes, encoder_layers=1, intermediate_size=8, eos_token_id=END,
        decoder_start_token_id=END, **settings,
    )  # fmt: skip
    model = BGTModel(config).eval()
    with torch.no_grad():
        for task in model.tasks():
            decoder = model.decoder_of(task)
            decoder.scorer.weight.weight[:, decoder.scorer.dim :] = 0
            for block in decoder.blocks:
                block.from_latent.weight.zero_()
        for variable in model.variables():
            inference = model.encoder_of(variable)
            inference.mean.weight.mul_(scale)
            inference.log_variance.weight.mul_(scale)
    return model


def pairs(model):
    first, second = model.config.languages
    return {(first, second): SIDES}


def exact(model):
    """Return -ln p(x) of both sides, in nats per pair."""
    found = measure(model, SENTENCES, pairs(model), 100)
    tokens = [5 + 2, 2 + 3]  # of each side: 3 and 4, 2 and 3
    nats = [found.nats_per_token[f"reconstruct_{of}"] for of in model.config.languages]
    return (nats[0] * tokens[0] + nats[1] * tokens[1]) / len(SIDES)


@pytest.mark.parametrize(("scale", "draws", "off"), [(0.0, 2, 2e-3), (0.3, 600, 0.1)])
def test_importance_weighting_estimates_the_likelihood(scale, draws, off):
    """E_q[p(z) / q(z)] = 1: the estimate approaches the likelihood, here within 3 standard errors.
    If the posterior is the prior, all weights are 1."""
    model = deaf(scale)
    assert (measure(model, SENTENCES, pairs(model), 100).kl["semantic"] > 0.01) == (scale > 0)
    found = importance_weighted_nll(model, SENTENCES, pairs(model), 100, draws=draws)
    assert found == pytest.approx(exact(model), abs=off)


def test_each_side_is_encoded_once_per_variable(monkeypatch):
    """Only French is written: from French, and from English."""
    models = deaf(1.0, reconstructs=["fr"], translates=["fr"]), deaf(1.0)
    seen = [Mock(side_effect=model.posterior) for model in models]
    for model, posterior in zip(models, seen, strict=True):
        monkeypatch.setattr(model, "posterior", posterior)
    importance_weighted_nll(models[0], SENTENCES, pairs(models[0]), 100, draws=2)
    # French, for the meaning and for French
    assert [len(each.args[1]) for each in seen[0].call_args_list] == [2 + 3] * 2
    measure(models[1], SENTENCES, pairs(models[1]), 100)  # pairs are one batch
    names = [each.args[0] for each in seen[1].call_args_list]
    assert sorted(names) == sorted(models[1].variables())


def test_an_autoencoder_is_measured_on_its_language():
    settings = {"languages": ["ar", "en"], "reconstructs": ["en"], "translates": []}
    model = deaf(1.0, **settings, has_language_variables=False)
    english = torch.tensor([5, END, 9, 10, END]), torch.tensor([2, 3])
    posterior = model.posterior("semantic", *english)
    found = measure(model, SENTENCES, pairs(model), 100)
    expected = (posterior.mean.var(0, unbiased=False) > 0.01).sum().item()
    assert found.active_units == {"semantic": expected}
    assert found.kl["semantic"] == pytest.approx(posterior.kl().mean().item(), rel=1e-4)


@pytest.mark.parametrize("reconstructs", [["en", "fr"], ["fr"], []])
def test_tasks_follow_from_the_configuration(reconstructs):
    sizes = {"vocab_size": 9, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    bgt = BGTConfig(**sizes, reconstructs=reconstructs, has_language_variables=False)
    mgt = MGTConfig(
        **sizes,
        languages=["en", "fr", "de"],
        reconstructs=bool(reconstructs),
        has_language_variables=False,
    )
    assert tasks_of(bgt.to_dict()) == BGTModel(bgt).tasks()
    assert tasks_of(mgt.to_dict()) == MGTModel(mgt).tasks()
