from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from paraphrastic_hf.generation.gauges import importance_weighted_nll, measure
from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
from paraphrastic_hf.text.ragged import Ragged

END = 11
SENTENCES = Ragged.from_lists([[3, 4, END], [5, END], [6, 7, 8, END], [9, 10, END]])
SIDES = np.array([[0, 1], [2, 3]])


def deaf(scale: float, **settings: Any) -> BGTModel:
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


def pairs(model: BGTModel) -> dict[tuple[str, str], np.ndarray]:
    first, second = model.config.languages
    return {(first, second): SIDES}


def exact(model: BGTModel) -> float:
    """Return -ln p(x) of both sides, in nats per pair."""
    found = measure(model, SENTENCES, pairs(model), 100)
    tokens = [5 + 2, 2 + 3]  # of each side: 3 and 4, 2 and 3
    nats = [found.nats_per_token[f"reconstruct_{of}"] for of in model.config.languages]
    return (nats[0] * tokens[0] + nats[1] * tokens[1]) / len(SIDES)


@pytest.mark.parametrize(("scale", "draws", "off"), [(0.0, 2, 2e-3), (0.3, 600, 0.1)])
def test_importance_weighting_estimates_the_likelihood(
    scale: float, draws: int, off: float
) -> None:
    """E_q[p(z) / q(z)] = 1: the estimate approaches the likelihood, here within 3 standard errors.
    If the posterior is the prior, all weights are 1."""
    model = deaf(scale)
    assert (measure(model, SENTENCES, pairs(model), 100).kl["semantic"] > 0.01) == (scale > 0)
    found = importance_weighted_nll(model, SENTENCES, pairs(model), 100, draws=draws)
    assert found == pytest.approx(exact(model), abs=off)


def test_each_side_is_encoded_once_per_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only French is written: from French, and from English."""
    read: list[tuple[str, int]] = []

    def watched(model: BGTModel) -> BGTModel:
        posterior = model.posterior

        def seen(variable: str, ids: torch.Tensor, lengths: torch.Tensor) -> Any:
            read.append((variable, len(ids)))
            return posterior(variable, ids, lengths)

        monkeypatch.setattr(model, "posterior", seen)
        return model

    model = watched(deaf(1.0, reconstructs=["fr"], translates=["fr"]))
    importance_weighted_nll(model, SENTENCES, pairs(model), 100, draws=2)
    assert [tokens for _, tokens in read] == [2 + 3] * 2  # French, for the meaning and for French
    read.clear()
    model = watched(deaf(1.0))
    measure(model, SENTENCES, pairs(model), 100)
    assert sorted(name for name, _ in read) == sorted(model.variables())  # pairs are one batch


def test_an_autoencoder_is_measured_on_its_language() -> None:
    settings = {"languages": ["ar", "en"], "reconstructs": ["en"], "translates": []}
    model = deaf(1.0, **settings, has_language_variables=False)
    means = [
        model.posterior("semantic", torch.tensor(text), torch.tensor([len(text)])).mean
        for text in ([5, END], [9, 10, END])
    ]
    found = measure(model, SENTENCES, pairs(model), 100)
    expected = (torch.cat(means).var(0, unbiased=False) > 0.01).sum().item()
    kls = [
        model.posterior("semantic", torch.tensor(text), torch.tensor([len(text)])).kl()
        for text in ([5, END], [9, 10, END])
    ]
    assert found.active_units == {"semantic": expected}
    assert found.kl["semantic"] == pytest.approx(torch.cat(kls).mean().item(), rel=1e-4)
