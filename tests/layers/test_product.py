import pytest
import torch
from torch.nn import functional as F

from paraphrastic_hf.layers.product import linear, product, rounded

ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
TYPES = (torch.float32, torch.float64, torch.bfloat16)


@pytest.fixture(
    autouse=True,
    params=[
        "this processor's choice",
        pytest.param("onednn", marks=pytest.mark.skipif(ONEDNN is None, reason="not in torch")),
    ],
)
def library(request, monkeypatch):
    if request.param == "onednn":
        monkeypatch.setattr("paraphrastic_hf.layers.product.ONEDNN", ONEDNN)


def drawn(*shape, dtype, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("rows", [0, 1, 7, 33])
def test_a_product_matches_torch(rows, dtype):
    """A sum in bfloat16 is rounded once or twice, to 8 binary digits."""
    bounds = {"rtol": 0.02, "atol": 0.05} if dtype == torch.bfloat16 else {}
    left, right = drawn(rows, 20, dtype=dtype), drawn(9, 20, dtype=dtype, seed=1)
    for shape in ((9,), (rows, 9)):
        plus = drawn(*shape, dtype=dtype, seed=2)
        torch.testing.assert_close(product(left, right, plus), left @ right.T + plus, **bounds)
    torch.testing.assert_close(product(left, right), left @ right.T)


def test_views_are_multiplied_correctly():
    left, right = (drawn(*shape, dtype=torch.float32) for shape in ((20, 30), (20, 9)))
    torch.testing.assert_close(product(left.T, right.T), left.T @ right)
    torch.testing.assert_close(
        product(left[:, 5:9], left[3:7, 5:9]), left[:, 5:9] @ left[3:7, 5:9].T
    )


@pytest.mark.parametrize("dtype", TYPES[:2], ids=str)
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("rows", [0, 7, 33])
def test_linear_matches_torch_forward_and_backward(rows, has_bias, dtype):
    given = [drawn(rows, 20, dtype=dtype), drawn(9, 20, dtype=dtype, seed=1)]
    given += [drawn(9, dtype=dtype, seed=2)] * has_bias
    for tensor in given:
        tensor.requires_grad_()
    pulls = drawn(rows, 9, dtype=dtype, seed=3)
    results = [
        [made, *torch.autograd.grad(made, given, pulls)]
        for made in (linear(*given), F.linear(*given))
    ]
    torch.testing.assert_close(*results)


def test_autocast_multiplies_in_bfloat16():
    rows, weight = (drawn(*shape, dtype=torch.float32) for shape in ((7, 20), (9, 20)))
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(rows, weight).dtype == torch.bfloat16
        wide = rows.double().repeat(3, 1), weight.double()
        assert linear(*wide).dtype == F.linear(*wide).dtype == torch.float64


@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("shape", [(16,), (17,), (3, 11), (5, 64), (900,)])
def test_padding_to_a_common_shape_changes_nothing(shape, has_bias, is_leaf):
    """Compared with float32 products of the same rounded numbers, to 8 binary digits."""
    made = [drawn(*shape, 20, dtype=torch.float32), drawn(9, 20, dtype=torch.float32, seed=1)]
    made += [drawn(9, dtype=torch.float32, seed=2)] * has_bias
    made = [tensor.bfloat16().float() for tensor in made]
    pulls = drawn(*shape, 9, dtype=torch.float32, seed=3).bfloat16()
    results = []
    for ours in (True, False):
        given = [tensor.clone().requires_grad_() for tensor in made]
        rows, weight, *bias = given
        if not is_leaf:
            weight = weight * 1.0
        with torch.autocast("cpu", torch.bfloat16, enabled=ours):
            found = (linear if ours else F.linear)(rows, weight, *bias)
        assert found.dtype == (torch.bfloat16 if ours else torch.float32)
        assert found.shape == (*shape, 9)
        assert found.is_contiguous()
        gradients = torch.autograd.grad(found, given, pulls.to(found.dtype))
        assert all(gradient.dtype == torch.float32 for gradient in gradients)
        results.append([found.float(), *gradients])
    for mine, theirs in zip(*results, strict=True):
        error = (mine - theirs).norm() / theirs.norm()
        assert error < 0.01


def test_rounded_sizes_recur():
    sizes = [rounded(count) for count in range(1, 5000)]
    for count, size in enumerate(sizes, 1):
        assert count <= size <= max(count + 15, count * 9 / 8)
    assert len(set(sizes) & set(range(1024, 2048))) == 8
    assert [rounded(size) for size in sizes] == sizes


def test_the_result_may_be_modified_in_place():
    rows = drawn(32, 20, dtype=torch.float32).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        for weight in (drawn(9, 20, dtype=torch.float32), rows[:9] * 1.0):
            linear(rows, weight).add_(1.0).sum().backward()
