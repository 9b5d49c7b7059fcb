"""Every encoder from its recipe keys: it learns, resumes, loads everywhere, is refused early."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.config.recipe import read_recipe, to_yaml
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.corpus import build_corpus
from paraphrastic_hf.training.data.sources import read_sources
from paraphrastic_hf.training.data.tokenizers import train_tokenizers
from paraphrastic_hf.training.encoder.build import build_config, build_model, check_encoders
from paraphrastic_hf.training.encoder.settings import ModelArguments
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.engine.run import train
from tests.training.engine.test_train import PAIRS, small_recipe

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
    path = folder / "mixture.yaml"
    path.write_text(MIXTURE.format(pairs=PAIRS, combine=combine), encoding="utf-8")
    return read_recipe(ContrastiveRecipe, path, overrides)


def told_apart(directory: Path) -> float:
    """How much nearer paraphrases are than strangers, in cosine units."""
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    first, second = zip(*rows, strict=True)
    encoder = SentenceEncoder.from_pretrained(directory)
    together = encoder.similarity_pairwise(first, second).mean()
    return float(together - encoder.similarity_pairwise(first, second[1:] + second[:1]).mean())


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_learns_to_tell_paraphrases_from_strangers(name: str, tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, *ENCODERS[name], *LEARNING)
    train(recipe, tmp_path / "out", progress=False)
    assert told_apart(tmp_path / "out") > 0.6


@pytest.mark.parametrize(("combine", "dimension"), [("add", 12), ("concatenate", 24)])
def test_a_mixture_learns_and_loads_everywhere(
    combine: str, dimension: int, tmp_path: Path
) -> None:
    train(mixture(tmp_path, combine), tmp_path / "out", progress=False)
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


class Killed(Exception):
    pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an open log
@pytest.mark.parametrize("kind", ["mixture", "identity_rnn", "charagram", "lstm_avg"])
def test_a_resumed_run_is_the_run_that_was_not_interrupted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit; an identity-RNN is pulled to a start that a resumed run no longer has."""
    often = ["--checkpoint_every", "5", "--epochs", "3"]
    recipe = (
        mixture(tmp_path, "add", *often)
        if kind == "mixture"
        else small_recipe(tmp_path, *ENCODERS[kind], "--lambda_w", "1e-3", *often)
    )
    train(recipe, tmp_path / "whole", progress=False)
    step = TrainingLoop._step

    def killed_at_17(loop: TrainingLoop, *arguments: object) -> float:
        if loop.progress.step == 17:
            raise Killed
        return step(loop, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TrainingLoop, "_step", killed_at_17)
    with pytest.raises(Killed):
        train(recipe, tmp_path / "broken", progress=False)
    monkeypatch.undo()
    train(recipe, tmp_path / "broken", progress=False)
    whole, broken = (
        load_file(tmp_path / name / "model.safetensors") for name in ("whole", "broken")
    )
    for name, weight in whole.items():
        assert torch.equal(weight, broken[name]), name


def test_an_overwritten_mixture_leaves_no_tokenizers(tmp_path: Path) -> None:
    train(mixture(tmp_path, "add", "--epochs", "0"), tmp_path / "out", progress=False)
    assert (tmp_path / "out" / "tokenizers" / "1" / "ngrams.json").exists()
    recipe = small_recipe(tmp_path, "--epochs", "0")
    train(recipe, tmp_path / "out", overwrite=True, progress=False)
    assert not (tmp_path / "out" / "tokenizers").exists()


def test_an_earlier_runs_table_is_the_start(tmp_path: Path) -> None:
    """Both know the same words; the dimension must be the same too."""
    train(small_recipe(tmp_path, *WORD), tmp_path / "word", progress=False)
    start = ["--vectors", str(tmp_path / "word"), "--epochs", "0"]
    train(small_recipe(tmp_path, *WORD, *LSTM, *start), tmp_path / "lstm", progress=False)
    word, lstm = (
        load_file(tmp_path / name / "model.safetensors")["embedding.weight"]
        for name in ("word", "lstm")
    )
    assert torch.equal(word[2:], lstm[2:])
    wider = small_recipe(tmp_path, *WORD, *LSTM, *start, "--embedding_size", "30")
    with pytest.raises(
        DataError, match=r"24 numbers, but the model has 30; .*embedding_size, to 24"
    ):
        train(wider, tmp_path / "wider", progress=False)


def test_words_start_from_what_a_model_of_pieces_makes_of_them(tmp_path: Path) -> None:
    pieces = ["--tokenizer.kind", "sentencepiece", "--vocab_size", "250"]
    train(small_recipe(tmp_path, *pieces), tmp_path / "pieces", progress=False)
    start = ["--vectors", str(tmp_path / "pieces"), "--epochs", "0"]
    train(small_recipe(tmp_path, *WORD, *start), tmp_path / "word", progress=False)
    first, second = (SentenceEncoder.from_pretrained(tmp_path / n) for n in ("pieces", "word"))
    words = second.tokenizer.tokens()[2:]
    known = first.encode(words).any(1)
    assert known.mean() > 0.9
    np.testing.assert_array_equal(first.encode(words)[known], second.encode(words)[known])
    wider = small_recipe(tmp_path, *WORD, *start, "--hidden_size", "30")
    with pytest.raises(DataError, match=r"24 numbers, but the model has 30"):
        train(wider, tmp_path / "wider", progress=False)


def test_a_packaged_model_is_a_start_by_its_name(tmp_path: Path) -> None:
    start = ["--vectors", "english", "--hidden_size", "512", "--epochs", "0"]
    train(small_recipe(tmp_path, *WORD, *start), tmp_path / "word", progress=False)
    english, word = (SentenceEncoder.from_pretrained(n) for n in ("english", tmp_path / "word"))
    np.testing.assert_array_equal(english.encode(["cat"]), word.encode(["cat"]))


def test_the_vector_of_unknown_words_is_the_start_of_unk(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("UUUNKKK " + " ".join(["0.25"] * 24) + "\n")
    start = ["--keep_unknown", "true", "--vectors", str(tmp_path / "vectors.txt"), "--epochs", "0"]
    train(small_recipe(tmp_path, *WORD, *start), tmp_path / "out", progress=False)
    vector = SentenceEncoder.from_pretrained(tmp_path / "out").encode("zyzzyva")
    np.testing.assert_array_equal(vector, np.full(24, 0.25, np.float32))


def test_bad_rows_of_given_vectors_are_refused_or_skipped(tmp_path: Path) -> None:
    rows = ["UUUNKKK " + " ".join([value] * 24) + "\n" for value in ("0.25", "nan", "0.5")]
    (tmp_path / "vectors.txt").write_text("".join(rows))
    start = ["--keep_unknown", "true", "--vectors", str(tmp_path / "vectors.txt"), "--epochs", "0"]
    with pytest.raises(DataError, match=r"vectors.txt:2 holds 'nan'.*model.bad_vectors"):
        train(small_recipe(tmp_path, *WORD, *start), tmp_path / "out", progress=False)
    for choice, value in (("skip", 0.25), ("last", 0.5)):
        recipe = small_recipe(tmp_path, *WORD, *start, "--bad_vectors", choice)
        train(recipe, tmp_path / choice, progress=False)
        vector = SentenceEncoder.from_pretrained(tmp_path / choice).encode("zyzzyva")
        np.testing.assert_array_equal(vector, np.full(24, value, np.float32))


def task_of(recipe: ContrastiveRecipe, folder: Path) -> ContrastiveObjective:
    sources = read_sources(recipe, None)
    tokenizer = train_tokenizers(recipe.encoders, sources, recipe.seed)
    corpus = build_corpus(sources, tokenizer, folder / "corpus")
    return ContrastiveObjective(
        recipe, corpus, build_model(recipe, tokenizer), Accelerator(cpu=True)
    )


def test_the_first_epoch_may_go_through_the_file_as_it_is(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, *WORD, "--first_epoch", "file_order")
    task = task_of(recipe, tmp_path)
    first, second = (
        np.concatenate([batch.pairs[0] for batch in task.mega_batch(epoch, 0, 10**6)])
        for epoch in (0, 1)
    )
    assert first.tolist() == list(range(0, len(first) * 2, 2))
    assert second.tolist() != sorted(second.tolist())


@pytest.mark.parametrize("kind", ["lstm", "mixture"])
def test_scrambling_moves_tokens_but_no_marks(kind: str, tmp_path: Path) -> None:
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


REFUSED = [
    (["--pooling", "last"], "model.pooling .'last'. has no meaning for model.kind averaging: .*"),
    (["--variant", "2", *LSTM], "model.variant .2. has no meaning .*set model.kind to gated"),
    (["--cell", "gru", *LSTM], "model: cell must be one of lstm, rnn, identity_rnn"),
    (["--model.kind", "charagram"], "sentencepiece has none: set tokenizer.kind to char_ngram"),
    ([*NGRAM, *LSTM, "--marks", "end"], "tokenizer.marks are not for char_ngram"),
    (["--marks", "end"], "moves every vector of model.kind averaging alike"),
    (["--combine", "add"], "combine is about parts, and there are none"),
    (["--orders", "0"], "tokenizer.orders must be at least 1"),
    (["--freeze", "tables"], "leaves nothing to train .*set model.kind to weighted"),
    (["--freeze", "tables", "--lambda_w", "1"], "keeps: leave one of them out"),
    (["--lambda_c", "-1"], "training.lambda_c must be 0 or more, got -1"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED, ids=str)
def test_what_has_no_meaning_is_refused_before_anything_is_read(
    overrides: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError, match=message):
        check_encoders(small_recipe(tmp_path, *overrides))


def test_parts_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    for text, message in [
        ("parts: [{}, {model: {hidden_size: 8}}]\ncombine: add", "parts: .*hidden_size 300, 8"),
        ("parts: [{}, {tokenizer: {lowercase: false}}]", "lowercase must be the same in all parts"),
        ("parts: [{}, {tokenizer: {apart: [fr]}}]", "apart needs one tokenizer"),
        ("parts: [{}, {}]\nmodel: {hidden_size: 8}", "move tokenizer and model into each of parts"),
        ("parts: [{}, {model: {hidden: 8}}]", r"unknown recipe key 'parts\[1\].model.hidden'"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RecipeError, match=message):
            check_encoders(read_recipe(ContrastiveRecipe, path))


def test_a_key_left_out_is_the_default_of_its_family() -> None:
    config = build_config(ModelArguments(kind="recurrent"), 9)
    assert (config.cell, config.pooling, config.peepholes) == ("lstm", "mean", True)


def test_a_mixture_written_and_read_is_the_same(tmp_path: Path) -> None:
    recipe = mixture(tmp_path)
    (tmp_path / "again.yaml").write_text(to_yaml(recipe), encoding="utf-8")
    assert read_recipe(ContrastiveRecipe, tmp_path / "again.yaml") == recipe


@pytest.mark.parametrize("kind", ["weighted", "recurrent"])
def test_a_frozen_table_stays_at_its_start(kind: str, tmp_path: Path) -> None:
    options = [*WORD, "--model.kind", kind, "--epochs", "2", "--freeze", "tables"]
    for epochs in ("0", "2"):
        recipe = small_recipe(tmp_path, *options, "--epochs", epochs)
        train(recipe, tmp_path / epochs, progress=False)
    start, end = (load_file(tmp_path / epochs / "model.safetensors") for epochs in ("0", "2"))
    assert torch.equal(start.pop("embedding.weight"), end.pop("embedding.weight"))
    assert all(not torch.equal(start[key], end[key]) for key in start)
