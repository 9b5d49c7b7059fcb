from paraphrastic_hf.text.marks import MarkedTokenizer
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
