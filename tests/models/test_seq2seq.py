import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvConfig, GatedConvModel
from paraphrastic_hf.models.seq2seq.scpn import ScpnConfig, ScpnModel
from paraphrastic_hf.models.seq2seq.ssru import SsruConfig, SsruModel
from tests.models.saving import check_saving

END = 29
SIZES = {
    **{"vocab_size": 30, "hidden_size": 12, "embedding_size": 8},
    **{"eos_token_id": END, "decoder_start_token_id": END},
}
SCPN = {"template_vocab_size": 9, "template_embedding_size": 4, "template_hidden_size": 6}
SSRU = {"template_vocab_size": 9, "heads": 2, "feed_forward": 10, "encoder_layers": 2}
CONVOLUTION = {"encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": 16}
KINDS = {
    "scpn": {},
    "scpn without z": {"template": "none"},
    "scpn without copying": {"use_copy": False},
    "scpn tied": {"tie_word_embeddings": True},
    "ssru": {},
    "ssru without templates": {"template": "none"},
    "ssru guided": {"guidance": 2.0},
    "convolution": {},
    "convolution of width 1": {"kernel_width": 1},
    "convolution of width 5": {"kernel_width": 5},
    "convolution tied": {"tie_word_embeddings": True},
}
SOURCE = torch.tensor([[3, 4, 3, END], [6, END, 0, 0]])
MASK = (SOURCE > 0).long()
TEMPLATE = torch.tensor([[2, 3, 5, 4, 8], [2, 5, 8, 0, 0]])
TARGET = torch.tensor([[7, 3, 9, 10, END], [6, 12, END, 0, 0]])
LABELS = TARGET.masked_fill(TARGET == 0, -100)
BESIDE = {"template_ids": TEMPLATE, "template_attention_mask": (TEMPLATE > 0).long()}
EVERY = pytest.mark.parametrize("kind", KINDS)
BOTH = pytest.mark.parametrize("kind", ["scpn", "ssru", "convolution"])


def make(kind, **settings):
    torch.manual_seed(0)
    settings = KINDS[kind] | settings
    if kind.startswith("scpn"):
        return ScpnModel(ScpnConfig(**(SIZES | SCPN | settings))).eval()
    if kind.startswith("ssru"):
        sizes = {name: size for name, size in SIZES.items() if name != "embedding_size"}
        return SsruModel(SsruConfig(**(sizes | SSRU | settings))).eval()
    return GatedConvModel(GatedConvConfig(**(SIZES | CONVOLUTION | settings))).eval()


def extra_inputs(kind):
    """Return the inputs besides the sentence."""
    is_used = kind.startswith("scpn") or kind in ("ssru", "ssru guided")
    return BESIDE if is_used else {}


@EVERY
def test_cached_and_full_decoding_are_equal(kind):
    model, more = make(kind), extra_inputs(kind)
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET, use_cache=False, **more).logits
    for sizes in ([1, 1, 1, 1, 1], [3, 1, 1], [2, 3]):
        cache, found, start = None, [], 0
        for size in sizes:
            step = TARGET[:, start : start + size]
            output = model(SOURCE, MASK, step, cache=cache, use_cache=True, **more)
            cache, start = output[1], start + size
            found.append(output.logits)
        torch.testing.assert_close(torch.cat(found, 1), wanted)


@EVERY
@pytest.mark.parametrize("beams", [1, 4])
def test_generation_with_and_without_the_cache_is_equal(kind, beams):
    model = make(kind)
    how = {"num_beams": beams, "max_new_tokens": 12, **extra_inputs(kind)}
    how |= {"num_return_sequences": beams, "attention_mask": MASK}
    with_cache = model.generate(SOURCE, use_cache=True, **how)
    assert torch.equal(with_cache, model.generate(SOURCE, use_cache=False, **how))
    assert with_cache.shape[0] == 2 * beams


@BOTH
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(kind, side):
    model = make(kind)
    template = TEMPLATE[1:, :3]
    is_steered = kind != "convolution"
    more = {"template_ids": template} if is_steered else {}
    alone = model(SOURCE[1:, :2], decoder_input_ids=TARGET[1:], **more)
    parts = (torch.tensor([[17, 18]]), SOURCE[1:, :2])  # whatever stands there
    source = torch.cat(parts if side == "left" else parts[::-1], 1)
    mask = (source != 17) & (source != 18)
    if is_steered:
        more = {
            "template_ids": torch.cat([template, torch.tensor([[7, 7]])], 1),
            "template_attention_mask": torch.tensor([[1, 1, 1, 0, 0]]),
        }
    padded = model(source, mask.long(), decoder_input_ids=TARGET[1:], **more)
    torch.testing.assert_close(padded.logits, alone.logits)


@BOTH
def test_later_tokens_are_not_seen(kind):
    model, more = make(kind), extra_inputs(kind)
    wanted = model(SOURCE, MASK, decoder_input_ids=TARGET, **more).logits
    changed = TARGET.clone()
    changed[:, 3:] = 20
    found = model(SOURCE, MASK, decoder_input_ids=changed, **more).logits
    torch.testing.assert_close(found[:, :3], wanted[:, :3])
    assert not torch.allclose(found[:, 3:], wanted[:, 3:])


@BOTH
def test_an_empty_source_or_template_is_allowed(kind):
    model, nothing = make(kind), torch.zeros(1, 3, dtype=torch.long)
    more = dict.fromkeys(extra_inputs(kind), nothing)
    found = model(nothing, nothing, decoder_input_ids=TARGET[:1], **more).logits
    assert found.isfinite().all()
    if kind == "convolution":
        other = model(nothing + 5, nothing, decoder_input_ids=TARGET[:1]).logits
        assert torch.equal(found, other)
    model.train()(nothing, nothing, labels=TARGET[:1], **more).loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@EVERY
def test_a_saved_model_loads_with_auto_classes(kind, tmp_path):
    more = extra_inputs(kind)

    def run(loaded):
        return loaded(SOURCE, MASK, labels=LABELS, **more).logits

    check_saving(make(kind), tmp_path, AutoModelForSeq2SeqLM, run)


@EVERY
def test_every_weight_is_trained(kind):
    model = make(kind).train()
    model(SOURCE, MASK, labels=LABELS, **extra_inputs(kind)).loss.backward()
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    assert [name for name, p in trained if p.grad is None or not p.grad.any()] == []


@EVERY
def test_targets_give_the_loss_and_gradients_of_labels(kind):
    model, is_target = make(kind).train(), LABELS >= 0
    read = model.prepare_decoder_input_ids_from_labels(LABELS)
    found, more = [], {"decoder_input_ids": read, "return_dict": False, **extra_inputs(kind)}
    for given in ({"labels": LABELS}, {"logits_at": is_target, "targets": LABELS[is_target]}):
        model.zero_grad()
        torch.manual_seed(0)  # for dropout
        loss, *_ = model(SOURCE, MASK, **given, **more)
        loss.backward()
        found.append([loss, *(p.grad.clone() for p in model.parameters() if p.requires_grad)])
    torch.testing.assert_close(*found, atol=1e-6, rtol=1e-4)


@pytest.mark.slow
@BOTH
def test_seq2seq_trainer_trains_with_templates(kind, tmp_path):
    more = {"template_hidden_size": 16, "template_embedding_size": 8} if kind == "scpn" else {}
    model = make(kind, hidden_size=24, embedding_size=16, **more)
    row = {"input_ids": SOURCE[0], "attention_mask": MASK[0], "labels": TARGET[0]}
    rows = [row]
    if kind == "scpn":
        other, turned = torch.tensor([6, 7, 6, 7, 6]), TARGET[0, [3, 2, 1, 0, 4]]
        rows = [row | {"template_ids": TEMPLATE[0]}]
        rows.append(row | {"template_ids": other, "labels": turned})
    arguments = Seq2SeqTrainingArguments(
        str(tmp_path), per_device_train_batch_size=4, num_train_epochs=160, learning_rate=0.02,
        report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True,
        predict_with_generate=True,
    )  # fmt: skip
    Seq2SeqTrainer(model, arguments, train_dataset=rows * (4 // len(rows))).train()
    for each in rows:
        given = {k: v[None] for k, v in each.items() if k == "template_ids"}
        written = model.eval().generate(SOURCE[:1], max_new_tokens=8, **given)
        assert written[0, 1:].tolist() == each["labels"].tolist()


def test_guidance_raises_what_the_template_makes_likelier():
    plain, guided = (make("ssru", guidance=guidance) for guidance in (1.0, 2.5))
    given = {"input_ids": SOURCE, "attention_mask": MASK, "decoder_input_ids": TARGET}
    wanted = plain(**given, **BESIDE).logits.log_softmax(-1)
    free = plain(**given).logits.log_softmax(-1)
    assert not torch.allclose(free, wanted, atol=1e-3)
    found = guided(**given, **BESIDE).logits
    torch.testing.assert_close(found, free + 2.5 * (wanted - free))
    given |= {"logits_at": TARGET > 0, "targets": TARGET[TARGET > 0], **BESIDE}
    assert plain(**given).loss == guided(**given).loss  # the held-out likelihood is unguided
