"""Learning rates, and row-sparse steps that equal dense steps."""

from collections.abc import Iterable, Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel, LanguageModelConfig
from paraphrastic_hf.training.contrastive.recipe import ContrastiveTraining
from paraphrastic_hf.training.engine import row_adam
from paraphrastic_hf.training.engine.optimization import (
    learning_rate,
    make_optimizer,
    use_sparse_tables,
    warn_of_warmup,
)
from paraphrastic_hf.training.engine.recipe import OptimizationArguments
from paraphrastic_hf.training.engine.row_adam import (
    RowAdam,
    clip_gradients,
    gradients_of,
)

LR = 0.05


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def row_sparse(rows: list[int], values: Tensor, size: int) -> Tensor:
    shape = (size, values.shape[1])
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, shape, check_invariants=True)


def parameter(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(*shape, generator=seeded(0), dtype=torch.float64))


def usage(steps: int, size: int) -> list[list[int]]:
    """Rows used at each step: row 0 always, each following row half as often."""
    chance = 0.5 ** torch.arange(size)
    return [
        torch.nonzero(torch.rand(size, generator=seeded(s)) < chance)[:, 0].tolist()
        for s in range(steps)
    ]


def gradients_of_rows(steps: int, size: int, dim: int, dtype: torch.dtype) -> Iterator[Tensor]:
    for step, rows in enumerate(usage(steps, size)):
        values = torch.randn(len(rows), dim, generator=seeded(1000 + step), dtype=torch.float64)
        yield row_sparse(rows, values.to(dtype), size)


def trained(
    start: Tensor, gradients: Iterable[Tensor], decay: float = 0.0, eps: float = 1e-8
) -> tuple[RowAdam, Tensor, Tensor]:
    """Return `RowAdam` and its table before catching up, and the table of dense Adam."""
    table, dense = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimizers = RowAdam([table], lr=LR, eps=eps), torch.optim.Adam([dense], lr=LR, eps=eps)
    for step, gradient in enumerate(gradients):
        table.grad, dense.grad = gradient, gradient.to_dense()
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = LR * (1 - step * decay)
            optimizer.step()
    return optimizers[0], table.detach(), dense.detach()


@pytest.fixture(params=[300, RowAdam.WINDOW], ids=["short window", "long window"])
def window(request, monkeypatch):
    monkeypatch.setattr(RowAdam, "WINDOW", request.param)


@pytest.mark.parametrize(("steps", "decay"), [(1, False), (300, False), (301, True), (650, True)])
@pytest.mark.usefixtures("window")
def test_row_adam_on_sparse_gradients_is_dense_adam(steps, decay):
    gradients = gradients_of_rows(steps, 12, 3, torch.float64)
    ours, table, dense = trained(parameter(12, 3).detach(), gradients, decay / steps)
    ours.catch_up()
    # Rows move by about 1. Eps is applied once per gap, and rates are in single precision.
    torch.testing.assert_close(table, dense, rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_table_may_alternate_between_sparse_and_dense_gradients(dtype):
    gradients = list(gradients_of_rows(40, 6, 2, dtype))
    for step in (0, *range(3, 40, 5)):  # the first step makes every second moment positive
        gradients[step] = torch.randn(6, 2, generator=seeded(step), dtype=torch.float64).to(dtype)
    ours, table, dense = trained(parameter(6, 2).detach().to(dtype), gradients, eps=0.0)
    ours.catch_up()
    torch.testing.assert_close(table, dense, rtol=0, atol=LR / 1000)


def train_model(kind: str, is_sparse: bool) -> list[Tensor]:
    """The embeddings of every forward pass of a small training run."""
    torch.manual_seed(0)
    model = AveragingModel(AveragingConfig(vocab_size=30, hidden_size=4)).train()
    model.embedding.sparse = is_sparse
    if is_sparse:
        optimizer = make_optimizer(model, ContrastiveTraining(optimizer=kind, learning_rate=LR))
    else:
        dense = {"adam": torch.optim.Adam, "adagrad": torch.optim.Adagrad}
        optimizer = dense[kind](model.parameters(), lr=LR)
    target = torch.randn(8, 4, generator=seeded(1))
    seen = []
    for step in range(60):
        ids = (torch.rand(8, 5, generator=seeded(step)) ** 4 * 30).long()
        embedding = model(ids, pooled_only=True).sentence_embedding
        seen.append(embedding.detach())
        (embedding - target).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return seen


@pytest.mark.parametrize("kind", ["adam", "adagrad"])
def test_forward_passes_see_the_densely_trained_table(kind):
    # Single precision over 60 steps: differences stay below a thousandth of a step.
    for found, expected in zip(train_model(kind, True), train_model(kind, False), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=LR / 1000)


def clipped(parameters: list[nn.Parameter], limit: float) -> float:
    """Clip gradients and return their norm before."""
    gradients = gradients_of(parameters)
    norm = nn.utils.get_total_norm(gradients).item()
    clip_gradients(gradients, norm, limit)
    return norm


@pytest.mark.parametrize(("limit", "share"), [(2.5, 0.5), (5.0, 1), (1e9, 1)])
def test_clipping_by_hand(limit, share):
    """Gradients of 3 and, in one row, 1 + 3 have a joint norm of 5."""
    dense, sparse, without = parameter(1), parameter(4, 1), parameter(2)
    dense.grad = torch.tensor([3.0], dtype=torch.float64)
    sparse.grad = row_sparse([2, 2], torch.tensor([[1.0], [3.0]], dtype=torch.float64), 4)
    assert clipped([dense, sparse, without], limit) == pytest.approx(5)
    assert dense.grad.tolist() == [3 * share]
    assert sparse.grad.to_dense()[:, 0].tolist() == [0, 0, 4 * share, 0]
    assert without.grad is None
    assert clipped([without], limit) == 0


@pytest.fixture(params=[True, False], ids=["compiled", "torch"])
def compiled(request, monkeypatch):
    if request.param and row_adam.update is None:
        pytest.skip("_rows.c is not compiled")
    if not request.param:
        monkeypatch.setattr(row_adam, "update", None)
    return bool(request.param)


@pytest.mark.usefixtures("compiled", "window")
def test_single_precision_equals_dense_adam_up_to_rounding():
    gradients = gradients_of_rows(700, 40, 17, torch.float32)
    ours, table, dense = trained(torch.randn(40, 17, generator=seeded(0)), gradients)
    ours.catch_up()
    torch.testing.assert_close(table, dense, atol=2e-4, rtol=1e-4)


@pytest.mark.usefixtures("compiled")
def test_a_row_catches_up_once_on_600_missed_steps():
    """Row 1 has a gradient in the first step only, row 2 never."""
    start = torch.randn(3, 5, generator=seeded(0))
    used = [[0, 1], *[[0]] * 599]
    gradients = (
        row_sparse(rows, torch.randn(len(rows), 5, generator=seeded(step)), 3)
        for step, rows in enumerate(used)
    )
    ours, _, dense = trained(start, gradients)
    group = ours.param_groups[0]
    (table,) = group["params"]
    ours._catch_up(table, group, torch.tensor([1, 2, 1, 1]))
    torch.testing.assert_close(table[1:].detach(), dense[1:], atol=1e-6, rtol=1e-5)
    assert torch.equal(table[2], start[2])


def test_mismatched_arrays_are_refused():
    if row_adam.update is None:
        pytest.skip("_rows.c is not compiled")
    tables = [np.zeros((4, 2), np.float32) for _ in range(3)]
    last, rows, values = np.zeros(4, np.int64), np.array([1]), np.zeros((1, 2), np.float32)
    good = [*tables, last, rows, values, 1, 0.1, 0.9, 0.999, 1e-8]
    row_adam.update(*good)
    one = np.ones(1, np.float32)
    calls = [(row_adam.catch_up, [*tables, last, rows, 5, np.ones(1), one, one, 1e-8])]
    for place, bad in (
        (0, tables[0].astype(np.float64)),
        (1, np.zeros((5, 2), np.float32)),
        (3, np.zeros(3, np.int64)),
        (4, np.array([4])),
        (4, np.array([-1])),
        (5, np.zeros((2, 2), np.float32)),
    ):
        calls.append((row_adam.update, [*good[:place], bad, *good[place + 1 :]]))
    for call, arguments in calls:
        with pytest.raises((TypeError, ValueError)):
            call(*arguments)


def rates(total: int, **settings: object) -> list[float]:
    arguments = OptimizationArguments(learning_rate=2.0, **settings)
    return [round(learning_rate(arguments, step, total), 6) for step in range(total)]


def test_schedules_by_hand():
    assert rates(4) == [2, 2, 2, 2]
    assert rates(4, schedule="linear") == [2, 1.5, 1, 0.5]
    assert rates(6, schedule="linear", warmup_steps=2) == [1, 2, 2, 1.5, 1, 0.5]
    found = rates(16, schedule="inverse_root", warmup_steps=4)
    assert found[:4] == [0.5, 1, 1.5, 2]
    assert found[15] == 1  # sqrt(4 / 16)


def test_a_run_shorter_than_its_warmup_gives_a_warning(caplog):
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
def test_tables_are_sparse_if_possible(settings, is_sparse):
    model = AveragingModel(AveragingConfig(vocab_size=9, hidden_size=4))
    use_sparse_tables(model, OptimizationArguments(**settings))
    assert model.embedding.sparse == is_sparse


def test_a_model_without_sparse_tables_gets_stock_adam():
    config = LanguageModelConfig(
        vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1
    )
    model, arguments = LanguageModel(config), OptimizationArguments()
    use_sparse_tables(model, arguments)
    assert not model.embedding.sparse
    assert isinstance(make_optimizer(model, arguments), torch.optim.AdamW)


def test_weight_decay_on_dense_gradients_equals_adamw():
    ours, torchs = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    settings = {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.3}
    optimizers = RowAdam([ours], **settings), torch.optim.AdamW([torchs], **settings)
    for step in range(4):
        for parameter, optimizer in zip((ours, torchs), optimizers, strict=True):
            parameter.grad = torch.arange(3.0) - step
            optimizer.step()
    torch.testing.assert_close(ours, torchs)
