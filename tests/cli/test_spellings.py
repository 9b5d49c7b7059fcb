"""Options of several values, and their repetition."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from paraphrastic_hf.cli.main import COMMANDS, build_parser, main


def commands_within(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from commands_within(inner)


def test_a_repeated_list_option_joins_its_values() -> None:
    repeated = []
    for parser in commands_within(build_parser(COMMANDS)):
        several = [each for each in parser._actions if each.nargs in ("+", "*")]
        for each in (*parser._actions, *parser._mutually_exclusive_groups):
            each.required = False
        for option in filter(lambda each: each.option_strings, several):
            name, value = option.option_strings[-1], next(map(str, option.choices or ["1"]))
            once, both = (
                getattr(parser.parse_args(given), option.dest)
                for given in ([name, value], [name, value, name, value, value])
            )
            assert (len(once), both) == (1, once * 3), (parser.prog, name)
            repeated.append(name)
    assert {"--systems", "--query", "--suite", "--set", "--source-license"} <= set(repeated)


def test_a_repeated_pair_option_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "-r", "r", "-s", "a", "b", "-s", "c", "d"])
    assert "argument -s/--systems: may be given only once" in capsys.readouterr().err
