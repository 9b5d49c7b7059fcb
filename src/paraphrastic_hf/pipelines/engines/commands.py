"""Translation engines that run a program, which reads lines and writes their translations.

Apertium is a rule-based system (`apt install apertium-X-Y`). Its license is the GPL, so it is run
as a separate program.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence

from paraphrastic_hf.generation.writing import NOTHING, GeneratedText
from paraphrastic_hf.io.child import child
from paraphrastic_hf.pipelines.engines.base import EngineError, MissingEngineError

MAX_ODD_LINES = 10  # lines of a block that may get a wrong number of output lines
SHOWN = 300  # characters of a failed program's output in a message
_BEFORE_MARKS, _SPACES = re.compile(r" +(?=[.,;:!?](?: |$))"), re.compile(" {2,}")
_BREAKS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\0]+")


class CommandEngine:
    """Program that reads one sentence per line and writes one translation per line, without scores.

    A process is started for every block of lines, and killed with its children after `timeout`
    seconds. If the number of output lines is wrong, both halves of the block are translated
    separately, and so on. A single line with a wrong number gets an empty translation.
    """

    def __init__(
        self, command: Sequence[str], *, timeout: float = 600.0, separator: str = "\n"
    ) -> None:
        if shutil.which(command[0]) is None:
            raise MissingEngineError(f"The program {command[0]!r} is not installed or not in PATH")
        self.command, self.timeout, self.separator = list(command), timeout, separator

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        plain = [_BREAKS.sub(" ", line).strip() for line in lines]
        full = [line for line in plain if line]
        texts = iter(self._translate_block(full, []) if full else [])
        nan = float("nan")
        return [[GeneratedText(next(texts), nan) if line else NOTHING] for line in plain]

    def _translate_block(self, lines: list[str], odd: list[str]) -> list[str]:
        answer = self._run(self.separator.join(lines) + "\n")
        if not answer and len(lines) > 1:
            raise EngineError(
                f"{self.command[0]} wrote nothing for {len(lines):,} lines. Fix engine.model"
            )
        texts = answer.removesuffix("\n").split(self.separator)
        if len(texts) == len(lines):
            return [self.clean(_BREAKS.sub(" ", text).strip()) for text in texts]
        if len(lines) > 1:
            halves = lines[: len(lines) // 2], lines[len(lines) // 2 :]
            return [text for half in halves for text in self._translate_block(half, odd)]
        odd.append(lines[0])
        if len(odd) > MAX_ODD_LINES:
            raise EngineError(
                f"{self.command[0]} must write one line per input line. It wrote "
                f"{len(texts)} for {lines[0][:80]!r}, and a wrong number for {MAX_ODD_LINES} "
                "other lines"
            )
        return [""]

    def clean(self, text: str) -> str:
        return text

    def _run(self, text: str) -> str:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with child(self.command, **pipes) as process:
            try:
                given = text.encode("utf-8", "replace")
                written, said = process.communicate(given, timeout=self.timeout)
            except subprocess.TimeoutExpired as error:
                raise EngineError(
                    f"{self.command[0]} took over {self.timeout:g} s. Raise engine.timeout"
                ) from error
        if process.returncode:
            reason = said.decode("utf-8", "replace").strip()[-SHOWN:] or "no output"
            raise EngineError(f"{self.command[0]} ended with status {process.returncode}: {reason}")
        return written.decode("utf-8", "replace")


class Apertium(CommandEngine):
    """Apertium, a rule-based engine. `mode` is a language pair, such as `spa-eng`."""

    def __init__(self, mode: str, *, timeout: float = 600.0) -> None:
        # Blank lines between sentences keep Apertium from joining them and dropping full stops.
        command = ["apertium", "-u", "-f", "txt", mode]
        super().__init__(command, timeout=timeout, separator="\n\n")
        known = subprocess.run(["apertium", "-l"], capture_output=True, text=True, check=False)
        modes = known.stdout.split()
        if mode not in modes:
            raise MissingEngineError(
                f"apertium has no mode {mode!r}. Installed: {', '.join(modes) or 'none'}. Install "
                "more, for example with: apt install apertium-eng-spa"
            )

    def clean(self, text: str) -> str:
        """Remove spaces before punctuation, which remain if a word has no translation."""
        return _SPACES.sub(" ", _BEFORE_MARKS.sub("", text))
