"""Run by `make test-damaged`: damaged model directories and data files, read thousands of times.

Each case damages one file of a good one: cut short, bits or bytes changed, a run of zeros, a part
twice, a value of JSON exchanged, or all of it, or the file gone. What reads it must refuse it by an
error of this package with a short message, or give a result that is whole: the right one wherever
the format can tell. A changed bit in the numbers of a table, or in a text, cannot be told by
anybody; such results are counted apart. Readers run in forks with bounded memory and time, so that
a crash, a hang or a memory that grows is a failure of one case, named by its number, and not of the
program.

Usage: python -m tests.robustness.damaged [--seed N] [--cases N] [--only NAME]
"""

from __future__ import annotations

import argparse
import logging
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import ParaphrasticError
from tests.robustness.subjects import SUBJECTS, Subject

SECONDS = 120  # a case may take on a busy machine
MEMORY = 3 << 30  # bytes that reading may add to what the process has
LONGEST_MESSAGE = 5000
VALUES = [
    *("0", "-1", "1e308", "NaN", "1000000", "1000000000000", "9" * 5000, '"x"', '"../../x"'),
    *("[]", "[1]", "{}", "null", "true", "[" * 100_000),
]


def damage(path: Path, choice: random.Random) -> str:
    """Damage a file in one way, and say which."""
    data = bytearray(path.read_bytes())
    place = choice.randrange(len(data)) if data else 0
    kinds = ["cut", "bit", "bytes", "zeros", "twice", "gone from the middle"]
    numbers = []
    if path.suffix == ".json":
        numbers = list(re.finditer(rb'(?<=: )("[^"]*"|[\w.+-]+)', bytes(data[:100_000])))
        kinds += ["whole", *["value"] * 6] if numbers else []
    kind = choice.choice(kinds)
    if kind == "cut":
        del data[place:]
    elif kind == "bit" and data:
        data[place] ^= 1 << choice.randrange(8)
    elif kind == "bytes":
        length = choice.choice([1, 2, 4, 8, 50])
        data[place : place + length] = choice.randbytes(length)
    elif kind == "zeros":
        length = len(data[place : place + 64])
        data[place : place + length] = bytes(length)
    elif kind == "twice":
        data[place:place] = data[place : place + choice.choice([1, 10, 1000])]
    elif kind == "gone from the middle":
        del data[place : place + choice.choice([1, 10, 1000])]
    elif kind == "whole":
        value = choice.choice(VALUES)
        data[:] = value.encode()
        kind = f"whole {value[:20]}"
    elif kind == "value":
        found = choice.choice(numbers)
        value = choice.choice(VALUES)
        data[found.start() : found.end()] = value.encode()
        kind = f"value {value[:20]}"
    path.write_bytes(data)
    return kind


def one_case(subject: Subject, good: Path, folder: Path, seed: str, right: Any) -> str:
    """What comes of one damaged copy: `refused`, `right`, `other`, or what is wrong."""
    choice = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    # this package never reads the copies of its modules that lie beside a model
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".py")
    path = choice.choice(files)
    if len(files) > 1 and choice.random() < 0.05:
        kind = "removed"
        path.unlink()
    else:
        kind = damage(path, choice)
    what = f"{path.relative_to(folder)}, {kind}"
    try:
        result = subject.read(folder)
    except ParaphrasticError as error:
        text = str(error)
        return "refused" if len(text) <= LONGEST_MESSAGE else f"a message of {len(text)}: {what}"
    except Exception as error:
        return f"{type(error).__name__} ({str(error)[:200]}): {what}"
    return "right" if same(result, right) else "other"


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal, bit for bit."""
    return pickle.dumps(a) == pickle.dumps(b)


def in_a_fork(work: Callable[[Callable[[Any], None]], None], quiet: Path) -> list[Any]:
    """What `work` tells, until it ends, crashes, or says nothing for `SECONDS`; then why it ended,
    None if well."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with quiet.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = Path("/proc/self/statm")
        has = int(status.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY, has + MEMORY))
        with os.fdopen(writer, "wb") as file:

            def tell(value: Any) -> None:
                pickle.dump(value, file)
                file.flush()

            try:
                work(tell)
            except BaseException as error:
                tell(error)
                os._exit(1)
        os._exit(0)
    os.close(writer)
    told: list[Any] = []
    with os.fdopen(reader, "rb", buffering=0) as file:
        ended: str | None = "it hung"
        while select.select([file], [], [], SECONDS)[0]:
            try:
                told.append(pickle.load(file))
            except (EOFError, pickle.UnpicklingError):
                ended = None
                break
        if ended:
            os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return [*told, ended or (f"it ended with {code}" if code else None)]


def try_subject(
    name: str, cases: int, seed: int, temporary: Path
) -> tuple[Counter[str], list[str]]:
    """Read damaged copies of one subject; how they ended, and the failures."""
    subject, good, quiet = SUBJECTS[name], temporary / "good", temporary / "quiet"
    shutil.rmtree(good, ignore_errors=True)
    good.mkdir()

    def make(tell: Callable[[Any], None]) -> None:
        subject.make(good)
        copy = temporary / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(good, copy)
        first = subject.read(copy)
        shutil.rmtree(copy)
        shutil.copytree(good, copy)
        assert same(first, subject.read(copy)), f"{name} does not read the same twice"
        tell(first)

    right, ended = in_a_fork(make, quiet)
    if ended is not None:
        raise SystemExit(f"{name}, undamaged: {ended}: {right!r}\n{quiet.read_text()[-2000:]}")
    counts: Counter[str] = Counter()
    failures: list[str] = []
    done = 0
    while done < cases:

        def work(tell: Callable[[Any], None], start: int = done) -> None:
            for case in range(start, min(start + 100, cases)):
                tell(one_case(subject, good, temporary / "copy", f"{seed} {name} {case}", right))

        *told, ended = in_a_fork(work, quiet)
        for number, outcome in enumerate(told):
            if outcome in ("refused", "right", "other"):
                counts[outcome] += 1
            else:
                failures.append(f"{name}, case {done + number}: {outcome}")
        done += len(told)
        if ended is not None:
            failures.append(f"{name}, case {done}: {ended}\n{quiet.read_text()[-1000:]}")
            done += 1
    return counts, failures


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=200, help="of each subject")
    parser.add_argument("--only", help="one subject")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    total: Counter[str] = Counter()
    failures: list[str] = []
    print(f"seed {chosen.seed}, {chosen.cases} cases each")
    print(f"{'':28}{'refused':>8}{'right':>8}{'other':>8}{'failed':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        for name in [chosen.only] if chosen.only else SUBJECTS:
            counts, wrong = try_subject(name, chosen.cases, chosen.seed, Path(temporary))
            total += counts
            failures += wrong
            cells = (counts["refused"], counts["right"], counts["other"], len(wrong))
            print(f"{name:28}" + "".join(f"{cell:8,}" for cell in cells), flush=True)
    tried = total.total() + len(failures)
    parts = [f"{total[name]:,} {name}" for name in ("refused", "right", "other")]
    print(f"{tried:,} damaged: {', '.join(parts)}, failures: {len(failures)}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
