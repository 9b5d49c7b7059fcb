import html
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from huggingface_hub import SpaceCard

from paraphrastic_hf import RecurrentConfig, RecurrentModel, SentenceEncoder, load_recipe, train
from paraphrastic_hf.errors import DataError
from tests.space.browser import SPACE

ROOT = Path(__file__).parents[2]
CATS = ("A cat sleeps.", "The cat is asleep.")
REFERENCES = "A cat sleeps.\nIt rains.\nI have a brother.\nWhere is it?\nBread is dear."


def shares(page):
    """Return the numbers in the chips."""
    return [float(x.replace("−", "-")) for x in re.findall(r"<small>(.*?)</small>", page)]


def test_contributions_sum_to_the_cosine(space):
    page = space.answers.similarity(*CATS, "english")
    expected = SentenceEncoder.from_pretrained("english").similarity(*CATS)[0, 0]
    assert f"cosine {expected:.3f}" in page
    sides = [shares(side) for side in page.split('<div class="tokens">')[1:]]
    for side in sides:
        assert sum(side) == pytest.approx(100 * expected, abs=0.05 * len(side))  # rounding
    assert "exact" in page


def test_contributions_of_other_models_are_approximate(space, monkeypatch, word):
    torch.manual_seed(0)
    model = RecurrentModel(RecurrentConfig(vocab_size=word.vocab_size, hidden_size=4)).eval()
    encoder = SentenceEncoder(model, word)
    monkeypatch.setattr(space.answers, "encoder", lambda name: encoder)
    page = space.answers.similarity("the cat", "a dog", "recurrent")
    assert "exact" not in page
    assert len(shares(page)) == 4


def test_input_is_escaped(space):
    evil = "<img src=x onerror=alert(1)> & <b>cat</b>"
    pages = [
        space.answers.similarity(evil, evil, "english"),
        space.answers.nearest(evil, evil, "english", 3),
        space.answers.simile(evil, "", evil, "simile"),
        space.drawing.note(evil),
    ]
    for page in pages:
        assert "<img" not in page
        assert "<b>" not in page
    assert html.escape(evil) in pages[1]


def test_pieces_of_one_word_are_grouped(space):
    drawn = space.drawing.tokens(["▁the", "▁", "physician"], np.array([0.1, 0, -0.2]), 0.2)
    assert drawn.count('class="word"') == 2  # the lone mark starts the second word
    assert drawn.index("physician") > drawn.rindex('class="word"')
    assert space.drawing.tokens(["cat", "dog"], np.zeros(2), 0).count('class="word"') == 2


def test_a_text_of_another_script_gets_a_link_to_another_model(space):
    found = space.answers.similarity("猫が寝ている。", "a cat sleeps", "english")
    assert "model=multilingual" in found
    assert "a=%E7%8C%AB" in found
    assert "model=" not in space.answers.similarity("a cat", "a dog", "english")


def test_a_difference_of_order_alone_is_noted(space):
    texts = ("the dog bites the man", "the man bites the dog")
    notes = [
        space.answers.similarity(*pair, "english").count('"note"')
        for pair in (texts, texts[:1] * 2, [" ".join([text] * 20) for text in texts])
    ]
    assert notes == [2, 1, 2]


def test_a_table_of_many_pairs_is_left_out(space):
    assert space.drawing.pairs(["a"], ["b"], np.ones((1, 1)))
    assert not space.drawing.pairs(["a"] * 50, ["b"] * 50, np.ones((50, 50)))
    assert not space.drawing.pairs([], ["b"], np.ones((0, 1)))


def test_blank_lines_count_in_line_numbers(space):
    lines = "Bread is dear.\n\n  \nThe cat is asleep.\n"
    page = space.answers.nearest("a cat sleeps", lines, "english", 1)
    cells = re.findall(r"<td.*?>(.*?)</td>", page)
    assert cells[1:] == ["4", "The cat is asleep."]
    assert float(cells[0]) > 0.5


def test_two_systems_are_compared_with_a_p_value(space):
    worse = "A dog.\nSun.\nYou.\nNo.\nTea."
    page = space.answers.simile(worse, REFERENCES, REFERENCES, "simile")
    assert "0.062" in page  # the lowest p-value for five segments
    assert "tuned:newstest2015" in page
    assert page.count("<tr>") == 1 + 2 + 1 + 5  # systems, then segments


@pytest.mark.parametrize(
    ("name", "values", "named"),
    [
        ("similarity", ("", "cat", "english"), ""),
        ("similarity", ("a" * 2001, "cat", "english"), "2,001"),
        ("nearest", ("cat", " \n", "english", 3), ""),
        ("nearest", ("cat", "a\n" * 5001, "english", 3), "5,001"),
        ("simile", ("", "", "cat", "simile"), ""),
        ("simile", ("a\nb", "", "cat", "simile"), "2"),
        ("simile", ("a", "", "a\n" * 5001, "simile"), "5,001"),
    ],
)
def test_invalid_inputs_are_refused(space, name, values, named):
    with pytest.raises(DataError) as refused:
        getattr(space.answers, name)(*values)
    assert named in str(refused.value)


@pytest.mark.slow
def test_the_style_page_generates_text(space, tmp_path):
    source = ROOT / "recipes" / "default" / "en-fr.tsv"
    settings = ["--sources", f"{{path: {source}, languages: [en, fr]}}", "--epochs", "1"]
    recipe = load_recipe(ROOT / "recipes" / "bilingual-generative-2020" / "smoke.yaml", settings)
    train(recipe, tmp_path / "bgt", progress=False)
    model = str(tmp_path / "bgt")
    assert space.answers.style_languages(model) == ["en", "fr"]
    page = space.answers.style("the cat sleeps", "where is it?", "en", 2, model=model)
    assert page.count("<td>") == 2
    with pytest.raises(DataError):
        space.answers.style("the cat sleeps", " ", "en", 2, model=model)


def test_paraphrases_have_the_templates(space):
    template = "(ROOT (S (NP) (VP) (.)))"
    page = space.answers.paraphrase("Cats sleep.", f"{template}\n\n{template}", model="paraphraser")
    assert page.count(template) == 2
    with pytest.raises(DataError):
        space.answers.paraphrase(" ", template, model="paraphraser")


NO_TORCH = """
import sys
sys.path.insert(0, sys.argv[1])
import answers
assert "cosine 1.000" in answers.similarity("a cat", "a cat", "english")
assert "1.00" in answers.nearest("a cat", "a cat", "multilingual", 1)
assert "SimiLE" in answers.simile("a cat", "a dog", "a cat", "simile")
assert not {"torch", "transformers", "datasets", "scipy", "gradio"} & set(sys.modules)
"""


@pytest.mark.slow
def test_averaging_encoders_need_only_the_core_packages():
    subprocess.run([sys.executable, "-c", NO_TORCH, str(SPACE)], check=True, timeout=300)


def test_the_card_is_valid_for_the_hub():
    card = SpaceCard.load(SPACE / "README.md")
    assert card.data.sdk == "gradio"
    assert (SPACE / str(card.data.app_file)).is_file()
    pinned = yaml.safe_load((SPACE / "README.md").read_text().split("---")[1])
    assert len(pinned["short_description"]) <= 60  # the Hub refuses longer ones
    assert "paraphrastic-hf" in (SPACE / "requirements.txt").read_text()
