import pytest
import torch

from paraphrastic_hf.losses.margin import margin_loss, margin_loss_of_rows
from tests import oracles


def random_batch(seed, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(16, 5, generator=generator, dtype=dtype) for _ in range(4)]


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("margin", [0.0, 0.4, 2.0, 7.5])
def test_the_hinge_matches_the_slow_loop(margin, similarity, sides):
    batch = random_batch(0)[: 2 + sides]
    slow = oracles.margin_loss if sides == 2 else oracles.one_sided_margin_loss
    compare = {"cosine": oracles.cosine, "dot": oracles.dot}[similarity]
    expected = slow(*(rows.tolist() for rows in batch), margin, compare)
    s, t, t_, s_ = [*batch, None][:4]
    found = margin_loss(s, t, t_, s_, margin, similarity=similarity).item()
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_zero_vector_has_cosine_0_and_a_finite_gradient():
    zero = torch.zeros(1, 3, requires_grad=True)
    other = torch.ones(1, 3, requires_grad=True)
    loss = margin_loss(zero, other, other, zero, 0.4)
    assert loss.item() == pytest.approx(0.8)  # every cosine is 0: the margin, twice
    loss.backward()
    assert torch.isfinite(zero.grad).all()
    assert torch.isfinite(other.grad).all()
    vectors = random_batch(10)[0][:6].clone()
    vectors[3] = 0
    loss = margin_loss_of_rows(vectors.requires_grad_(), ROWS, 0.4, HAS)
    torch.testing.assert_close(loss, loss_of_selected_rows(vectors, 0.4))
    loss.backward()
    assert vectors.grad.isfinite().all()


def test_an_anchor_without_a_negative_has_no_loss_and_no_gradient():
    batch = [rows.requires_grad_() for rows in random_batch(6)]
    none, every = torch.zeros(16, dtype=torch.bool), torch.ones(16, dtype=torch.bool)
    only_second = margin_loss(*batch, 2.0, has_negative_of_first=none, has_negative_of_second=every)
    only_first = margin_loss(*batch, 2.0, has_negative_of_second=none)
    torch.testing.assert_close(only_first + only_second, margin_loss(*batch, 2.0))
    loss = margin_loss(*batch, 2.0, has_negative_of_first=none, has_negative_of_second=none)
    assert loss.item() == 0
    assert all(grad.abs().max() == 0 for grad in torch.autograd.grad(loss, batch))


def test_unequal_shapes_and_unknown_similarities_are_refused():
    rows = torch.ones(4, 3)
    for third, similarity in ((rows[:2], "cosine"), (rows, "angle")):
        with pytest.raises(ValueError, match=r"2, 3|angle"):
            margin_loss(rows, rows, third, rows, 0.4, similarity=similarity)


# s, t, t' and s' of 4 pairs, as rows of a batch of 6. A text without a negative is its own.
ROWS = torch.tensor([[0, 2, 4, 0], [1, 3, 5, 1], [3, 1, 4, 3], [2, 4, 0, 1]])
HAS = torch.tensor([[True, True, False, True], [True, True, True, False]])


def loss_of_selected_rows(vectors, margin, sides=2, similarity="cosine"):
    """Return `margin_loss` of the embeddings that `ROWS` selects."""
    s, t, t_, s_ = (vectors[row] for row in ROWS)
    return margin_loss(
        *(s, t, t_, s_ if sides == 2 else None),
        margin,
        similarity=similarity,
        has_negative_of_first=HAS[0],
        has_negative_of_second=HAS[1],
    )


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("margin", [0.0, 0.4, 2.5])
@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])
def test_the_loss_of_rows_has_the_same_value_and_gradient(margin, scale, sides, similarity):
    """In float64. At margin 2.5 all hinges are open, at the others some are closed."""
    vectors = random_batch(7)[0][:6] * scale
    rows, has = ROWS[: 2 + sides], HAS[:sides]
    losses, gradients = [], []
    for loss_of in (
        lambda x: margin_loss_of_rows(x, rows, margin, has, similarity),
        lambda x: loss_of_selected_rows(x, margin, sides, similarity),
    ):
        leaf = vectors.clone().requires_grad_()
        loss = loss_of(leaf)
        (3 * loss).backward()
        losses.append(loss.detach())
        gradients.append(leaf.grad)
    torch.testing.assert_close(*losses, rtol=1e-12, atol=0)
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-14 / scale)


def test_bfloat16_gets_the_rounded_float32_gradient():
    vectors = random_batch(9, torch.float32)[0][:6].bfloat16()
    half, single = vectors.clone().requires_grad_(), vectors.float().requires_grad_()
    for leaf in (half, single):
        margin_loss_of_rows(leaf, ROWS, 0.4, HAS).backward()
    assert torch.equal(half.grad, single.grad.bfloat16())
