import pytest
import torch

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.models.encoders.charagram import CharagramConfig
from paraphrastic_hf.models.supervised.parser import ParserConfig, ParserModel
from paraphrastic_hf.predictors import parser as module
from paraphrastic_hf.predictors.parser import SentenceParser
from paraphrastic_hf.predictors.tagger import Tagger
from paraphrastic_hf.syntax.parse_tree import read_tree
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from tests.texts import SENTENCES

LINES = [*SENTENCES, "He said (`` no '') to\tit."]


def tokenizer_and_words():
    """Return a tokenizer and the configuration of an encoder of words, with the seed set."""
    tokenizer = CharNgramTokenizer.train(SENTENCES, vocab_size=300, orders=[2, 3])
    words = CharagramConfig(
        vocab_size=tokenizer.vocab_size, hidden_size=8, activation="relu", initializer_std=1.0
    )
    torch.manual_seed(0)
    return tokenizer, words.to_dict()


def new_parser(**settings):
    tokenizer, words = tokenizer_and_words()
    config = ParserConfig.of(
        words, list("ABC"), ["NP", "S+VP"], head_size=6, recurrent_std=1.0, **settings
    )
    return SentenceParser(ParserModel(config), tokenizer)


def test_every_line_has_a_tree_of_its_words():
    found = new_parser().parse(LINES)
    assert [each.tree.words() for each in found] == [each.words for each in found]
    assert found[-1].words == ["He", "said", "(", "``", "no", "''", ")", "to", "it", "."]
    assert all(read_tree(str(each.tree)) == each.tree and not each.problem for each in found)
    assert len({each.tree.linear() for each in found}) > 2


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_batch_size_and_iterators_do_not_matter(batch_size):
    parser = new_parser()
    expected = parser.parse(LINES)
    assert parser.parse(iter(LINES), batch_size=batch_size) == expected
    words = [line.split() for line in LINES]
    assert parser.parse_words(iter(words)) == parser.parse_words(words)
    one, other = parser.parse(["`` no '' .", '" no " .'])  # both quotes are read equally
    assert one.tree.linear() == other.tree.linear()
    assert (one.tree.words()[0], other.tree.words()[0]) == ("``", '"')


def test_a_line_without_tree_has_a_problem(monkeypatch):
    parser = new_parser(max_words=4)
    found = parser.parse(["", " \t", "a b c d", "a b c d e"])
    assert [each.problem for each in found] == ["empty", "empty", "", "too long"]
    assert [str(found[number].tree) for number in (0, 3)] == ["(ROOT)", "(ROOT)"]
    assert found[3].words == ["a", "b", "c", "d", "e"]
    monkeypatch.setattr(module, "DEEPEST", 1)
    assert parser.parse(["a b"])[0].problem == "not parsed"
    assert parser.parse([]) == []


def test_strings_and_foreign_tokenizers_are_refused():
    parser = new_parser()
    with pytest.raises(DataError):
        parser.parse("the cat")
    with pytest.raises(DataError):
        parser.parse_words(["the cat"])
    with pytest.raises(ValueError, match="batch_size"):
        parser.parse(["a"], batch_size=0)
    with pytest.raises(ModelError):
        SentenceParser(parser.model, CharNgramTokenizer.train(SENTENCES, vocab_size=20, orders=[2]))


def test_a_saved_parser_parses_equally(tmp_path):
    parser = new_parser()
    parser.save_pretrained(tmp_path)
    loaded = SentenceParser.from_pretrained(tmp_path)
    assert loaded.parse(LINES) == parser.parse(LINES)
    with pytest.raises(ModelError):
        Tagger.from_pretrained(tmp_path)
