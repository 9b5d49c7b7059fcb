import pytest
from hypothesis import example, given
from transformers import AutoTokenizer

from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.normalize import normalize, valid_unicode
from tests.texts import BROKEN, SENTENCES, any_text


@pytest.fixture(scope="module", params=[False, True], ids=["unknown dropped", "unknown kept"])
def both(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("char")
    tokenizer = CharTokenizer.train(SENTENCES, vocab_size=60, keep_unknown=request.param)
    tokenizer.save(folder)
    return tokenizer, AutoTokenizer.from_pretrained(folder)


@given(any_text)
@example("<pad> <unk>")
@example("a" * 5000)
@example(BROKEN[0])
def test_each_character_has_its_id(both, text):
    ours, stock = both
    row = {character: i for i, character in enumerate(ours.tokens()) if i > 1}
    expected = [row.get(character, 1) for character in normalize(text)]
    if not ours.keep_unknown:
        expected = [i for i in expected if i != 1]
    assert ours.encode_batch([text])[0].tolist() == expected
    assert stock(valid_unicode(text))["input_ids"] == expected


def test_characters_are_ranked_by_frequency_then_code_point():
    tokenizer = CharTokenizer.train(["ab ba", "cb"], vocab_size=9)
    assert tokenizer.tokens() == ["<pad>", "<unk>", "b", "a", " ", "c"]
    assert CharTokenizer.train(["ab ba", "cb"], vocab_size=4).tokens()[2:] == ["b", "a"]
