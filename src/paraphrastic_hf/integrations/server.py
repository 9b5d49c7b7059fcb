"""HTTP server of one encoder, with the routes that clients of OpenAI, Cohere and Jina call.

POST `/v1/embeddings` is OpenAI's, and POST `/v1/rerank` and `/v2/rerank` are Cohere's. GET routes
are `/v1/models`, `/v1/models/NAME`, `/health` and `/metrics`. Errors are JSON in OpenAI's form.
"""

import base64
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import numpy as np
import orjson
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram
from prometheus_client import generate_latest as metrics_text
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from paraphrastic_hf.encoders.encoder import SentenceEncoder

MAX_TEXTS = 2048  # texts per request, OpenAI's limit
MAX_BYTES = 8_000_000
MAX_SECONDS = 60.0  # time limit for receiving a request body
SMALL = 4096  # requests of fewer bytes are encoded without starting another thread, which is faster


class Answers:
    """Answers of an encoder to requests, without HTTP."""

    def __init__(self, encoder: SentenceEncoder, registry: CollectorRegistry) -> None:
        self.encoder = encoder
        self.name = encoder.name or "encoder"
        self._texts = Counter("paraphrastic_texts", "Texts encoded", registry=registry)
        self._tokens = Counter("paraphrastic_tokens", "Tokens of these texts", registry=registry)

    def embeddings(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of `/v1/embeddings`."""
        texts = request.get("input")
        texts = _texts([texts] if isinstance(texts, str) else texts, "input")
        width = request.get("dimensions")
        most = self.encoder.dimension
        if width is not None and not (type(width) is int and 1 <= width <= most):
            raise _refusal("dimensions", f"must be from 1 to {most}, got {width!r}")
        form = request.get("encoding_format")
        if form not in (None, "float", "base64"):
            raise _refusal("encoding_format", f"must be float or base64, got {form!r}")
        vectors, tokens = self._encode(request, texts, width)
        rows: Any = vectors
        if form == "base64":
            rows = [base64.b64encode(row).decode() for row in vectors.astype("<f4", copy=False)]
        return {
            "object": "list",
            "model": self.name,
            "data": [
                {"object": "embedding", "index": index, "embedding": row}
                for index, row in enumerate(rows)
            ],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    def rerank(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of `/v1/rerank`: documents by cosine with the query, best first."""
        query, documents, most = (request.get(key) for key in ("query", "documents", "top_n"))
        if not isinstance(query, str):
            raise _refusal("query", "must be a text")
        if isinstance(documents, list):
            documents = [each.get("text") if isinstance(each, dict) else each for each in documents]
        documents = _texts(documents, "documents")
        if most is not None and not (type(most) is int and most >= 1):
            raise _refusal("top_n", f"must be a positive integer, got {most!r}")
        vectors, tokens = self._encode(request, [query, *documents])
        scores = vectors[1:] @ vectors[0]
        results: list[dict[str, Any]] = [
            {"index": int(index), "relevance_score": float(scores[index])}
            for index in np.argsort(-scores, kind="stable")[:most]
        ]
        if request.get("return_documents"):
            for each in results:
                each["document"] = {"text": documents[each["index"]]}
        return {"model": self.name, "results": results, "usage": {"total_tokens": tokens}}

    def models(self) -> dict[str, Any]:
        """Return the answer of `/v1/models`."""
        return {"object": "list", "data": [self.model(self.name)]}

    def model(self, name: str) -> dict[str, Any]:
        """Return the answer of `/v1/models/NAME`."""
        self._check_name(name)
        return {"id": self.name, "object": "model", "created": 0, "owned_by": "paraphrastic"}

    def _encode(
        self, request: dict[str, Any], texts: list[str], width: int | None = None
    ) -> tuple[np.ndarray, int]:
        self._check_name(request.get("model"))
        vectors = self.encoder.encode(texts, truncate_dim=width, normalize_embeddings=True)
        tokens = self.encoder.tokenizer.encode_batch(texts).ids.size
        self._texts.inc(len(texts))
        self._tokens.inc(tokens)
        return np.ascontiguousarray(vectors), tokens

    def _check_name(self, name: Any) -> None:
        if name not in (None, self.name):
            message = f"{name!r} is not served here. This server has {self.name!r}"
            raise _refusal("model", message, status=404)


def _texts(texts: Any, key: str) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _refusal(key, "must be texts. Token ids are not supported")
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise _refusal(key, f"must have 1 to {MAX_TEXTS} texts, got {len(texts)}")
    return texts


def _refusal(key: str, message: str, status: int = 400) -> HTTPException:
    return HTTPException(status, f"{key}: {message}")


def make_app(encoder: SentenceEncoder, *, max_bytes: int = MAX_BYTES) -> Starlette:
    """Return the ASGI application of a server that refuses bodies above `max_bytes`."""
    registry = CollectorRegistry()
    answers = Answers(encoder, registry)
    seconds = Histogram(
        "paraphrastic_request_seconds",
        "Time to answer a request",
        ["path", "status"],
        registry=registry,
        buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
    )
    one_at_a_time = anyio.CapacityLimiter(1)  # large requests use all cores

    def post(path: str, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Route:
        def respond(body: bytes) -> Response:
            return _json(answer(_parsed(body)))

        async def endpoint(request: Request) -> Response:
            start, status = time.perf_counter(), 500
            try:
                body = await _body(request, max_bytes)
                if len(body) <= SMALL:
                    response = respond(body)
                else:
                    response = await anyio.to_thread.run_sync(respond, body, limiter=one_at_a_time)
                status = response.status_code
            except HTTPException as error:
                status = error.status_code
                raise
            finally:
                seconds.labels(path, status).observe(time.perf_counter() - start)
            return response

        return Route(path, endpoint, methods=["POST"])

    def get(path: str, answer: Callable[..., Response]) -> Route:
        async def endpoint(request: Request) -> Response:
            return answer(**request.path_params)

        return Route(path, endpoint)

    return Starlette(
        routes=[
            post("/v1/embeddings", answers.embeddings),
            post("/v1/rerank", answers.rerank),
            post("/v2/rerank", answers.rerank),
            get("/v1/models", lambda: _json(answers.models())),
            get("/v1/models/{name:path}", lambda name: _json(answers.model(name))),
            get("/health", lambda: _json({"status": "ok"})),
            get(
                "/metrics", lambda: Response(metrics_text(registry), 200, None, CONTENT_TYPE_LATEST)
            ),
        ],
        exception_handlers={HTTPException: _error, 500: _error},
    )


async def _body(request: Request, limit: int) -> bytes:
    body = bytearray()
    try:
        with anyio.fail_after(MAX_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > limit:
                    message = f"The request has more than {limit:,} bytes. Send fewer texts"
                    raise HTTPException(413, message)
    except TimeoutError:
        message = f"The request did not arrive within {MAX_SECONDS:g} seconds"
        raise HTTPException(408, message, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(400, "The client left before its request was complete") from None
    return bytes(body)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HTTPException(400, f"The request is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise HTTPException(400, "The request must be a JSON object")
    return request


def _json(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(text, status, headers, "application/json")


async def _error(_: Request, error: Exception) -> Response:
    status, message, headers = 500, "Internal error", None
    if isinstance(error, HTTPException):
        status, message, headers = error.status_code, error.detail, error.headers
    kind = "invalid_request_error" if status < 500 else "server_error"
    return _json({"error": {"message": message, "type": kind, "code": status}}, status, headers)
