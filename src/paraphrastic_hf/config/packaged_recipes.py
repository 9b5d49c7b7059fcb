"""Finds packaged recipes: in `recipes/` of a checkout, or in the installed package."""

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
_MINUTES = re.compile(r"(under )?([\d.]+) minutes", re.IGNORECASE)
_TEXT_FILE = re.compile(r"\.(tsv|csv|jsonl|parquet)(\.(gz|xz|bz2))?$", re.IGNORECASE)


def find_recipe(name: str | Path) -> Path:
    """Return the path of a recipe file.

    Args:
        name: Path of a file, or name of a packaged recipe: `own`, `simple-and-effective-2019/own`
            or `recipes/simple-and-effective-2019/own.yaml`. `bgt` means `small-bgt` if that exists,
            else the only `...-bgt`. Existing files take precedence. A name that begins with `.` or
            `~` is always a path.
    """
    if Path(name).is_file():
        if _TEXT_FILE.search(str(name)):
            raise RecipeError(
                f"{name} is not a recipe. Name one first, as in: own --data.sources {name}"
            )
        return Path(name)
    wanted = Path(name).as_posix().removeprefix("recipes/").removesuffix(".yaml").rstrip("/")
    known = recipe_names()
    if not str(name).startswith((".", "~")):
        exact = [full for full in known if wanted in (full, full.partition("/")[2])]
        small = [full for full in known if full.endswith(f"/small-{wanted}")]
        found = exact or small or [full for full in known if full.endswith(f"-{wanted}")]
        if len(found) == 1:
            if not exact:
                print(f"Using the recipe {found[0]} for {name}", file=sys.stderr)
            return RECIPES / f"{found[0]}.yaml"
        if exact:
            raise RecipeError(f"Several recipes are named {wanted}. Choose {' or '.join(exact)}.")
    within = [full for full in known if full.startswith(f"{wanted}/")]
    if within:
        raise RecipeError(f"{wanted} is a folder of recipes. Choose one: {', '.join(within)}")
    raise RecipeError(f"No recipe or file named {str(name)!r}. {_nearest(wanted, known)}")


def recipe_names() -> list[str]:
    """Return the names of the packaged recipes, as `folder/name`."""
    return sorted(
        path.relative_to(RECIPES).with_suffix("").as_posix() for path in RECIPES.glob("*/*.yaml")
    )


def describe_recipes() -> list[tuple[str, str, str]]:
    """Return the name, training minutes and summary of every packaged recipe.

    Minutes (if stated) and summary come from the comment at the top of the recipe.
    """
    described = []
    for name in recipe_names():
        lines = (RECIPES / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
        comment = takewhile(lambda line: line.startswith("#"), lines)
        text = " ".join(line[1:].strip() for line in comment)
        found = _MINUTES.search(text)
        minutes = f"{'<' * bool(found[1])}{found[2]}" if found else ""
        described.append((name, minutes, shorten(text, 100, placeholder=" ...")))
    return described


def _nearest(wanted: str, known: list[str]) -> str:
    by_stem = {full.partition("/")[2]: full for full in known}
    close = difflib.get_close_matches(wanted, known, n=1) if "/" in wanted else []
    stems = difflib.get_close_matches(wanted.rpartition("/")[2], by_stem, n=1)
    if close or stems:
        return f"Did you mean {close[0] if close else by_stem[stems[0]]}?"
    folders = dict.fromkeys(full.partition("/")[0] for full in known)
    return f"Give a file, or a recipe from {', '.join(folders)}."
