"""Scripts beside the recipes run, on small data."""

from __future__ import annotations

import importlib.util
import lzma
import sys
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[1] / "recipes"
WORDS = [("cat", "cats", 9), ("cat", "dog", 4), ("dog", "bread", 1), ("zebra", "zebras", 8)]
ROWS = [{"sentence1": a, "sentence2": b, "score": score} for a, b, score in WORDS]


def test_rare_words_are_scored_by_what_training_has_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = RECIPES / "charagram-2016" / "rare_words.py"
    spec = importlib.util.spec_from_file_location("rare_words", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    pairs = tmp_path / script.PAIRS
    pairs.parent.mkdir(parents=True)
    pairs.write_bytes(lzma.compress(b"cat\tcats\ndog\tdogs\nbread\tloaf\n"))
    monkeypatch.setattr(script, "corpus_rows", lambda *_: ROWS)
    monkeypatch.setattr(script, "interval", lambda *_: (0.0, 0.0))  # of four pairs
    monkeypatch.setattr(sys, "argv", ["rare_words.py", "english", "--data", str(tmp_path)])
    monkeypatch.setattr(script, "rho", lambda scores, gold: float(len(scores) + scores.ndim / 10))
    script.main()
    assert capsys.readouterr().out.splitlines() == [
        "common n-grams alone: 4.1 of 4 pairs",
        "english: 4.1 (0.0 to 0.0)",
        "  both words in training: 3.1 of 3",
        "  one word in training: 0.1 of 0",
        "  no word in training: 1.1 of 1",
        "  without training pairs: 3.1 of 3",
        "  cosine 0 where a word is not in training: 4.1",
    ]
