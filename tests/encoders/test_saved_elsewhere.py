"""Models saved by sentence-transformers and transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from sentence_transformers.sentence_transformer.training_args import (
    SentenceTransformerTrainingArguments,
)
from tokenizers import Tokenizer
from tokenizers.models import Unigram, WordLevel
from transformers import AutoModel, AutoTokenizer

from paraphrastic_hf import SentenceEncoder, packaged_model
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import MissingExtraError, ModelError
from paraphrastic_hf.io.files import SETTINGS
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.made import averaging, recurrent
from tests.texts import HOSTILE, SENTENCES

TEXTS = [*SENTENCES, *HOSTILE, "", "12,000 km²"]
TOKENIZERS = {
    "pieces": lambda: SubwordTokenizer.train(SENTENCES, vocab_size=300, character_coverage=0.98),
    "pieces as they are": lambda: SubwordTokenizer.train(
        SENTENCES, vocab_size=300, lowercase=False, keep_unknown=True
    ),
    "words": lambda: WordTokenizer.train(SENTENCES, vocab_size=100),
    "words as they are": lambda: WordTokenizer(
        ["The", "cat", "café"], lowercase=False, keep_unknown=True, spaced=True
    ),
}


def theirs(folder: Path) -> Any:
    return SentenceTransformer(str(folder), device="cpu")


def saved_by_them(tokenizer: Any, folder: Path) -> SentenceEncoder:
    encoder = averaging(tokenizer)
    encoder.save_pretrained(folder / "ours")
    theirs(folder / "ours").save_pretrained(str(folder / "theirs"))
    return encoder


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_model_saved_again_by_sentence_transformers_is_unchanged(kind, tmp_path):
    encoder = saved_by_them(TOKENIZERS[kind](), tmp_path)
    assert not (tmp_path / "theirs" / "config.json").exists()
    again = SentenceEncoder.from_pretrained(tmp_path / "theirs")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    assert again.tokenizer.tokens() == encoder.tokenizer.tokens()
    again.save_pretrained(tmp_path / "once more")
    third = SentenceEncoder.from_pretrained(tmp_path / "once more").encode(TEXTS)
    np.testing.assert_array_equal(third, encoder.encode(TEXTS))
    np.testing.assert_allclose(theirs(tmp_path / "once more").encode(TEXTS), third, atol=1e-6)


def test_sentence_transformers_averages_marks_equally(tmp_path):
    encoder = averaging(MarkedTokenizer(TOKENIZERS["words"](), "both"))
    encoder.save_pretrained(tmp_path)
    bridge = SentenceTransformer(str(tmp_path), trust_remote_code=True, device="cpu")
    np.testing.assert_allclose(bridge.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the trainer warns
def test_a_packaged_model_trained_by_sentence_transformers_loads(english, tmp_path):
    model = theirs(packaged_model("english")).float()
    pairs = Dataset.from_dict({"first": SENTENCES, "second": SENTENCES[1:] + SENTENCES[:1]})
    arguments = SentenceTransformerTrainingArguments(
        str(tmp_path / "run"), num_train_epochs=1, learning_rate=0.01, report_to="none",
        save_strategy="no", use_cpu=True,
    )  # fmt: skip
    loss = MultipleNegativesRankingLoss(model)
    SentenceTransformerTrainer(model, arguments, train_dataset=pairs, loss=loss).train()
    model.save_pretrained(str(tmp_path / "theirs"))
    encoder = SentenceEncoder.from_pretrained(tmp_path / "theirs")
    np.testing.assert_allclose(encoder.encode(TEXTS), model.encode(TEXTS), atol=1e-5)
    assert np.abs(encoder.encode(TEXTS) - english.encode(TEXTS)).max() > 0.01
    assert encoder._static is not None  # fast path, if compiled
    assert encoder.with_dimension(64).encode("a cat").shape == (64,)


@pytest.mark.parametrize(
    "settings",
    [
        {"prompts": {"q": "query: "}, "default_prompt_name": "q"},
        {"truncate_dim": 4},
        {"similarity_fn_name": "dot"},
    ],
)
def test_unsupported_settings_load_with_sentence_transformers(settings, tmp_path):
    """Ignoring them would silently change vectors or scores."""
    encoder = saved_by_them(WordTokenizer(["cat", "query"]), tmp_path)
    ours, given = str(tmp_path / "ours"), str(tmp_path / "given")
    SentenceTransformer(ours, device="cpu", **settings).save_pretrained(given)
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(given)
    loaded = load_encoder(given, device="cpu")
    np.testing.assert_array_equal(loaded.encode("cat"), theirs(Path(given)).encode("cat"))
    assert loaded.similarity_fn_name == settings.get("similarity_fn_name", "cosine")
    encoder.save_pretrained(given)
    assert SentenceEncoder.from_pretrained(given).dimension == 8


def test_foreign_and_damaged_models_are_refused(tmp_path):
    words = Tokenizer(WordLevel({"[UNK]": 0, "cat": 1}, unk_token="[UNK]"))
    table = StaticEmbedding(words, embedding_weights=np.eye(2, dtype=np.float32))
    SentenceTransformer(modules=[table], device="cpu").save_pretrained(str(tmp_path / "other"))
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(tmp_path / "other")
    saved_by_them(WordTokenizer(["cat"]), tmp_path)
    first = theirs(tmp_path / "theirs")[0]
    two = SentenceTransformer(modules=[first, Normalize()], device="cpu")
    two.save_pretrained(str(tmp_path / "two"))
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(tmp_path / "two")
    for name in ("tokenizer.json", "model.safetensors", "modules.json", SETTINGS):
        saved_by_them(WordTokenizer(["cat"]), tmp_path)
        (tmp_path / "theirs" / name).write_text("[")
        with pytest.raises(ModelError):
            SentenceEncoder.from_pretrained(tmp_path / "theirs")


def test_a_foreign_tokenizer_is_refused(tmp_path, monkeypatch):
    marks = [("<pad>", 0.0), ("<unk>", 0.0)]
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581cat", -1.0)]
    (tmp_path / "modules.json").write_text("[]")
    words = WordLevel({"[UNK]": 0}, unk_token="[UNK]")
    for model in (words, Unigram(marks, 1, False), Unigram(pieces, 3, False)):
        Tokenizer(model).save(str(tmp_path / "tokenizer.json"))
        with pytest.raises(ModelError):
            load_tokenizer(tmp_path)
    (tmp_path / "modules.json").unlink()
    monkeypatch.setattr("paraphrastic_hf.text.load._rebuilt", lambda *_: pytest.fail("made"))
    with pytest.raises(ModelError):
        load_tokenizer(tmp_path)


def test_a_missing_protobuf_names_the_extra(tmp_path, monkeypatch):
    saved_by_them(WordTokenizer(["cat"]), tmp_path)
    monkeypatch.setattr("paraphrastic_hf.extras._is_there", lambda name: name != "google.protobuf")
    with pytest.raises(MissingExtraError):
        SentenceEncoder.from_pretrained(tmp_path / "theirs")


PLAIN = {
    **TOKENIZERS,
    "characters": lambda: CharTokenizer.train(SENTENCES, vocab_size=30),
    "n-grams": lambda: CharNgramTokenizer.train(SENTENCES, vocab_size=100, orders=(2, 3)),
}
SAVED_BY_TRANSFORMERS = {
    **PLAIN,
    "words with an end": lambda: MarkedTokenizer(PLAIN["words"](), "end"),
    "words that open prompts": lambda: MarkedTokenizer(
        PLAIN["words"](), "both", opens_prompts=True
    ),
    "pieces with a start": lambda: MarkedTokenizer(PLAIN["pieces"](), "start"),
    "a mixture": lambda: MixedTokenizer(
        [PLAIN["words"](), PLAIN["n-grams"](), MarkedTokenizer(PLAIN["characters"](), "both")]
    ),
}


@pytest.mark.parametrize("kind", SAVED_BY_TRANSFORMERS)
def test_a_model_saved_again_by_transformers_is_unchanged(kind, tmp_path):
    encoder = recurrent(SAVED_BY_TRANSFORMERS[kind](), hidden_size=8, embedding_size=4)
    encoder.save_pretrained(tmp_path / "ours")
    AutoModel.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    assert not (tmp_path / "theirs" / "paraphrastic_tokenizer.json").exists()
    again = SentenceEncoder.from_pretrained(tmp_path / "theirs")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    assert again.tokenizer.tokens() == encoder.tokenizer.tokens()
    again.save_pretrained(tmp_path / "once more")
    for name in ("tokenizer.json", "paraphrastic_tokenizer.json", "ngrams.json"):
        first, third = tmp_path / "ours" / name, tmp_path / "once more" / name
        assert first.exists() == third.exists()
        assert not first.exists() or first.read_text() == third.read_text()
