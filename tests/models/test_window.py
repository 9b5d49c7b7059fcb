import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.numpy import load_file, save_file

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.contributions import token_contributions
from paraphrastic_hf.encoders.static.table import mean_rows
from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, save_model
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.io.files import WEIGHTS, read_json, write_json
from paraphrastic_hf.models.encoders.window import WindowConfig, WindowModel
from paraphrastic_hf.text.word import WordTokenizer

WORDS = [f"w{number}" for number in range(40)]
TOKENIZER = WordTokenizer(WORDS)
RANDOM = np.random.default_rng(5)
TEXTS = ["", "unknown", *(" ".join(RANDOM.choice(WORDS, n)) for n in [1, 2, 3, 9, 40, 200] * 40)]


def made(**settings):
    torch.manual_seed(3)
    sizes = {"hidden_size": 37, "features": 19, "context_rows": 25, "hidden": 45, **settings}
    model = WindowModel(WindowConfig(vocab_size=TOKENIZER.vocab_size, **sizes))
    torch.nn.init.normal_(model.bias)
    return model.eval()


def saved(folder, **settings):
    save_model(made(**settings), TOKENIZER, folder, SENTENCE_ENCODER, precision="int8")
    return SentenceEncoder.from_pretrained(folder)


def flat(ids):
    return {
        "input_ids": torch.from_numpy(ids.ids),
        "lengths": torch.from_numpy(np.diff(ids.offsets)),
    }


def check_close(ours, expected):
    np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def slow_embedding(model, ids):
    """Embed one text by the formula."""
    config = model.config
    total, features = torch.zeros(config.hidden_size), torch.zeros(config.features)
    tables = model.mix(model.context.weight).view(-1, 2 * config.window + 1, config.features)
    for i in range(len(ids)):
        summed = model.bias.clone()
        for k in range(-config.window, config.window + 1):
            neighbor = ids[i + k] if 0 <= i + k < len(ids) else 0
            summed += tables[min(neighbor, len(tables) - 1), k + config.window]
        total += model.embedding.weight[ids[i]]
        features += torch.relu(summed)
    mean, features = total / max(1, len(ids)), features / max(1, len(ids))
    if not ids:
        return mean
    embedding = mean + model.output(features)
    if config.hidden:
        inner = torch.relu(model.from_mean(8 * mean) + model.from_features(features))
        embedding = embedding + model.from_hidden(inner)
    return embedding


@pytest.mark.parametrize("settings", [{}, {"window": 2, "hidden": 0}, {"context_size": None}])
def test_embeddings_follow_the_formula(settings):
    model, ids = made(**settings), TOKENIZER.encode_batch(TEXTS[:30])
    close = {"atol": 1e-5, "rtol": 1e-5}
    for found, text in zip(model(**flat(ids)).sentence_embedding, ids, strict=True):
        expected = slow_embedding(model, text.tolist())
        torch.testing.assert_close(found, expected, **close)
        if len(text):
            padded = model(torch.from_numpy(text)[None])
            torch.testing.assert_close(padded.sentence_embedding[0], expected, **close)


@pytest.mark.parametrize(("window", "hidden"), [(1, 45), (2, 0)])
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_a_packed_model_is_the_same_in_torch_numpy_and_c(tmp_path, precision, window, hidden):
    model = made(window=window, hidden=hidden)
    save_model(model, TOKENIZER, tmp_path, SENTENCE_ENCODER, precision=precision)
    encoder = SentenceEncoder.from_pretrained(tmp_path)
    vectors, table = encoder.encode(TEXTS), encoder._weights.table()
    ids = TOKENIZER.encode_batch(TEXTS)
    check_close(vectors, mean_rows(table, ids))
    loaded = encoder._weights.model_to_save()
    output = loaded(**flat(ids))
    check_close(vectors, output.sentence_embedding.detach().numpy())
    for one, text in zip(vectors, TEXTS, strict=True):  # a batch does not change a vector
        assert np.array_equal(one, encoder.encode(text))
    # rounding to integers costs little
    exact = model(**flat(ids))
    cosines = torch.cosine_similarity(exact.sentence_embedding, output.sentence_embedding)
    assert cosines[2:].min() > {"int8": 0.999, "int4": 0.97}[precision]


def test_copies_keep_the_window(tmp_path):
    encoder = saved(tmp_path / "one")
    vectors = encoder.encode(TEXTS)
    exact = encoder.with_precision("float32")
    check_close(exact.encode(TEXTS), vectors)
    for precision in ("float32", "int8"):
        exact.save_pretrained(tmp_path / precision, precision=precision)
        again = SentenceEncoder.from_pretrained(tmp_path / precision)
        check_close(again.encode(TEXTS), vectors)
    column = encoder.encode_arrow(pa.array(TEXTS), dimension=8)
    np.testing.assert_array_equal(np.array(column.to_pylist(), np.float32), vectors[:, :8])
    for refused in (
        lambda: encoder.with_norm_power(0.5),
        lambda: encoder.with_dimension(8),
        lambda: token_contributions(encoder, TEXTS[5], TEXTS[6]),
    ):
        with pytest.raises(ModelError):
            refused()


@pytest.mark.parametrize("settings", [{}, {"hidden": 0}])
def test_a_power_of_two_scales_vectors_exactly(settings):
    model, ids = made(**settings), torch.arange(2, 32).view(3, 10)
    scaled = model.scaled(0.25)(ids).sentence_embedding
    torch.testing.assert_close(scaled, model(ids).sentence_embedding / 4, rtol=0, atol=0)


def test_a_packed_model_can_be_trained_further(tmp_path):
    model = saved(tmp_path).model
    ids, target = torch.arange(2, 32).view(3, 10), torch.randn(3, 37)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    for _ in range(30):
        loss = 1 - torch.cosine_similarity(model(ids).sentence_embedding, target).mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("window", None), ("window", 2), ("features", 18), ("context_rows", 20), ("hidden", 0)),
        ("context.packed", np.zeros((25, 57), np.int16)),
        ("bias.packed", np.zeros((1, 19), np.int16)),
        ("from_mean.bias", np.full(45, np.nan, np.float32)),
        ("output.weight", np.full((37, 19), np.inf, np.float32)),
    ],
)
def test_a_damaged_model_is_refused(tmp_path, name, value):
    saved(tmp_path)
    if isinstance(value, np.ndarray):
        tensors = load_file(tmp_path / WEIGHTS)
        save_file({**tensors, name: value}, tmp_path / WEIGHTS, {"format": "pt"})
    else:
        config = read_json(tmp_path / "config.json")
        write_json(tmp_path / "config.json", {**config, name: value})
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(tmp_path)
