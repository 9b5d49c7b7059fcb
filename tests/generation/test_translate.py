import math
import shutil
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from paraphrastic_hf.encoders.storage.fingerprint import identity
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.generation.languages import Languages, told_language
from paraphrastic_hf.generation.translate import EXTRA_TOKENS, Translator
from tests.generation import scpn
from tests.generation.seq2seq import save_marian
from tests.texts import SENTENCES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    save_marian(folder)
    return folder


@pytest.fixture
def translator(folder):
    return Translator.from_pretrained(folder)


def test_the_batch_size_does_not_matter(translator, folder):
    lines = [SENTENCES[0], "", SENTENCES[1], "  ", *SENTENCES[2:9]]
    together = translator.translate(lines, beams=3, outputs=2)
    alone = Translator.from_pretrained(folder, batch_size=1).translate(lines, beams=3, outputs=2)
    for line, many, one in zip(lines, together, alone, strict=True):
        assert [each.text for each in many] == [each.text for each in one]
        if line.strip():
            assert [each.nats for each in many] == pytest.approx([e.nats for e in one], abs=1e-4)
        else:
            assert [each.text for each in many] == ["", ""]
            assert all(math.isnan(each.nats) and not each.ids for each in many)


def test_a_forced_end_does_not_depend_on_the_batch(folder):
    found = []
    for size in (1, 8):
        translator = Translator.from_pretrained(folder, max_ratio=0.1, batch_size=size)
        settings = translator.model.generation_config
        settings.forced_eos_token_id = translator.tokenizer.eos_token_id
        lists = translator.translate(SENTENCES[:8], beams=4, outputs=4)
        found.append([[each.ids for each in one] for one in lists])
        assert translator.model.generation_config is settings
    assert found[0] == found[1]


def test_nats_equal_the_scores_of_beams(translator):
    (found,) = translator.translate(SENTENCES[:1], beams=4, outputs=4, max_tokens=12)
    inputs = translator.tokenizer(SENTENCES[:1], return_tensors="pt")
    how = {"return_dict_in_generate": True, "output_scores": True, "max_length": None}
    stock = translator.model.generate(
        **inputs, **how, num_beams=4, num_return_sequences=4, max_new_tokens=12
    )
    ids = [[number for number in row[1:] if number] for row in stock.sequences.tolist()]
    assert [list(each.ids) for each in found] == ids
    nats = [each.nats for each in found]
    assert nats == pytest.approx(stock.sequences_scores.tolist(), abs=1e-4)
    assert nats == sorted(nats, reverse=True)


def test_score_is_minus_the_loss(translator):
    lines = ["a cat", "", "the dog sleeps"]
    found = translator.score(lines, ["the red car", "x", ""])
    assert np.isnan(found[1:]).all()
    inputs = translator.tokenizer("a cat", return_tensors="pt")
    labels = translator.tokenizer(text_target="the red car", return_tensors="pt")["input_ids"]
    loss = translator.model(**inputs, labels=labels).loss
    assert found[0] == pytest.approx(-loss.item(), abs=1e-5)


@pytest.mark.parametrize("sample", [False, True])
def test_max_ratio_limits_the_length(folder, sample):
    translator = Translator.from_pretrained(folder, max_ratio=0.5)
    lines = ["a", " ".join(SENTENCES[:2])]
    ids = translator.encode(lines)
    found = translator.translate(lines, beams=2, outputs=2, sample=sample)
    for source, written in zip(ids, found, strict=True):
        most = int(0.5 * len(source)) + EXTRA_TOKENS
        assert max(len(each.ids) for each in written) <= most
    assert len(translator.translate(lines, max_tokens=3)[1][0].ids) == 3


def test_long_lines_are_cut_at_the_positions(translator, caplog):
    (ids,) = translator.encode(["a cat sleeps " * 1000])
    assert "64" in caplog.text
    assert len(ids) == 64
    assert ids[-1] == translator.tokenizer.eos_token_id
    (found,) = translator.translate(["a cat sleeps " * 1000], beams=1)
    assert 0 < len(found[0].ids) < 64
    whole = translator.tokenizer.decode(ids[:-1])
    caplog.clear()
    assert translator.encode([whole]) == [ids]  # the longest line that is not cut
    assert not caplog.messages


def test_out_of_memory_halves_the_batch(translator, monkeypatch, caplog):
    wanted = translator.translate(SENTENCES[:8], beams=2)
    generate = translator.model.generate
    sizes = []

    def small(encoder_outputs, **options):
        sizes.append(len(encoder_outputs.last_hidden_state))
        if len(encoder_outputs.last_hidden_state) > 3:
            raise torch.OutOfMemoryError("too many")
        return generate(encoder_outputs=encoder_outputs, **options)

    monkeypatch.setattr(translator.model, "generate", small)
    found = translator.translate(SENTENCES[:8], beams=2)
    assert [w[0].text for w in found] == [w[0].text for w in wanted]
    assert "batch_size 8" in caplog.text
    assert translator.batch_size == 2
    assert sizes == [8, 4, 2, 2, 2, 2]  # a failed size is not tried again
    monkeypatch.setattr(translator.model, "generate", Mock(side_effect=torch.OutOfMemoryError))
    with pytest.raises(torch.OutOfMemoryError):
        translator.translate(["a cat"])


def test_training_mode_surrogates_and_padding_do_not_matter(translator):
    wanted = translator.translate(["a cat"], beams=2)
    translator.model.train()
    assert translator.translate(["a cat"], beams=2) == wanted
    assert translator.model.training
    assert translator.translate([]) == []
    first, second = translator.translate(["\ud800 a cat", "\ufffd a cat"], beams=2)
    assert first == second  # a lone surrogate is read as U+FFFD
    translator.model.final_logits_bias[0, translator.tokenizer.pad_token_id] = -math.inf
    found = translator.translate(SENTENCES[:4], beams=1, scores=True)
    assert all(math.isfinite(each[0].nats) for each in found)
    assert len({len(each[0].ids) for each in found}) > 1  # so that some are padded


def test_the_identity_depends_on_the_generation_config(translator, tmp_path):
    translator.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path)
    assert again.translate(["a cat"], beams=2) == translator.translate(["a cat"], beams=2)
    assert identity(again) == identity(translator)
    again.model.generation_config.repetition_penalty = 2.0
    assert identity(again) != identity(translator)


def test_wrong_models_and_options_are_refused(folder, tmp_path):
    with pytest.raises(TypeError):
        Translator.from_pretrained(folder).translate("a cat")
    for option in ("batch_size", "max_ratio"):
        with pytest.raises(ValueError, match=option):
            Translator.from_pretrained(folder, **{option: 0})
    for options in ({"outputs": 9}, {"beams": 0}, {"sample": True, "top_p": 0}):
        with pytest.raises(ValueError, match=r"outputs|beams|top_p"):
            Translator.from_pretrained(folder).translate(["a cat"], **options)
    with pytest.raises(ModelError):
        Translator.from_pretrained("english")
    with pytest.raises(ModelError):
        Translator.from_pretrained(tmp_path / "runs" / "none")


def test_missing_weights_are_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    del weights["model.decoder.layers.0.fc1.weight"]
    save_file(weights, tmp_path / "model" / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"model\.decoder\.layers"):
        Translator.from_pretrained(tmp_path / "model")


class Marks:
    """A tokenizer with language marks, such as a multilingual Marian."""

    vocabulary, unk_token_id = {">>de<<": 8, ">>fr<<": 9, ">>": 10, "a": 11}, 1

    def convert_tokens_to_ids(self, token):
        return self.vocabulary.get(token, 1)

    def get_vocab(self):
        return self.vocabulary


class Codes(Marks):
    """A tokenizer with language codes, such as NLLB or M2M100."""

    vocabulary = {"en_XX": 5, "de_DE": 6, "__fr__": 7}
    src_lang = tgt_lang = "en_XX"


def test_languages_are_set_by_codes_or_marks():
    codes = Codes()
    assert Languages.of(codes, "en_XX", "de_DE") == Languages((), 6)
    assert codes.tgt_lang == "de_DE"
    assert Languages.of(Codes(), None, "fr") == Languages((), 7)
    assert Languages.of(Marks(), None, "fr") == Languages((9,), None)
    wrong = (Codes(), "xx", None), (Marks(), None, "es"), (Marks(), "en", "fr")
    for tokenizer, read, written in wrong:
        with pytest.raises(ValueError):  # noqa: PT011
            Languages.of(tokenizer, read, written)
    assert told_language(Codes(), "fr", "de") == told_language(Marks(), "fr", "de") == "fr"


def test_the_trained_target_language_may_be_named(folder, tmp_path):
    with pytest.raises(ValueError, match="en"):
        Translator.from_pretrained(folder, to="en")
    trained = shutil.copytree(folder, tmp_path / "model")
    (trained / "recipe.yaml").write_text("kind: translation\ndata: {target_language: en}\n")
    assert Translator.from_pretrained(trained, to="en").languages == Languages()
    with pytest.raises(ValueError, match="fr"):
        Translator.from_pretrained(trained, to="fr")


def test_a_copying_encoder_translates(tmp_path):
    """A copying SCPN also needs the source ids."""
    translator = Translator.from_pretrained(scpn.make("untemplated", tmp_path))
    lines = ["a cat sleeps", "the dog is in the garden"]
    how = {"beams": 2, "outputs": 2, "scores": True}
    together = translator.translate(lines, **how)
    for line, found in zip(lines, together, strict=True):
        (alone,) = translator.translate([line], **how)
        assert [each.ids for each in alone] == [each.ids for each in found]
    assert all(math.isfinite(each.nats) for found in together for each in found)
    assert np.isfinite(translator.score(lines, lines)).all()
    with pytest.raises(ModelError):
        Translator.from_pretrained(scpn.make("by-template", tmp_path))
