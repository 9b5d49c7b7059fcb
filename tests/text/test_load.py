from typing import Any

import pytest

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import SPACE_MARK, keep_apart, normalize
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer

KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "subword": (SubwordTokenizer, {"character_coverage": 1.0}),
    "word": (WordTokenizer, {}),
    "char": (CharTokenizer, {}),
    "char n-grams": (CharNgramTokenizer, {}),
}
TEXTS = ["The Cat", "the ocelot", "", "<unk> <pad>"]


def train(kind: str, lines: list[str], vocab_size: int, **settings: Any) -> Any:
    cls, own = KINDS[kind]
    return cls.train(lines, vocab_size=vocab_size, **own, **settings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("keep_unknown", [True, False])
def test_each_kind_survives_saving(kind, lowercase, keep_unknown, sentences, tmp_path):
    settings = {"lowercase": lowercase, "keep_unknown": keep_unknown}
    saved = train(kind, sentences, 300, **settings)
    saved.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert type(loaded) is type(saved)
    assert loaded.tokens() == saved.tokens()
    assert len(loaded.tokens()) == loaded.vocab_size == saved.vocab_size
    texts = [*sentences, *TEXTS]
    found, expected = loaded.encode_batch(texts), saved.encode_batch(texts)
    assert found.ids.tolist() == expected.ids.tolist()
    for row, text in enumerate(texts):
        assert saved.encode_batch([text])[0].tolist() == expected[row].tolist()
    upper, lower = (saved.encode_batch([text])[0].tolist() for text in ("The", "the"))
    assert (upper == lower) is lowercase
    assert len(saved.encode_batch([])) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_training_twice_gives_the_same_bytes(kind, sentences, tmp_path):
    for name in ("a", "b"):
        train(kind, sentences, 200).save(tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [[], [""], ["\0 \t"]], ids=["none", "empty", "blank"])
def test_training_on_no_text_is_a_data_error(kind, lines):
    with pytest.raises(DataError):
        train(kind, lines, 50)


@pytest.mark.parametrize("kind", KINDS)
def test_too_little_text_shrinks_the_vocabulary_or_is_refused(kind):
    lines = ["the cat sat", "a dog"]
    size = train(kind, lines, 5000).vocab_size
    assert size < 60
    with pytest.raises(DataError, match="5000" if kind == "subword" else f" {size}"):
        train(kind, lines, 5000, hard_vocab_limit=True)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "char"])
def test_a_language_kept_apart_shares_only_the_space(kind, sentences):
    plain = [normalize(sentence) for sentence in sentences]
    apart = [keep_apart(sentence) for sentence in plain if max(sentence) <= "\uffff"]
    tokenizer = train(kind, [*plain, *apart], 600 if kind == "subword" else 10_000)
    shared = set(tokenizer.encode_batch(plain).ids) & set(tokenizer.encode_batch(apart).ids)
    assert {tokenizer.tokens()[each] for each in shared} <= {SPACE_MARK}


@pytest.mark.parametrize("content", [None, b"", b"{}", b"not a model"])
@pytest.mark.parametrize(
    ("cls", "name"), [(SubwordTokenizer, "spiece.model"), (WordTokenizer, "tokenizer.json")]
)
def test_a_bad_file_is_a_model_error(cls, name, content, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError):
        cls.load(tmp_path, lowercase=True, keep_unknown=False)


def test_a_directory_without_a_tokenizer_is_a_model_error(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ModelError):
            load_tokenizer(folder)
    for content in ("", "[]", "{}", '{"kind": "magic"}', '{"kind": "word"}'):
        (tmp_path / "paraphrastic_tokenizer.json").write_text(content, encoding="utf-8")
        with pytest.raises(ModelError):
            load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer_config.json", None),
        ("tokenizer_config.json", "{}"),
        ("tokenizer_config.json", "{"),
        ("ngrams.json", '["a'),
    ],
)
def test_an_incomplete_ngram_tokenizer_is_a_model_error(name, content, char_ngram, tmp_path):

    char_ngram.save(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ModelError):
        load_tokenizer(tmp_path)
