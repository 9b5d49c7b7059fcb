import math

import pytest
import torch

from paraphrastic_hf.layers.gated_convolution import GatedConvolution, SummaryAttention
from tests.models.test_seq2seq import MASK, SOURCE, TARGET, make


@pytest.fixture
def model():
    return make("convolution")


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_gated_convolution_matches_the_equation(is_causal):
    torch.manual_seed(1)
    layer = GatedConvolution(4, 3, dropout=0.0, is_causal=is_causal)
    states = torch.randn(2, 5, 4)
    weight, bias = layer.window.weight.view(8, 3, 4), layer.window.bias
    first = -2 if is_causal else -1
    for text, row in zip(states, layer(states), strict=True):
        for place in range(5):
            total = bias.clone()
            for k in range(3):
                other = place + first + k
                if 0 <= other < 5:
                    total += weight[:, k] @ text[other]
            gated = total[:4] * torch.sigmoid(total[4:])
            expected = math.sqrt(0.5) * (text[place] + gated)
            torch.testing.assert_close(row[place], expected)


def test_attention_matches_the_equation():
    torch.manual_seed(1)
    attention = SummaryAttention(6, 4)
    states, embedded = torch.randn(1, 2, 6), torch.randn(1, 2, 4)
    keys, values = torch.randn(1, 3, 4), torch.randn(1, 3, 4)
    is_token = torch.tensor([[True, True, False]])
    found = attention(states, embedded, keys, values, is_token)
    for place in range(2):
        query = (attention.query(states[0, place]) + embedded[0, place]) * math.sqrt(0.5)
        weights = torch.softmax(keys[0, :2] @ query, 0)
        gathered = weights @ values[0, :2] * math.sqrt(2)
        expected = math.sqrt(0.5) * (attention.output(gathered) + states[0, place])
        torch.testing.assert_close(found[0, place], expected)


def test_a_cache_is_accepted_under_either_name_but_not_both(model):
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET, use_cache=False).logits[:, 3:]
    cache = model(SOURCE, MASK, TARGET[:, :3], use_cache=True)[1]
    rest = {"decoder_input_ids": TARGET[:, 3:], "past_key_values": cache}
    for call in (
        lambda: model(SOURCE, MASK, cache=cache, **rest),
        lambda: model.generate(SOURCE, max_new_tokens=2, cache_implementation="static"),
    ):
        with pytest.raises(ValueError, match="cache"):
            call()
    torch.testing.assert_close(model(SOURCE, MASK, **rest).logits, wanted)


def test_a_text_longer_than_the_positions_is_refused(model):
    long = torch.full((1, 17), 5)
    for given in (
        {"input_ids": long, "decoder_input_ids": TARGET[:1]},
        {"input_ids": SOURCE[:1], "decoder_input_ids": long},
        {"input_ids": SOURCE},
    ):
        with pytest.raises(ValueError, match=r"17|decoder"):
            model(**given)


@pytest.mark.parametrize("is_tied", [True, False])
def test_tables_may_be_tied(is_tied):
    model = make("convolution", tie_word_embeddings=is_tied)
    assert (model.output.weight is model.encoder.table.weight) == is_tied
    assert len(model.tables()) == (1 if is_tied else 2)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_initial_layers_keep_the_spread_of_states(dropout):
    sizes = {"hidden_size": 256, "embedding_size": 128, "encoder_layers": 4, "dropout": dropout}
    model = make("convolution", **sizes)
    kept = 1 - dropout
    for name, width, gain in (("layers.0.window", 3 * 256, 4), ("widen", 128, 1)):
        weight = model.encoder.get_parameter(f"{name}.weight").detach()
        assert float(weight.std()) == pytest.approx((gain * kept / width) ** 0.5, rel=0.02)
    if not dropout:
        states = torch.randn(1, 60, 256) * 0.1  # gates are halves of small numbers
        for layer in model.encoder.layers:
            states = layer(states)
        assert 0.08 < float(states.detach().std()) < 0.12
