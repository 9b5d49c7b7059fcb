"""Output to a terminal: control characters are escaped, and progress bars are shown."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.data_root import demo_pairs

pytestmark = pytest.mark.slow  # each starts a process
HOSTILE = "a \x1b[31mred\x1b[2J cat\x07 \x9b5A sleeps\r"
SHOWN = r"a \x1b[31mred\x1b[2J cat\x07 \x9b5A sleeps\r"


def in_terminal(*command: str) -> tuple[str, str]:
    """Return the output and the errors of a command, each printed to a terminal of its own."""
    outer, inner = zip(pty.openpty(), pty.openpty(), strict=True)
    termios.tcsetwinsize(inner[1], (24, 100))
    process = subprocess.Popen(
        [sys.executable, *command], stdout=inner[0], stderr=inner[1], stdin=subprocess.DEVNULL
    )
    for descriptor in inner:
        os.close(descriptor)
    printed = []
    for descriptor in outer:
        content = b""
        try:
            while block := os.read(descriptor, 4096):
                content += block
        except OSError:  # the other side is closed
            pass
        os.close(descriptor)
        printed.append(content.decode().replace("\r\n", "\n"))
    process.wait()
    return printed[0], printed[1]


def paraphrastic(*arguments: str) -> tuple[str, ...]:
    return ("-m", "paraphrastic_hf.cli.main", *arguments)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    (tmp_path / "corpus.txt").write_text(f"{HOSTILE}\nthe film\n", encoding="utf-8", newline="")
    return str(tmp_path / "corpus.txt")


def test_control_characters_are_escaped_in_a_terminal_only(corpus: str) -> None:
    command = paraphrastic("neighbors", "tiny", corpus, "--query", f"cat {HOSTILE}", "film")
    printed, _ = in_terminal(*command)
    assert SHOWN.removesuffix(r"\r") in printed
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(printed)
    piped = subprocess.run([sys.executable, *command], capture_output=True, check=True).stdout
    assert HOSTILE.rstrip("\r") in piped.decode()
    plain = piped.decode().replace("\x1b", r"\x1b").replace("\x07", r"\x07").replace("\r", r"\r")
    assert printed == plain.replace("\x9b", r"\x9b")


def test_control_characters_in_messages_are_escaped(tmp_path: Path) -> None:
    missing = tmp_path / HOSTILE.strip()
    _, said = in_terminal(*paraphrastic("encode", "tiny", str(missing)))
    assert SHOWN.removesuffix(r"\r") in said
    assert "\x1b" not in said
    _, said = in_terminal(*paraphrastic("encode", "--\x1b[31mred"))
    assert "\x1b" not in said


BARS = """
from paraphrastic_hf.cli.main import main
try:
    main(["--version"])
except SystemExit:
    pass
from tqdm import tqdm
for _ in tqdm(range(3), desc="outer \\x1b[31m"):
    for _ in tqdm(range(3), desc="inner", position=1, leave=False):
        pass
"""


def test_progress_bars_move_with_escaped_text() -> None:
    printed, said = in_terminal("-c", BARS)
    assert printed.startswith("paraphrastic ")
    assert "\router \\x1b[31m" in said
    assert "\x1b[A" in said
    assert "\x1b[31m" not in said


def test_bars_are_shown_in_a_terminal_only(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(
        "".join(f"{a}\t{b}\n" for a, b in demo_pairs()), encoding="utf-8"
    )
    small = ("--vocab_size", "200", "--hidden_size", "8", "--sources", str(tmp_path / "pairs.tsv"))
    command = paraphrastic("train", "own", *small, "--output", str(tmp_path / "run"))
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    assert "\r" not in done.stderr
    assert "train.jsonl" in done.stderr
    _, said = in_terminal(*command, "--overwrite")
    assert "pairs/s" in said
    assert "\r" in said
