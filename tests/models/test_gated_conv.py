"""The gated convolutional encoder-decoder."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

from paraphrastic_hf.layers.gated_convolution import GatedConvolution, SummaryAttention
from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvConfig, GatedConvModel

END = 29
SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "hidden_size": 12,
    "embedding_size": 8,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "max_position_embeddings": 16,
    "eos_token_id": END,
    "decoder_start_token_id": END,
}


def make(**settings: Any) -> GatedConvModel:
    torch.manual_seed(0)
    return GatedConvModel(GatedConvConfig(**{**SIZES, **settings})).eval()


@pytest.fixture
def model() -> GatedConvModel:
    return make()


SOURCE = torch.tensor([[3, 4, 5, END], [6, END, 0, 0]])
MASK = (SOURCE > 0).long()
TARGET = torch.tensor([[7, 8, 9, 10, END], [11, 12, END, 0, 0]])


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_gated_convolution_is_the_equation(is_causal: bool) -> None:
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


def test_attention_gathers_values_by_the_keys() -> None:
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


@pytest.mark.parametrize("width", [1, 3, 5])
def test_writing_step_by_step_from_the_cache_gives_the_same_scores(width: int) -> None:
    model = make(kernel_width=width)
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET, use_cache=False).logits
    for sizes in ([1, 1, 1, 1, 1], [3, 1, 1], [2, 3]):
        cache, found, start = None, [], 0
        for size in sizes:
            step = TARGET[:, start : start + size]
            output = model(SOURCE, MASK, step, cache=cache, use_cache=True)
            cache, start = output[1], start + size
            found.append(output.logits)
        torch.testing.assert_close(torch.cat(found, 1), wanted)


def test_a_cache_is_taken_under_its_old_name_too_but_not_under_both() -> None:
    model = make()
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET, use_cache=False).logits[:, 3:]
    cache = model(SOURCE, MASK, TARGET[:, :3], use_cache=True)[1]
    rest = {"decoder_input_ids": TARGET[:, 3:], "past_key_values": cache}
    with pytest.raises(ValueError, match="old name of `cache`"):
        model(SOURCE, MASK, cache=cache, **rest)
    with pytest.raises(ValueError, match="GatedConvModel takes a cache that grows"):
        model.generate(SOURCE, max_new_tokens=2, cache_implementation="static")
    torch.testing.assert_close(model(SOURCE, MASK, **rest).logits, wanted)


@pytest.mark.parametrize("beams", [1, 4])
def test_generation_is_the_same_with_and_without_the_cache(
    model: GatedConvModel, beams: int
) -> None:
    how: dict[str, Any] = {"num_beams": beams, "max_new_tokens": 12}
    how |= {"num_return_sequences": beams, "attention_mask": MASK}
    with_cache = model.generate(SOURCE, use_cache=True, **how)
    assert torch.equal(with_cache, model.generate(SOURCE, use_cache=False, **how))
    assert with_cache.shape[0] == 2 * beams
    torch.manual_seed(0)
    drawn = model.generate(SOURCE, attention_mask=MASK, do_sample=True, max_new_tokens=12)
    assert not torch.equal(drawn[:, 1:5], with_cache[::beams, 1:5])


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(model: GatedConvModel, side: str) -> None:
    alone = model(torch.tensor([[6, END]]), decoder_input_ids=TARGET[1:]).logits
    filling = torch.tensor([[17, 18]])  # whatever stands there
    parts = (filling, torch.tensor([[6, END]]))
    source = torch.cat(parts if side == "left" else parts[::-1], 1)
    mask = (source != 17) & (source != 18)
    padded = model(source, mask.long(), decoder_input_ids=TARGET[1:]).logits
    torch.testing.assert_close(padded, alone)


def test_later_tokens_are_not_seen(model: GatedConvModel) -> None:
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET).logits
    changed = TARGET.clone()
    changed[:, 3:] = 20
    found = model(SOURCE, MASK, decoder_input_ids=changed).logits
    torch.testing.assert_close(found[:, :3], wanted[:, :3])
    assert not torch.allclose(found[:, 3:], wanted[:, 3:])


def test_an_empty_source_is_nothing_to_attend_to(model: GatedConvModel) -> None:
    nothing = torch.zeros(1, 3, dtype=torch.long)
    found = model(nothing, nothing, decoder_input_ids=TARGET[:1]).logits
    assert found.isfinite().all()
    other = model(nothing + 5, nothing, decoder_input_ids=TARGET[:1]).logits
    assert torch.equal(found, other)
    loss = model.train()(nothing, nothing, labels=TARGET[:1]).loss
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_a_text_longer_than_the_positions_is_refused(model: GatedConvModel) -> None:
    long = torch.full((1, 17), 5)
    message = "a text of 17 tokens is longer than the 16 positions"
    with pytest.raises(ValueError, match=message):
        model(long, decoder_input_ids=TARGET[:1])
    with pytest.raises(ValueError, match=message):
        model(SOURCE[:1], decoder_input_ids=long)
    with pytest.raises(ValueError, match="must say what the decoder reads"):
        model(SOURCE)


def test_the_loss_is_that_of_the_labels_alone(model: GatedConvModel) -> None:
    labels = TARGET.masked_fill(TARGET == 0, -100)
    output = model(SOURCE, MASK, labels=labels)
    is_label = labels >= 0
    read = model.prepare_decoder_input_ids_from_labels(labels)
    logits = model(SOURCE, MASK, decoder_input_ids=read, logits_at=is_label).logits
    assert logits.shape == (8, 30)
    of_tokens = logits.log_softmax(1)[torch.arange(8), labels[is_label]]
    torch.testing.assert_close(output.loss, -of_tokens.mean())
    as_tuple = model(SOURCE, MASK, labels=labels, return_dict=False)
    assert torch.equal(as_tuple[0], output.loss)


@pytest.mark.parametrize("is_tied", [True, False])
def test_what_is_saved_is_what_auto_classes_load(tmp_path: Path, is_tied: bool) -> None:
    model = make(tie_word_embeddings=is_tied)
    assert (model.output.weight is model.encoder.table.weight) == is_tied
    assert len(model.tables()) == (1 if is_tied else 2)
    model.save_pretrained(tmp_path)
    wanted = model(SOURCE, MASK, labels=TARGET).logits
    for remote in (False, True):
        loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, trust_remote_code=remote).eval()
        assert torch.equal(loaded(SOURCE, MASK, labels=TARGET).logits, wanted)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_layers_start_so_that_states_keep_their_spread(dropout: float) -> None:
    sizes = {"hidden_size": 256, "embedding_size": 128, "encoder_layers": 4, "dropout": dropout}
    model = make(**sizes)
    kept = 1 - dropout
    for name, width, gain in (("layers.0.window", 3 * 256, 4), ("widen", 128, 1)):
        weight = model.encoder.get_parameter(f"{name}.weight").detach()
        assert float(weight.std()) == pytest.approx((gain * kept / width) ** 0.5, rel=0.02)
    if not dropout:
        states = torch.randn(1, 60, 256) * 0.1  # gates are halves of small numbers
        for layer in model.encoder.layers:
            states = layer(states)
        assert 0.08 < float(states.detach().std()) < 0.12


def test_every_weight_is_trained() -> None:
    model = make(tie_word_embeddings=False).train()
    model(SOURCE, MASK, labels=TARGET).loss.backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert idle == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel_width": 2}, "must be odd"),
        ({"decoder_layers": 0}, "decoder_layers must be"),
        ({"dropout": 1.5}, "dropout must be at least 0 and below 1, got 1.5"),
    ],
)
def test_sizes_without_a_meaning_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(StrictDataclassError) as error:
        GatedConvConfig(**settings)
    assert message in str(error.value.__cause__)


def test_seq2seq_trainer_trains_it(model: GatedConvModel, tmp_path: Path) -> None:
    row = {"input_ids": SOURCE[0], "attention_mask": MASK[0], "labels": TARGET[0]}
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        num_train_epochs=40,
        learning_rate=0.02,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        predict_with_generate=True,
    )
    trainer = Seq2SeqTrainer(model, arguments, train_dataset=[row] * 4)  # type: ignore[arg-type]
    trainer.train()
    written = model.eval().generate(SOURCE[:1], max_new_tokens=8)
    assert written[0, 1:].tolist() == TARGET[0].tolist()


def test_gradients_of_the_layers_are_right() -> None:
    torch.manual_seed(0)
    layer = GatedConvolution(2, 3, dropout=0.0, is_causal=True).double()
    states = torch.randn(1, 3, 2, dtype=torch.float64, requires_grad=True)

    def run(inputs: Tensor) -> Any:
        return layer(inputs)

    assert torch.autograd.gradcheck(run, (states,))
