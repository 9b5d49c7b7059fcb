"""argparse's parser, with suggestions for misspelled commands, options and choices."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from paraphrastic_hf.errors import nearest, nearest_name

OTHER_NAMES = {"search": "neighbors", "similarity": "score"}  # what other tools call a command


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        hidden = action.default is None or action.default is False
        hidden |= action.default in ("", "-", argparse.SUPPRESS, [])
        if not text or hidden or "(default" in text:
            return text
        return f"{text} (default: %(default)s)"

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        return {int: "N", float: "FLOAT"}.get(action.type, action.dest.upper())  # type: ignore[call-overload, no-any-return]


class _Joined(argparse._StoreAction):
    """Action that joins the values of a repeated option with several values each."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest, self.default)
        if isinstance(values, list) and option_string and before is not self.default:
            if isinstance(self.nargs, int):
                raise argparse.ArgumentError(self, "may be given only once")
            values = [*before, *values]
        super().__call__(parser, namespace, values, option_string)


class Parser(argparse.ArgumentParser):
    """Parser of the command line, or of one of its commands.

    Unknown options raise an error with a suggestion. A command with the default value
    `takes_overrides` receives them instead.

    Attributes:
        late_epilog: Function that returns the end of the help, called only for `--help`.
    """

    late_epilog: Callable[[], str] | None = None
    _given: Sequence[str] = ()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": _Formatter, **options})
        for name in (None, "store"):
            self.register("action", name, _Joined)

    def option(self, name: str, help: str, default: Any = None, **options: Any) -> None:
        """Add an argument, with the options of `add_argument`.

        A metavar may follow the name: `--output DIR`. A number as `default` sets the type.
        """
        name, _, metavar = name.partition(" ")
        if metavar:
            options["metavar"] = metavar
        if type(default) in (int, float):
            options.setdefault("type", type(default))
        self.add_argument(name, help=help, default=default, **options)

    def flag(self, name: str, help: str) -> None:
        self.add_argument(name, help=help, action="store_true")

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

    def format_help(self) -> str:
        if self.late_epilog is not None:
            self.epilog = self.late_epilog()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Exit with a message. If a required argument is missing, suggest corrections of unknown
        options.
        """
        is_missing = message.startswith("the following arguments are required")
        unknown = [name for name in self._given if name.partition("=")[0] not in self._options()]
        super().error(message + (self._hint(unknown) if is_missing else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            meant = OTHER_NAMES.get(str(value), str(value))
            known = nearest_name(meant, map(str, action.choices))
            if isinstance(action, argparse._SubParsersAction):
                kind = str(action.metavar).lower()
                raise argparse.ArgumentError(None, f"No {kind} is named {value!r}. {known}")
            raise argparse.ArgumentError(action, f"{value!r} is not a choice. {known}")

    def _options(self) -> list[str]:
        return [name for name in self._option_string_actions if name.startswith("--")]

    def _hint(self, unknown: Sequence[str]) -> str:
        for name in unknown:
            if name.partition("=")[0] in self._option_string_actions and "--" in self._given:
                return f". Put {name} before --, because everything after -- is a file name"
            if name.startswith("-") and os.path.exists(name):
                return f". Write ./{name} for the file of that name"
            if name.startswith("--"):
                meant = nearest(name.partition("=")[0], self._options(), cutoff=0.6)
                if meant is not None:
                    return f". Did you mean {meant} instead of {name.partition('=')[0]}?"
        return ""
