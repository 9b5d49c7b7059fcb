from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.syntax.parse_tree import read_tree
from paraphrastic_hf.syntax.parsed import FAILED, ParsedLine
from tests.generation import scpn
from tests.recipes.test_recipe_scripts import script_of

ROWS = [line.split("\t") for line in scpn.PAIRS.read_text(encoding="utf-8").splitlines()]
KNOWN = {row[side]: row[2 + side] for row in ROWS for side in (0, 1)}


class LookUp:
    """Stub of a `SentenceParser` that knows the trees of the made pairs."""

    @classmethod
    def from_pretrained(cls, _: str) -> LookUp:
        return cls()

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        return [
            ParsedLine(line.split(), read_tree(KNOWN[line]))
            if line in KNOWN
            else ParsedLine.without_tree(line.split(), FAILED)
            for line in lines
        ]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    def load(name: str, *arguments: Any) -> Any:
        module = script_of(f"scpn-2018/{name}.py")
        monkeypatch.setattr(module, "SentenceParser", LookUp, raising=False)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        return module

    return load


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz"])
def test_pairs_get_trees_and_held_out_pairs_are_disjoint(
    script: Any, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"pairs{suffix}"
    pairs = [row[:2] for row in ROWS[:30]] + [["nobody parses", "this one ."], ["x", "y"]]
    if suffix == ".tsv":
        path.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    else:
        lines = ["source,target", *(f'"{a}","{b}"' for a, b in pairs)]
        path.write_bytes(gzip.compress("\n".join(lines).encode("utf-8")))
    out = tmp_path / "parsed.tsv"
    script("parse_pairs", path, "--parser", "any", "--held-out", 5, "--output", out).main()
    kept, held_out = (
        [line.split("\t") for line in each.read_text(encoding="utf-8").splitlines()]
        for each in (out, tmp_path / "parsed.held-out.tsv")
    )
    assert len(held_out) == 5
    assert len(kept) + 5 <= 30
    assert not {s for row in held_out for s in row[:2]} & {s for row in kept for s in row[:2]}
    for row in kept:
        assert [read_tree(tree) for tree in row[2:]] == [read_tree(KNOWN[s]) for s in row[:2]]


def test_dissimilar_pairs_are_left_out(script: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "pairs.tsv", tmp_path / "parsed.tsv"
    near = next(row[:2] for row in ROWS if row[2] != row[3])
    words = set(near[0].split())
    far = [near[0], min(KNOWN, key=lambda text: len(words & set(text.split())))]
    path.write_text("".join("\t".join(pair) + "\n" for pair in (near, far)), encoding="utf-8")
    kept = []
    for options in ([], ["--min-similarity", 0.8]):
        script("parse_pairs", path, "--parser", "any", "--output", out, *options).main()
        kept.append([row.split("\t")[:2] for row in out.read_text("utf-8").splitlines()])
    assert sorted(kept[0]) == sorted([near, far])
    assert kept[1] == [near]


@pytest.mark.slow
def test_control_measures_template_matches(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = {kind: scpn.make(kind, tmp_path) for kind in ("scpn", "parse-generator")}
    path, outputs = tmp_path / "pairs.tsv", tmp_path / "right.txt"
    path.write_text("".join("\t".join(row) + "\n" for row in ROWS[:4]), encoding="utf-8")
    outputs.write_text("".join(row[1] + "\n" for row in ROWS[:4]), encoding="utf-8")
    given = [models["scpn"], path, "--generator", models["parse-generator"], "--parser", "any"]
    table = tmp_path / "control.md"
    script("control", *given, "--system", f"right={outputs}", "--output", table).main()
    rows = {
        cells[1]: cells
        for line in capsys.readouterr().out.splitlines()
        if len(cells := [cell.strip() for cell in line.split("|")]) > 5
    }
    assert {"source", "gold parse", "generated parse", "generator alone", "right"} <= set(rows)
    assert rows["system"][2:5] == ["match", "match source", "TED"]
    assert rows["right"][2] == "100.0"
    assert rows["right"][4] == "0.0"
    assert rows["source"][3] == "100.0"
    assert (tmp_path / "control.gold-parse.txt").exists()


def test_the_script_reproduces_the_made_pairs(script: Any, tmp_path: Path) -> None:
    made = script("make_pairs")
    made.__file__ = str(tmp_path / "make_pairs.py")
    made.main()
    assert (tmp_path / "pairs.tsv").read_text(encoding="utf-8") == scpn.PAIRS.read_text("utf-8")
