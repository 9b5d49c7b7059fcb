import numpy as np
import pytest
from transformers import AutoTokenizer

from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MARKS, MarkedTokenizer
from paraphrastic_hf.text.word import WordTokenizer

TEXTS = ["The cat", "", "zebra", "the <s> cat </s>", "cat"]


def test_by_hand():
    """`the` is 2, `cat` 3, then the marks."""
    tokenizer = MarkedTokenizer(WordTokenizer(["the", "cat"]), "both")
    rows = tokenizer.encode_batch(TEXTS)
    found = [rows[i].tolist() for i in range(len(rows))]
    assert found == [[4, 2, 3, 5], [], [], [4, 2, 3, 5], [4, 3, 5]]
    assert tokenizer.tokens() == ["<pad>", "<unk>", "the", "cat", "<s>", "</s>"]
    assert (tokenizer.special.start, tokenizer.special.end, tokenizer.vocab_size) == ((4,), (5,), 6)


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("kind", ["subword", "word", "char"])
def test_every_way_of_loading_gives_the_same_ids(kind, marks, sentences, tmp_path, request):
    is_char = kind == "char"
    inner = (
        CharTokenizer.train(sentences, vocab_size=90) if is_char else request.getfixturevalue(kind)
    )
    tokenizer = MarkedTokenizer(inner, marks)
    tokenizer.save(tmp_path)
    loaded, stock = load_tokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.tokens() == tokenizer.tokens()
    assert loaded.vocab_size == tokenizer.vocab_size == len(tokenizer.tokens())
    texts = [*sentences, *TEXTS]
    ours, theirs = tokenizer.encode_batch(texts), loaded.encode_batch(texts)
    np.testing.assert_array_equal(ours.ids, theirs.ids)
    np.testing.assert_array_equal(ours.offsets, theirs.offsets)
    for row, text in enumerate(texts):
        if len(ours[row]):
            assert stock(text)["input_ids"] == ours[row].tolist(), text
