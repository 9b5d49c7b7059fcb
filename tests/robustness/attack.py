"""Attack every command that writes (`make test-attack`).

Usage: python -m tests.robustness.attack [--seed N] [--cases N] [--only NAME]

Each command first runs undisturbed. Then it is attacked and run again with the same arguments:

* killed: `kill -9`, SIGTERM or Ctrl-C at a random operation on its output folder. The next run must
  succeed with exactly the files of the undisturbed run.
* full disk: the output folder is a small tmpfs mount, which needs root. The command must fail with
  a short message that names a file there. The next run, on a larger disk, must succeed.
* two at once: two equal or different runs write to one folder. At least one must succeed, and the
  files must be those of one run. The other may be refused with a short message.

PARAPHRASTIC_DATA must contain SICK.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

FORKS = get_context("fork")
SECONDS = 300  # limit of a run on a busy machine
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "os.truncate"}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Equal runs differ in times and speeds, and in the plots and pages that show them.
TIMED = re.compile(r'"\w*(seconds|finished|per_second|memory|time|date)\w*": ?[^,\n}]*')
UNCOMPARED = (
    *("*.png", "events.out.*", "logs/*", "logs/stats/*", "*.md", "stats.json", "*.html", "*.part"),
)


@dataclass(frozen=True)
class Case:
    """A command with the placeholders IN and OUT for its folders."""

    name: str
    arguments: str
    other: str = ""  # text in the arguments and its replacement for a different second run

    def changed(self):
        before, after = self.other.split()
        return Case(self.name, self.arguments.replace(before, after))

    def line(self, out, inputs):
        return self.arguments.replace("OUT", str(out)).replace("IN", str(inputs)).split()


CASES = [
    Case("encode", "encode english IN/lines.txt --output OUT/v.npy --quiet"),
    Case("mine", "mine english IN/lines.txt IN/other.txt --output OUT/p --quiet", "other few"),
    Case(
        "mine --work",
        "mine english IN/lines.txt IN/other.txt --output OUT/p --work OUT/w --quiet",
        "english tiny",
    ),
    Case("pack", "pack tiny --dimension 32 --precision int8 --output OUT/m --overwrite", "32 16"),
    Case("convert", "convert IN/vectors.txt --output OUT/m --overwrite --quiet"),
    Case("translate", "translate IN/marian IN/few.txt --output OUT/t.txt --quiet", "few few2"),
    Case("reconstruct", "reconstruct IN/bgt IN/few.txt --language en --output OUT/t --quiet"),
    Case("paraphrase", "paraphrase IN/paraphraser IN/few.txt --canonical --output OUT/t --quiet"),
    Case("predict", "predict IN/head IN/pairs.tsv --output OUT/t.txt"),
    Case("perplexity", "perplexity IN/language_model IN/few.txt --output OUT/t.tsv"),
    Case("evaluate", "evaluate tiny --pairs IN/pairs.tsv --output OUT/e --quiet"),
    Case("simile", "simile -s IN/few.txt -r IN/few2.txt --output OUT/s.json"),
    Case("compare", "compare -s IN/few.txt IN/few2.txt -r IN/few.txt --output OUT/c --quiet"),
    Case("judge", "judge -s IN/few.txt -r IN/few2.txt --output OUT/s.json"),
    *(
        Case(f"train {name}", f"train IN/{name}.yaml --output OUT/run --quiet", "--quiet --seed=2")
        for name in ("word", "char_cnn", "head", "language_model", "bgt", "marian", "scpn")
    ),
    Case(
        "tune",
        "tune IN/tuned.yaml --grid training.margin=0.3,0.5 --output OUT/tuned --quiet",
        "0.3,0.5 0.3,0.6",
    ),
    Case("corpus make", "corpus make IN/c1.yaml --output OUT/c --quiet", "c1.yaml c2.yaml"),
    Case("corpus encode", "corpus encode english IN/lines.txt --output OUT/v", "english tiny"),
    Case("corpus mine", "corpus mine IN/v1 IN/v2 --output OUT/m --quiet"),
    Case("corpus lexicon", "corpus lexicon IN/c --min-count 2 --output OUT/lexicon.tsv"),
    Case("corpus tenths", "corpus tenths IN/pairs.tsv --step overlap --parts 3 --output OUT/t"),
    Case(
        "publish",
        "publish model IN/word user/word --source-license pairs.tsv=cc0-1.0 --hide-paths "
        "--dry-run OUT/hub",
        "IN/word IN/char_cnn",
    ),
]


def make_inputs(folder):
    """Write small models, texts and a corpus."""
    import yaml

    from paraphrastic_hf.cli.main import main
    from tests.corpora.made_files import put
    from tests.data_root import demo_pairs
    from tests.pipelines.test_make import PAIRS
    from tests.trained import FAMILIES

    lines, other = (
        [f"{pair[side]} {n}\n" for n in range(40) for pair in demo_pairs()] for side in (0, 1)
    )
    choice = random.Random(0)
    numbers = (" ".join(f"{choice.gauss(0, 1):.4f}" for _ in range(16)) for _ in range(3000))
    names = ("word", "char_cnn", "language_model", "bgt", "marian", "scpn", "paraphraser")
    recipes = {name: FAMILIES[name] for name in names}
    word = recipes["word"].replace("epochs: 1", "epochs: 6")
    recipes["word"] = word.replace("none}", "none, checkpoint_every: 5}")
    recipes["head"] = FAMILIES["relatedness"].replace("epochs: 2", "epochs: 1")
    corpus = {
        "kind": "corpus",
        "data": {"sources": [{"path": str(folder / "pairs.tsv"), "license": "CC0"}]},
        "make": {"tasks": 3, "workers": 2, "block": 40},
    }
    first = ["duplicates", {"overlap": {"at_most": 0.6}}, {"words": {"at_most": 8}}]
    second = ["duplicates", {"overlap": {"at_most": 0.3}}]
    put(
        folder,
        {
            **{"lines.txt": "".join(lines), "other.txt": "".join(other)},
            **{"few.txt": "".join(lines[:9]), "few2.txt": "".join(other[:9])},
            "vectors.txt": "".join(f"word{n} {row}\n" for n, row in enumerate(numbers)),
            "pairs.tsv": "".join(f"{a}\t{b}\n" for a, b in PAIRS),
            "tuned.yaml": recipes["word"].replace("development: none", "development: clean"),
            **{f"{name}.yaml": text for name, text in recipes.items()},
            "c1.yaml": yaml.safe_dump(corpus | {"steps": first}),
            "c2.yaml": yaml.safe_dump(corpus | {"steps": second}),
        },
    )
    for arguments in (
        *(f"train {folder}/{name}.yaml --output {folder}/{name} --quiet" for name in recipes),
        f"corpus make {folder}/c1.yaml --output {folder}/c --quiet",
        f"corpus encode english {folder}/lines.txt --output {folder}/v1 --quiet",
        f"corpus encode english {folder}/other.txt --output {folder}/v2 --quiet",
    ):
        assert main(arguments.split()) == 0, arguments


class Run:
    """One command in a fork, with its messages in a file."""

    def __init__(self, line, out, errors, kill=None):
        self.errors, self.events = errors, errors.with_suffix(".events")
        self.events.write_bytes(b"")
        given = (line, out, errors, self.events, kill)
        self.process = FORKS.Process(target=run_attacked, args=given)
        self.process.start()

    def wait(self):
        """Return the exit status, the number of operations on the output folder and the messages.

        The status is negative after a signal and 999 if the command hung.
        """
        self.process.join(SECONDS)
        status = self.process.exitcode
        if status is None:
            os.killpg(int(self.process.pid or 0), signal.SIGKILL)
            self.process.join()
            status = 999
        count = self.events.stat().st_size
        return status, count, self.errors.read_text(encoding="utf-8", errors="replace")


def run_attacked(line, out, errors, events, kill):
    """Run a command in a fork. Count its operations on `out`, and kill it at one of them."""
    os.setpgid(0, 0)
    for number, path in ((1, os.devnull), (2, str(errors))):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    seen, owner, told = 0, os.getpid(), os.open(events, os.O_WRONLY)

    def watch(event, arguments):
        nonlocal seen
        if event not in EVENTS or not str(arguments[0]).startswith(str(out)):
            return
        if event == "open" and not (int(arguments[2] or 0)) & (os.O_WRONLY | os.O_RDWR):
            return
        if os.getpid() != owner:
            return
        seen += 1
        os.write(told, b".")
        if kill and seen == kill[0]:
            os.kill(owner, kill[1])

    sys.addaudithook(watch)
    from paraphrastic_hf.cli.main import main

    sys.exit(main(line))


def contents(out):
    """Return a hash of every file in a folder, ignoring times."""
    found = {}
    for path in sorted(out.rglob("*")):
        if path.is_dir() or any(path.match(pattern) for pattern in UNCOMPARED):
            continue
        data = path.read_bytes()
        if path.suffix in (".json", ".jsonl", ".yaml", ".txt"):
            text = TIMED.sub("", data.decode("utf-8", "replace")).replace(str(out), "OUT")
            data = text.encode()
        found[str(path.relative_to(out))] = hashlib.sha256(data).hexdigest()
    return found


def differs(whole, now):
    """Describe the differences between two folders."""
    names = [name for name in sorted({*whole, *now}) if whole.get(name) != now.get(name)]
    return ", ".join(
        f"{name} is {'missing' if name not in now else 'left' if name not in whole else 'other'}"
        for name in names
    )[:500]


def is_short(message):
    """Return whether a message is short and has no traceback."""
    return bool(message.strip()) and "Traceback" not in message and len(message) < 2000


def described(what, wrong):
    return f"{what}: {wrong}" if wrong else ""


class Attack:
    """The attacks on one command."""

    def __init__(self, case, inputs, folder, choice):
        self.case, self.inputs, self.folder, self.choice = case, inputs, folder, choice
        self.out = folder / "out"
        status, self.count, errors = self._fresh()
        if status:
            raise SystemExit(f"{case.name}, undisturbed, ended with {status}:\n{errors}")
        self.whole = contents(self.out)
        self.size = sum(p.stat().st_size for p in self.out.rglob("*") if p.is_file())
        self.changed = None
        if case.other:
            self._empty()
            status, _, errors = self._run(case=case.changed()).wait()
            if status:
                raise SystemExit(f"{case.name}, changed, ended with {status}:\n{errors}")
            self.changed = contents(self.out)
        self._fresh()
        if unequal := differs(self.whole, contents(self.out)):
            raise SystemExit(f"two equal runs of {case.name} differ: {unequal}")

    def _run(self, name="errors", kill=None, case=None):
        line = (case or self.case).line(self.out, self.inputs)
        return Run(line, self.out, self.folder / name, kill)

    def _empty(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def _fresh(self):
        self._empty()
        return self._run().wait()

    def _again(self):
        """Run the command again and describe what went wrong."""
        status, _, errors = self._run().wait()
        if status:
            return f"the next run ended with {status}: {errors.strip()[-600:]}"
        return differs(self.whole, contents(self.out))

    def killed(self):
        self._empty()
        kill = self.choice.randint(1, max(self.count, 1)), self.choice.choice(SIGNALS)
        status, _, errors = self._run(kill=kill).wait()
        what = f"operation {kill[0]} of {self.count}, signal {int(kill[1])}, status {status}"
        if kill[1] != signal.SIGKILL and "Traceback" in errors:
            return f"{what}: traceback {errors[-600:]}"
        if status == 0:  # it ended before the signal took effect
            return ""
        return described(what, self._again())

    def full(self):
        self._empty()
        share = self.choice.uniform(0.0, 0.9)
        size = max(4096, int(self.size * share))
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(self.out)]
        if subprocess.run(mount, capture_output=True).returncode:
            return "skipped"
        try:
            status, _, errors = self._run().wait()
            what = f"disk of {size} bytes for {self.size}, status {status}"
            if status == 0:
                return described(what, differs(self.whole, contents(self.out)))
            if status < 0 or not is_short(errors):
                return f"{what}: {errors[-700:]}"
            if str(self.out) not in errors:
                return f"{what}: no file is named: {errors}"
            larger = ["mount", "-o", f"remount,size={self.size * 4 + (64 << 20)}", str(self.out)]
            subprocess.run(larger, check=True)
            return described(what, self._again())
        finally:
            subprocess.run(["umount", "-l", str(self.out)], check=True)

    def two(self):
        is_other = bool(self.case.other) and self.choice.random() < 0.5
        self._empty()
        runs = [self._run("errors1")]
        time.sleep(self.choice.choice([0, 0, 0.05, 0.2]))
        runs.append(self._run("errors2", case=self.case.changed() if is_other else None))
        ended = [run.wait() for run in runs]
        codes = [status for status, _, _ in ended]
        what = f"{'different' if is_other else 'equal'} runs ended with {codes}"
        if 0 not in codes:
            return f"{what}: {ended[0][2][-300:]} / {ended[1][2][-300:]}"
        for status, _, errors in ended:
            if status and (status < 0 or not is_short(errors)):
                return f"{what}: {errors[-500:]}"
        now = contents(self.out)
        if is_other and not differs(self.changed or {}, now):
            return ""
        return described(what, differs(self.whole, now))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=6, help="cases per attack and command")
    parser.add_argument("--only", help="beginning of the names of commands to attack")
    chosen = parser.parse_args(arguments)
    os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="-1", TQDM_DISABLE="1")
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        inputs = Path(temporary, "inputs")
        inputs.mkdir()
        # Training starts threads, which later forks of this process would lose.
        child = FORKS.Process(target=make_inputs, args=(inputs,))
        child.start()
        child.join()
        if child.exitcode:
            raise SystemExit("the inputs cannot be made")
        import_all()
        print(f"seed {chosen.seed}, {chosen.cases} of each; failures in brackets")
        for number, case in enumerate(CASES):
            if chosen.only and not case.name.startswith(chosen.only):
                continue
            folder = Path(temporary, str(number))
            folder.mkdir()
            try:
                attack = Attack(case, inputs, folder, random.Random(f"{chosen.seed} {case.name}"))
            except SystemExit as error:
                failures.append(str(error))
                print(error, file=sys.stderr, flush=True)
                continue
            row = []
            attacks: tuple[Callable[[], str], ...] = (attack.killed, attack.full, attack.two)
            for each in attacks:
                outcomes = Counter[str]()
                for turn in range(chosen.cases):
                    outcome = each()
                    kind = outcome if outcome in ("", "skipped") else "failed"
                    outcomes[kind] += 1
                    if kind == "failed":
                        failures.append(f"{case.name}, {each.__name__} {turn}: {outcome}")
                        print(failures[-1], file=sys.stderr, flush=True)
                row.append(f"{outcomes[''] + outcomes['failed']} ({outcomes['failed']})")
            print(f"{case.name:20} killed {row[0]:9} full {row[1]:9} two {row[2]}", flush=True)
            shutil.rmtree(folder)
    print(f"{len(failures)} failures")
    return bool(failures)


def import_all():
    """Import everything once for all forks."""
    import importlib
    import pkgutil

    import paraphrastic_hf

    for module in pkgutil.walk_packages(paraphrastic_hf.__path__, "paraphrastic_hf."):
        if "simile.simile" not in module.name:
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue


if __name__ == "__main__":
    raise SystemExit(main())
