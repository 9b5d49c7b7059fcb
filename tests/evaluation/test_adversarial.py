import numpy as np
import pytest
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from paraphrastic_hf import GeneratedText
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.adversarial import (
    Example,
    attack,
    attack_markdown,
    back_translate,
    report_attack,
    training_rows,
)
from paraphrastic_hf.evaluation.syntax_control import (
    control_markdown,
    mean_tree_distance,
    measure_paraphrases,
    rouge,
    template_match,
)
from paraphrastic_hf.predictors.any_classifier import load_classifier
from paraphrastic_hf.syntax.parse_tree import read_tree
from tests.bert import WORDS

EXAMPLES = [Example("a fine film", "good"), Example("dull", "bad"), Example("fine mess", "bad")]
PARAPHRASES = [
    ["a film that is fine", "a lovely film", "a lovely film", "a fine film", ""],
    ["boring", "not fine"],
    ["a mess"],
]


def says(texts, second):
    assert second is None
    return ["good" if "fine" in text else "bad" for text in texts]


def test_an_example_is_broken_by_one_wrongly_labeled_paraphrase():
    """Examples 1 and 2 are correct and broken, by "a lovely film" and "not fine". 3 is wrong
    anyway."""
    found = attack(EXAMPLES, says, PARAPHRASES)
    assert [each.is_broken for each in found] == [True, True, False]
    assert found[0].paraphrases == ("a film that is fine", "a lovely film")
    report = report_attack(found, perplexity=lambda texts: np.array([4.0, 9.0]))
    expected = {
        **{"examples": 3, "attacked": 3, "accuracy": 200 / 3, "accuracy_under_attack": 0},
        **{"broken": 200 / 3, "success": 100, "agreement": 50, "paraphrases": 5 / 3, "queries": 8},
        **{"overlap": 1 / 3, "perplexity": 6, "similarity": np.nan},  # overlap: 2 of 3 words, and 0
    }
    assert report == pytest.approx(expected, nan_ok=True)
    assert training_rows(found)[-1] == ["bad", "a mess"]


def test_the_attack_table_has_no_empty_column_and_no_nan():
    tame = report_attack(attack(EXAMPLES[:1], says, [["a film that is fine"]]))
    broken = report_attack(attack(EXAMPLES, says, PARAPHRASES))
    header, _, first, second, *notes = attack_markdown({"tame": tame, "bt": broken}).splitlines()
    assert header.endswith("| queries | overlap |")
    assert (first[-8:], second[-8:]) == ("| 2 |  |", "| 0.33 |")
    assert [note.partition(":")[0] for note in notes if note] == ["tame"]


@pytest.mark.parametrize(("kind", "pad"), [("Bert", 0), ("Roberta", 1)])
def test_a_tokenizer_without_limit_truncates_at_the_models_limit_with_a_warning(
    kind, pad, tmp_path, caplog
):
    """RoBERTa's positions start after the padding id, so it reads fewer tokens."""
    labels = {"good": 0, "bad": 1}
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    sizes |= {"intermediate_size": 8, "max_position_embeddings": 8 + 2 * pad}
    marks = {"pad_token_id": pad, "label2id": labels, "id2label": dict(enumerate(labels))}
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(WORDS), **sizes, **marks)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    model.save_pretrained(tmp_path)
    words = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token=WORDS[pad]
    )
    tokenizer.save_pretrained(tmp_path)
    classify = load_classifier(str(tmp_path), labels=["good"])
    long = " ".join(["the cat"] * 50)
    found = classify([long, "a cat"], None)
    assert [record.args[0] for record in caplog.records] == ["1"]
    assert found == classify([" ".join(long.split()[:8]), "a cat"], None)
    assert len(classify(["a cat"], [long])) == 1
    assert len(caplog.records) == 2


def test_the_second_sentence_of_a_pair_is_unchanged():
    asked = []

    def entails(texts, second):
        assert second is not None
        asked.extend(zip(texts, second, strict=True))
        return ["yes"] * len(texts)

    found = attack([Example("a b", "yes", "c")], entails, [["b a"]])
    assert asked == [("a b", "c"), ("b a", "c")]
    assert training_rows(found) == [["yes", "b a", "c"]]
    with pytest.raises(DataError):
        attack([], says, [])


def test_back_translation_gives_paraphrases():
    def reverse(lines, writing, *, scores=True):
        assert writing.max_tokens == 200
        counts = range(writing.outputs)
        return [[GeneratedText(f"{line[::-1]}{n}", float("nan")) for n in counts] for line in lines]

    assert back_translate(["ab"], reverse, reverse, outputs=2, beams=2) == [["0ab0", "0ab1"]]


def test_an_unparsed_output_is_no_template_match():
    wanted = [read_tree("(S (NP (DT)) (VP))")] * 3
    trees = [read_tree("(ROOT (S (NP (PRP)) (VP (VB))))"), read_tree("(S (VP) (NP))"), None]
    assert template_match(trees, wanted) == pytest.approx(100 / 3)
    assert mean_tree_distance(trees[:2], wanted[:2]) == pytest.approx((2 + 3) / 2)
    assert np.isnan(mean_tree_distance([None], wanted[:1]))


def test_rouge_by_hand():
    """the cat sat / the cat sat down: 3 of 3 and 4 words, 2 of 2 and 3 bigrams."""
    assert rouge("The cat sat", "the cat sat down", 1) == pytest.approx(6 / 7)
    assert rouge("the cat sat", "the cat sat down", 2) == pytest.approx(4 / 5)
    assert rouge("sat the cat", "the cat sat", None) == pytest.approx(4 / 6)
    assert rouge("", "a", 1) == 0


def test_figures_of_paraphrases():
    texts = ["the cat sat on the mat today", "a dog ran"]
    same = measure_paraphrases(texts, texts, texts)
    assert same["BLEU"] == pytest.approx(100)
    assert same["iBLEU"] == pytest.approx(60)  # 0.8 * 100 - 0.2 * 100
    assert same["change"] == 0
    other = measure_paraphrases(["abcd"], ["abcd"], ["abxx"])
    assert other["change"] == 50
    table = control_markdown({"ours": {"BLEU": 1.0}, "theirs": {"SIM": 2.0}})
    assert "| ours | 1.0 |  |" in table
