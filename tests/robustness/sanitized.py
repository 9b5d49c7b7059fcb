"""Fuzz the C code under the address and undefined-behavior sanitizers (`make test-sanitized`).

Usage: python -m tests.robustness.sanitized [--seed N] [--seconds N]

The C modules are compiled with sanitizers that end the process at the first fault. A second
interpreter, which allocates every string separately so that reads past its end are seen, runs them
on random input. Results are compared with the tokenizer and numpy.
"""

import argparse
import contextlib
import importlib.util
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
SOURCES = {"_words": "encoders/static", "_rows": "training/engine", "_windows": "metrics"}
FLAGS = (
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    *("-g", "-O1", "-fno-math-errno", "-shared", "-fPIC"),
)
FAULT_STATUS = 99
ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz     ",
    "ABCabc.,'!? \t\n\r\x0b\x00\x7f\x1f",
    "éÉßıİſ\u0301\u200b\ufeff\u2581\u00a0\u3000 aB",
    "猫\u0928\u0915\U0001f41d\U0010ffff\U000f0061 \u0430\u0431",
    "".join(map(chr, range(256))),
]
BROKEN = ["\ud800", "\udfff", "\udc80\ud83d"]  # not encodable as UTF-8


def build(compiler, folder):
    """Compile the modules with sanitizers. Return the sanitizers' library, None if not found."""
    include = f"-I{sysconfig.get_path('include')}"
    for name, part in SOURCES.items():
        source = ROOT / "src" / "paraphrastic_hf" / part / f"{name}.c"
        target = folder / f"{name}.abi3.so"
        command = [compiler, *FLAGS, include, str(source), "-o", str(target), "-lm"]
        subprocess.run(command, check=True)
    for name in ("libasan.so", "libclang_rt.asan-x86_64.so"):
        asked = [compiler, f"-print-file-name={name}"]
        path = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
        if Path(path).is_file():
            return path
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="total time of the fuzzing")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        fuzz(Path(arguments.inside), arguments.seed, arguments.seconds)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        compiler = os.environ.get("CC", "gcc")
        library = build(compiler, Path(temporary))
        if library is None:
            print(f"skipped: {compiler} has no address sanitizer. Set CC to another compiler")
            return 0
        environment = {
            **os.environ,
            "LD_PRELOAD": library,
            # the interpreter frees no memory at exit, so leaks are not detected
            "ASAN_OPTIONS": f"detect_leaks=0:exitcode={FAULT_STATUS}:allocator_may_return_null=1",
            "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:exitcode={FAULT_STATUS}",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        }
        rest = ["--seed", str(arguments.seed), "--seconds", str(arguments.seconds)]
        command = [sys.executable, "-m", "tests.robustness.sanitized", "--inside", temporary]
        print(f"{compiler} {FLAGS[0]}, seed {arguments.seed}", flush=True)
        code = subprocess.run([*command, *rest], env=environment).returncode
    print("faults found by the sanitizers: 0" if code == 0 else f"FAILED: exit status {code}")
    return code


def load(folder):
    """Import the sanitized modules under the names that the package uses."""
    modules = []
    for name, part in SOURCES.items():
        full = f"paraphrastic_hf.{part.replace('/', '.')}.{name}"
        spec = importlib.util.spec_from_file_location(full, folder / f"{name}.abi3.so")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[full] = module
        modules.append(module)
    return modules


def fuzz(folder, seed, seconds):
    """Run every part for a share of the time, at least one round, and print the counts."""
    words, rows, windows = load(folder)
    from paraphrastic_hf.encoders.static import engine as static
    from paraphrastic_hf.encoders.storage.packing import packed
    from paraphrastic_hf.text.word import WordTokenizer

    assert static.WordTable is words.WordTable
    from paraphrastic_hf.encoders.storage.locate import packaged_model
    from paraphrastic_hf.text.load import load_tokenizer

    static.FEW_TEXTS, static.TEXTS_AT_A_TIME, static.MANY_WORDS = 3, 8, 50
    numbers = np.random.default_rng(seed)
    tokenizers: list[Any] = [
        load_tokenizer(packaged_model("english")),
        WordTokenizer(["the", "cat", "é", "a" * 60, "猫"], keep_unknown=True),
        WordTokenizer(["The", "cat", "x" * 16, "x" * 17], lowercase=False),
    ]
    for tokenizer in tokenizers:
        tokenizer.num_threads = 1
    encoders = []
    for tokenizer in tokenizers:
        exact = numbers.normal(size=(tokenizer.vocab_size, 19)).astype(np.float32)
        exact = (exact.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)  # bfloat16 fits
        tables = {name: packed(exact, name) for name in ("float32", "bfloat16", "int8", "int4")}
        encoders.append((tokenizer, static.StaticEncoder(tokenizer, num_threads=3), exact, tables))
    parts: dict[str, tuple[float, Callable[[random.Random], int]]] = {
        "texts": (0.4, lambda choice: texts(choice, encoders)),
        "Arrow texts": (0.1, lambda choice: arrow_texts(choice, encoders)),
        "texts in threads": (0.1, lambda choice: threads(choice, encoders)),
        "forks": (0.1, lambda choice: forks(choice, encoders)),
        "wrong arguments": (0.1, lambda choice: wrong_arguments(choice, words, rows, windows)),
        "windows": (0.1, lambda choice: window_pairs(choice, windows)),
        "rows of Adam": (0.1, lambda choice: adam(choice, rows)),
    }
    for name, (share, part) in parts.items():
        choice, count, rounds = random.Random(f"{seed} {name}"), 0, 0
        end = time.monotonic() + share * seconds
        while not rounds or time.monotonic() < end:
            count += part(choice)
            rounds += 1
        print(f"{name}: {count:,} in {rounds:,} rounds", flush=True)


def some_text(choice):
    """Return a random text with words around the length limits of the C code."""
    alphabet = choice.choice(ALPHABETS)
    kind = choice.random()
    if kind < 0.02:
        return choice.choice(BROKEN) + "a b"
    if kind < 0.05:
        return choice.choice(alphabet) * choice.choice([15, 16, 17, 47, 48, 49, 5000])
    if kind < 0.1:
        return " ".join("w" + str(choice.randrange(100_000)) for _ in range(40))
    return "".join(choice.choices(alphabet, k=choice.randrange(60)))


def expected(tokenizer, texts, table):
    """Return the mean vectors computed with the tokenizer and numpy."""
    from paraphrastic_hf.text.normalize import valid_unicode

    ids = tokenizer.encode_batch([valid_unicode(text) for text in texts])
    means = np.zeros((len(texts), table.shape[1]))
    for i, (start, stop) in enumerate(zip(ids.offsets[:-1], ids.offsets[1:], strict=True)):
        if stop > start:
            means[i] = table[ids.ids[start:stop]].astype(np.float64).mean(0)
    return means


def texts(choice, encoders):
    """Compare random texts with `expected`, for one encoder and one precision."""
    tokenizer, encoder, exact, tables = choice.choice(encoders)
    batch = [some_text(choice) for _ in range(choice.choice([1, 2, 3, 40, 400]))]
    form = choice.choice(list(tables))
    counts = np.empty(len(batch), np.int32)
    vectors = encoder.encode(batch, tables[form], tokens=counts)
    assert np.isfinite(vectors).all()
    assert encoder.encode(batch, tables[form], normalize_embeddings=True).shape == vectors.shape
    is_exact = form in ("float32", "bfloat16")
    if is_exact and choice.random() < 0.25:  # `expected` is slow
        np.testing.assert_allclose(vectors, expected(tokenizer, batch, exact), atol=1e-4)
    return len(batch)


def arrow_texts(choice, encoders):
    """Compare random bytes in Arrow's layout with the texts that they are read as."""
    from paraphrastic_hf.encoders.vectors import rounded

    _, encoder, exact, tables = choice.choice(encoders)
    raw = [some_text(choice).encode("utf-8", "replace") for _ in range(choice.choice([1, 3, 200]))]
    for i in range(0, len(raw), 3):  # invalid UTF-8
        at = choice.randrange(len(raw[i]) + 1)
        raw[i] = raw[i][:at] + choice.randbytes(choice.randrange(5)) + raw[i][at + 1 :]
    data = b"".join(raw)
    offsets = np.cumsum([0, *map(len, raw)])
    dtype = choice.choice(["float32", "float16", "int8"])
    output = np.empty((len(raw), exact.shape[1]), dtype)
    numbers = choice.choice(list(tables.values()))
    encoder.encode_arrow(offsets, data, numbers, output)
    vectors = encoder.encode([text.decode("utf-8", "replace") for text in raw], numbers)
    np.testing.assert_array_equal(output, rounded(vectors, dtype))
    wrong = offsets.copy()
    wrong[choice.randrange(len(wrong))] = choice.choice([-1, 2**40, 2**63 - 1, -(2**63)])
    with contextlib.suppress(ValueError):
        encoder.encode_arrow(wrong, data, numbers, output)
    return len(raw)


def threads(choice, encoders):
    """Encode in six threads that share one growing word table."""
    from paraphrastic_hf.encoders.static.engine import StaticEncoder

    tokenizer, _, exact, _ = choice.choice(encoders)
    shared = StaticEncoder(tokenizer, num_threads=3)
    batches = [[some_text(choice) for _ in range(60)] for _ in range(6)]
    found = {}

    def work(number):
        found[number] = shared.encode(batches[number], exact)

    running = [threading.Thread(target=work, args=(number,)) for number in range(len(batches))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    for number, batch in enumerate(batches):
        np.testing.assert_allclose(found[number], expected(tokenizer, batch, exact), atol=1e-4)
    return sum(map(len, batches))


def forks(choice, encoders):
    """Encode in forks while another thread encodes."""
    tokenizer, encoder, exact, _ = choice.choice(encoders[1:])
    batch = [some_text(choice) for _ in range(60)]
    wanted = expected(tokenizer, batch, exact)
    other = threading.Thread(target=lambda: encoder.encode(batch * 20, exact))
    other.start()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            good = np.allclose(encoder.encode(batch, exact), wanted, atol=1e-4)
            os._exit(0 if good else 1)
        children.append(child)
    other.join()
    for child in children:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code == 0, f"a fork ended with {code}"
    return len(children)


ODD: list[Any] = [
    *(None, "", "a", b"a", 0, -1, 2**31, 2**63, -(2**63), 1.5, [], ["a"], ["a", None], object()),
    *(np.empty(0, np.int32), np.int32([0, 1]), np.int32([-1]), np.int32([2**31 - 1])),
    *(np.int64([1]), np.int64([-1]), np.int64([2**62]), np.int64([1, 0]), np.int64([0, 1, 3])),
    *(np.int64([0, -1, 2**62]), np.int64([0, 3]), np.int64([]), np.zeros((2, 4), np.float16)),
    *(np.float32([1]), np.float32([np.nan, -np.inf]), np.zeros((3, 4), np.float32)),
    *(np.zeros((1, 4), np.float32), np.zeros((0, 4), np.float32), np.zeros((3, 0), np.float32)),
    *(np.zeros((3, 4), np.int8), np.zeros((3, 4), np.uint16), np.zeros((3, 4)).T[::2]),
    *(np.zeros(3), np.float64([0, 0.5]), np.zeros((2, 3, 4), np.float32), np.zeros(5, np.int8)),
    *(np.zeros((3, 4), np.uint8), np.zeros((3, 6), np.uint8)),
    *(["a"] * 3, ["\ud800"], [""], ["a", "b"], ["\u2581", "a"], ["", "", "a"]),
]


REFUSALS = (TypeError, ValueError, OverflowError, IndexError, MemoryError, BufferError)


def wrong_arguments(choice, words, rows, windows):
    """Call functions with random arguments, which must give a result or an error."""
    table = words.WordTable(lowercase=choice.random() < 0.5)
    table.add(["a", "b"], np.int32([1, 1]), np.int32([0, choice.choice([0, 2, 99, -5])]))
    block = table.block()
    good = np.zeros((3, 4), np.float32)
    functions: list[tuple[Callable[..., Any], int]] = [
        (table.add, 3),
        (table.cut_with, 3),
        (block.mean, 6),
        (block.mean, 7),
        (block.answer, 6),
        (block.mean_arrow, 7),
        (block.answer_arrow, 7),
        (block.learn, 2),
        (words.average, 5),
        (rows.catch_up, 10),
        (rows.update, 11),
        (windows.match, 10),
        (lambda *_: block.asked(), 0),
        (lambda *_: block.words(), 0),
        (lambda *_: (len(block), len(table)), 0),
        (lambda *given: block.mean(["a", "x b"], 0, 2, *given), 3),
        (lambda *given: block.mean_arrow(np.int64([0, 1, 4]), b"ax b", 0, 2, *given), 3),
        (lambda *given: block.mean_arrow(*given, good, np.zeros((2, 4), np.float16), True), 4),
        (lambda *given: block.answer_arrow(np.int64([0, 1, 4]), b"ax b", *given), 5),
        (lambda *given: words.average(*given, good, np.zeros((1, 4), np.float32), False), 2),
    ]
    calls = 0
    for _ in range(300):
        function, count = choice.choice(functions)
        given = [
            item.copy() if isinstance(item, np.ndarray) else item
            for item in choice.choices(ODD, k=count)
        ]
        with contextlib.suppress(*REFUSALS):
            function(*given)
        calls += 1
    return calls


def window_pairs(choice, module):
    """Compare SIM by windows of random texts with numpy."""
    from paraphrastic_hf.metrics.windows import match_in_numpy
    from paraphrastic_hf.text.ragged import Ragged

    numbers = np.random.default_rng(choice.randrange(2**32))
    dim = choice.choice([1, 3, 16, 31, 32, 33, 64])
    rows = numbers.normal(size=(9, dim)).astype(np.float32) + np.float32(0.5)
    rows[0] = 0
    lengths = numbers.integers(0, choice.choice([2, 7, 40]), 12)
    texts = Ragged.from_lists([numbers.integers(0, 9, n).tolist() for n in lengths])
    own, other = numbers.integers(0, 12, (2, 30))
    settings = (
        choice.randrange(5),
        choice.choice([1, 5, 100]),
        choice.choice([0.0, 0.2]),
        choice.choice([0.0, 0.02]),
    )
    scores, expected = np.full(30, np.nan), np.full(30, np.nan)
    module.match(rows, texts.ids, texts.offsets, own, other, scores, *settings)
    match_in_numpy(rows, texts.ids, texts.offsets, own, other, expected, *settings)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    return len(own)


def adam(choice, module):
    """Run steps of Adam on random rows, whose results the tests of training compare with torch."""
    count, dim = choice.choice([1, 2, 7, 40]), choice.choice([1, 3, 16, 17, 64])
    numbers = np.random.default_rng(choice.randrange(2**32))
    tables = [numbers.random((count, dim), np.float32) for _ in range(3)]
    last, steps = np.zeros(count, np.int64), np.arange(4)
    used = np.sort(numbers.choice(count, choice.randrange(count) + 1, replace=False))
    values = numbers.normal(size=(len(used), dim)).astype(np.float32)
    module.update(*tables, last, used, values, 1, 0.01, 0.9, 0.999, 1e-8)
    decays = [np.float32(0.9**steps), np.float32(0.999**steps)]
    module.catch_up(*tables, last, np.repeat(used, 2), 3, steps * 0.01, *decays, 1e-8)
    assert all(np.isfinite(table).all() for table in tables)
    return len(used)


if __name__ == "__main__":
    sys.exit(main())
