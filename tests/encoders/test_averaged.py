"""Conversion of generative models to averaging models."""

from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.averaged import averaged
from paraphrastic_hf.encoders.languages import languages_of
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
from paraphrastic_hf.models.generative.mgt import MGTConfig, MGTModel
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer

TEXTS = ["a cat sleeps on the mat", "", "rain"]


def generative(
    inner: SubwordTokenizer,
    kind: str = "average",
    start: int | None = None,
    languages: list[str] | None = None,
) -> SentenceEncoder:
    tokenizer = MarkedTokenizer(inner, "end")
    torch.manual_seed(0)
    settings = {
        "vocab_size": tokenizer.vocab_size, "hidden_size": 8, "encoder_kind": kind,
        "encoder_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
        "eos_token_id": tokenizer.special.end[0], "decoder_start_token_id": start,
    }  # fmt: skip
    if languages is not None:
        shared = MGTConfig(**settings, languages=languages, has_language_variables=False)
        return SentenceEncoder(MGTModel(shared).eval(), tokenizer)
    return SentenceEncoder(BGTModel(BGTConfig(**settings)).eval(), tokenizer)


@pytest.mark.parametrize(
    ("start", "languages"), [(None, None), (0, None), (1, None), (1, ["en", "fr", "de"])]
)
def test_an_averaged_model_keeps_the_directions(start, languages, subword):
    encoder = generative(subword, start=start, languages=languages)
    table = averaged(encoder)
    assert not table.table()[0].any()
    expected = encoder.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(table.encode(TEXTS, normalize_embeddings=True), expected, atol=1e-6)
    assert not expected[1].any()


def test_sentence_transformers_reads_an_averaged_model(subword, tmp_path):
    from sentence_transformers import SentenceTransformer

    encoder = generative(subword)
    encoder.save_pretrained(tmp_path / "bgt")
    packed = str(tmp_path / "table")
    assert main(["pack", str(tmp_path / "bgt"), "--precision", "float32", "--output", packed]) == 0
    assert languages_of(Path(packed)) == ["en", "fr"]
    found = SentenceTransformer(packed, device="cpu").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(found, encoder.encode(TEXTS, normalize_embeddings=True), atol=1e-6)


def test_other_encoders_are_unchanged_or_refused(subword, tmp_path, capsys):
    transformer = generative(subword, "transformer")
    assert averaged(transformer) is transformer
    transformer.save_pretrained(tmp_path / "bgt")
    assert main(["pack", str(tmp_path / "bgt"), "--output", str(tmp_path / "table")]) == 2
    assert "bgt" in capsys.readouterr().err
    other, language, centered = (generative(subword) for _ in range(3))
    other.tokenizer = subword
    language.model.read_variable("en")
    centered.model.center_on(torch.ones(8))
    for encoder in (other, language, centered):
        with pytest.raises(ModelError):
            averaged(encoder)
