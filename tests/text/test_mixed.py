import pytest
from hypothesis import HealthCheck, given, settings
from transformers import AutoTokenizer

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.mixed_auto import MOST_PARTS
from paraphrastic_hf.text.word import WordTokenizer
from tests.texts import any_text


def test_marks_by_hand():
    """`the` is 2, `cat` 3, then the marks."""
    tokenizer = MarkedTokenizer(WordTokenizer(["the", "cat"]), "both")
    rows = tokenizer.encode_batch(["The cat", "", "zebra", "the <s> cat </s>", "cat"])
    found = [rows[i].tolist() for i in range(len(rows))]
    assert found == [[4, 2, 3, 5], [], [], [4, 2, 3, 5], [4, 3, 5]]
    assert tokenizer.tokens() == ["<pad>", "<unk>", "the", "cat", "<s>", "</s>"]
    assert (tokenizer.special.start, tokenizer.special.end, tokenizer.vocab_size) == ((4,), (5,), 6)


def test_by_hand():
    """Two words with their end mark are ids 2, 3 and 4. The trigrams are 7 and 8."""
    words = MarkedTokenizer(WordTokenizer(["the", "cat"]), "end")
    tokenizer = MixedTokenizer([words, CharNgramTokenizer(ngrams=[" ca", "at "])])
    rows = tokenizer.encode_batch(["the cat", "", "the", "cats"])
    assert [rows[i].tolist() for i in range(len(rows))] == [[2, 3, 4, 7, 8], [], [2, 4], [7]]
    assert tokenizer.vocab_size == 5 + 4
    assert tokenizer.tokens()[5:] == ["<pad>", "<unk>", " ca", "at "]
    assert (tokenizer.special.start, tokenizer.special.end) == ((), (4,))


def test_parts_that_treat_case_differently_are_refused():
    with pytest.raises(ValueError, match="lowercase"):
        MixedTokenizer([WordTokenizer(["a"]), WordTokenizer(["A"], lowercase=False)])


@pytest.fixture(scope="module")
def mixture(word, subword, char_ngram, sentences):
    characters = CharTokenizer.train(sentences, vocab_size=100)
    return MixedTokenizer([word, char_ngram, subword, characters])


@pytest.fixture(scope="module")
def folder(mixture, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixture")
    mixture.save(folder)
    return folder


def ids(tokenizer: MixedTokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch([text])[0].tolist()


@pytest.fixture(scope="module")
def loaded(folder):
    return AutoTokenizer.from_pretrained(folder)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(text=any_text)
def test_any_text_gets_the_same_ids(mixture, loaded, text):
    assert loaded(text)["input_ids"] == ids(mixture, text)


def test_tokens_are_named_after_their_part(loaded):
    found = loaded("the rain")["input_ids"]
    tokens = loaded.convert_ids_to_tokens(found)
    assert {token[0] for token in tokens} == set("0123")
    assert "1:the" in tokens
    assert loaded.convert_tokens_to_ids(tokens) == found
    assert loaded.convert_ids_to_tokens([0, 1]) == ["<pad>", "<unk>"]


def test_a_part_without_its_files_is_named(mixture, tmp_path):
    mixture.save(tmp_path)
    (tmp_path / "tokenizers" / "1" / "ngrams.json").unlink()
    with pytest.raises(ModelError):
        AutoTokenizer.from_pretrained(tmp_path)


def test_too_many_parts_have_no_auto_config(word, tmp_path):
    MixedTokenizer([word] * (MOST_PARTS + 1)).save(tmp_path)
    assert not (tmp_path / "tokenizer_config.json").exists()
