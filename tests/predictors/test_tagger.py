import pytest

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
from paraphrastic_hf.predictors.tagger import Tagger
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from tests.predictors.test_parser import tokenizer_and_words
from tests.texts import SENTENCES

WORDS = [sentence.split() for sentence in SENTENCES]


def new_tagger(**settings):
    tokenizer, words = tokenizer_and_words()
    config = TaggerConfig.of(words, list("ABCDE"), head_size=6, recurrent_std=1.0, **settings)
    return Tagger(TaggerModel(config), tokenizer)


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_batch_size_iterators_and_training_mode_do_not_matter(batch_size):
    tagger = new_tagger()
    expected = tagger.tag(WORDS)
    assert [len(tags) for tags in expected] == [len(words) for words in WORDS]
    assert len({tag for tags in expected for tag in tags}) > 2
    tagger.model.train()
    assert tagger.tag(iter(WORDS), batch_size=batch_size) == expected
    assert tagger.model.training


def test_empty_sentences_have_no_tags():
    assert new_tagger().tag([]) == []
    found = new_tagger().tag([[], ["the", "ꙮꙮ", "", "cat"], []])
    assert [len(tags) for tags in found] == [0, 4, 0]  # unknown and empty words have tags


def test_a_sentence_longer_than_the_limit_is_tagged_in_pieces():
    words = [word for sentence in WORDS for word in sentence][:10]
    whole = new_tagger(max_words=4)
    pieces = new_tagger().tag([words[:4], words[4:8], words[8:]])
    assert whole.tag([words, []]) == [[tag for tags in pieces for tag in tags], []]


def test_a_word_longer_than_the_limit_is_cut():
    """N-grams are sorted by order, so the first three of the long word are ` t`, `th`, `he`."""
    tagger = new_tagger(max_word_tokens=3)
    long = "the" + "cat" * 50
    assert tagger.tag([["cat", long]]) == tagger.tag([["cat", "the dog"]])


def test_strings_and_foreign_tokenizers_are_refused():
    tagger = new_tagger()
    with pytest.raises(DataError):
        tagger.tag(["the cat"])
    with pytest.raises(ModelError):
        Tagger(tagger.model, CharNgramTokenizer.train(SENTENCES, vocab_size=50, orders=[2]))


def test_a_saved_tagger_with_its_tokenizer_tags_equally(tmp_path):
    tagger = new_tagger()
    for save in (
        lambda _: None,
        tagger.model.encoder.save_pretrained,
        tagger.model.save_pretrained,
    ):
        save(tmp_path)
        with pytest.raises(ModelError):
            Tagger.from_pretrained(tmp_path)
    tagger.tokenizer.save(tmp_path)
    assert Tagger.from_pretrained(tmp_path).tag(WORDS) == tagger.tag(WORDS)
