"""`Tagger` gives every word one tag, whatever the layout, and refuses what is no sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.models.encoders.charagram import CharagramConfig
from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
from paraphrastic_hf.predictors.tagger import Tagger
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from tests.texts import SENTENCES

WORDS = [sentence.split() for sentence in SENTENCES]


def new_tagger(**settings: int) -> Tagger:
    tokenizer = CharNgramTokenizer.train(SENTENCES, vocab_size=300, orders=[2, 3])
    words = CharagramConfig(
        vocab_size=tokenizer.vocab_size, hidden_size=8, activation="relu", initializer_std=1.0
    )
    torch.manual_seed(0)
    config = TaggerConfig.of(
        words.to_dict(), list("ABCDE"), head_size=6, recurrent_std=1.0, **settings
    )
    return Tagger(TaggerModel(config), tokenizer)


def test_every_word_gets_a_tag_in_place() -> None:
    found = new_tagger().tag(WORDS)
    assert [len(tags) for tags in found] == [len(words) for words in WORDS]
    assert len({tag for tags in found for tag in tags}) > 2


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_the_batch_size_does_not_matter(batch_size: int) -> None:
    assert new_tagger().tag(WORDS, batch_size=batch_size) == new_tagger().tag(WORDS)


def test_empty_sentences_have_no_tags() -> None:
    assert new_tagger().tag([]) == []
    assert new_tagger().tag([[], ["the", "cat"], []])[::2] == [[], []]


def test_unknown_characters_and_empty_words_get_tags_too() -> None:
    assert [len(tags) for tags in new_tagger().tag([["the", "ꙮꙮ", "", "cat"]])] == [4]


def test_a_sentence_longer_than_the_limit_is_tagged_in_pieces() -> None:
    words = [word for sentence in WORDS for word in sentence][:10]
    whole = new_tagger(max_words=4)
    pieces = new_tagger().tag([words[:4], words[4:8], words[8:]])
    assert whole.tag([words, []]) == [[tag for tags in pieces for tag in tags], []]


def test_a_word_longer_than_the_limit_is_cut() -> None:
    tagger = new_tagger(max_word_tokens=3)
    order_3_beyond = (
        "the" + "cat" * 50
    )  # n-grams come order by order: its first three are " t th he"
    assert tagger.tag([["cat", order_3_beyond]]) == tagger.tag([["cat", "the dog"]])


def test_tagging_leaves_the_training_mode_as_it_was() -> None:
    tagger = new_tagger()
    tagger.model.train()
    tagger.tag(WORDS)
    assert tagger.model.training


def test_sentences_may_come_one_by_one() -> None:
    tagger = new_tagger()
    assert tagger.tag(iter(WORDS)) == tagger.tag(WORDS)  # type: ignore[arg-type]


def test_what_is_no_list_of_words_is_refused() -> None:
    with pytest.raises(DataError, match="must be a list of words, got the string 'the cat'"):
        new_tagger().tag(["the cat"])
    with pytest.raises(DataError, match="a word must be a string, got 3"):
        new_tagger().tag([["the", 3]])  # type: ignore[list-item]


def test_a_saved_tagger_tags_alike(tmp_path: Path) -> None:
    tagger = new_tagger()
    tagger.model.save_pretrained(tmp_path)
    tagger.tokenizer.save(tmp_path)
    assert Tagger.from_pretrained(tmp_path).tag(WORDS) == tagger.tag(WORDS)


def test_a_folder_without_a_tagger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no config\.json"):
        Tagger.from_pretrained(tmp_path)
    tagger = new_tagger()
    tagger.model.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="holds no tokenizer"):
        Tagger.from_pretrained(tmp_path)
    tagger.model.encoder.save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"wanted here is a tagger\. That one loads with SentenceEnc"
    ):
        Tagger.from_pretrained(tmp_path)


def test_a_tokenizer_of_another_model_is_refused() -> None:
    other = CharNgramTokenizer.train(SENTENCES, vocab_size=50, orders=[2])
    with pytest.raises(ModelError, match=r"the tagger has .* rows, but its tokenizer 50"):
        Tagger(new_tagger().model, other)
