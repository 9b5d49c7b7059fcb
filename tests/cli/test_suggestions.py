"""Suggestions for misspelled names."""

import pytest

from paraphrastic_hf.cli.main import build_parser
from paraphrastic_hf.config.recipe import key_paths
from paraphrastic_hf.errors import nearest, nearest_name
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("trian", ["train", "tune"], "train"),
        ("lr", ["layers", "learning_rate", "lowercase"], "learning_rate"),
        ("Learning-Rate", ["learning_rate"], "learning_rate"),
        ("neigh", ["norms", "neighbors"], "neighbors"),
        ("tuna", ["tune", "tunes"], "tune"),
        ("xyzzy", ["train", "tune"], None),
        ("--ouput", ["--output", "--quiet"], "--output"),
    ],
)
def test_the_nearest_name_is_found(name, known, meant):
    assert nearest(name, known) == meant
    shown = nearest_name(name, known)
    assert repr(meant) in shown if meant else all(each in shown for each in known)


def test_swapped_letters_still_find_every_key():
    names = {key.rsplit(".", 1)[-1] for key in key_paths(ContrastiveRecipe)}
    swapped = {name: name[:1] + name[2] + name[1] + name[3:] for name in names if len(name) > 4}
    wrong = {name: nearest(typed, names) for name, typed in swapped.items() if typed not in names}
    assert {name: found for name, found in wrong.items() if found != name} == {}


def test_a_repeated_option_of_several_values_joins_them():
    words = ["simile", "-r", "a", "-s", "b", "c", "-s", "d"]
    assert build_parser(["simile"]).parse_args(words).systems == ["b", "c", "d"]
