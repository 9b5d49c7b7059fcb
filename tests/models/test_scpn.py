"""SCPN, the parse generator and the paraphraser of 4.6: one network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

from paraphrastic_hf.layers.attentive import BilinearAttention, lstm_cell
from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserConfig, ParaphraserModel
from paraphrastic_hf.models.seq2seq.scpn import ScpnConfig, ScpnModel
from paraphrastic_hf.models.seq2seq.source_encoder import SourceEncoding

END = 29
SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "hidden_size": 12,
    "embedding_size": 8,
    "eos_token_id": END,
    "decoder_start_token_id": END,
}
SCPN_SIZES = {"template_vocab_size": 9, "template_embedding_size": 4, "template_hidden_size": 6}
SOURCE = torch.tensor([[3, 4, 3, END], [6, END, 0, 0]])
MASK = (SOURCE > 0).long()
TEMPLATE = torch.tensor([[2, 3, 5, 4, 8], [2, 5, 8, 0, 0]])
TEMPLATE_MASK = (TEMPLATE > 0).long()
TARGET = torch.tensor([[7, 3, 9, 10, END], [6, 12, END, 0, 0]])
LABELS = TARGET.masked_fill(TARGET == 0, -100)
BESIDE = {"template_ids": TEMPLATE, "template_attention_mask": TEMPLATE_MASK}


def make(**settings: Any) -> ScpnModel:
    torch.manual_seed(0)
    return ScpnModel(ScpnConfig(**{**SIZES, **SCPN_SIZES, **settings})).eval()


def make_paraphraser(**settings: Any) -> ParaphraserModel:
    torch.manual_seed(0)
    return ParaphraserModel(ParaphraserConfig(**{**SIZES, **settings})).eval()


@pytest.fixture
def model() -> ScpnModel:
    return make()


VARIANTS = pytest.mark.parametrize(
    "settings",
    [{}, {"template": "none"}, {"use_copy": False}, {"tie_word_embeddings": True}],
    ids=["scpn", "without z", "without copying", "tied"],
)


def test_a_step_of_the_lstm_is_that_of_torch() -> None:
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(3, 4).double()
    inputs, hidden, before = (torch.randn(5, n, dtype=torch.float64) for n in (3, 4, 4))
    gates = inputs @ cell.weight_ih.T + hidden @ cell.weight_hh.T + cell.bias_ih + cell.bias_hh
    for found, wanted in zip(lstm_cell(gates, before), cell(inputs, (hidden, before)), strict=True):
        torch.testing.assert_close(found, wanted)
    given = (gates.detach().requires_grad_(), before.requires_grad_())
    assert torch.autograd.gradcheck(lambda *each: lstm_cell(*each), given)


def test_bilinear_attention_is_the_equation() -> None:
    torch.manual_seed(0)
    attention = BilinearAttention(4, 3)
    vectors, queries = torch.randn(1, 3, 3), torch.randn(1, 2, 4)
    is_token = torch.tensor([[True, True, False]])
    gathered, weights = attention(queries, attention.keys(vectors), vectors, is_token)
    for place in range(2):
        scores = torch.stack(
            [queries[0, place] @ attention.bilinear.weight @ v for v in vectors[0, :2]]
        )
        expected = scores.softmax(0)
        torch.testing.assert_close(weights[0, place], torch.cat([expected, torch.zeros(1)]))
        torch.testing.assert_close(gathered[0, place], expected @ vectors[0, :2])


def test_copies_and_the_vocabulary_are_mixed_as_probabilities(model: ScpnModel) -> None:
    """p = g p_copy + (1 - g) p_vocab; token 3 stands twice in the source and gets both weights."""
    logits = model(SOURCE, MASK, labels=LABELS, **BESIDE).logits
    torch.testing.assert_close(logits.exp().sum(-1), torch.ones(2, 5))
    seen: dict[str, torch.Tensor] = {}
    hooks = [
        model.output.register_forward_hook(lambda *_: None),
        model.copy_gate.register_forward_hook(lambda *each: seen.update(gate=each[2])),
        model.attention.register_forward_hook(lambda *each: seen.update(weights=each[2][1])),
    ]
    plain = make()
    plain.copy_gate = None
    written = plain(SOURCE, MASK, labels=LABELS, **BESIDE).logits.softmax(-1)
    model(SOURCE, MASK, labels=LABELS, **BESIDE)
    for hook in hooks:
        hook.remove()
    for text in range(2):
        for place in range(5):
            g = torch.sigmoid(seen["gate"][text, place, 0])
            expected = (1 - g) * written[text, place]
            for token, weight in zip(SOURCE[text], seen["weights"][text, place], strict=True):
                expected[token] += g * weight
            torch.testing.assert_close(logits[text, place].exp(), expected)


def test_the_loss_of_training_is_that_of_all_scores(model: ScpnModel) -> None:
    """`targets` need no score of every token, and give the same loss and gradients."""
    is_target = LABELS >= 0
    read = model.prepare_decoder_input_ids_from_labels(LABELS)
    gradients = []
    for given in ({"labels": LABELS}, {"logits_at": is_target, "targets": LABELS[is_target]}):
        model.zero_grad()
        loss = model(SOURCE, MASK, decoder_input_ids=read, **given, **BESIDE).loss
        loss.backward()
        gradients.append((loss, [p.grad.clone() for p in model.parameters() if p.requires_grad]))
    torch.testing.assert_close(gradients[0][0], gradients[1][0])
    for first, second in zip(gradients[0][1], gradients[1][1], strict=True):
        torch.testing.assert_close(first, second, atol=1e-6, rtol=1e-4)


@VARIANTS
def test_writing_step_by_step_from_the_cache_gives_the_same_scores(settings: Any) -> None:
    model = make(**settings)
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET, use_cache=False, **BESIDE).logits
    for sizes in ([1, 1, 1, 1, 1], [3, 1, 1], [2, 3]):
        cache, found, start = None, [], 0
        for size in sizes:
            step = TARGET[:, start : start + size]
            output = model(SOURCE, MASK, step, cache=cache, use_cache=True, **BESIDE)
            cache, start = output[1], start + size
            found.append(output.logits)
        torch.testing.assert_close(torch.cat(found, 1), wanted)


@VARIANTS
@pytest.mark.parametrize("beams", [1, 4])
def test_generation_is_the_same_with_and_without_the_cache(settings: Any, beams: int) -> None:
    model = make(**settings)
    how: dict[str, Any] = {"num_beams": beams, "max_new_tokens": 12, **BESIDE}
    how |= {"num_return_sequences": beams, "attention_mask": MASK}
    with_cache = model.generate(SOURCE, use_cache=True, **how)
    assert torch.equal(with_cache, model.generate(SOURCE, use_cache=False, **how))
    assert with_cache.shape[0] == 2 * beams


def test_beams_of_a_batch_are_those_of_each_text_alone(model: ScpnModel) -> None:
    how: dict[str, Any] = {"num_beams": 3, "max_new_tokens": 8, "num_return_sequences": 3}
    both = model.generate(SOURCE, attention_mask=MASK, **BESIDE, **how)
    alone = model.generate(SOURCE[1:, :2], template_ids=TEMPLATE[1:, :3], **how)
    width = min(both.shape[1], alone.shape[1])
    assert torch.equal(both[3:, :width], alone[:, :width])


def test_an_encoding_may_be_shared_by_several_templates(model: ScpnModel) -> None:
    encoder = model.get_encoder()
    source = encoder(SOURCE[:1])
    templates = encoder.read_template(TEMPLATE, TEMPLATE_MASK)
    shared = SourceEncoding(
        source.last_hidden_state.expand(2, -1, -1), source.source_ids.expand(2, -1), templates
    )
    how: dict[str, Any] = {"num_beams": 2, "max_new_tokens": 8}
    found = model.generate(
        encoder_outputs=shared,
        attention_mask=torch.ones(2, 4),
        template_attention_mask=TEMPLATE_MASK,
        **how,
    )
    wanted = model.generate(SOURCE[[0, 0]], **BESIDE, **how)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(model: ScpnModel, side: str) -> None:
    template = TEMPLATE[1:, :3]
    alone = model(torch.tensor([[6, END]]), decoder_input_ids=TARGET[1:], template_ids=template)
    filling = torch.tensor([[17, 18]])  # whatever stands there
    parts = (filling, torch.tensor([[6, END]]))
    source = torch.cat(parts if side == "left" else parts[::-1], 1)
    mask = (source != 17) & (source != 18)
    padded = model(
        source,
        mask.long(),
        decoder_input_ids=TARGET[1:],
        template_ids=torch.cat([template, torch.tensor([[7, 7]])], 1),
        template_attention_mask=torch.tensor([[1, 1, 1, 0, 0]]),
    )
    torch.testing.assert_close(padded.logits, alone.logits)


def test_the_template_steers_what_is_written(model: ScpnModel) -> None:
    first = model(SOURCE, MASK, labels=LABELS, **BESIDE).logits
    other = {**BESIDE, "template_ids": TEMPLATE.flip(0)}
    assert not torch.allclose(first, model(SOURCE, MASK, labels=LABELS, **other).logits)
    without = make(template="none")
    first = without(SOURCE, MASK, labels=LABELS, **BESIDE).logits
    assert torch.equal(first, without(SOURCE, MASK, labels=LABELS, **other).logits)


def test_later_tokens_are_not_seen(model: ScpnModel) -> None:
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET, **BESIDE).logits
    changed = TARGET.clone()
    changed[:, 3:] = 20
    found = model(SOURCE, MASK, decoder_input_ids=changed, **BESIDE).logits
    torch.testing.assert_close(found[:, :3], wanted[:, :3])
    assert not torch.allclose(found[:, 3:], wanted[:, 3:])


def test_an_empty_source_or_template_is_nothing_to_attend_to(model: ScpnModel) -> None:
    nothing = torch.zeros(1, 3, dtype=torch.long)
    given = {"template_ids": nothing, "template_attention_mask": nothing}
    found = model(nothing, nothing, decoder_input_ids=TARGET[:1], **given).logits
    assert found.isfinite().all()
    loss = model.train()(nothing, nothing, labels=TARGET[:1], **given).loss
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_what_is_missing_is_named(model: ScpnModel) -> None:
    with pytest.raises(ValueError, match="this model needs template_ids"):
        model(SOURCE, MASK, labels=LABELS)
    with pytest.raises(ValueError, match="of another vocabulary"):
        model(SOURCE, MASK, labels=LABELS, template_ids=TEMPLATE + 5)
    with pytest.raises(ValueError, match="must say what the decoder reads"):
        model(SOURCE, MASK, **BESIDE)


@VARIANTS
def test_what_is_saved_is_what_auto_classes_load(tmp_path: Path, settings: Any) -> None:
    model = make(**settings)
    model.save_pretrained(tmp_path)
    wanted = model(SOURCE, MASK, labels=LABELS, **BESIDE).logits
    for remote in (False, True):
        loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, trust_remote_code=remote).eval()
        assert torch.equal(loaded(SOURCE, MASK, labels=LABELS, **BESIDE).logits, wanted)


@VARIANTS
def test_every_weight_is_trained(settings: Any) -> None:
    model = make(**settings).train()
    model(SOURCE, MASK, labels=LABELS, **BESIDE).loss.backward()
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    assert [name for name, p in trained if p.grad is None or not p.grad.any()] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"template_vocab_size": 0}, "template_vocab_size must be at least 1"),
        ({"hidden_size": 0}, "hidden_size must be at least 1"),
        ({"writes": "poems"}, "writes must be one of sentence, parse"),
        ({"template": "tree"}, "template must be one of parse, template, none"),
    ],
)
def test_settings_without_a_meaning_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(StrictDataclassError) as error:
        ScpnConfig(**settings)
    assert message in str(error.value.__cause__)


def test_the_paraphraser_is_scpn_without_template_and_copies() -> None:
    paraphraser = make_paraphraser()
    scpn = make(template="none", use_copy=False)
    missing = scpn.load_state_dict(paraphraser.state_dict())
    assert not missing.missing_keys
    found = scpn(SOURCE, MASK, labels=LABELS).logits
    torch.testing.assert_close(found, paraphraser(SOURCE, MASK, labels=LABELS).logits)


def test_seq2seq_trainer_trains_it_with_its_template(tmp_path: Path) -> None:
    sizes = {"hidden_size": 24, "embedding_size": 16}
    model = make(**sizes, template_hidden_size=16, template_embedding_size=8)
    row = {"input_ids": SOURCE[0], "attention_mask": MASK[0], "labels": TARGET[0]}
    rows = [
        {**row, "template_ids": TEMPLATE[0]},
        {
            **row,
            "template_ids": torch.tensor([6, 7, 6, 7, 6]),
            "labels": TARGET[0][[3, 2, 1, 0, 4]],
        },
    ]
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        num_train_epochs=160,
        learning_rate=0.02,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    Seq2SeqTrainer(model, arguments, train_dataset=rows * 2).train()  # type: ignore[arg-type]
    model.eval()
    for each in rows:
        written = model.generate(
            SOURCE[:1], template_ids=each["template_ids"][None], max_new_tokens=8
        )
        assert written[0, 1:].tolist() == each["labels"].tolist()
