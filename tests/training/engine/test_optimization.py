"""Learning rates, weight decay and row-sparse tables."""

from __future__ import annotations

import pytest
import torch

from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel, LanguageModelConfig
from paraphrastic_hf.training.engine.optimization import (
    learning_rate,
    make_optimizer,
    use_sparse_tables,
    warn_of_warmup,
)
from paraphrastic_hf.training.engine.recipe import OptimizationArguments
from paraphrastic_hf.training.engine.row_adam import RowAdam


def rates(total: int, **settings: object) -> list[float]:
    arguments = OptimizationArguments(learning_rate=2.0, **settings)
    return [round(learning_rate(arguments, step, total), 6) for step in range(total)]


def test_schedules_by_hand() -> None:
    assert rates(4) == [2, 2, 2, 2]
    assert rates(4, schedule="linear") == [2, 1.5, 1, 0.5]
    assert rates(6, schedule="linear", warmup_steps=2) == [1, 2, 2, 1.5, 1, 0.5]
    found = rates(16, schedule="inverse_root", warmup_steps=4)
    assert found[:4] == [0.5, 1, 1.5, 2]
    assert found[15] == 1  # sqrt(4 / 16)


def test_a_run_shorter_than_its_warmup_gives_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    arguments = OptimizationArguments(learning_rate=1e-3, warmup_steps=400)
    warn_of_warmup(arguments, 400)
    assert not caplog.records
    warn_of_warmup(arguments, 100)
    assert "0.00025" in caplog.text


@pytest.mark.parametrize(
    ("settings", "is_sparse"),
    [
        ({}, True),
        ({"optimizer": "adagrad"}, True),
        ({"optimizer": "sgd"}, False),
        ({"weight_decay": 0.1}, False),
        ({"betas": [0.9, 0.98]}, True),
        ({"betas": [0.95, 0.9]}, False),  # beta_1 > sqrt(beta_2)
    ],
)
def test_tables_are_sparse_if_possible(settings: dict[str, object], is_sparse: bool) -> None:
    model = AveragingModel(AveragingConfig(vocab_size=9, hidden_size=4))
    use_sparse_tables(model, OptimizationArguments(**settings))
    assert model.embedding.sparse == is_sparse


def test_a_model_without_sparse_tables_gets_stock_adam() -> None:
    config = LanguageModelConfig(
        vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1
    )
    model, arguments = LanguageModel(config), OptimizationArguments()
    use_sparse_tables(model, arguments)
    assert not model.embedding.sparse
    assert isinstance(make_optimizer(model, arguments), torch.optim.AdamW)


def test_weight_decay_on_dense_gradients_equals_adamw() -> None:
    ours, torchs = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    settings = {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.3}
    optimizers = RowAdam([ours], **settings), torch.optim.AdamW([torchs], **settings)
    for step in range(4):
        for parameter, optimizer in zip((ours, torchs), optimizers, strict=True):
            parameter.grad = torch.arange(3.0) - step
            optimizer.step()
    torch.testing.assert_close(ours, torchs)
