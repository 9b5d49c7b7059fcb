import pytest
import torch
from torch.nn import functional as F

from paraphrastic_hf.losses.infonce import infonce_loss
from paraphrastic_hf.losses.pool import POOLS, Pool
from tests import oracles
from tests.losses.test_negatives import one_language, random_pool, with_constraints


def bitext(seed, pairs=30, dim=4, groups=10**6):
    pool = random_pool(seed, pairs=pairs, dim=dim, groups=groups)
    return Pool(pool.embeddings, torch.tensor([0, 1] * pairs), pool.group)


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("groups", [3, 40, 10**6])
@pytest.mark.parametrize("languages", [1, 3])
def test_infonce_matches_the_slow_loop(kind, groups, languages):
    """On random pools, on bitext, and with forbidden groups."""
    pools = [(random_pool(seed, groups=groups, languages=languages), None) for seed in range(2)]
    alone = (one_language(torch.randn(n, 3), [7] * n) for n in (2, 8))  # no negatives
    lone = [(pool, None) for pool in (bitext(1, groups=groups), *alone)]
    for pool, own in (*pools, *lone, with_constraints(random_pool(4), 4)):
        args = pool.embeddings.double().tolist(), pool.language.tolist(), pool.group.tolist()
        expected = oracles.infonce(*args, kind, 0.1, own)
        assert infonce_loss(pool, kind, 0.1).item() == pytest.approx(expected, rel=1e-4)
    with pytest.raises(ValueError, match="everything"):
        infonce_loss(pools[0][0], "everything", 0.05)


def test_on_bitext_it_is_sentence_transformers_loss_in_both_directions():
    """`MultipleNegativesRankingLoss` is the mean over one side, with scale 1 / T."""
    pool = bitext(2)
    ours, theirs = (pool.embeddings.clone().requires_grad_() for _ in range(2))
    first, second = (F.normalize(theirs[side::2], dim=1) for side in (0, 1))
    target = torch.arange(30)
    ways = [F.cross_entropy(a @ b.T * 20, target) for a, b in ((first, second), (second, first))]
    found = infonce_loss(Pool(ours, pool.language, pool.group), "partner_language", 0.05)
    torch.testing.assert_close(found, ways[0] + ways[1], rtol=1e-5, atol=1e-5)
    found.backward()
    (ways[0] + ways[1]).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def test_bfloat16_gives_nearly_the_same_loss_and_gradient():
    pool = bitext(3, dim=32)
    exact = infonce_loss(pool, "partner_language", 0.1)
    gradients = []
    for is_half in (False, True):
        rows = pool.embeddings.clone().requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_half):
            found = infonce_loss(Pool(rows, pool.language, pool.group), "partner_language", 0.1)
        assert found.dtype == torch.float32
        assert found.item() == pytest.approx(exact.item(), rel=0.01)
        found.backward()
        gradients.append(rows.grad)
    torch.testing.assert_close(*gradients, rtol=0.05, atol=0.02)


def test_the_zero_vector_has_cosine_0_and_no_gradient():
    rows = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    rows[2] = 0
    rows.requires_grad_()
    pool = one_language(rows)
    loss = infonce_loss(pool, "partner_language", 0.05)
    args = rows.tolist(), pool.language.tolist(), pool.group.tolist()
    assert loss.item() == pytest.approx(oracles.infonce(*args, "partner_language", 0.05), rel=1e-4)
    loss.backward()
    assert rows.grad[2].tolist() == [0, 0, 0]
    assert rows.grad.abs().max() < 100
