"""argparse's parser, with suggestions for misspelled commands, options and choices."""

import argparse
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from paraphrastic_hf.errors import nearest, nearest_name


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        hidden = action.default is None or action.default is False
        hidden |= action.default in ("", "-", argparse.SUPPRESS, [])
        if not text or hidden or "(default" in text:
            return text
        return f"{text} (default: %(default)s)"

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        if isinstance(action.type, _AtLeast):
            return "N"
        return {int: "N", float: "FLOAT"}.get(action.type, action.dest.upper())  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class _AtLeast:
    """Type of an option: an integer of at least `least`."""

    least: int

    def __call__(self, text: str) -> int:
        if int(text) < self.least:
            raise argparse.ArgumentTypeError(f"must be {self.least} or more, got {text}")
        return int(text)

    def __repr__(self) -> str:  # argparse shows it for a text that is not a number
        return "integer"


class Parser(argparse.ArgumentParser):
    """Parser of the command line, or of one of its commands.

    Unknown options raise an error with a suggestion. A command with the default value
    `takes_overrides` receives them instead.
    """

    _given: Sequence[str] = ()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": _Formatter, **options})

    def option(
        self,
        name: str,
        help: str,
        default: Any = None,
        *,
        least: int | None = None,
        group: argparse._ActionsContainer | None = None,
        **options: Any,
    ) -> None:
        """Add an argument, with the options of `add_argument`, to a group or else to the parser.

        A metavar may follow the name: `--output DIR`. A number as `default` sets the type, and
        `least` is the smallest allowed integer. If an option with `nargs="+"` and no default is
        repeated, the values are joined.
        """
        *names, last = name.split(", ")
        last, _, metavar = last.partition(" ")
        if metavar:
            options["metavar"] = metavar
        if least is not None:
            options["type"] = _AtLeast(least)
        elif type(default) in (int, float):
            options.setdefault("type", type(default))
        if options.get("nargs") == "+" and not default:
            options["action"] = "extend"
        container = self if group is None else group
        container.add_argument(*names, last, help=help, default=default, **options)

    def flag(
        self, name: str, help: str, *, group: argparse._ActionsContainer | None = None
    ) -> None:
        self.option(name, help, False, group=group, action="store_true")

    def add_module(self, name: str) -> None:
        module = importlib.import_module(name)
        self.epilog = getattr(module, "EPILOG", None)
        self.set_defaults(run=getattr(module, "run", None))
        module.configure(self)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        self._given = list(args or ())
        known, rest = super().parse_known_args(args, namespace)
        if rest and self._subparsers is None and not self.get_default("takes_overrides"):
            super().error(f"unrecognized arguments: {' '.join(rest)}{self._hint(rest)}")
        return known, rest

    def error(self, message: str) -> NoReturn:
        """Exit with a message. If a required argument is missing, suggest corrections of unknown
        options.
        """
        is_missing = message.startswith("the following arguments are required")
        unknown = [name for name in self._given if name.partition("=")[0] not in self._options()]
        super().error(message + (self._hint(unknown) if is_missing else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = nearest_name(str(value), map(str, action.choices))
            if isinstance(action, argparse._SubParsersAction):
                kind = str(action.metavar).lower()
                raise argparse.ArgumentError(None, f"No {kind} is named {value!r}. {known}")
            raise argparse.ArgumentError(action, f"{value!r} is not a choice. {known}")

    def _options(self) -> list[str]:
        return [name for name in self._option_string_actions if name.startswith("--")]

    def _hint(self, unknown: Sequence[str]) -> str:
        for name in (each.partition("=")[0] for each in unknown if each.startswith("--")):
            meant = nearest(name, self._options(), cutoff=0.6)
            if meant is not None:
                return f". Did you mean {meant} instead of {name}?"
        return ""
