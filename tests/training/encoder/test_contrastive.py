"""The contrastive objective on several processes."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.data.megabatch import MiniBatch, interleave

PAIRS, WIDTHS = 5, [8, 24]


def infonce(vectors: torch.Tensor, rank: int, world: int) -> tuple[float, torch.Tensor]:
    """Return one process's loss and the gradient of its vectors."""
    firsts = np.arange(0, 2 * PAIRS, 2)
    whole = MiniBatch(np.stack([firsts, firsts ^ 1]))
    batch = whole if world == 1 else whole.share(rank, world)
    shares = np.array_split(firsts, world)
    most = 2 * max(map(len, shares))

    def gather(ours: torch.Tensor) -> torch.Tensor:
        rows = [torch.from_numpy(interleave(share)) for share in shares]
        assert torch.equal(ours[: len(rows[rank])], vectors[rows[rank]])
        return torch.cat(
            [torch.cat([vectors[r], vectors.new_zeros(most - len(r), 24)]) for r in rows]
        )

    task = ContrastiveObjective.__new__(ContrastiveObjective)
    task.arguments = SimpleNamespace(pool="partner_language", temperature=0.05)
    task.corpus = SimpleNamespace(
        language=np.array([0, 0, 0, 0, 0, 1, 0, 1, 0, 0]), group=np.arange(10), never=None
    )
    task.accelerator = SimpleNamespace(num_processes=world, process_index=rank, gather=gather)
    task.accelerator.autocast = lambda: torch.autocast("cpu", enabled=False)
    task._widths = WIDTHS
    rows = vectors.clone().requires_grad_()
    sentences, place = np.unique(batch.pairs, return_inverse=True)
    loss = task._infonce(rows[sentences], torch.from_numpy(place.reshape(batch.pairs.shape)), batch)
    loss.backward()
    assert rows.grad is not None
    return loss.item(), rows.grad


@pytest.mark.parametrize("world", [2, 3, 7])  # with 7, some have no pair
def test_infonce_is_equal_for_any_number_of_processes(world):
    vectors = torch.randn(2 * PAIRS, 24, generator=torch.Generator().manual_seed(0))
    loss, gradient = infonce(vectors, 0, 1)
    found = [infonce(vectors, rank, world) for rank in range(world)]
    assert {value for value, _ in found} == {loss}
    torch.testing.assert_close(
        torch.stack([each for _, each in found]).mean(0), gradient, rtol=1e-5, atol=1e-5
    )
