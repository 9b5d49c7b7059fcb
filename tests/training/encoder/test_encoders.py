"""Every encoder from its recipe keys: it learns, resumes, loads everywhere, is refused early."""

from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.corpus import build_corpus
from paraphrastic_hf.training.data.sources import read_sources, sides_of
from paraphrastic_hf.training.data.tokenizers import train_tokenizers
from paraphrastic_hf.training.encoder.build import build_model
from tests.training.runs import (
    PAIRS,
    recipe_of,
    small_recipe,
    table,
    told_apart,
    train,
    weights,
)

WORD = ["--tokenizer.kind", "word", "--vocab_size", "400"]
CHAR = ["--tokenizer.kind", "char", "--marks", "both"]
NGRAM = ["--tokenizer.kind", "char_ngram", "--vocab_size", "2000", "--orders", "2", "3", "4"]
LSTM = ["--model.kind", "recurrent"]
SCRAMBLED = ["--scramble", "0.5", "--scramble_before_negatives", "true"]
IDENTITY = ["--cell", "identity_rnn", "--pooling", "last", "--lambda_c", "1"]
BOTH_WAYS = ["--bidirectional", "true", "--merge", "concatenate", "--pooling", "max"]
FILTERS = ["--filter_widths", "2", "3", "--filter_counts", "20", "20"]
ENCODERS = {
    "weighted": [*WORD, "--model.kind", "weighted", "--freeze", "tables"],
    "projection": [*WORD, "--model.kind", "projection"],
    "dan": [*WORD, "--model.kind", "projection", "--layers", "2", "--activation", "tanh"],
    "identity_rnn": [*WORD, *LSTM, *IDENTITY],
    "lstm_avg": [*WORD, *LSTM, "--marks", "end", *SCRAMBLED],
    "bilstm_max_over_pieces": [*LSTM, *BOTH_WAYS],
    "gran": [*WORD, "--model.kind", "gated", "--word_dropout", "0.2"],
    "charagram": [*NGRAM, "--model.kind", "charagram", "--lambda_all", "1e-6"],
    "char_cnn": [*CHAR, "--model.kind", "char_cnn", *FILTERS],
    # with the hardest negatives its vectors fall together (recipes/charagram-2016/README.md)
    "char_lstm": [*CHAR, *LSTM, "--pooling", "last", "--negatives", "rand"],
}
LEARNING = ["--epochs", "15", "--learning_rate", "1e-2", "--anneal_steps", "0"]
LEARNING += ["--embedding_dropout", "0.1", "--model.initializer_std", "0.3"]
MIXTURE = """
data: {{sources: [{pairs}]}}
parts:
  - tokenizer: {{kind: word, vocab_size: 400, marks: end}}
    model: {{kind: recurrent, hidden_size: 12, embedding_dropout: 0.1, initializer_std: 0.3}}
  - tokenizer: {{kind: char_ngram, vocab_size: 2000}}
    model: {{hidden_size: 12, embedding_dropout: 0.0, initializer_std: 0.3}}
combine: {combine}
training: {{batch_size: 8, mega_batch: 3, anneal_steps: 0, epochs: 15, learning_rate: 1e-2,
  scramble: 0.3, lambda_w: 1e-4, lambda_c: 1e-5}}
run: {{development: none}}
"""


def mixture(folder: Path, combine: str = "add", *overrides: str) -> ContrastiveRecipe:
    text = MIXTURE.format(pairs=PAIRS, combine=combine)
    return recipe_of(folder, text, *overrides)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_learns_to_distinguish_paraphrases(name, tmp_path):
    recipe = small_recipe(tmp_path, *ENCODERS[name], *LEARNING)
    train(recipe, tmp_path / "out")
    assert told_apart(tmp_path / "out") > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("combine", "dimension"), [("add", 12), ("concatenate", 24)])
def test_mixtures_learn_and_load_everywhere(combine, dimension, tmp_path):
    train(mixture(tmp_path, combine), tmp_path / "out")
    assert told_apart(tmp_path / "out") > 0.6
    encoder = SentenceEncoder.from_pretrained(tmp_path / "out")
    texts = ["the cat sleeps", "a", "", "three boats leave the harbour at noon"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (4, dimension) == (4, encoder.dimension)
    bridge = SentenceTransformer(str(tmp_path / "out"), trust_remote_code=True)
    np.testing.assert_allclose(bridge.encode(texts), vectors, atol=1e-5)
    bridge.save(str(tmp_path / "again"))
    again = SentenceEncoder.from_pretrained(tmp_path / "again").encode(texts)
    np.testing.assert_allclose(again, vectors, atol=1e-6)


def test_vectors_may_be_the_table_of_an_earlier_run(tmp_path):
    train(small_recipe(tmp_path, *WORD), tmp_path / "word")
    start = ["--vectors", str(tmp_path / "word"), "--epochs", "0"]
    train(small_recipe(tmp_path, *WORD, *LSTM, *start), tmp_path / "lstm")
    assert torch.equal(table(tmp_path / "word")[2:], table(tmp_path / "lstm")[2:])
    wider = small_recipe(tmp_path, *WORD, *LSTM, *start, "--embedding_size", "30")
    with pytest.raises(DataError):
        train(wider, tmp_path / "wider")


def test_words_start_from_the_vectors_of_a_subword_model(tmp_path):
    pieces = ["--tokenizer.kind", "sentencepiece", "--vocab_size", "250"]
    train(small_recipe(tmp_path, *pieces), tmp_path / "pieces")
    start = ["--vectors", str(tmp_path / "pieces"), "--epochs", "0"]
    train(small_recipe(tmp_path, *WORD, *start), tmp_path / "word")
    first, second = (SentenceEncoder.from_pretrained(tmp_path / n) for n in ("pieces", "word"))
    words = second.tokenizer.tokens()[2:]
    known = first.encode(words).any(1)
    assert known.mean() > 0.9
    np.testing.assert_array_equal(first.encode(words)[known], second.encode(words)[known])
    with pytest.raises(DataError):
        train(small_recipe(tmp_path, *WORD, *start, "--hidden_size", "30"), tmp_path / "wider")


def test_bad_rows_of_given_vectors_are_refused_or_skipped(tmp_path):
    """The vector of unknown words is the start of `<unk>`."""
    rows = ["UUUNKKK " + " ".join([value] * 24) + "\n" for value in ("0.25", "nan", "0.5")]
    (tmp_path / "vectors.txt").write_text("".join(rows))
    start = ["--keep_unknown", "true", "--vectors", str(tmp_path / "vectors.txt"), "--epochs", "0"]
    with pytest.raises(DataError):
        train(small_recipe(tmp_path, *WORD, *start), tmp_path / "out")
    for choice, value in (("skip", 0.25), ("last", 0.5)):
        recipe = small_recipe(tmp_path, *WORD, *start, "--bad_vectors", choice)
        train(recipe, tmp_path / choice)
        vector = SentenceEncoder.from_pretrained(tmp_path / choice).encode("zyzzyva")
        np.testing.assert_array_equal(vector, np.full(24, value, np.float32))


def task_of(recipe: ContrastiveRecipe, folder: Path) -> ContrastiveObjective:
    sources = read_sources(recipe, None)
    tokenizer = train_tokenizers(recipe.encoders, lambda: sides_of(sources), recipe.seed)
    corpus = build_corpus(sources, tokenizer, folder / "corpus")
    return ContrastiveObjective(
        recipe, corpus, build_model(recipe, tokenizer), Accelerator(cpu=True)
    )


def test_the_first_epoch_may_follow_the_file_order(tmp_path):
    recipe = small_recipe(tmp_path, *WORD, "--first_epoch", "file_order")
    task = task_of(recipe, tmp_path)
    first, second = (
        np.concatenate([batch.pairs[0] for batch in task.mega_batch(epoch, 0, 10**6)])
        for epoch in (0, 1)
    )
    assert first.tolist() == list(range(0, len(first) * 2, 2))
    assert second.tolist() != sorted(second.tolist())


@pytest.mark.parametrize("kind", ["lstm", "mixture"])
def test_scrambling_keeps_start_and_end_tokens(kind, tmp_path):
    one = small_recipe(tmp_path, *WORD, *LSTM, "--marks", "both", "--scramble", "1")
    recipe = one if kind == "lstm" else mixture(tmp_path, "add", "--scramble", "1")
    task = task_of(recipe, tmp_path)
    sentences, corpus = np.arange(40), task.corpus
    plain, mask = corpus.sentences.padded(sentences)
    texts = task._texts(sentences, 0, 5)
    ids, again = texts.padded(np.arange(40))
    assert np.array_equal(again, mask)
    assert np.array_equal(np.sort(ids, 1), np.sort(plain, 1))
    own = corpus.special.end[0] + 1  # the first part's ids
    moved = 0
    for there, here in zip(ids, plain, strict=True):
        there, here = (row[(row > 0) & (row < own)] for row in (there, here))
        marked = len(corpus.special.start)
        assert there[:marked].tolist() == list(corpus.special.start)
        assert there[-1] == corpus.special.end[0]
        moved += int((there != here).any())
    assert moved > 20


@pytest.mark.parametrize("kind", ["weighted", "recurrent"])
def test_a_frozen_table_does_not_change(kind, tmp_path):
    for epochs in ("0", "2"):
        options = ["--model.kind", kind, "--freeze", "tables", "--epochs", epochs]
        train(small_recipe(tmp_path, *WORD, *options), tmp_path / epochs)
    start, end = weights(tmp_path / "0"), weights(tmp_path / "2")
    assert torch.equal(start.pop("embedding.weight"), end.pop("embedding.weight"))
    assert all(not torch.equal(start[key], end[key]) for key in start)
