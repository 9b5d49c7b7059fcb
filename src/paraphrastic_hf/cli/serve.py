"""`paraphrastic serve MODEL`."""

import argparse
import socket

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
    host, port = arguments.host, arguments.port
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise DataError(f"Cannot listen: {error.strerror}") from error
    print(f"http://{host}:{port} serves {arguments.model}", flush=True)
    uvicorn.Server(config).run([listener])
