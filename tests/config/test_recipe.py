from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from paraphrastic_hf.config.recipe import (
    argument,
    build,
    parse_overrides,
    read_mapping,
    set_key,
    to_yaml,
)
from paraphrastic_hf.errors import RecipeError


@dataclass(frozen=True)
class Oven:
    heat: float = argument(180.0, help="degrees")
    kind: str = argument("fan", help="oven", choices=("fan", "gas"))


@dataclass(frozen=True)
class Topping:
    name: str = argument(help="what it is")
    grams: int = argument(10, help="how much")

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        return {"name": str(value)}


@dataclass(frozen=True)
class Dough:
    flour: int = argument(help="grams of flour")
    kind: str = argument("rye", help="flour")
    is_sour: bool = argument(False, help="sourdough")
    rest: int | None = argument(None, help="minutes, if any")


@dataclass(frozen=True)
class Bread:
    """A small recipe with every shape of key."""

    dough: Dough = argument(help="the dough")
    oven: Oven = argument(Oven(), help="the oven")
    toppings: list[Topping] = argument([], help="what goes on top")
    names: list[str] = field(default_factory=list)


def bake(**mapping: Any) -> Bread:
    return build(Bread, {"dough": {"flour": 500}, **mapping})


def read_bread(path: Path, overrides: Sequence[str] = ()) -> Bread:
    mapping = read_mapping(path)
    for key, value in parse_overrides(overrides):
        set_key(Bread, mapping, key, value)
    return build(Bread, mapping)


def written(folder: Path, text: str) -> Path:
    path = folder / "bread.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_with_overrides_on_top(tmp_path):
    path = written(tmp_path, "dough: {flour: 500, rest: 30}\noven: {heat: 200}\n")
    bread = read_bread(path, ["--heat", "220", "--dough.rest", "null"])
    assert bread == Bread(Dough(500), Oven(220.0), [], [])


@pytest.mark.parametrize(
    ("mapping", "named"),
    [
        ({"ovn": {}}, ["'ovn'", "'oven'"]),
        ({"oven": {"heet": 1}}, ["'oven.heet'", "'heat'"]),
        ({"oven": {"zzz": 1}}, ["'oven.zzz'", "heat, kind"]),
        ({"oven": {"flour": 500}}, ["'oven.flour'"]),
        ({"toppings": [{"nam": "salt"}]}, ["'toppings[0].nam'", "'name'"]),
        ({3: 4}, ["'3'"]),
        ({"dough": {}}, ["dough.flour"]),
        ({"toppings": [{"grams": 2}]}, ["toppings[0].name"]),
        *(({"dough": {"flour": v}}, ["dough.flour", repr(v)]) for v in ("x", 2.5, None, True)),
        *(
            ({"dough": {"flour": 1, "is_sour": value}}, ["dough.is_sour", repr(value)])
            for value in (1, "yes")
        ),
        ({"dough": {"flour": 1, "kind": 7}}, ["dough.kind", "7"]),
        ({"dough": {"flour": 1, "rest": "long"}}, ["dough.rest", "'long'"]),
        ({"dough": 500}, ["dough", "500"]),
        *(({"oven": {"heat": value}}, ["oven.heat", repr(value)]) for value in ("hot", False, [1])),
        ({"oven": {"kind": "wood"}}, ["oven.kind", "fan, gas", "'wood'"]),
        ({"names": [1]}, ["names[0]", "1"]),
        ({"names": {"a": 1}}, ["names[0]", "{'a': 1}"]),
    ],
    ids=str,
)
def test_a_wrong_key_or_value_is_named_by_its_dotted_key(mapping, named):
    with pytest.raises(RecipeError) as refused:
        build(Bread, {"dough": {"flour": 500}, **mapping})
    assert all(each in str(refused.value) for each in named)


@pytest.mark.parametrize("text", ["1e-3", "0.001", "1.0e-3", "'0.001'"])
def test_all_notations_of_floats_are_read(text, tmp_path):
    path = written(tmp_path, f"dough: {{flour: 1}}\noven: {{heat: {text}}}\n")
    assert read_bread(path).oven.heat == 0.001
    assert read_bread(path, ["--heat", text]).oven.heat == 0.001


def test_integers_become_floats_and_single_values_lists():
    for whole in (200, 2**1023 - 1):
        heat = bake(oven={"heat": whole}).oven.heat
        assert (heat, type(heat)) == (float(whole), float)
    assert bake(names="rye").names == ["rye"]
    toppings = bake(toppings=["salt", {"name": "seeds", "grams": 5}]).toppings
    assert toppings == [Topping("salt", 10), Topping("seeds", 5)]


def test_overrides_by_hand():
    given = "--heat 1e2 --oven.kind=gas --names *.tsv b.tsv --is-sour true"
    names = ("names", ["*.tsv", "b.tsv"])  # a file pattern is no YAML alias
    expected = [("heat", "1e2"), ("oven.kind", "gas"), names, ("is_sour", True)]
    assert parse_overrides(given.split()) == expected


def test_an_override_adds_to_a_shorthand():
    @dataclass(frozen=True)
    class Snack:
        top: Topping = argument(Topping("none"), help="what goes on top")

    mapping: dict[str, Any] = {"top": "jam"}
    set_key(Snack, mapping, "top.grams", 5)
    assert mapping == {"top": {"name": "jam", "grams": 5}}


@pytest.mark.parametrize(
    ("text", "overrides", "oven"),
    [
        ("oven: {<<: {heat: 7}, kind: gas}", [], Oven(7.0, "gas")),
        ("oven:", ["--heat", "5"], Oven(5.0)),
        ("", ["--heat", "5", "--oven.heat", "6"], Oven(6.0)),
    ],
    ids=["merged keys", "an empty section", "the last of two"],
)
def test_values_of_files_and_overrides_are_merged(text, overrides, oven, tmp_path):
    path = written(tmp_path, f"dough: {{flour: 500}}\n{text}\n")
    assert read_bread(path, overrides).oven == oven


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (["--kind", "gas"], ["--kind", "dough.kind", "oven.kind"]),
        (["--heet", "1"], ["--heet", "'oven.heat'"]),
        (["--dough.heat", "1"], ["--dough.heat", "'oven.heat'"]),
        (["--heat"], ["--heat"]),
        (["200"], ["'200'"]),
        (["--sources", "a", "--sources", "b"], ["--sources", "2"]),
        (["--heat", "[1"], ["--heat"]),
        (["--heat", "1", "2"], ["oven.heat", "[1, 2]"]),
    ],
    ids=str,
)
def test_a_wrong_override_names_its_key(overrides, named, tmp_path):
    with pytest.raises(RecipeError) as refused:
        read_bread(written(tmp_path, "dough: {flour: 1}"), overrides)
    assert all(each in str(refused.value) for each in named)


@pytest.mark.parametrize(
    "content",
    [
        *(b"\xff", b"dough: [1", b"a: 1\na\tb: 2", b"", b"- 1"),
        b"oven: {heat: 1}\noven: {kind: gas}",
    ],
    ids=["not UTF-8", "truncated", "tab", "empty", "list", "duplicate"],
)
def test_a_wrong_file_is_a_recipe_error(content, tmp_path):
    path = tmp_path / "bread.yaml"
    path.write_bytes(content)
    for wrong in (path, tmp_path, tmp_path / "missing.yaml"):
        with pytest.raises(RecipeError) as refused:
            read_bread(wrong)
        assert wrong.name in str(refused.value)


def laughs(levels: int) -> str:
    """Return nested lists of ten, with 10 ** levels values."""
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


EXCESSIVE = {
    "brackets": "[" * 20_000 + "]" * 20_000,
    "braces": "{a: " * 60 + "1" + "}" * 60,
    "itself": "&a [*a]",
    "digits": "9" * 5000,
    "hexadecimal digits": "0x" + "f" * 5000,
    "no date": "2001-99-99",
}


@pytest.mark.parametrize("name", EXCESSIVE)
def test_too_deep_or_long_values_give_a_short_error(name, tmp_path):
    value = EXCESSIVE[name]
    for text, overrides, place in (
        (f"oven: {value}\n", [], "bread.yaml"),
        ("", ["--heat", value], "--heat"),
    ):
        path = written(tmp_path, f"dough: {{flour: 1}}\n{text}")
        with pytest.raises(RecipeError, match=place) as refused:
            read_bread(path, overrides)
        assert len(str(refused.value)) < 1000


def test_multiplying_aliases_and_long_files_are_refused(tmp_path):
    merged = [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 9)]
    for text in (laughs(30), "\n".join(["a0: &a0 {k: 1}", *merged])):
        with pytest.raises(RecipeError):
            read_bread(written(tmp_path, text))
    with (tmp_path / "data.yaml").open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(RecipeError):
        read_bread(tmp_path / "data.yaml")


# No line ends and control characters: PyYAML reads a next-line character as a space.
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=8)
breads = st.builds(
    Bread,
    st.builds(Dough, st.integers(), words, st.booleans(), st.integers() | st.none()),
    st.builds(Oven, st.floats(allow_nan=False), st.sampled_from(["fan", "gas"])),
    st.lists(st.builds(Topping, words, st.integers()), max_size=3),
    st.lists(words, max_size=3),
)


@settings(max_examples=50)  # PyYAML is slow
@given(breads)
def test_a_written_recipe_can_be_read(bread):
    assert build(Bread, asdict(bread)) == bread
    assert build(Bread, yaml.safe_load(to_yaml(bread))) == bread
