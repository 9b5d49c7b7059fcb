"""argparse's parser, whose messages say which command, option or choice was probably meant."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from paraphrastic_hf.errors import nearest, nearest_name

OTHER_NAMES = {"search": "neighbors", "similarity": "score"}  # of commands, elsewhere


class _Joined(argparse._StoreAction):
    """An option of several values, which joins those of each time that it is given."""

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
                raise argparse.ArgumentError(self, "may be given once only")
            values = [*before, *values]
        super().__call__(parser, namespace, values, option_string)


class Parser(argparse.ArgumentParser):
    """A parser of the command line, or of one of its commands.

    A command that sets the default `takes_overrides` is given unknown options back; any other
    refuses them itself, and names the nearest of its own. An option of several values may be
    repeated.

    Attributes:
        late_epilog: What makes the end of the help, where that takes a while; called for `--help`.
    """

    late_epilog: Callable[[], str] | None = None
    _given: Sequence[str] = ()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in (None, "store"):
            self.register("action", name, _Joined)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As argparse's, but unknown options are refused here, by the parser that lacks them."""
        self._given = list(args or ())
        known, rest = super().parse_known_args(args, namespace)
        if rest and self._subparsers is None and not self.get_default("takes_overrides"):
            super().error(f"unrecognized arguments: {' '.join(rest)}{self._hint(rest)}")
        return known, rest

    def format_help(self) -> str:
        """The help, with the part of it that takes a while."""
        if self.late_epilog is not None:
            self.epilog = self.late_epilog()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """End with a message, which names the option meant where a required one is misspelled."""
        is_missing = message.startswith("the following arguments are required")
        unknown = [name for name in self._given if name.partition("=")[0] not in self._options()]
        super().error(message + (self._hint(unknown) if is_missing else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            meant = OTHER_NAMES.get(str(value), str(value))
            known = nearest_name(meant, map(str, action.choices))
            if isinstance(action, argparse._SubParsersAction):
                what = str(action.metavar).lower()
                raise argparse.ArgumentError(None, f"there is no {what} {value!r}; {known}")
            raise argparse.ArgumentError(action, f"{value!r} is not a choice; {known}")

    def _options(self) -> list[str]:
        return [name for name in self._option_string_actions if name.startswith("--")]

    def _hint(self, unknown: Sequence[str]) -> str:
        """Suggest corrections for unknown arguments."""
        for name in unknown:
            if name.partition("=")[0] in self._option_string_actions and "--" in self._given:
                return f"; put {name} before --, since all that follows -- is a name"
            if name.startswith("-") and os.path.exists(name):
                return f"; write ./{name} for the file of that name"
            if name.startswith("--"):
                meant = nearest(name.partition("=")[0], self._options(), cutoff=0.6)
                if meant is not None:
                    return f"; instead of {name.partition('=')[0]}, did you mean {meant}?"
        return ""
