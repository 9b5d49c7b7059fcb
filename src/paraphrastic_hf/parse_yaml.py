"""YAML text to plain values, within bounds.

What is too deep, too much or too large is refused, so that whoever reads the values can walk
through them and show them.
"""

from __future__ import annotations

from typing import Any

import yaml

from paraphrastic_hf.errors import RecipeError

MOST_VALUES = 100_000  # in a text; each use of a YAML alias counts
DEEPEST = 50  # lists and mappings within each other
MOST_BITS = 1023  # of a whole number; the largest float has one more


class _UniqueKeys(yaml.SafeLoader):
    """YAML whose mappings name no key twice; plain YAML would drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        own = (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge")
        keys = [self.construct_object(key, deep=True) for key in own]
        twice = next((key for number, key in enumerate(keys) if key in keys[:number]), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(
                "while reading a mapping", node.start_mark, f"the key {twice!r} is there twice"
            )
        return super().construct_mapping(node, deep)


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
            raise ValueError(f"it has a number of more than {MOST_BITS:,} binary digits")
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
