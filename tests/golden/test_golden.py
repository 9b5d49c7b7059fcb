"""Results equal the golden files."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest

from tests.golden.make import FILES, FOLDER, command


def differences(found: Any, kept: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Yield the places where two JSON values differ by more than `tolerance`."""
    if isinstance(found, dict) and isinstance(kept, dict):
        for key in sorted({*found, *kept}):
            values = found.get(key, "nothing"), kept.get(key, "nothing")
            yield from differences(*values, tolerance, f"{place}[{key!r}]")
    elif isinstance(found, list) and isinstance(kept, list):
        for number, values in enumerate(zip_longest(found, kept, fillvalue="nothing")):
            yield from differences(*values, tolerance, f"{place}[{number}]")
    elif isinstance(found, float) and isinstance(kept, float):
        if not abs(found - kept) <= tolerance:
            yield f"{place}: {found} is not {kept}"
    elif found != kept:
        yield f"{place}: {found!r} is not {kept!r}"


@pytest.mark.parametrize("name", FILES)
def test_results_equal_the_golden_file(name):
    path = FOLDER / f"{name}.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    found = json.loads(json.dumps(FILES[name].make()))
    parted = list(differences(found, kept["found"], FILES[name].tolerance))
    assert kept["command"] == command(name)
    assert not parted, (
        f"{len(parted)} differences from {path.name}, such as {parted[:5]}; "
        f"if they are meant: {command(name)}"
    )


def test_every_golden_file_is_made():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(FILES)
