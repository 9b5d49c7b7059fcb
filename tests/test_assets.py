"""The packaged models."""

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoModelForTokenClassification, AutoTokenizer

from paraphrastic_hf import (
    GenerationOptions,
    SentenceEncoder,
    SentenceParser,
    SyntacticParaphraser,
    evaluate,
    load_dataset,
    packaged_model,
)
from paraphrastic_hf.corpora.readers.sts_files import read_stsb
from paraphrastic_hf.corpora.readers.syntax import parsed_sentences
from paraphrastic_hf.encoders.storage.directory import load_model
from paraphrastic_hf.encoders.storage.locate import packaged_folder
from paraphrastic_hf.encoders.storage.packing import unpacked
from paraphrastic_hf.evaluation.measures.bracketing import count_brackets
from paraphrastic_hf.evaluation.measures.similarity import score_suite
from paraphrastic_hf.text.load import load_tokenizer

DATA = os.environ.get("PARAPHRASTIC_DATA")
NAMES = ["english", "english-window", "multilingual", "tiny"]
needs_data = pytest.mark.skipif(DATA is None, reason="PARAPHRASTIC_DATA names no folder")
TEXTS = ["A cat sleeps on the sofa.", "naïve café — “quoted”", "12,000 km²", "", "日本語"]
COLD = """
import sys
from paraphrastic_hf import SentenceEncoder
vector = SentenceEncoder.from_pretrained().encode("a cat sleeps")
assert vector.any()
assert not {"torch", "transformers", "datasets"} & set(sys.modules)
"""


@pytest.mark.parametrize(
    "name",
    ["english", "english-window", pytest.param("multilingual", marks=pytest.mark.slow), "tiny"],
)
def test_every_loader_gives_the_same_vectors(name):
    own = SentenceEncoder.from_pretrained(name).encode(TEXTS)
    folder = str(packaged_model(name))
    is_stock = name != "english-window"
    stock = SentenceTransformer(folder, device="cpu", trust_remote_code=not is_stock)
    stock = stock.float().encode(TEXTS)
    near = 1e-6 * max(1, np.abs(own).max())
    np.testing.assert_allclose(stock, own, atol=near)
    inputs = AutoTokenizer.from_pretrained(folder)(TEXTS, return_tensors="pt", padding=True)
    vectors = AutoModel.from_pretrained(folder).eval()(**inputs).sentence_embedding.detach().numpy()
    np.testing.assert_allclose(vectors, own, atol=near)


def test_the_first_vector_needs_no_torch():
    subprocess.run([sys.executable, "-c", COLD], check=True, timeout=60)


def test_models_are_small_enough_for_a_wheel():
    # wheels use level 6, which is smaller than level 1 but five times slower
    packed = sum(len(zlib.compress(path.read_bytes(), 1)) for path in packaged_folder().iterdir())
    assert packed < 16e6
    assert (packaged_folder("tiny") / "model.safetensors").stat().st_size < 1e6


@pytest.mark.parametrize(
    ("name", "development"),
    [
        ("english", "clean"),
        ("english-window", "clean"),
        ("tiny", "clean"),
        ("multilingual", "clean-and-bitext"),
    ],
)
def test_a_card_agrees_with_its_run(name, development):
    folder = packaged_folder(name)
    card = (folder / "README.md").read_text()
    run = json.loads((folder / "run.json").read_text())
    assert run["development"] == development
    if name != "multilingual":
        assert all(f"| {source} |" in card for source in run["sentences_by_source"])
        assert all(teacher in " ".join(card.split()) for teacher in run["teachers"])
        cards = Path(__file__).parents[1] / "hub_cards" / "models"
        assert (cards / f"{name}.md").read_text() == card


@needs_data
def test_the_development_score_agrees_with_the_card():
    pairs = read_stsb(Path(str(DATA)) / "eval", "dev")
    score = score_suite(SentenceEncoder.from_pretrained().encode, [pairs])[0].scores
    assert (
        f"| STS-B dev | {score['pearson']:.1f} | {score['spearman']:.1f} |"
        in (packaged_model() / "README.md").read_text()
    )


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_clean_development_scores_agree_with_the_cards(name):
    encoder = SentenceEncoder.from_pretrained(name)
    headline = evaluate(encoder, "development", Path(str(DATA)) / "eval", name=name)["headline"]
    scores = " | ".join(f"{score:.1f}" for score in headline.values())
    card = (packaged_model(name) / "README.md").read_text()
    assert f"| **{name}** | {scores} |" in card


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["english", "multilingual"])
def test_a_prefix_of_the_dimensions_scores_well(name):
    pairs = read_stsb(Path(str(DATA)) / "eval", "dev")
    whole = SentenceTransformer(str(packaged_model(name)), device="cpu")
    prefix = SentenceTransformer(str(packaged_model(name)), device="cpu", truncate_dim=128)
    scores = [score_suite(model.encode, [pairs])[0].scores["pearson"] for model in (whole, prefix)]
    assert scores[1] > scores[0] - 5


def test_the_packaged_parser_parses():
    (found,) = SentenceParser.from_pretrained().parse(["She sold a house."])
    assert (
        str(found.tree) == "(ROOT (S (NP (PRP She)) (VP (VBD sold) (NP (DT a) (NN house))) (. .)))"
    )
    size = sum(path.stat().st_size for path in packaged_folder("parser").rglob("*"))
    assert size < 10e6


def test_rows_that_training_did_not_change_are_those_of_english():
    table = SentenceParser.from_pretrained().model.tables()[0].weight.detach().numpy()
    english = load_model(packaged_folder()).get_input_embeddings().weight.detach().numpy()
    stored = load_file(packaged_folder("parser") / "model.safetensors")
    name = "encoder.parts.0.embedding.weight"
    rows = stored[f"{name}.rows"]
    np.testing.assert_array_equal(np.delete(table, rows, 0), np.delete(english, rows, 0))
    np.testing.assert_array_equal(table[rows], unpacked(stored[f"{name}.packed"]))


def test_transformers_loads_the_packaged_parser():
    folder = packaged_model("parser")
    model = AutoModelForTokenClassification.from_pretrained(folder, dtype=torch.float32)
    parser = SentenceParser.from_pretrained()
    assert SentenceParser(model, load_tokenizer(folder)).parse(TEXTS) == parser.parse(TEXTS)


def test_the_packaged_paraphraser_writes_paraphrases():
    paraphraser = SyntacticParaphraser.from_pretrained(encoder=SentenceEncoder.from_pretrained())
    line = "She drove home because she was tired."
    (found,) = paraphraser.best([line], 2, writing=GenerationOptions(beams=1, max_tokens=20))
    assert "Because she was tired, she drove home." in [one.text for one in found]
    size = sum(path.stat().st_size for path in packaged_folder("paraphraser").iterdir())
    assert size < 30e6


@needs_data
@pytest.mark.slow
def test_packing_the_parser_costs_a_tenth_of_a_point_at_most():
    rows = load_dataset("gum", split="test", streaming=True, data_dir=Path(str(DATA)) / "eval")
    gold = parsed_sentences(rows, "gum test")
    found = SentenceParser.from_pretrained().parse_words([tree.words() for tree in gold])
    run = json.loads((packaged_folder("parser") / "run.json").read_text())
    assert count_brackets([each.tree for each in found], gold).f1 > run["test"]["f1"] - 0.1


def test_capitals_matter_only_in_turkish():
    encoder = SentenceEncoder.from_pretrained("multilingual")
    same = ["A cat sleeps.", "Où est la gare ?", "¿Dónde está el niño?", "Кошка спит на диване."]
    turkish = ["kırmızı araba", "istanbul'da iyi bir gün"]
    capitals = ["KIRMIZI ARABA", "İSTANBUL'DA İYİ BİR GÜN"]
    own = encoder.similarity_pairwise
    np.testing.assert_allclose(own(same, [text.upper() for text in same]), 1, atol=1e-6)
    assert own(turkish, capitals).max() < 0.9
    lowered = [text.replace("İ", "i").replace("I", "ı").lower() for text in capitals]
    np.testing.assert_allclose(own(turkish, lowered), 1, atol=1e-6)
