"""Parses YAML with limits on nesting depth, number of values and size of integers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from paraphrastic_hf.errors import RecipeError

MOST_VALUES = 100_000  # including each use of a YAML alias
DEEPEST = 50  # nested lists and mappings
MOST_BITS = 1023  # of an integer (the largest float has 1,024 bits)
MOST_DIGITS = 2 * MOST_BITS  # characters of an integer in any base, with underscores
TOO_DEEP = f"it is nested more than {DEEPEST} deep"
TOO_MANY = f"it has more than {MOST_VALUES:,} values"
TOO_LARGE = f"it has an integer of more than {MOST_BITS:,} bits"


class _UniqueKeys(yaml.SafeLoader):
    """YAML loader that rejects duplicate keys and very long integers.

    It also limits the total number of key-value pairs, which merges (`<<`) can multiply.
    """

    pairs = 0  # key-value pairs so far in all mappings, including merged pairs

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        own = (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge")
        seen = set()
        for key in (self.construct_object(key, deep=True) for key in own):
            if not isinstance(key, Hashable):
                continue  # the base class raises
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    "while reading a mapping", node.start_mark, f"duplicate key {key!r}"
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
    """Parse YAML into a Python value.

    Args:
        text: YAML to parse.
        name: Name of the text in error messages, such as its path.

    Raises:
        RecipeError: The YAML is malformed, has a duplicate key, is nested more than 50 deep, has
            more than 100,000 values, or an integer of more than 1,023 bits.
    """
    try:
        value = yaml.load(text, _UniqueKeys)
        _check_extent(value)
    except RecursionError as error:
        raise RecipeError(f"Cannot read {name}: {TOO_DEEP}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # also from numbers and dates
        raise RecipeError(f"Cannot read {name}: {str(error)[:500]}") from error
    return value


def _check_extent(value: Any) -> None:
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
            raise ValueError(TOO_DEEP)
        left += [(part, depth + 1) for part in parts]
