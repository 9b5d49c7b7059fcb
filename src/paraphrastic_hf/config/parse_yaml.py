"""YAML text to plain values, within bounds.

What is too deep, too much or too large is refused, so that whoever reads the values can walk
through them and show them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from paraphrastic_hf.errors import RecipeError

MOST_VALUES = 100_000  # in a text; each use of a YAML alias counts
DEEPEST = 50  # lists and mappings within each other
MOST_BITS = 1023  # of a whole number; the largest float has one more
MOST_DIGITS = 2 * MOST_BITS  # written in any base, with underscores
TOO_MANY = f"it has more than {MOST_VALUES:,} values"
TOO_LARGE = f"it has a number of more than {MOST_BITS:,} binary digits"


class _UniqueKeys(yaml.SafeLoader):
    """YAML whose mappings name no key twice; plain YAML would drop the first.

    Loading takes time proportional to the text: merges (`<<`) that multiply, and integers too long
    to convert fast, are refused.
    """

    pairs = 0  # of all mappings, those merged included

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        own = (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge")
        seen = set()
        for key in (self.construct_object(key, deep=True) for key in own):
            if not isinstance(key, Hashable):
                continue  # the base class refuses it
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    "while reading a mapping", node.start_mark, f"the key {key!r} is there twice"
                )
            seen.add(key)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        self.pairs += len(node.value)
        if self.pairs > MOST_VALUES:
            raise ValueError(TOO_MANY)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > MOST_DIGITS:
            raise ValueError(TOO_LARGE)
        return super().construct_yaml_int(node)


_UniqueKeys.add_constructor("tag:yaml.org,2002:int", _UniqueKeys.construct_yaml_int)


def parse_yaml(text: str, name: str) -> Any:
    """The value of a YAML text, of a size that can be shown and walked through.

    Args:
        text: YAML.
        name: What it is, for messages.

    Raises:
        RecipeError: It is no YAML, names a key twice, is nested more than 50 deep, has more than
            100,000 values, or a whole number of more than 1,023 binary digits.
    """
    try:
        value = yaml.load(text, _UniqueKeys)
        _check_extent(value)
    except RecursionError as error:
        raise RecipeError(f"cannot read {name}: it is nested more than {DEEPEST} deep") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # of a number or a date, too
        raise RecipeError(f"cannot read {name}: {str(error)[:500]}") from error
    return value


def _check_extent(value: Any) -> None:
    """Refuse, as a `ValueError`, what is too deep, too much or too large to be shown."""
    left, values = [(value, 0)], 1
    while left:
        item, depth = left.pop()
        if isinstance(item, int) and item.bit_length() > MOST_BITS:
            raise ValueError(TOO_LARGE)
        if isinstance(item, dict):
            parts = [part for pair in item.items() for part in pair]
        elif isinstance(item, (list, tuple, set)):
            parts = list(item)
        else:
            continue
        values += len(parts)
        if values > MOST_VALUES:
            raise ValueError(TOO_MANY)
        if depth == DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        left += [(part, depth + 1) for part in parts]
