import pytest
import torch

from paraphrastic_hf.layers.elementwise import dropout


@pytest.mark.parametrize("probability", [0.001, 0.3, 0.5, 0.9, 0.999])
def test_each_quarter_of_a_random_word_drops_with_the_probability(probability):
    """50,000 draws each: within 5 standard deviations, plus 1/65,536 of rounding."""
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(50_000, 4), probability, True) == 0).double().mean(0)
    deviation = (probability * (1 - probability) / 50_000) ** 0.5
    assert (dropped - probability).abs().max() < 5 * deviation + 2**-16


@pytest.mark.parametrize("probability", [0.25, 0.3])
def test_kept_values_and_gradients_are_scaled_to_keep_the_expectation(probability):
    """On a transposed tensor. The scale is that of the rounded probability, known to 1e-4."""
    torch.manual_seed(0)
    values = torch.arange(1.0, 1001.0).reshape(40, 25).T.requires_grad_()
    kept = dropout(values, probability, True)
    (gradient,) = torch.autograd.grad(kept.sum(), values)
    expected = (kept != 0) / (1 - probability)
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=0)
    torch.testing.assert_close(kept, values * gradient)


def test_no_or_all_values_are_dropped():
    values = torch.randn(5, 3)
    assert dropout(values, 0.5, False) is dropout(values, 0.0, True) is values
    assert not dropout(values, 1.0, True).any()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 1), (2, 3, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_shape_and_dtype_are_kept(shape, dtype):
    out = dropout(torch.ones(shape, dtype=dtype), 0.5, True)
    assert out.shape == shape
    assert out.dtype == dtype
