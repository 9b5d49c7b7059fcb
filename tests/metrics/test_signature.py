import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, PreTrainedTokenizerFast

import paraphrastic_hf
from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.fingerprint import identity, tokenizer_hash, weights_hash
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests import made


def fields(signature: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in signature.split("|")[1:])


def test_a_signature_contains_all_settings(saved):
    scorer = SimileScorer(saved)
    named = fields(scorer.score(["a"], ["a"]).signature)
    assert named == {
        "model": "saved",
        "weights": weights_hash(scorer.model),
        "tokenizer": tokenizer_hash(scorer.model.tokenizer),
        "case": "lower",
        "penalty": "both",
        "alpha": "0.25",
        "length": "tokens",
        "nrefs": "1",
        "version": paraphrastic_hf.__version__,
    }


def test_one_model_has_one_signature(saved, tmp_path):
    expected = SimileScorer(saved).signature()
    shutil.copytree(saved, tmp_path / "elsewhere" / "saved")
    assert SimileScorer(tmp_path / "elsewhere" / "saved").signature() == expected
    assert SimileScorer(str(saved)).signature() == expected
    encoder = SentenceEncoder.from_pretrained(saved)
    assert SimileScorer(encoder).signature() == expected
    encoder.model  # noqa: B018 (loads torch's)
    assert SimileScorer(encoder).signature() == expected
    scorer = SimileScorer(encoder)
    scorer.score(["a cat"], ["the cat"])
    assert scorer.signature() == SimileScorer(encoder).signature() == expected
    with torch.no_grad():
        encoder.model.get_input_embeddings().weight[-1, -1] += 1e-6
    changed, same = fields(SimileScorer(encoder).signature()), fields(expected)
    assert {name for name in same if same[name] != changed[name]} == {"weights"}


def test_the_weights_hash_depends_only_on_the_numbers(saved, encoder, monkeypatch):
    fast = weights_hash(SentenceEncoder.from_pretrained(saved))
    slow = SentenceEncoder.from_pretrained(saved)
    monkeypatch.setattr(slow, "table", lambda *_: None)
    assert weights_hash(slow) == fast
    weight = encoder.model.get_input_embeddings().weight
    with torch.no_grad():
        weight.copy_(weight.half().float())
    expected = weights_hash(encoder)
    weight.data = weight.data.t().contiguous().t()
    assert weights_hash(encoder) == expected
    encoder.model.half()
    assert weights_hash(encoder) == expected


def test_an_option_that_changes_scores_changes_the_signature(encoder):
    options: list[dict[str, Any]] = [{}, {"alpha": 0.5}, {"alpha": 0}, {"length": "characters"}]
    options += [{"penalty": penalty} for penalty in ("brevity", "excess", "none")]
    signatures = {SimileScorer(encoder, **each).signature() for each in options}
    assert len(signatures) == len(options)


def test_the_signature_contains_several_only_with_several_references(encoder):
    best, mean = (SimileScorer(encoder, several=s) for s in ("best", "mean"))
    one, two, uneven = ["a"], [["a", "b"]], [["a", "b"], ["a"]]
    assert best.score(["a"], one).signature == mean.score(["a"], one).signature
    named = fields(mean.score(["a"], two).signature)
    assert (named["nrefs"], named["several"]) == ("2", "mean")
    assert best.score(["a"], two).signature != mean.score(["a"], two).signature
    assert fields(best.score(["a", "b"], uneven).signature)["nrefs"] == "var"


def test_different_tokenizers_have_different_hashes(sentences, subword, word, char_ngram):
    others = [
        SubwordTokenizer.train(sentences, vocab_size=200),
        SubwordTokenizer(subword._model, lowercase=False),
        SubwordTokenizer(subword._model, keep_unknown=True),
        WordTokenizer.train(sentences, vocab_size=150, lowercase=False),
        WordTokenizer.train(sentences, vocab_size=149),
        WordTokenizer.train(sentences, vocab_size=150, keep_unknown=True),
        WordTokenizer(word.tokens()[2:], spaced=True),
        MarkedTokenizer(word, "start"),
        MarkedTokenizer(word, "end"),
        MarkedTokenizer(WordTokenizer(word.tokens()[2:], spaced=True), "end"),
        MixedTokenizer([word, subword]),
        MixedTokenizer([WordTokenizer(word.tokens()[2:], spaced=True), subword]),
        MixedTokenizer([word, SubwordTokenizer(subword._model, keep_unknown=True)]),
        CharNgramTokenizer(ngrams=char_ngram.tokens()[2:], padding_mode="none"),
        *(
            PreTrainedTokenizerFast(tokenizer_object=word.to_fast(), padding_side=side)
            for side in ("right", "left")
        ),
    ]
    tokenizers = [subword, word, char_ngram, *others, None]
    assert len({tokenizer_hash(tokenizer) for tokenizer in tokenizers}) == len(tokenizers)


def test_a_stock_models_signature_survives_encoding_and_saving(stock, transformer, tmp_path):
    expected = SimileScorer(transformer).signature()
    transformer.encode(["the cat", "a"])
    assert SimileScorer(transformer).signature() == expected
    expected = SimileScorer(stock).signature()
    stock.encode(["the cat"])
    assert SimileScorer(stock).signature() == expected
    stock.save(str(tmp_path / "stock"))
    assert SimileScorer(SentenceTransformer(str(tmp_path / "stock"))).signature() == expected
    with torch.no_grad():
        stock[0].embedding.weight[0, 0] += 1
    assert SimileScorer(stock).signature() != expected


@pytest.mark.parametrize(
    "options", [{"truncate_dim": 2}, {"prompts": {"q": "dog "}, "default_prompt_name": "q"}]
)
@pytest.mark.filterwarnings("ignore")
def test_settings_that_change_a_stock_models_vectors_change_the_signature(
    transformer_folder, transformer, options
):
    scorers = [SimileScorer(transformer)]
    scorers += [SimileScorer(SentenceTransformer(str(transformer_folder), **options))]
    scores = [scorer.score(["the cat sleeps"], ["a dog runs"]) for scorer in scorers]
    assert scores[0].score != pytest.approx(scores[1].score, abs=1e-4)
    assert fields(scores[0].signature) != fields(scores[1].signature)


@pytest.fixture
def recurrent(subword, tmp_path):
    size = {"hidden_size": 8, "embedding_size": 8}
    encoder = made.recurrent(subword, **size, cell="rnn", bidirectional=True, merge="add")
    encoder.save_pretrained(tmp_path / "recurrent")
    return tmp_path / "recurrent"


def with_settings(folder: Path, **settings: Any) -> Path:
    """Copy a model directory with other values in its `config.json`."""
    copy = Path(tempfile.mkdtemp(dir=folder.parent)) / folder.name
    shutil.copytree(folder, copy)
    path = copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings), encoding="utf-8")
    return copy


NO_MATTER = {"_name_or_path": "elsewhere", "transformers_version": "4.0.0", "architectures": None}
NO_MATTER |= {"word_dropout": 0.5, "initializer_std": 0.5}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("recurrent", {"pooling": "max"}),
        ("recurrent", {"activation": "relu"}),
        ("recurrent", NO_MATTER),
        ("transformer_folder", {"hidden_act": "relu"}),
        ("transformer_folder", {"num_attention_heads": 2}),
        ("transformer_folder", {"layer_norm_eps": 0.1}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_identity_depends_on_settings_that_change_vectors(kind, settings, request):
    """Scores, cached tasks and work folders all depend on `identity`."""
    folder = request.getfixturevalue(kind)
    one, other = map(load_encoder, (folder, with_settings(folder, **settings)))
    assert weights_hash(one) == weights_hash(other)
    is_same = settings is NO_MATTER
    assert (identity(one) == identity(other)) == is_same
    assert (SimileScorer(one).signature() == SimileScorer(other).signature()) == is_same


@pytest.mark.parametrize("kind", ["saved", "recurrent"])
def test_identity_does_not_depend_on_the_loader(kind, request, tmp_path):
    """sentence-transformers uses another tokenizer program, so the tokenizer's digits are left
    out."""
    folder = request.getfixturevalue(kind)
    encoder = SentenceEncoder.from_pretrained(folder)
    encoder.save_pretrained(tmp_path / "again")
    AutoModel.from_pretrained(folder).save_pretrained(tmp_path / "bare")
    theirs = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    theirs.save(str(tmp_path / "theirs"))
    others = [
        SentenceEncoder.from_pretrained(tmp_path / "again"),
        AutoModel.from_pretrained(folder),
        AutoModel.from_pretrained(tmp_path / "bare"),
        theirs,
        SentenceTransformer(str(tmp_path / "theirs"), device="cpu", trust_remote_code=True),
        SentenceEncoder.from_pretrained(tmp_path / "theirs"),
    ]
    expected = identity(encoder)
    for each in others:
        assert {**identity(each), "tokenizer": ""} == {**expected, "tokenizer": ""}
    assert identity(others[0]) == expected
