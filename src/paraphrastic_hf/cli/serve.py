"""`paraphrastic serve MODEL`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.options import MODEL
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.extras import require

EPILOG = """\
POST /v1/embeddings takes the requests of OpenAI's client, /v1/rerank those of Cohere's and Jina's.
GET /v1/models, /health and /metrics (Prometheus). Vectors have unit length. The server has no
passwords and no encryption, so put a proxy in front of it before you open it to a network.

examples:
  paraphrastic serve runs/mine --port 8080 --max-bytes 1000000"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("--host", "address to listen on", default="127.0.0.1")
    parser.option("--port", "port", default=8000, least=1)
    parser.option("--max-bytes", "maximum bytes of a request", default=8_000_000, least=1)


def run(arguments: argparse.Namespace) -> None:
    if arguments.port > 65_535:
        raise DataError(f"--port must be at most 65535, got {arguments.port}")
    require("serve", "starlette", "uvicorn", "orjson", "prometheus_client", what="serving")
    import uvicorn

    from paraphrastic_hf.encoders.encoder import SentenceEncoder
    from paraphrastic_hf.integrations.server import make_app

    app = make_app(SentenceEncoder.from_pretrained(arguments.model), max_bytes=arguments.max_bytes)
    config = uvicorn.Config(
        app, host=arguments.host, port=arguments.port, log_level="warning", access_log=False
    )
    listener = config.bind_socket()  # exits with an error if the port is in use
    print(f"http://{arguments.host}:{arguments.port} serves {arguments.model}", flush=True)
    uvicorn.Server(config).run([listener])
