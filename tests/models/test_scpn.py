"""SCPN, the parse generator, and the paraphraser of thesis 4.6."""

import itertools

import pytest
import torch

from paraphrastic_hf.layers.attention import BilinearAttention, lstm_cell
from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserConfig, ParaphraserModel
from tests.models.test_seq2seq import BESIDE, LABELS, MASK, SIZES, SOURCE, TEMPLATE, make


@pytest.fixture
def model():
    return make("scpn")


def test_an_lstm_step_matches_torch():
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(3, 4).double()
    inputs, hidden, before = (torch.randn(5, n, dtype=torch.float64) for n in (3, 4, 4))
    gates = inputs @ cell.weight_ih.T + hidden @ cell.weight_hh.T + cell.bias_ih + cell.bias_hh
    for found, wanted in zip(lstm_cell(gates, before), cell(inputs, (hidden, before)), strict=True):
        torch.testing.assert_close(found, wanted)
    given = (gates.detach().requires_grad_(), before.requires_grad_())
    assert torch.autograd.gradcheck(lambda *each: lstm_cell(*each), given)


def test_bilinear_attention_matches_the_equation():
    torch.manual_seed(0)
    attention = BilinearAttention(4, 3)
    vectors, queries = torch.randn(1, 3, 3), torch.randn(1, 2, 4)
    is_token = torch.tensor([[True, True, False]])
    gathered, weights = attention(queries, attention.keys(vectors), vectors, is_token)
    for place in range(2):
        expected = (vectors[0, :2] @ (queries[0, place] @ attention.bilinear.weight)).softmax(0)
        torch.testing.assert_close(weights[0, place], torch.cat([expected, torch.zeros(1)]))
        torch.testing.assert_close(gathered[0, place], expected @ vectors[0, :2])


def test_copies_and_the_vocabulary_are_mixed_as_probabilities(model):
    """p = g p_copy + (1 - g) p_vocab. Token 3 occurs twice in the source and gets both weights."""
    logits = model(SOURCE, MASK, labels=LABELS, **BESIDE).logits
    torch.testing.assert_close(logits.exp().sum(-1), torch.ones(2, 5))
    seen = {}
    hooks = [
        model.copy_gate.register_forward_hook(lambda *each: seen.update(gate=each[2])),
        model.attention.register_forward_hook(lambda *each: seen.update(weights=each[2][1])),
    ]
    plain = make("scpn")
    plain.copy_gate = None
    written = plain(SOURCE, MASK, labels=LABELS, **BESIDE).logits.softmax(-1)
    model(SOURCE, MASK, labels=LABELS, **BESIDE)
    for hook in hooks:
        hook.remove()
    for text, place in itertools.product(range(2), range(5)):
        g = torch.sigmoid(seen["gate"][text, place, 0])
        expected = (1 - g) * written[text, place]
        for token, weight in zip(SOURCE[text], seen["weights"][text, place], strict=True):
            expected[token] += g * weight
        torch.testing.assert_close(logits[text, place].exp(), expected)


def test_the_template_changes_the_output_if_it_is_used(model):
    first = model(SOURCE, MASK, labels=LABELS, **BESIDE).logits
    other = {**BESIDE, "template_ids": TEMPLATE.flip(0)}
    assert not torch.allclose(first, model(SOURCE, MASK, labels=LABELS, **other).logits)
    without = make("scpn without z")
    first = without(SOURCE, MASK, labels=LABELS, **BESIDE).logits
    assert torch.equal(first, without(SOURCE, MASK, labels=LABELS, **other).logits)


def test_missing_or_wrong_inputs_are_refused(model):
    for given, key in (
        ({"labels": LABELS}, "template_ids"),
        ({"labels": LABELS, "template_ids": TEMPLATE + 5}, "vocabulary"),
        (BESIDE, "decoder"),
    ):
        with pytest.raises(ValueError, match=key):
            model(SOURCE, MASK, **given)


def test_the_paraphraser_is_scpn_without_template_and_copying():
    torch.manual_seed(0)
    paraphraser = ParaphraserModel(ParaphraserConfig(**SIZES)).eval()
    scpn = make("scpn", template="none", use_copy=False)
    missing = scpn.load_state_dict(paraphraser.state_dict())
    assert not missing.missing_keys
    found = scpn(SOURCE, MASK, labels=LABELS).logits
    torch.testing.assert_close(found, paraphraser(SOURCE, MASK, labels=LABELS).logits)
