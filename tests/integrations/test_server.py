"""`paraphrastic serve` answers the clients of OpenAI and Cohere with the vectors of `encode`."""

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from tests.docs.test_readme import blocks
from tests.texts import SENTENCES

for package in ("starlette", "uvicorn", "orjson", "prometheus_client"):
    pytest.importorskip(package)
httpx = pytest.importorskip("httpx")

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "serve.md"
TEXTS = [*SENTENCES[:5], "", "zażółć gęślą jaźń 猫"]
ENCODER = SentenceEncoder.from_pretrained("tiny")
VECTORS = ENCODER.encode(TEXTS, normalize_embeddings=True)
# warnings of other libraries are not errors of ours
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def url():
    """Address of a server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = ["paraphrastic_hf.cli.main", "serve", "tiny", "--port", port, "--max-bytes", "50000"]
    process = subprocess.Popen([sys.executable, "-m", *command], env=os.environ)
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while True:
            try:
                assert httpx.get(f"{address}/health").status_code == 200
                break
            except httpx.TransportError:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def embeddings(url: str, **request: Any) -> Any:
    return httpx.post(f"{url}/v1/embeddings", json=request)


def test_the_openai_client(url):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    for form in ("float", "base64", openai.NOT_GIVEN):
        found = client.embeddings.create(model="tiny", input=TEXTS, encoding_format=form)
        vectors: list[Any] = [each.embedding for each in found.data]
        if form == "base64":
            vectors = [np.frombuffer(base64.b64decode(each), "<f4") for each in vectors]
        np.testing.assert_allclose(vectors, VECTORS, atol=1e-6)
        tokens = len(ENCODER.tokenizer.encode_batch(TEXTS).ids)
        assert found.usage.prompt_tokens == found.usage.total_tokens == tokens
    short = client.embeddings.create(model="tiny", input=TEXTS[0], dimensions=16).data[0]
    expected = ENCODER.encode(TEXTS[0], truncate_dim=16, normalize_embeddings=True)
    np.testing.assert_allclose(short.embedding, expected, atol=1e-6)
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"
    with pytest.raises(openai.NotFoundError, match="org/other"):
        client.models.retrieve("org/other")
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="other", input="a")
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="tiny", input=[1, 2])


def test_the_block_of_the_guide_runs(url):
    pytest.importorskip("openai")
    (block,) = [each for each in blocks(GUIDE.read_text("utf-8")) if each.language == "python"]
    text = block.text.replace("http://127.0.0.1:8000", url)
    text = text.replace("english", "tiny").replace("128", "64")  # tiny has 80 dimensions
    names: dict[str, Any] = {}
    exec(text, names)
    assert len(names["vector"]) == 64


def test_the_cohere_client(url):
    cohere = pytest.importorskip("cohere")
    client = cohere.ClientV2("none", base_url=url)
    found = client.rerank(model="tiny", query=TEXTS[2], documents=TEXTS, top_n=3).results
    cosines = VECTORS @ VECTORS[2]
    assert [each.index for each in found] == np.argsort(-cosines)[:3].tolist()
    assert found[0].index == 2
    np.testing.assert_allclose([each.relevance_score for each in found], np.sort(cosines)[:-4:-1])
    documents = [{"text": "bread"}, "a cat"]
    request = {"query": "a cat", "documents": documents, "return_documents": True}
    first, second = httpx.post(f"{url}/v1/rerank", json=request).json()["results"]
    assert (first["document"]["text"], second["document"]["text"]) == ("a cat", "bread")


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        ({}, "input"),
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": ["a", None]}, "input"),
        ({"input": [[1, 2]]}, "input"),
        ({"input": ["a"] * 2049}, "2048"),
        ({"input": "a", "dimensions": 0}, "dimensions"),
        ({"input": "a", "dimensions": True}, "dimensions"),
        ({"input": "a", "dimensions": 10**9}, "dimensions"),
        ({"input": "a", "encoding_format": "hex"}, "hex"),
        ({"input": "a", "encoding_format": []}, "[]"),
        ({"input": "a", "model": ["tiny"]}, "model"),
    ],
)
def test_a_wrong_value_is_named(url, request_, key):
    answer = embeddings(url, **request_)
    assert answer.status_code == (404 if "model" in request_ else 400)
    assert key in answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"input": "\\ud800"}', b"[" * 9999])
def test_what_is_not_a_json_object_is_refused(url, body):
    answer = httpx.post(f"{url}/v1/embeddings", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    for path, code in (("other", 404), ("embeddings", 405)):
        assert httpx.get(f"{url}/v1/{path}").json()["error"]["code"] == code


def test_a_large_request_is_refused_while_it_arrives(url):
    def parts() -> Iterator[bytes]:  # without a Content-Length
        for _ in range(60):
            yield b" " * 1000

    for body in (b" " * 50_001, parts()):
        answer = httpx.post(f"{url}/v1/embeddings", content=body)
        assert answer.status_code == 413
        assert "50,000" in answer.json()["error"]["message"]


def test_a_client_that_leaves_is_not_an_error_of_the_server():
    from starlette.types import Message

    from paraphrastic_hf.integrations.server import make_app

    async def leave() -> Message:
        return {"type": "http.disconnect"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/embeddings", "headers": []}
    asyncio.run(make_app(ENCODER)(scope, leave, send))
    assert sent[0]["status"] == 400


def test_a_body_that_does_not_arrive_is_refused(monkeypatch):
    from starlette.types import Message

    from paraphrastic_hf.integrations import server

    monkeypatch.setattr(server, "MAX_SECONDS", 0.05)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def drip() -> Message:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    scope = {"type": "http", "method": "POST", "path": "/v1/embeddings", "headers": []}
    asyncio.run(server.make_app(ENCODER)(scope, drip, send))
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["error"]["code"] == 408


def test_a_port_in_use_is_an_error(url):
    assert main(["serve", "tiny", "--port", url.rpartition(":")[2]]) == 2


def test_many_clients_get_their_own_vectors(url):
    null = dict.fromkeys(("model", "dimensions", "encoding_format"))  # the defaults

    def ask(number: int) -> bool:
        size = 1 + number % len(TEXTS)
        texts = [TEXTS[number % len(TEXTS)]] * (size if number % 5 else 500)
        data = embeddings(url, input=texts, **null).json()["data"]
        expected = VECTORS[number % len(TEXTS)]
        return all(np.allclose(each["embedding"], expected, atol=1e-6) for each in data)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(200)))


def test_metrics_count_texts_and_requests(url):
    def value(name: str) -> float:
        lines = httpx.get(f"{url}/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    texts, counts = "paraphrastic_texts_total", "paraphrastic_request_seconds_count"
    before = value(texts), value(counts)
    embeddings(url, input=TEXTS)
    embeddings(url, input=[])
    assert (value(texts), value(counts)) == (before[0] + len(TEXTS), before[1] + 2)
