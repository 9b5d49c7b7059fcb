"""`--keys [GROUP]`: the keys of a recipe, their values and their meaning, as tables."""

import argparse
import json
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field
from functools import reduce
from typing import Any

from paraphrastic_hf.config.recipe import Bounds, key_paths
from paraphrastic_hf.errors import RecipeError, nearest_name

VALUE = 16  # characters of a value that are shown
Fields = Mapping[str, "Field[Any]"]


def add_keys_option(
    parser: argparse.ArgumentParser, load: Callable[[str], Any], *, more: Callable[[], Fields]
) -> None:
    """Add `--keys`, which prints the keys of the recipe named before the option, and exits.

    `more` returns further fields to show, such as the keys of a source.
    """

    class Keys(argparse.Action):
        def __call__(
            self, parser: argparse.ArgumentParser, known: argparse.Namespace, group: Any, *_: Any
        ) -> None:
            if known.recipe is None:
                parser.error(f"Name a recipe before --keys: {parser.prog} RECIPE --keys")
            recipe = load(known.recipe)
            fields = key_paths(type(recipe))
            values = {key: reduce(getattr, key.split("."), recipe) for key in fields}
            lines = key_tables(fields | dict(more()), values, group)
            print("\n".join([f"{known.recipe}: kind {recipe.kind}", "", *lines]))
            parser.exit()

    parser.add_argument(
        "--keys",
        action=Keys,
        nargs="?",
        metavar="GROUP",
        default=argparse.SUPPRESS,
        help="print the keys of RECIPE with their values and exit. GROUP, such as training, limits "
        "the output",
    )


def key_tables(
    fields: Fields, values: Mapping[str, Any] | None = None, group: str | None = None
) -> Iterator[str]:
    """Yield the lines of a table of keys for each group of `fields`, or only for `group`.

    Keys without a value in `values` show their default.
    """
    groups: dict[str, dict[str, Any]] = {}
    for key, field in fields.items():
        groups.setdefault(key.partition(".")[0] if "." in key else "recipe", {})[key] = field
    if group is not None and group not in groups:
        raise RecipeError(f"No group of keys is named {group!r}. {nearest_name(group, groups)}")
    width = shutil.get_terminal_size((100, 24)).columns
    for name in groups if group is None else [group]:
        yield name
        left = max(len(key.removeprefix(f"{name}.")) for key in groups[name]) + 2
        indent = 2 + left + VALUE + 2
        for key, field in groups[name].items():
            lines = textwrap.wrap(_meaning(field), max(width - indent, 30))
            shown = key.removeprefix(f"{name}.")
            value = _shown_value(field, (values or {}).get(key, MISSING))
            yield f"  {shown:{left}}{value:{VALUE + 2}}{lines[0]}"
            yield from (" " * indent + line for line in lines[1:])
        yield ""


def _meaning(field: Field[Any]) -> str:
    found = [field.metadata["help"]]
    if field.metadata["choices"]:
        found.append(", ".join(field.metadata["choices"]))
    if field.metadata["bounds"] != Bounds():
        found.append(str(field.metadata["bounds"]))
    return found[0] + "".join(f" ({each})" for each in found[1:])


def _shown_value(field: Field[Any], value: Any) -> str:
    if value is MISSING:
        value = field.default
    if value is MISSING and field.default_factory is not MISSING:
        value = field.default_factory()  # type: ignore[misc]
    value = None if value is MISSING else value
    shown = value if isinstance(value, str) else json.dumps(value, default=lambda _: "...")
    shown = "-" if value is None else shown
    return shown if len(shown) <= VALUE else shown[: VALUE - 3] + "..."
