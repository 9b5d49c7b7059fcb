"""Finds a recipe by name: the recipes of the papers come with the package.

In a checkout they are in `recipes/` at its top; `setup.py` copies them, with the small texts that
they name, into the wheel.
"""

from __future__ import annotations

import difflib
import re
import sys
from itertools import takewhile
from pathlib import Path
from textwrap import shorten

from paraphrastic_hf.errors import RecipeError

_PACKAGE = Path(__file__).parents[1]
RECIPES = next(
    (path for path in (_PACKAGE / "recipes", _PACKAGE.parents[1] / "recipes") if path.is_dir()),
    _PACKAGE / "recipes",
)
_NUMBERS = {"two": "2", "twenty": "20"}
_MINUTES = re.compile(rf"(under )?({'|'.join(_NUMBERS)}|[\d.]+) minutes", re.IGNORECASE)
_ENDING = re.compile(r"\.(tsv|csv|jsonl|parquet)(\.(gz|xz|bz2))?$", re.IGNORECASE)  # of text


def find_recipe(name: str | Path) -> Path:
    """The file of a recipe.

    Args:
        name: A file; or the name of a recipe that comes with the package, `own` or
            `simple-and-effective-2019/own`, with or without `recipes/` before it and `.yaml` after
            it; or `bgt` for `small-bgt`, or an ending that only one name has. A file comes
            first; what begins with `.` or `~` is a file.

    Raises:
        RecipeError: There is none, or there are several; the message names them, or the nearest.

    Example:
        >>> find_recipe("own").name
        'own.yaml'
        >>> find_recipe("simple-and-effective-2019/own") == find_recipe("own")
        True
    """
    if Path(name).is_file():
        if _ENDING.search(str(name)):
            raise RecipeError(
                f"{name} is text by its name and no recipe: name the recipe first, and then what "
                f"it is to read, as in own --sources {name}"
            )
        return Path(name)
    wanted = Path(name).as_posix().removeprefix("recipes/").removesuffix(".yaml").rstrip("/")
    known = recipe_names()
    is_path = str(name).startswith((".", "~"))  # as a name of the package's never does
    found = [] if is_path else [f for f in known if wanted in (f, f.partition("/")[2])]
    if len(found) == 1:
        return RECIPES / f"{found[0]}.yaml"
    if found:
        raise RecipeError(f"several recipes are named {wanted}; choose {' or '.join(found)}")
    within = [full for full in known if full.startswith(f"{wanted}/")]
    if within:
        raise RecipeError(f"{wanted} holds several recipes; choose {', '.join(within)}")
    small = [] if is_path else [f for f in known if f.endswith(f"/small-{wanted}")]
    ending = small or ([] if is_path else [f for f in known if f.endswith(f"-{wanted}")])
    if len(ending) == 1:
        print(f"{name} is taken for the recipe {ending[0]}", file=sys.stderr)
        return RECIPES / f"{ending[0]}.yaml"
    raise RecipeError(
        f"there is no recipe {str(name)!r}, neither a file nor one of the package's; "
        f"{_nearest(wanted, known)}"
    )


def recipe_names() -> list[str]:
    """The recipes that come with the package, as `folder/name`."""
    return sorted(
        path.relative_to(RECIPES).with_suffix("").as_posix() for path in RECIPES.glob("*/*.yaml")
    )


def describe_recipes() -> list[tuple[str, str, str]]:
    """Return the name, the training minutes and a summary of every packaged recipe.

    Both come from the comment at the top of the recipe. Minutes are blank if it has none.
    """
    described = []
    for name in recipe_names():
        lines = (RECIPES / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
        comment = takewhile(lambda line: line.startswith("#"), lines)
        text = " ".join(line[1:].strip() for line in comment)
        found = _MINUTES.search(text)
        minutes = ("<" if found[1] else "") + _NUMBERS.get(found[2], found[2]) if found else ""
        described.append((name, minutes, shorten(text, 100, placeholder=" ...")))
    return described


def _nearest(wanted: str, known: list[str]) -> str:
    """The end of the message: recipes whose name, with or without its folder, is similar."""
    last = wanted.rpartition("/")[2]
    stems = {full.partition("/")[2] for full in known}
    close = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
    if not close or "/" not in wanted:
        of_that_name = difflib.get_close_matches(last, stems, n=1, cutoff=0.6)
        close += [full for full in known if full.partition("/")[2] in of_that_name]
    if close:
        return f"did you mean {' or '.join(dict.fromkeys(close))}?"
    folders = dict.fromkeys(full.partition("/")[0] for full in known)
    return f"name a file, or one of those in {', '.join(folders)}"
