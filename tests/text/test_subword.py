from collections.abc import Callable
from dataclasses import dataclass

import pytest
import sentencepiece
from hypothesis import example, given
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from paraphrastic_hf.text.normalize import SPACE_MARK, normalize
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.text.subword import SubwordTokenizer, round_scores
from tests.texts import SENTENCES, any_text, valid_text

ASCII = [sentence for sentence in SENTENCES if sentence.isascii() and "<" not in sentence]
KINDS = {
    # the first could spell a literal <pad>; `<` and `>` are unknown to the last two
    "all characters known": lambda: SubwordTokenizer.train(
        SENTENCES, vocab_size=400, character_coverage=1.0
    ),
    "cased": lambda: SubwordTokenizer.train(SENTENCES, vocab_size=400, lowercase=False),
    "unknown dropped": lambda: SubwordTokenizer.train(
        ASCII, vocab_size=120, character_coverage=0.99
    ),
    "unknown kept": lambda: SubwordTokenizer.train(ASCII, vocab_size=120, keep_unknown=True),
}


@dataclass(frozen=True, repr=False)
class Routes:
    ours: SubwordTokenizer
    sentencepiece: sentencepiece.SentencePieceProcessor
    fast: Tokenizer
    auto: Callable[..., dict[str, list[int]]]

    def ids(self, text: str) -> list[int]:
        return self.ours.encode_batch([text])[0].tolist()


@pytest.fixture(scope="module", params=KINDS, ids=str)
def routes(request, tmp_path_factory):
    tokenizer = KINDS[request.param]()
    folder = tmp_path_factory.mktemp("subword")
    tokenizer.save(folder)
    stock = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    return Routes(tokenizer, stock, tokenizer.to_fast(), AutoTokenizer.from_pretrained(folder))


def without_unknown(ids: list[int], space_mark: int) -> list[int]:
    """Remove <unk>, and a bare space mark just before one."""
    followed = zip(ids, [*ids, None][1:], strict=True)
    return [i for i, after in followed if i != 1 and not (i == space_mark and after == 1)]


def ids(tokenizer: SubwordTokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch([text])[0].tolist()


@given(text=any_text)
def test_ids_equal_sentencepiece(routes, text):
    theirs = routes.sentencepiece.encode(normalize(text, routes.ours.lowercase))
    if not routes.ours.keep_unknown:
        theirs = without_unknown(theirs, routes.sentencepiece.piece_to_id(SPACE_MARK))
    assert routes.ids(text) == theirs


@given(text=valid_text)
@example(text="<pad> <unk>")
@example(text=" \t\n\u2581\0")
def test_ids_equal_tokenizers_and_auto_tokenizer(routes, text):
    found = routes.ids(text)
    assert found == routes.fast.encode(text).ids == routes.auto(text)["input_ids"]
    assert 0 not in found


def test_an_unknown_character_does_not_affect_the_rest_of_its_word():
    tokenizer = SubwordTokenizer.train(ASCII, vocab_size=120)
    pieces = "".join(tokenizer.tokens()[i] for i in ids(tokenizer, "on 猫the roof"))
    assert pieces.replace(SPACE_MARK, " ") == " onthe roof"
    keeping = SubwordTokenizer.train(ASCII, vocab_size=120, keep_unknown=True)
    assert ids(tokenizer, "the 猫猫 sat") == ids(tokenizer, "the sat")
    assert ids(keeping, "the 猫猫 sat").count(1) == 1


def test_the_batch_size_does_not_change_the_ids(subword):
    texts = [f"{text} {i}" for i in range(20) for text in SENTENCES]
    batches = [subword.encode_batch(texts[i : i + 9]) for i in range(0, len(texts), 9)]
    whole, parts = subword.encode_batch(texts), Ragged.concatenate(batches)
    assert whole.ids.tolist() == parts.ids.tolist()
    assert whole.offsets.tolist() == parts.offsets.tolist()


def test_scores_are_multiples_of_a_power_of_two(subword, tmp_path):
    subword.save(tmp_path)
    model = (tmp_path / "spiece.model").read_bytes()
    stock = sentencepiece.SentencePieceProcessor(model_proto=model)
    scores = [stock.get_score(i) * 256 for i in range(stock.get_piece_size())]
    assert all(score == round(score) for score in scores)
    assert len(set(scores)) > 10
    assert round_scores(model) == model
