"""g(x) = 1/n sum_i W[x_i], whichever way the batch is laid out and the table is read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel
from transformers.dynamic_module_utils import get_class_from_dynamic_module

from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from tests import oracles

TEXTS = [[3, 7, 7, 2], [5], [], [19, 2, 11, 4, 6, 8]]


def padded(
    texts: list[list[int]], extra: int = 0, left: bool = False, filler: int = 0
) -> tuple[Tensor, Tensor]:
    """Ids and mask, `extra` positions wider than they need to be."""
    width = max(map(len, texts)) + extra
    ids = torch.full((len(texts), width), filler)
    mask = torch.zeros(len(texts), width, dtype=torch.long)
    for row, text in enumerate(texts):
        start = width - len(text) if left else 0
        ids[row, start : start + len(text)] = torch.tensor(text, dtype=torch.long)
        mask[row, start : start + len(text)] = 1
    return ids, mask


def embed(
    model: AveragingModel, ids: Tensor, mask: Tensor | None = None, pooled_only: bool = True
) -> Tensor:
    return model(ids, mask, pooled_only=pooled_only).sentence_embedding.detach()


def new_model(sparse: bool = False, **settings: float) -> AveragingModel:
    torch.manual_seed(0)
    model = AveragingModel(AveragingConfig(vocab_size=20, hidden_size=6, **settings))
    model.embedding.sparse = sparse
    return model


@pytest.mark.parametrize("pooled_only", [True, False])
def test_an_embedding_is_the_mean_of_rows(model: AveragingModel, pooled_only: bool) -> None:
    expected = [
        oracles.mean_of_rows(model.embedding.weight.double().tolist(), text) for text in TEXTS
    ]
    found = embed(model, *padded(TEXTS), pooled_only=pooled_only)
    torch.testing.assert_close(found, torch.tensor(expected))


@pytest.mark.parametrize("pooled_only", [True, False])
@pytest.mark.parametrize(
    "layout", [{"extra": 5}, {"left": True}, {"filler": 13}, {"filler": -100}], ids=str
)
def test_padding_does_not_change_the_embedding(
    model: AveragingModel, layout: dict[str, int], pooled_only: bool
) -> None:
    """To rounding: another layout may add the same rows in another order."""
    found = embed(model, *padded(TEXTS, **layout), pooled_only=pooled_only)
    torch.testing.assert_close(found, embed(model, *padded(TEXTS)))


@pytest.mark.parametrize("pooled_only", [True, False])
def test_a_text_alone_has_the_embedding_it_has_in_a_batch(
    model: AveragingModel, pooled_only: bool
) -> None:
    batch = embed(model, *padded(TEXTS), pooled_only=pooled_only)
    for row, text in enumerate(TEXTS):
        torch.testing.assert_close(
            embed(model, *padded([text]), pooled_only=pooled_only)[0], batch[row]
        )


def test_the_order_of_tokens_does_not_matter(model: AveragingModel) -> None:
    there, back = embed(model, *padded([TEXTS[3], TEXTS[3][::-1]]))
    torch.testing.assert_close(there, back)


def test_a_text_without_tokens_is_the_zero_vector(model: AveragingModel) -> None:
    assert embed(model, *padded(TEXTS))[2].tolist() == [0.0] * 6
    assert embed(model, torch.zeros(2, 0, dtype=torch.long)).tolist() == [[0.0] * 6] * 2


def test_without_a_mask_every_position_is_a_token(model: AveragingModel) -> None:
    ids = torch.tensor([[3, 0, 5]])
    assert torch.equal(embed(model, ids), embed(model, ids, torch.ones_like(ids)))


def test_a_full_output_holds_token_vectors_and_their_mean(model: AveragingModel) -> None:
    ids, mask = padded(TEXTS)
    output = model(ids, mask)
    assert output.last_hidden_state.shape == (4, 6, 6)
    assert output.last_hidden_state[mask == 0].abs().max() == 0
    assert torch.equal(output.sentence_embedding, output.pooler_output)
    assert model(ids, mask, pooled_only=True).last_hidden_state is None


def test_a_tuple_holds_the_same(model: AveragingModel) -> None:
    ids, mask = padded(TEXTS)
    states, embedding, _ = model(ids, mask, return_dict=False)
    assert torch.equal(states, model(ids, mask).last_hidden_state)
    assert torch.equal(embedding, model(ids, mask).sentence_embedding)


def test_ids_and_mask_of_different_shapes_are_refused(model: AveragingModel) -> None:
    with pytest.raises(ValueError, match=r"\(1, 3\) and \(1, 2\)"):
        model(torch.ones(1, 3, dtype=torch.long), torch.ones(1, 2))


def gradient(sparse: bool, **settings: float) -> Tensor:
    model = new_model(sparse, **settings).train()
    torch.manual_seed(1)
    model(*padded(TEXTS), pooled_only=True).sentence_embedding.square().sum().backward()
    assert model.embedding.weight.grad.is_sparse == sparse
    return model.embedding.weight.grad.to_dense() if sparse else model.embedding.weight.grad


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"word_dropout": 0.4},
        {"embedding_dropout": 0.4},
        {"word_dropout": 0.3, "embedding_dropout": 0.3},
    ],
    ids=str,
)
def test_a_row_sparse_gradient_is_the_dense_gradient(settings: dict[str, float]) -> None:
    assert gradient(True, **settings).abs().max() > 0
    torch.testing.assert_close(gradient(True, **settings), gradient(False, **settings))


def test_only_used_rows_have_a_gradient() -> None:
    used = {row for text in TEXTS for row in text}
    assert set(gradient(True).abs().sum(1).nonzero()[:, 0].tolist()) == used


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("pooled_only", [True, False])
@pytest.mark.parametrize("settings", [{"word_dropout": 0.3}, {"embedding_dropout": 0.3}], ids=str)
def test_dropout_keeps_the_expectation(
    settings: dict[str, float], pooled_only: bool, sparse: bool
) -> None:
    """The mean of 10,000 copies, to 5 standard errors: rows are about 1, so 5 x 0.7 / 100."""
    model = new_model(sparse, **settings)
    ids = torch.tensor([[3, 7, 2]]).expand(10_000, 3)
    found = embed(model.train(), ids, pooled_only=pooled_only)
    assert found.std(0).min() > 0.01
    torch.testing.assert_close(found.mean(0), embed(model.eval(), ids)[0], rtol=0, atol=0.035)


def test_word_dropout_takes_whole_rows() -> None:
    states = new_model(word_dropout=0.5).train()(torch.full((1, 200), 3)).last_hidden_state[0]
    dropped = (states == 0).sum(1)
    assert set(dropped.tolist()) == {0, 6}


def test_dropout_rests_in_evaluation() -> None:
    ids, mask = padded(TEXTS)
    dropping = new_model(word_dropout=0.5, embedding_dropout=0.5).eval()
    assert torch.equal(embed(dropping, ids, mask), embed(new_model().eval(), ids, mask))


def test_the_initial_table_has_the_spread_asked_for_and_no_padding_row() -> None:
    """20,000 normal numbers: their standard deviation is right to 2%, four of its own."""
    torch.manual_seed(0)
    table = AveragingModel(
        AveragingConfig(vocab_size=201, hidden_size=100, initializer_std=0.01)
    ).embedding.weight
    assert table[0].abs().max() == 0
    assert table[1:].std().item() == pytest.approx(0.01, rel=0.02)
    assert abs(table[1:].mean().item()) < 4 * 0.01 / 20_000**0.5


def test_a_saved_model_comes_back_to_the_bit(model: AveragingModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    reference = "paraphrastic_models_encoders_averaging.AveragingModel"
    remote = get_class_from_dynamic_module(reference, str(tmp_path))
    assert remote.__module__.startswith("transformers_modules")
    for loaded in (
        AveragingModel.from_pretrained(tmp_path),
        AutoModel.from_pretrained(tmp_path),
        AutoModel.from_pretrained(tmp_path, trust_remote_code=True),
        remote.from_pretrained(tmp_path),
    ):
        assert torch.equal(loaded.embedding.weight, model.embedding.weight)
        assert torch.equal(embed(loaded.eval(), *padded(TEXTS)), embed(model, *padded(TEXTS)))


def test_a_saved_config_comes_back(tmp_path: Path) -> None:
    config = AveragingConfig(
        vocab_size=7, hidden_size=3, word_dropout=0.1, embedding_dropout=0.2, initializer_std=2
    )
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert isinstance(loaded, AveragingConfig)
    for key in (
        "vocab_size",
        "hidden_size",
        "word_dropout",
        "embedding_dropout",
        "initializer_std",
        "pad_token_id",
    ):
        assert getattr(loaded, key) == getattr(config, key), key


def test_the_table_can_be_replaced_by_a_table_alone(model: AveragingModel) -> None:
    table = nn.Embedding(20, 6)
    model.set_input_embeddings(table)
    assert model.get_input_embeddings() is table
    with pytest.raises(TypeError, match="Linear"):
        model.set_input_embeddings(nn.Linear(6, 6))


def test_half_precision_embeddings_are_near_single_precision_ones(model: AveragingModel) -> None:
    """bfloat16 keeps 8 bits: 2% of the largest number is a few of its steps."""
    exact = embed(model, *padded(TEXTS))
    half = embed(model.bfloat16(), *padded(TEXTS))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, rtol=0.02, atol=0.02)
