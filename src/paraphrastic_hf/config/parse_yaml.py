"""Parses YAML with limits on nesting depth, number of values and size of integers."""

from collections.abc import Hashable
from typing import Any

import yaml

from paraphrastic_hf.errors import RecipeError

MOST_VALUES = 100_000  # including each use of a YAML alias
DEEPEST = 50  # nested lists and mappings
MOST_BITS = 1023  # of an integer (the largest float has 1,024 bits)


class _UniqueKeys(yaml.SafeLoader):
    """YAML loader that rejects duplicate keys, and more pairs than merges (`<<`) should make."""

    pairs = 0  # key-value pairs so far in all mappings, including merged pairs

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        own = (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge")
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
            raise ValueError(f"it has more than {MOST_VALUES:,} values")


def parse_yaml(text: str, name: str) -> Any:
    """Parse YAML into a Python value. `name` is the name of the text in error messages.

    Raises:
        RecipeError: The YAML is malformed, has a duplicate key, is nested more than 50 deep, has
            more than 100,000 values, or an integer of more than 1,023 bits.
    """
    try:
        value = yaml.load(text, _UniqueKeys)
        _check_extent(value)
    except RecursionError as error:
        raise RecipeError(f"Cannot read {name}: it is nested too deeply") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # also from numbers and dates
        raise RecipeError(f"Cannot read {name}: {str(error)[:500]}") from error
    return value


def _check_extent(value: Any) -> None:
    left, values = [(value, 0)], 1
    while left:
        item, depth = left.pop()
        if isinstance(item, int) and item.bit_length() > MOST_BITS:
            raise ValueError(f"it has an integer of more than {MOST_BITS:,} bits")
        if isinstance(item, dict):
            parts = [part for pair in item.items() for part in pair]
        elif isinstance(item, (list, tuple, set)):
            parts = list(item)
        else:
            continue
        values += len(parts)
        if values > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES:,} values")
        if depth == DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        left += [(part, depth + 1) for part in parts]
