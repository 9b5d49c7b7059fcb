"""`paraphrastic completion bash | zsh | fish`: shell completion with shtab."""

import argparse
import zlib
from collections import Counter
from collections.abc import Sequence

from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.config.packaged_recipes import find_recipe, recipe_names
from paraphrastic_hf.config.recipe import CODE, CORPUS, FILE, key_paths, kind_of, read_mapping
from paraphrastic_hf.extras import require

EPILOG = """\
examples (paths that your shell reads):
  paraphrastic completion bash > ~/.local/share/bash-completion/completions/paraphrastic
  paraphrastic completion zsh > ~/.zsh/completions/_paraphrastic    # a folder of your fpath
  paraphrastic completion fish > ~/.config/fish/completions/paraphrastic.fish

The script completes commands, options, choices, recipes and their keys, suites, corpora, packaged
models and files. Write it again after each update of the package."""
Completion = dict[str, str | dict[str, str]]  # completion function of an argument, by shell


def configure(parser: Parser) -> None:
    parser.option("shell", "shell of the script", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> None:
    require("completion", "shtab", what="shell completion")
    import shtab

    from paraphrastic_hf.cli.main import COMMANDS, build_parser

    parser = build_parser(COMMANDS)
    add_completions(parser)
    print(shtab.complete(parser, arguments.shell))


def add_completions(parser: Parser) -> None:
    """Add completions for shtab to every argument, and the recipe keys as options."""
    kinds = parser.get_default("recipe_kinds")
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                add_completions(inner)
        elif not action.choices and action.nargs != 0:
            action.complete = names_or_files(names_for(action, kinds))  # type: ignore[attr-defined]
    if parser.get_default("takes_overrides"):
        for key, choices in recipe_keys(kinds).items():
            option = parser.add_argument(f"--{key}", choices=choices or None)
            if not choices:
                option.complete = names_or_files(())  # type: ignore[attr-defined]


def names_or_files(names: Sequence[str]) -> Completion:
    import shtab

    if not names:
        files: Completion = shtab.FILE
        return files
    words = " ".join(names)
    function = f"_paraphrastic_names_{zlib.crc32(words.encode())}"
    return {
        "bash": function,
        "zsh": f"{{compadd -- {words}; _files}}",
        "fish": f"{words} {shtab.FILE['fish']}",
        "preamble": {
            "bash": f'{function}() {{ compgen -W "{words}" -- "$1"; _shtab_compgen_files "$1"; }}'
        },
    }


def names_for(action: argparse.Action, kinds: Sequence[str] | None) -> tuple[str, ...]:
    """Return the values of an argument that are known in advance."""
    if action.dest == "recipe":
        return recipes_of(kinds)
    if action.dest == "suite":
        return _suites()
    if action.dest == "name" and not action.option_strings:
        from paraphrastic_hf.corpora.sources import SOURCES

        return tuple(SOURCES)
    if action.dest in ("model", "models", "first", "second"):
        from paraphrastic_hf.encoders.storage.locate import known_models

        return tuple(known_models())
    return ()


def recipes_of(kinds: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of packaged recipes of some kinds (default: kinds of `paraphrastic train`).

    Unambiguous short names are included.
    """
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


def recipe_keys(kinds: Sequence[str] | None) -> dict[str, list[str]]:
    """Return the recipe keys of some kinds (default: kinds of `paraphrastic train`) with their
    choices.

    The kind `make` stands for the group `make` of corpus recipes.
    """
    try:
        from paraphrastic_hf.pipelines.recipe import CorpusRecipe, MakeArguments
        from paraphrastic_hf.training.kinds import JOBS
    except ImportError:  # training is not installed
        return {}
    classes = {kind: entry.recipe for kind, entry in JOBS.items()}
    classes |= {CORPUS: CorpusRecipe, "make": MakeArguments}
    found: dict[str, list[str]] = {}
    for kind in JOBS if kinds is None else kinds:
        for key, field in key_paths(classes[kind]).items():
            choices = [each for each in field.metadata["choices"] if each not in (FILE, CODE)]
            found[key] = list(dict.fromkeys((*found.get(key, ()), *choices)))
    return found
