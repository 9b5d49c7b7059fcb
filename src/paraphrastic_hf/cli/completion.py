"""`paraphrastic completion bash | zsh | fish`: what can be typed where, taken from the parsers."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.config.packaged_recipes import find_recipe, recipe_names
from paraphrastic_hf.config.recipe import CORPUS, FILE, key_paths, kind_of, read_mapping

EPILOG = """\
The script is printed; put it where your shell looks:
  paraphrastic completion bash > ~/.local/share/bash-completion/completions/paraphrastic
  paraphrastic completion zsh > ~/.zsh/completions/_paraphrastic    # a folder of your fpath
  paraphrastic completion fish > ~/.config/fish/completions/paraphrastic.fish

Commands, options, their choices, recipes and their keys, suites, corpora and packaged models are
completed; everything else is a file. Make the script again after an update of the package."""
LONGEST = 70  # characters of a description
NO_PACKAGED_MODEL = (  # commands whose models do not come with the package
    *("card", "predict", "perplexity"),
    *("translate", "reconstruct", "transfer", "paraphrase"),
)


@dataclass(frozen=True)
class Option:
    """An option, or a key of a recipe.

    Attributes:
        names: As it is typed, `-s` and `--systems`.
        summary: What it is, in some words.
        takes_value: Whether a value follows.
        values: The values to choose from; none where any file or number will do.
        takes_files: Whether a file will do beside these values.
    """

    names: tuple[str, ...]
    summary: str
    takes_value: bool
    values: tuple[str, ...] = ()
    takes_files: bool = False


@dataclass(frozen=True)
class Level:
    """What can be typed after some words, such as `data stats`.

    Attributes:
        path: These words.
        commands: The words that may follow, with what they are.
        options: The options there.
        places: For each argument in its place, the names it may be; none where it is a file.
    """

    path: tuple[str, ...]
    commands: dict[str, str]
    options: tuple[Option, ...]
    places: tuple[tuple[str, ...], ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to complete in")
    parser.epilog = EPILOG
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    from paraphrastic_hf.cli.main import COMMANDS, build_parser
    from paraphrastic_hf.cli.shared import completion_scripts

    levels = list(levels_of(build_parser(COMMANDS)))
    print(getattr(completion_scripts, arguments.shell)(levels), end="")


def levels_of(parser: Parser, path: tuple[str, ...] = ()) -> Iterator[Level]:
    """What can be typed in each place: first after the parser's own words, then after more.

    Args:
        parser: A parser; its default `recipe_kinds` names the kinds of recipes that it takes, which
            are all that `paraphrastic train` takes where it has none.
        path: Its own words.
    """
    kinds = parser.get_default("recipe_kinds")
    commands: dict[str, str] = {}
    options: list[Option] = []
    places: list[tuple[str, ...]] = []
    inner: dict[str, Parser] = {}
    for action in parser._actions:
        choices = tuple(map(str, action.choices or ()))
        is_open = not choices and action.dest != "suite"
        values = choices or (
            recipes_of(kinds) if action.dest == "recipe" else names_for(action, path)
        )
        if isinstance(action, argparse._SubParsersAction):
            commands = {each.dest: summary(each.help) for each in action._choices_actions}
            inner = action.choices
        elif action.option_strings:
            takes_value = action.nargs != 0
            names = tuple(action.option_strings)
            option = Option(names, summary(action.help), takes_value, values, is_open)
            options.append(option)
        else:
            places.append(values)
    if parser.get_default("takes_overrides"):
        options += recipe_keys(kinds)
    yield Level(path, commands, tuple(options), tuple(places))
    for name, each in inner.items():
        yield from levels_of(each, (*path, name))


def names_for(action: argparse.Action, path: Sequence[str]) -> tuple[str, ...]:
    """The names that an argument may be, where they are known beforehand."""
    is_option = bool(action.option_strings)
    if action.dest == "suite":
        return _suites()
    if action.dest == "name" and not is_option:
        from paraphrastic_hf.corpora.sources import SOURCES

        return tuple(SOURCES)
    is_model = action.dest in ("model", "models", "first", "second")
    if is_model and not set(path) & set(NO_PACKAGED_MODEL):
        from paraphrastic_hf.encoders.storage.locate import known_models

        return tuple(known_models())
    return ()


def recipes_of(kinds: Sequence[str] | None) -> tuple[str, ...]:
    """The packaged recipes of some kinds, or of all that are trained, also by their last name where
    that is no other's."""
    every = recipe_names()
    last = Counter(name.partition("/")[2] for name in every)
    named = {name: kind_of(read_mapping(find_recipe(name))) for name in every}
    names = [n for n in every if (named[n] in kinds if kinds else named[n] != CORPUS)]
    return (*(end for name in names if last[end := name.partition("/")[2]] == 1), *names)


def _suites() -> tuple[str, ...]:
    try:
        from paraphrastic_hf.evaluation.registry import SUITES
    except ImportError:  # evaluation is not installed
        return ()
    return (*SUITES, "all")


def recipe_keys(kinds: Sequence[str] | None) -> list[Option]:
    """The keys of recipes of some kinds, or of all that are trained, as options that set them; of
    the kind `make`, those that say how work is divided, which are no recipe."""
    try:
        from paraphrastic_hf.pipelines.recipe import CorpusRecipe, MakeArguments
        from paraphrastic_hf.training.kinds import KINDS
    except ImportError:  # training is not installed
        return []
    classes = {kind: entry.recipe for kind, entry in KINDS.items()}
    classes |= {CORPUS: CorpusRecipe, "make": MakeArguments}
    found: dict[str, Option] = {}
    for kind in KINDS if kinds is None else kinds:
        for key, field in key_paths(classes[kind]).items():
            earlier = found[key].values if key in found else ()
            choices = [each for each in field.metadata["choices"] if each != FILE]
            values = tuple(dict.fromkeys((*earlier, *choices)))
            found[key] = Option((f"--{key}",), summary(field.metadata["help"]), True, values)
    return list(found.values())


def summary(text: str | None) -> str:
    """The beginning of a help text, up to its first bracket, colon or semicolon."""
    text = (text or "").replace("%%", "%")
    for mark in (" (", ": ", "; "):
        text = text.partition(mark)[0]
    return textwrap.shorten(text, LONGEST, placeholder=" ...")
