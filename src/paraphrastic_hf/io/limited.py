from collections.abc import Awaitable, Callable
from typing import Any

MOST_BYTES = 4_000_000  # per request


class Limited:
    """ASGI app that rejects requests above a size limit with status 413, before reading them."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.exceptions import HTTPException  # installed with gradio

        read = 0

        async def read_on() -> Any:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MOST_BYTES:
                raise HTTPException(413, f"A request may have at most {MOST_BYTES:,} bytes")
            return message

        await self.app(scope, read_on, send)


# for `launch(app_kwargs=SERVER)` of gradio
SERVER: dict[str, Any] = {"middleware": [(Limited, (), {})]}
