"""Engines that are programs: lines on their standard input, translations on their standard output.

A recipe may name any (`kind: command`). Apertium is one with a name of its own, a system of rules
that needs no model and no network (`apt install apertium-X-Y`); its license is the GPL, and it is
run as a program of its own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from paraphrastic_hf.generation.writing import NOTHING, GeneratedText
from paraphrastic_hf.io.child import child
from paraphrastic_hf.pipelines.engines.base import EngineError, MissingEngineError

MOST_ODD_LINES = 10  # that a program may answer with none or several, in one block
SHOWN = 300  # characters of what a program says when it dies
_BEFORE_MARKS, _SPACES = re.compile(r" +(?=[.,;:!?](?: |$))"), re.compile(" {2,}")
_BREAKS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\0]+")


class CommandEngine:
    """A program that reads a sentence a line and writes a translation a line; it gives no scores.

    It is started anew for every block of lines. If it answers with another number of lines, halves
    of the block are tried, so that one odd line costs itself alone: its translation is empty.

    Args:
        timeout: Seconds for a block, above 0, after which it is ended with all that it started.

    Example:
        >>> CommandEngine(["tr", "a-z", "A-Z"]).translate(["a cat", ""])[0][0].text
        'A CAT'
    """

    def __init__(
        self, command: Sequence[str], *, timeout: float = 600.0, separator: str = "\n"
    ) -> None:
        if shutil.which(command[0]) is None:
            raise MissingEngineError(f"there is no program {command[0]!r} here; install it first")
        self.command, self.timeout, self.separator = list(command), timeout, separator

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        """Translate lines; see `Engine`."""
        plain = [_BREAKS.sub(" ", line).strip() for line in lines]
        places = [place for place, line in enumerate(plain) if line]
        found: list[list[GeneratedText]] = [[NOTHING] for _ in plain]
        odd: list[str] = []
        if places:
            texts = self._of_block([plain[place] for place in places], odd)
            for place, text in zip(places, texts, strict=True):
                found[place] = [GeneratedText(text, float("nan"))]
        return found

    def _of_block(self, lines: list[str], odd: list[str]) -> list[str]:
        """The translation of each line; of what is answered wrongly, of its halves."""
        answer = self._run(self.separator.join(lines) + "\n")
        if not answer and len(lines) > 1:
            raise EngineError(f"{self.command[0]} wrote nothing for {len(lines):,} lines")
        texts = answer.removesuffix("\n").split(self.separator)
        if len(texts) == len(lines):
            return [self.tidied(_BREAKS.sub(" ", text).strip()) for text in texts]
        if len(lines) > 1:
            half = len(lines) // 2
            return self._of_block(lines[:half], odd) + self._of_block(lines[half:], odd)
        odd.append(lines[0])
        if len(odd) > MOST_ODD_LINES:
            raise EngineError(
                f"{self.command[0]} does not answer a line with a line: {len(texts)} for "
                f"{lines[0][:80]!r}, and so for {MOST_ODD_LINES} others of the block"
            )
        return [""]

    def tidied(self, text: str) -> str:
        """A translation as it is given back: here, as the program wrote it."""
        return text

    def _run(self, text: str) -> str:
        """What the program writes."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with child(self.command, **pipes) as process:
            try:
                given = text.encode("utf-8", "replace")
                written, said = process.communicate(given, timeout=self.timeout)
            except subprocess.TimeoutExpired as error:
                raise EngineError(
                    f"{self.command[0]} gave no answer in {self.timeout:g} s; raise "
                    "engine.timeout, or give it fewer lines at a time (make.block)"
                ) from error
        if process.returncode:
            told = said.decode("utf-8", "replace").strip()[-SHOWN:] or "it said nothing"
            raise EngineError(f"{self.command[0]} ended with status {process.returncode}: {told}")
        return written.decode("utf-8", "replace")


class Apertium(CommandEngine):
    """Apertium: one translation of each line by rules, always the same, without a score.

    Args:
        mode: Its two languages, such as `spa-eng`; `apertium -l` lists those installed.
        timeout: Seconds for a block of lines, above 0.

    Example:
        >>> Apertium("spa-eng").translate(["El perro duerme."])[0][0].text  # doctest: +SKIP
        'The dog sleeps.'
    """

    def __init__(self, mode: str, *, timeout: float = 600.0) -> None:
        # A blank line between two keeps them sentences of their own, and their full stops.
        command = ["apertium", "-u", "-f", "txt", mode]
        super().__init__(command, timeout=timeout, separator="\n\n")
        known = subprocess.run(["apertium", "-l"], capture_output=True, text=True, check=False)
        modes = known.stdout.split()
        if mode not in modes:
            raise MissingEngineError(
                f"apertium has no languages {mode!r} here; there are {', '.join(modes) or 'none'}: "
                "install more, such as with apt install apertium-eng-spa"
            )

    def tidied(self, text: str) -> str:
        """Without the spaces that are left where a word before a mark has no translation."""
        return _SPACES.sub(" ", _BEFORE_MARKS.sub("", text))
