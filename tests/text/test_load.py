from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer
from transformers.dynamic_module_utils import get_class_from_dynamic_module

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MARKS, MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.normalize import SPACE_MARK, keep_apart, normalize, valid_unicode
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.texts import SENTENCES

KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "subword": (SubwordTokenizer, {"character_coverage": 1.0}),
    "word": (WordTokenizer, {}),
    "char": (CharTokenizer, {}),
    "char n-grams": (CharNgramTokenizer, {}),
}
TEXTS = [*SENTENCES, "The Cat", "the ocelot", "", "<unk> <pad>", "zebra", "a <s> cat </s>", "0:the"]
TEXTS += ["a", "\0\ud800"]
REMOTE = {
    CharNgramTokenizer: "paraphrastic_text_char_ngram.CharNgramTokenizer",
    MixedTokenizer: "paraphrastic_text_mixed_auto.MixtureTokenizer",
}


def train(kind: str, lines: list[str], vocab_size: int, **settings: Any) -> Any:
    cls, own = KINDS[kind]
    return cls.train(lines, vocab_size=vocab_size, **own, **settings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("keep_unknown", [True, False])
def test_settings_are_kept_and_texts_are_independent(kind, lowercase, keep_unknown, tmp_path):
    saved = train(kind, SENTENCES, 300, lowercase=lowercase, keep_unknown=keep_unknown)
    rows = assert_equally_loaded(saved, tmp_path)
    for row, text in zip(rows, TEXTS, strict=True):
        assert saved.encode_batch([text])[0].tolist() == row
    upper, lower = saved.encode_batch(["The", "the"])
    assert (upper.tolist() == lower.tolist()) is lowercase
    assert len(saved.encode_batch([])) == 0


def assert_equally_loaded(saved: Any, folder: Path) -> list[list[int]]:
    """Compare a tokenizer with what every loader makes of its files. Return the ids of `TEXTS`."""
    saved.save(folder)
    loaded = load_tokenizer(folder)
    assert type(loaded) is type(saved)
    assert loaded.tokens() == saved.tokens()
    assert len(loaded.tokens()) == loaded.vocab_size == saved.vocab_size
    rows = [row.tolist() for row in saved.encode_batch(TEXTS)]
    assert [row.tolist() for row in loaded.encode_batch(TEXTS)] == rows
    stock = [AutoTokenizer.from_pretrained(folder)]
    remote = REMOTE.get(type(saved))
    if remote is not None:  # its class is in the saved Python files
        cls = get_class_from_dynamic_module(remote, str(folder))
        assert cls.__module__.startswith("transformers_modules")
        cls.from_pretrained(folder).save_pretrained(folder / "again")
        again = get_class_from_dynamic_module(remote, str(folder / "again"))
        stock += [AutoTokenizer.from_pretrained(folder, trust_remote_code=True)]
        stock += [cls.from_pretrained(folder), again.from_pretrained(folder / "again")]
        stock += [AutoTokenizer.from_pretrained(folder / "again")]
    for each in stock:
        assert each.pad_token_id == 0
        for row, text in zip(rows, TEXTS, strict=True):
            # transformers' template marks texts without tokens too
            assert each(valid_unicode(text))["input_ids"] == row or not row, text
    return rows


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("kind", ["subword", "word", "char"])
def test_marked_tokenizers_load_everywhere(kind, marks, tmp_path):
    assert_equally_loaded(MarkedTokenizer(train(kind, SENTENCES, 300), marks), tmp_path)


def test_mixtures_load_everywhere(tmp_path):
    parts = [train(kind, SENTENCES, 300) for kind in KINDS]
    assert_equally_loaded(MixedTokenizer(parts), tmp_path)
    assert [type(part) for part in load_tokenizer(tmp_path).parts] == [type(p) for p in parts]


@pytest.mark.parametrize(
    "settings", [{"padding_mode": "left", "orders": (2, 4)}, {"spans_spaces": False}]
)
def test_ngram_tokenizers_load_everywhere(settings, tmp_path):
    assert_equally_loaded(train("char n-grams", SENTENCES, 200, **settings), tmp_path)


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
