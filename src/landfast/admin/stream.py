"""`/api/stream`: what is going on, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from landfast.admin.access.guard import Access, require
from landfast.admin.problems import AdminError, answer_of
from landfast.admin.pulse import STREAM_SECONDS, Pulse
from landfast.domain.access import Role
from landfast.domain.errors import StoreError

AGAIN = b"retry: 2000\n\n"
"""Milliseconds after which a browser whose stream has ended comes again."""


def stream(pulse: Pulse, access: Access) -> Callable[[Request], Awaitable[Response]]:
    async def may_listen(request: Request) -> bool:
        """Before each message: a token that is revoked or has expired ends its streams with it."""
        try:
            return await access.operator(request) is not None
        except AdminError:
            return False
        except StoreError:
            return True  # what it is told now is that the inbox is away

    async def streamed(request: Request) -> Response:
        try:
            only_beats = _only_beats(request)
            listening = pulse.listening(require(request, Role.VIEWER).name, only_beats=only_beats)
            queue = await listening.__aenter__()
        except AdminError as error:
            return answer_of(error)

        async def messages() -> AsyncIterator[bytes]:
            try:
                yield AGAIN
                end = asyncio.get_running_loop().time() + STREAM_SECONDS
                while (rest := end - asyncio.get_running_loop().time()) > 0:
                    message = await asyncio.wait_for(queue.get(), rest)
                    if message is None or not await may_listen(request):
                        return
                    yield message
            except TimeoutError:
                return
            finally:
                await listening.__aexit__(None, None, None)

        return StreamingResponse(messages(), media_type="text/event-stream")

    return streamed


def _only_beats(request: Request) -> bool:
    only = request.query_params.get("only", "")
    if only not in {"", "beats"}:
        raise AdminError(f"only: there is no {only[:40]!r}; it is beats, or left out")
    return only == "beats"
