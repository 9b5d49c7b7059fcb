"""What is the same in several commands has one name there; older names are still taken."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from paraphrastic_hf.cli.main import COMMANDS, build_parser, main

OLDER = [
    ("neighbours english a.txt --query x", "--neighbours 3", "--count 3"),
    ("neighbours english a.txt --query x", "--neighbours 3", "--k 3"),
    ("analyse neighbours english --query x --output o", "--neighbours 3", "--count 3"),
    ("mine a.txt b.txt --model english", "--neighbours 3", "--k 3"),
    ("translate runs/x a.txt", "--outputs 3", "--count 3"),
    ("paraphrase runs/x a.txt", "--outputs 3", "--count 3"),
    ("parse a.txt", "--parser runs/x", "--model runs/x"),
    ("analyse variables runs/x --output o", "--encoder runs/y", "--judge runs/y"),
    ("corpus lexicon a.tsv --word x", "--count 3", "--top 3"),
    ("corpus lexicon a.tsv --word x", "--encoder runs/y", "--model runs/y"),
    ("corpus stats a.tsv", "--encoder runs/y", "--model runs/y"),
    ("corpus sample a.tsv", "--encoder runs/y", "--model runs/y"),
    ("corpus tenths a.tsv --output o", "--score x", "--by x"),
]


@pytest.mark.parametrize(("command", "name", "older"), OLDER)
def test_an_older_name_means_the_same(command: str, name: str, older: str) -> None:
    parser = build_parser(COMMANDS)
    new, old = (parser.parse_args([*command.split(), *each.split()]) for each in (name, older))
    assert vars(new) == vars(old)
    assert name.split()[1] in map(str, vars(new).values())


@pytest.mark.parametrize(("command", "name", "older"), OLDER)
def test_help_has_the_name_that_is_shared_first(
    command: str, name: str, older: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command.split()
    length = 2 if words[0] in ("analyse", "corpus") else 1
    with pytest.raises(SystemExit):
        build_parser(COMMANDS).parse_args([*words[:length], "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    first, second = name.split()[0], older.split()[0]
    assert shown.index(first) < shown.index(f", {second}")


def commands_within(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A command, and the commands within it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from commands_within(inner)


def test_an_option_of_several_values_joins_them_when_it_is_repeated() -> None:
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
    assert {"--systems", "--query", "--suite", "--set", "--source-licence"} <= set(repeated)


def test_an_option_of_two_values_is_refused_when_it_is_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "-r", "r", "-s", "a", "b", "-s", "c", "d"])
    assert "argument -s/--systems: may be given once only" in capsys.readouterr().err
