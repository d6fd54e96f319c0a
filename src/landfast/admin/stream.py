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

UNCHECKED_SECONDS = 60.0
"""For which somebody may listen on while the inbox is away, and nobody can say whether the token still counts."""


class Leave:
    """Of one who listens. Asked for before each message: a token that is revoked or has expired ends its streams."""

    def __init__(self, access: Access, request: Request) -> None:
        self._access = access
        self._request = request
        self._known_at = asyncio.get_running_loop().time()

    async def is_given(self) -> bool:
        try:
            operator = await self._access.operator(self._request)
        except AdminError:
            return False
        except StoreError:  # what it is told now is that the inbox is away
            return asyncio.get_running_loop().time() - self._known_at < UNCHECKED_SECONDS
        self._known_at = asyncio.get_running_loop().time()
        return operator is not None


def stream(pulse: Pulse, access: Access) -> Callable[[Request], Awaitable[Response]]:
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
                leave = Leave(access, request)
                end = asyncio.get_running_loop().time() + STREAM_SECONDS
                while (rest := end - asyncio.get_running_loop().time()) > 0:
                    message = await asyncio.wait_for(queue.get(), rest)
                    if message is None or not await leave.is_given():
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
