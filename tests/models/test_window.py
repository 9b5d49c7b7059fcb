from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.contributions import token_contributions
from paraphrastic_hf.encoders.means import mean_rows
from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, save_model
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.encoders.window import WindowConfig, WindowModel
from paraphrastic_hf.text.word import WordTokenizer

WORDS = [f"w{number}" for number in range(40)]
TOKENIZER = WordTokenizer(WORDS)
RANDOM = np.random.default_rng(5)
TEXTS = ["", "unknown", *(" ".join(RANDOM.choice(WORDS, n)) for n in [1, 2, 3, 9, 40, 200] * 40)]


def made(**settings: object) -> WindowModel:
    torch.manual_seed(3)
    config = WindowConfig(
        vocab_size=TOKENIZER.vocab_size, hidden_size=37, features=19, context_rows=25, **settings
    )
    model = WindowModel(config)
    torch.nn.init.normal_(model.bias)
    return model.eval()


def slow_embedding(model: WindowModel, ids: list[int]) -> torch.Tensor:
    """Embed one text by the formula."""
    config, total = model.config, torch.zeros(model.config.hidden_size)
    tables = model.mix(model.context.weight).view(-1, 2 * config.window + 1, config.features)
    for i in range(len(ids)):
        summed = model.bias.clone()
        for k in range(-config.window, config.window + 1):
            neighbor = ids[i + k] if 0 <= i + k < len(ids) else 0
            summed += tables[min(neighbor, len(tables) - 1), k + config.window]
        total += model.embedding.weight[ids[i]] + model.output(torch.relu(summed))
    return total / max(1, len(ids))


@pytest.mark.parametrize("settings", [{}, {"window": 2}, {"context_size": None}])
def test_embeddings_follow_the_formula(settings: dict[str, object]) -> None:
    model, ids = made(**settings), TOKENIZER.encode_batch(TEXTS[:30])
    flat = model(torch.from_numpy(ids.ids), lengths=torch.from_numpy(np.diff(ids.offsets)))
    for number, text in enumerate(ids):
        expected = slow_embedding(model, text.tolist())
        torch.testing.assert_close(flat.sentence_embedding[number], expected, atol=1e-5, rtol=1e-5)
        if len(text):
            padded = model(torch.from_numpy(text)[None])
            torch.testing.assert_close(padded.sentence_embedding[0], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_a_packed_model_is_the_same_in_torch_numpy_and_c(
    tmp_path: Path, precision: str, window: int
) -> None:
    model = made(window=window)
    save_model(model, TOKENIZER, tmp_path, SENTENCE_ENCODER, precision=precision)
    encoder = SentenceEncoder.from_pretrained(tmp_path)
    vectors, table = encoder.encode(TEXTS), encoder._weights.table()
    assert table is not None
    ids = TOKENIZER.encode_batch(TEXTS)
    np.testing.assert_allclose(vectors, mean_rows(table, ids), atol=2e-6)
    loaded = encoder._weights.model_to_save()
    output = loaded(torch.from_numpy(ids.ids), lengths=torch.from_numpy(np.diff(ids.offsets)))
    np.testing.assert_allclose(vectors, output.sentence_embedding.detach(), atol=2e-6)
    for one, text in zip(vectors, TEXTS, strict=True):  # a batch does not change a vector
        assert np.array_equal(one, encoder.encode(text))
    # rounding to integers costs little
    exact = model(torch.from_numpy(ids.ids), lengths=torch.from_numpy(np.diff(ids.offsets)))
    cosines = torch.cosine_similarity(exact.sentence_embedding, output.sentence_embedding)
    assert cosines[2:].min() > {"int8": 0.999, "int4": 0.98}[precision]


def test_copies_and_saved_copies_keep_the_window(tmp_path: Path) -> None:
    save_model(made(), TOKENIZER, tmp_path / "one", SENTENCE_ENCODER, precision="int8")
    encoder = SentenceEncoder.from_pretrained(tmp_path / "one")
    vectors = encoder.encode(TEXTS)
    shorter = encoder.with_dimension(8)
    np.testing.assert_allclose(shorter.encode(TEXTS), vectors[:, :8], atol=1e-6)
    np.testing.assert_allclose(
        encoder.encode(TEXTS, truncate_dim=8, normalize_embeddings=True),
        shorter.encode(TEXTS, normalize_embeddings=True),
        atol=1e-6,
    )
    for precision in ("float32", "int8"):
        shorter.save_pretrained(tmp_path / precision, precision=precision)
        again = SentenceEncoder.from_pretrained(tmp_path / precision)
        np.testing.assert_allclose(again.encode(TEXTS), vectors[:, :8], atol=2e-6)
    with pytest.raises(ModelError):
        encoder.with_norm_power(0.5)


def test_contributions_sum_to_the_cosine(tmp_path: Path) -> None:
    save_model(made(), TOKENIZER, tmp_path, SENTENCE_ENCODER, precision="int8")
    encoder = SentenceEncoder.from_pretrained(tmp_path)
    found = token_contributions(encoder, TEXTS[5], TEXTS[6])
    assert found.cosine == pytest.approx(encoder.similarity(TEXTS[5], TEXTS[6]).item(), abs=1e-6)
