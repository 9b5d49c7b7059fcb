"""Converts YAML recipes to dataclasses and back.

The keys of a recipe are the fields of a nested dataclass. Each field defines the key in the file,
the command-line option (`--margin 0.5` or `--training.margin 0.5`) and the help text.
"""

import copy
import dataclasses
import importlib
import math
import types
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import yaml

from paraphrastic_hf.config.parse_yaml import parse_yaml
from paraphrastic_hf.errors import RecipeError, nearest

T = TypeVar("T")

MOST_BYTES = 10_000_000  # size of a recipe file
FILE = "FILE"  # in the choices of a key: file paths are also allowed
CODE = "module:Class"  # in the choices of a key: importable code is also allowed
CORPUS = "corpus"  # kind of the recipes for `paraphrastic corpus make`
TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_ENCODERS = (Path(__file__).parents[1] / "models" / "encoders").glob("*.py")
# Kinds of encoder that a recipe can name. `register_encoder` adds more. Mixtures have `parts`.
ENCODER_KINDS = [*sorted({path.stem for path in _ENCODERS} - {"__init__", "mixed"}), CODE]
MARK = "# Written by paraphrastic: every setting of what is in this folder.\n"  # starts a record


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Bounds on the values of a numeric field. `at_least` and `at_most` are inclusive."""

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None

    def allow(self, value: float) -> bool:
        """Return whether a number is within the bounds. Any bound excludes NaN and infinity."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (math.isfinite(value) or self == Bounds())
        )

    def __str__(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"from {self.at_least} to {self.at_most}"
        if self.at_least == 0 and self.below is None:
            return "0 or more"
        limits = dataclasses.asdict(self).items()
        return " and ".join(f"{name.replace('_', ' ')} {n}" for name, n in limits if n is not None)


def argument(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    choices: Sequence[str] = (),
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    names: str = "",
) -> Any:
    """Define a recipe key: a dataclass field with a help text and allowed values.

    Without `default`, the key is required. The list `choices` may grow later. Bounds apply to a
    number, or to each number of a list. `names` is `model` if values are names of models, and
    `weights` if they are other weight files (`named_weights`).
    """
    bounds = Bounds(at_least, at_most, above, below)
    metadata = {"help": help, "choices": choices, "bounds": bounds, "names": names}
    if isinstance(default, (list, dict)) or dataclasses.is_dataclass(default):
        return dataclasses.field(default_factory=lambda: copy.deepcopy(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def check_bounds(arguments: Any, where: str = "") -> None:
    """Raise a `RecipeError` for a number outside its field's bounds, also in nested dataclasses."""
    for field in dataclasses.fields(arguments):
        place, value = _join(where, field.name), getattr(arguments, field.name)
        bounds = field.metadata.get("bounds", Bounds())
        for item in value if isinstance(value, list) else [value]:
            if dataclasses.is_dataclass(item):
                check_bounds(item, place)
            elif isinstance(item, (int, float)) and not bounds.allow(item):
                raise RecipeError(f"{place} must be {bounds}, got {value!r}")


def read_mapping(path: str | Path) -> dict[str, Any]:
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise RecipeError(f"{path} has more than {MOST_BYTES:,} bytes, too many for a recipe")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"Cannot read the recipe {path}: {error}") from error
    mapping = parse_yaml(text, f"the recipe {path}")
    if not isinstance(mapping, dict):
        raise RecipeError(f"{path} must map keys to values, got {type(mapping).__name__}")
    return mapping


def kind_of(mapping: dict[str, Any]) -> Any:
    """Return the `kind` of a recipe. Default: supervised if there is a `task`, else contrastive."""
    return mapping.get("kind", "supervised" if "task" in mapping else "contrastive")


def parse_overrides(arguments: Sequence[str]) -> list[tuple[str, Any]]:
    """Parse `["--margin", "0.5", "--sources", "a", "b"]` to
    `[("margin", 0.5), ("sources", ["a", "b"])]`."""
    groups: list[tuple[str, list[str]]] = []
    for item in arguments:
        if item.startswith("--"):
            key, has_value, value = item[2:].partition("=")
            groups.append((key.replace("-", "_"), [value] if has_value else []))
        elif groups:
            groups[-1][1].append(item)
        else:
            raise RecipeError(f"{item!r} has no key. Write it after a key: --KEY {item}")
    parsed = []
    times = sum(key.rpartition(".")[2] == "sources" for key, _ in groups)
    if times > 1:  # for all other keys the last value counts
        raise RecipeError(f"--sources is given {times} times. Give it once, with all its values.")
    for key, values in groups:
        if not values:
            raise RecipeError(f"--{key} requires a value")
        named = f"the value of --{key}"
        # A value that begins with * is a quoted file pattern, not a YAML alias.
        loaded = [v if v.startswith("*") else parse_yaml(v, named) for v in values]
        parsed.append((key, loaded if len(loaded) > 1 else loaded[0]))
    return parsed


def set_key(cls: type, mapping: dict[str, Any], key: str, value: Any) -> None:
    """Set a key of a nested mapping in place. `key` is dotted, or short if unambiguous."""
    *parents, leaf = full_key(cls, key).split(".")
    for parent in parents:
        cls = typing.get_type_hints(cls)[parent]
        child = mapping.get(parent)
        if not isinstance(child, dict):
            shorthand = getattr(cls, "from_shorthand", None)
            given = {} if shorthand is None or child is None else shorthand(child)
            child = mapping[parent] = given
        mapping = child
    mapping[leaf] = value


def full_key(cls: type, key: str) -> str:
    """Return the dotted name of a key. Raise an error if it is unknown or ambiguous."""
    known = key_paths(cls)
    if key in known:
        return key
    matches = [name for name in known if name.rsplit(".", 1)[-1] == key]
    within = [name for name in known if name.startswith(f"{key}.")]
    if within:
        raise RecipeError(f"{key} is a section of the recipe. Set its keys, as in --{within[0]}")
    if len(matches) != 1:
        hint = f"It could be {' or '.join(matches)}." if matches else _nearest(key, known)
        raise RecipeError(f"--{key} is not a key of this recipe. {hint}")
    return matches[0]


def key_paths(cls: type, prefix: str = "") -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a dataclass and its nested dataclasses by dotted key."""
    hints = typing.get_type_hints(cls)
    paths: dict[str, dataclasses.Field[Any]] = {}
    for field in dataclasses.fields(cls):
        if dataclasses.is_dataclass(hints[field.name]):
            paths |= key_paths(hints[field.name], f"{prefix}{field.name}.")
        else:
            paths[prefix + field.name] = field
    return paths


def build(cls: type[T], mapping: Any, where: str = "", start: T | None = None) -> T:
    """Return an instance of the dataclass `cls` from plain YAML values, with checked types.

    Args:
        mapping: Values by field name, or a short form that `cls.from_shorthand` converts.
        where: Dotted name of the instance in the recipe, for messages.
        start: Instance that provides the values of missing keys. None uses the field defaults.
    """
    shorthand = getattr(cls, "from_shorthand", None)
    if shorthand is not None and not isinstance(mapping, dict):
        mapping = shorthand(mapping)
    if not isinstance(mapping, dict):
        raise RecipeError(f"{where or 'the recipe'} must be a mapping, got {mapping!r}")
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in mapping:
        if key not in fields:
            raise RecipeError(f"Unknown key {_join(where, key)!r}. {_nearest(str(key), fields)}")
    values = {}
    for name, field in fields.items():
        place = _join(where, name)
        if name in mapping:
            own = None if start is None else getattr(start, name)
            values[name] = _checked(hints[name], field, mapping[name], place, own)
        elif start is not None:
            values[name] = getattr(start, name)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise RecipeError(f"{place} is missing: {field.metadata.get('help', 'give a value')}")
    return cls(**values)


def convert_key(cls: type, key: str, value: Any) -> Any:
    """Convert a value to the type of the dotted `key`. Its bounds are not checked."""
    owner = cls
    *parents, leaf = key.split(".")
    for parent in parents:
        owner = typing.get_type_hints(owner)[parent]
    field = next(field for field in dataclasses.fields(owner) if field.name == leaf)
    return _checked(typing.get_type_hints(owner)[leaf], field, value, key)


def _checked(
    hint: Any, field: dataclasses.Field[Any], value: Any, where: str, start: Any = None
) -> Any:
    if dataclasses.is_dataclass(hint) and field.default_factory is not dataclasses.MISSING:
        # Missing keys come from the default of the section, which can differ from the defaults of
        # its class if two kinds of recipe share that class.
        start = field.default_factory() if start is None else start
        return build(typing.cast(type, hint), value, where, start)
    converted = convert(hint, value, where)
    choices = field.metadata.get("choices", ())
    is_open = (FILE in choices and names_file(converted)) or (
        CODE in choices and ":" in str(converted)
    )
    if choices and converted not in choices and not is_open:
        raise RecipeError(f"{where} must be one of {', '.join(choices)}, got {converted!r}")
    return converted


def names_file(value: object) -> TypeGuard[str]:
    """Return whether a value is a path, with a dot or a slash, rather than a name.

    Example:
        >>> names_file("clean"), names_file("dev.tsv"), names_file("data/dev"), names_file(None)
        (False, True, True, False)
    """
    return isinstance(value, str) and ("." in value or "/" in value)


def convert(hint: Any, value: Any, where: str) -> Any:
    """Convert a plain YAML value to the type `hint`. Raise a `RecipeError` if impossible."""
    if dataclasses.is_dataclass(hint):
        return build(typing.cast(type, hint), value, where)
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in options:
            return None
        return convert(next(option for option in options if option is not type(None)), value, where)
    if origin is list:
        items = value if isinstance(value, list) else [value]
        return [convert(options[0], item, f"{where}[{i}]") for i, item in enumerate(items)]
    if origin is dict:
        if not isinstance(value, dict):
            raise RecipeError(f"{where} must be a mapping, got {value!r}")
        return value
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if hint is float and isinstance(value, str):  # YAML 1.1 reads 1e-3 as a string
        try:
            return float(value)
        except ValueError:
            pass
    if isinstance(value, bool) != (hint is bool) or not isinstance(value, hint):
        raise RecipeError(f"{where} must be {TYPE_NAMES.get(hint, hint.__name__)}, got {value!r}")
    return value


def imported(name: str, key: str) -> Callable[..., Any]:
    """Import the user code `module:function` or `module:Class` that the recipe key `key` names."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RecipeError(f"{key} must be module:function, got {name!r} ({error})") from error
    if not callable(found):
        raise RecipeError(f"{key} must be a function or class, got {name!r}")
    return found  # type: ignore[no-any-return]


def to_yaml(arguments: Any) -> str:
    """Convert a dataclass to YAML, from which `build` restores it."""
    return yaml.safe_dump(dataclasses.asdict(arguments), sort_keys=False, allow_unicode=True)


def to_record(arguments: Any) -> bytes:
    """Return the content of the `recipe.yaml` in an output folder."""
    return (MARK + to_yaml(arguments)).encode("utf-8")


def is_record(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK.encode("utf-8")
    except OSError:
        return False


def _join(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)


def _nearest(key: str, names: typing.Iterable[str]) -> str:
    by_leaf = {name.rsplit(".", 1)[-1]: name for name in names}
    meant = nearest(key.rsplit(".", 1)[-1], by_leaf)
    if meant:
        return f"Did you mean {by_leaf[meant]!r}?"
    return f"Its keys are {', '.join(sorted(by_leaf))}."
