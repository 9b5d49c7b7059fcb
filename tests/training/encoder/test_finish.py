"""Changes to a trained table before it is saved."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.config.recipe import build
from paraphrastic_hf.text.normalize import keep_apart
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.encoder.finish import rounded, spread, whitened
from tests.training.runs import train

PAIRS = Path(__file__).parents[3] / "recipes" / "demo" / "pairs.tsv"
SMALL = {
    "tokenizer": {"vocab_size": 400, "character_coverage": 1.0},
    "model": {"hidden_size": 16, "embedding_dropout": 0.0, "initializer_std": 0.1},
    "training": {"epochs": 1, "batch_size": 20, "mega_batch": 1, "anneal_steps": 0},
    "run": {"development": "none"},
}


def recipe(pairs: Path, **finish: object) -> ContrastiveRecipe:
    mapping = {**SMALL, "data": {"sources": [str(pairs)]}, "finish": finish}
    if finish.get("drop_apart"):
        mapping["data"] = {"sources": [{"path": str(pairs), "languages": ["en", "fr"]}]}
        mapping["tokenizer"] = {**SMALL["tokenizer"], "apart": ["fr"]}
    return build(ContrastiveRecipe, mapping)


def random_case() -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    table = torch.randn(50, 8, generator=random) * torch.logspace(0, -2, 8)
    return table, table[torch.randint(0, 50, (300, 5), generator=random)].mean(1)


def test_power_zero_is_a_rotation_and_a_dimension_keeps_the_leading_axes():
    table, sentences = random_case()
    turned = whitened(table, sentences, 0.0)
    scale = table.norm(dim=1).mean() / turned.norm(dim=1).mean()
    torch.testing.assert_close(turned @ turned.T * scale**2, table @ table.T, rtol=1e-4, atol=1e-5)
    few, many = whitened(table, sentences, 0.25, 3), whitened(table, sentences, 0.25)[:, :3]
    torch.testing.assert_close(few / few.norm(), many / many.norm())


def test_power_one_half_gives_all_axes_equal_variance():
    """Of the unit vectors the axes were taken from, before they are scaled to length one again."""
    table, sentences = random_case()
    units = torch.nn.functional.normalize(sentences, dim=1)
    both = whitened(torch.cat([table, units]), sentences, 0.5)[len(table) :]
    moment = both.T @ both
    torch.testing.assert_close(
        moment / moment[0, 0], torch.eye(8), rtol=0, atol=1e-3
    )  # float32 of an ill-conditioned matrix


@pytest.mark.parametrize("initializer_std", [0.01, 40.0])
def test_vectors_of_a_window_model_have_a_mean_length_from_1_to_2(initializer_std, tmp_path):
    window = {**SMALL["model"], "kind": "window", "initializer_std": initializer_std}
    mapping = {**SMALL, "model": window, "data": {"sources": [str(PAIRS)]}}
    train(build(ContrastiveRecipe, mapping), tmp_path / "run")
    sentences = PAIRS.read_text(encoding="utf-8").replace("\n", "\t").split("\t")
    vectors = SentenceEncoder.from_pretrained(tmp_path / "run").encode(sentences)
    assert 0.9 < np.linalg.norm(vectors, axis=1).mean() < 2.2  # of all texts, with repetitions


@pytest.mark.parametrize("size", [1, 2, 3, 8, 100, 300, 512])
def test_spread_orders_the_axes_evenly(size):
    order = spread(size)
    assert sorted(order) == list(range(size))
    for width in (16, 64, 128):
        if width <= size:
            halves = np.histogram(order[:width], bins=4, range=(0, size))[0]
            assert halves.max() - halves.min() <= width // 8


def test_rounding_keeps_the_given_number_of_digits():
    values = torch.tensor([1.0, -1.2345, 3e-5, 0.0, 255.0, 257.0])
    torch.testing.assert_close(rounded(values, 8), values, rtol=2**-8, atol=0)
    assert rounded(values, 8)[-2:].tolist() == [255.0, 256.0]
    torch.testing.assert_close(rounded(values, 24), values, rtol=0, atol=0)


def test_dropping_apart_pieces_leaves_other_text_unchanged(tmp_path):
    english = [line.split("\t")[0] for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    both = english + [keep_apart(line) for line in english]
    joint = SubwordTokenizer.train(both, vocab_size=300, character_coverage=1.0)
    own, kept = joint.without_apart()
    assert own.tokens() == [joint.tokens()[number] for number in kept]
    before, after = joint.encode_batch(english), own.encode_batch(english)
    np.testing.assert_array_equal(kept[after.ids], before.ids)
    own.save(tmp_path)
    again = SubwordTokenizer.load(tmp_path, lowercase=True, keep_unknown=False)
    np.testing.assert_array_equal(again.encode_batch(english).ids, after.ids)


def test_a_finished_model_loads_everywhere(tmp_path):
    asked = {"whiten": 0.25, "dimension": 8, "nested_dimensions": True, "drop_apart": True}
    train(recipe(PAIRS, **asked, significant_bits=8, precision="float16"), tmp_path / "out")
    text = ["where is the station ?", "a cat on a couch"]
    own = SentenceEncoder.from_pretrained(tmp_path / "out")
    vectors = own.encode(text)
    assert vectors.shape == (2, 8)
    assert vectors.dtype == np.float32
    assert not any(ord(c) >= 0xF0000 for token in own.tokenizer.tokens() for c in token)
    model = AutoModel.from_pretrained(tmp_path / "out").eval()
    assert model.dtype == torch.float32
    inputs = AutoTokenizer.from_pretrained(tmp_path / "out")(
        text, return_tensors="pt", padding=True
    )
    with torch.inference_mode():
        np.testing.assert_allclose(model(**inputs).sentence_embedding, vectors, atol=1e-6)
    stock = SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(text)
    np.testing.assert_allclose(stock, vectors, atol=2e-3)  # it stays in half precision
