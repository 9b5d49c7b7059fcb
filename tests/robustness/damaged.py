"""Read randomly damaged model directories and data files (`make test-damaged`).

Usage: python -m tests.robustness.damaged [--seed N] [--cases N] [--only NAME]

Each case damages or removes one file. The reader must raise an error of this package with a short
message, or return a complete result. Some damage, such as a changed bit in a table, cannot be
detected, so that results other than the right one are only counted. Readers run in forks with
limited memory and time. A crash, hang or memory growth is a failure of one numbered case.
"""

import argparse
import logging
import os
import pickle
import random
import re
import resource
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

from paraphrastic_hf.errors import ParaphrasticError
from tests.robustness.subjects import SUBJECTS

SECONDS = 120  # limit of a case on a busy machine
MEMORY = 3 << 30  # most bytes that reading may allocate
LONGEST_MESSAGE = 5000
VALUES = [
    *("0", "-1", "1e308", "NaN", "1000000", "1000000000000", "9" * 5000, '"x"', '"../../x"'),
    *("[]", "[1]", "{}", "null", "true", "[" * 100_000),
]


def damage(path, choice):
    """Damage a file at random and return the kind of damage."""
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


def one_case(subject, good, folder, seed, right):
    """Read one damaged copy and return `refused`, `right`, `other` or what went wrong."""
    choice = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    # the package does not read the copies of its modules in a model directory
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


def same(a, b):
    return pickle.dumps(a) == pickle.dumps(b)


def in_a_fork(work, quiet):
    """Return the values that `work` sends from a fork, then None or the reason of a failure.

    The fork is killed after `SECONDS` without a value.
    """
    forks = get_context("fork")
    reader, writer = forks.Pipe(duplex=False)
    process = forks.Process(target=limited, args=(work, writer, quiet))
    process.start()
    writer.close()
    told, hung = [], False
    try:
        while reader.poll(SECONDS):
            told.append(reader.recv())
        hung = True
        process.kill()
    except EOFError:
        pass
    process.join()
    code = process.exitcode
    return [*told, "it hung" if hung else f"it ended with {code}" if code else None]


def limited(work, writer, quiet):
    """Run `work` with limited memory, and its messages in a file."""
    with quiet.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    has = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY, has + MEMORY))
    work(writer.send)


def try_subject(name, cases, seed, temporary):
    """Read damaged copies of one subject and return the counts of outcomes and the failures."""
    subject, good, quiet = SUBJECTS[name], temporary / "good", temporary / "quiet"
    shutil.rmtree(good, ignore_errors=True)
    good.mkdir()

    def make(tell):
        subject.make(good)
        copy = temporary / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(good, copy)
        first = subject.read(copy)
        shutil.rmtree(copy)
        shutil.copytree(good, copy)
        assert same(first, subject.read(copy)), f"{name} does not read the same twice"
        tell(first)

    *made, ended = in_a_fork(make, quiet)
    if ended is not None:
        raise SystemExit(f"{name}, undamaged: {ended}\n{quiet.read_text()[-2000:]}")
    (right,) = made
    counts: Counter[str] = Counter()
    failures = []
    done = 0
    while done < cases:

        def work(tell, start=done):
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


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=200, help="cases per subject")
    parser.add_argument("--only", help="one subject")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    total: Counter[str] = Counter()
    failures = []
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
