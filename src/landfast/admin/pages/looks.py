"""Pages that are drawn again while somebody looks: once for all who look at the same address with the same role.

A script that refreshes its page says so by a header, and takes from the answer the parts that are live. Those have
nothing of who looks but the role, so the answer names nobody, and can be shared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from landfast.admin.access.guard import LOOK_HEADER
from landfast.admin.live import Live
from landfast.admin.pages.ask import Ask
from landfast.ports.clock import Clock

KEPT_SHARE = 0.75
"""Of that, or of a beat where those come more often: the next look of the same browser finds something new."""

KEPT_AT_MOST = 50
"""Drawn pages. Fifty people who look at fifty addresses share little."""

KEPT_BYTES = 8 * 1024 * 1024
"""Of them all. Most have some 100 KB; that of an event with a long body has a megabyte."""

PACE_CHARACTERS = 6


@dataclass(slots=True)
class _Look:
    drawing: asyncio.Lock = field(default_factory=asyncio.Lock)
    drawn_at: float | None = None
    text: bytes = b""


@dataclass(slots=True)
class Looks:
    clock: Clock
    live: Live
    _kept: dict[tuple[str, ...], _Look] = field(default_factory=dict)

    async def get(self, ask: Ask, draw: Callable[[], Awaitable[Response]]) -> Response:
        """A page that could not be drawn whole is not kept: the next look tries again."""
        root = str(ask.request.scope.get("root_path", ""))
        name = (ask.operator.role, root, ask.request.url.path, ask.request.url.query, str(self.live.changes))
        if name not in self._kept and len(self._kept) >= KEPT_AT_MOST:
            self._kept.clear()
        look = self._kept.setdefault(name, _Look())
        async with look.drawing:
            if look.drawn_at is None or self.clock.monotonic() - look.drawn_at >= self._seconds(ask.request):
                response = await draw()
                if response.status_code != 200:
                    return response
                look.text, look.drawn_at = bytes(response.body), self.clock.monotonic()
                if sum(len(each.text) for each in self._kept.values()) > KEPT_BYTES:
                    self._kept = {name: look}
            return HTMLResponse(look.text, headers={"cache-control": "no-store"})

    def _seconds(self, request: Request) -> float:
        pace = request.headers[LOOK_HEADER]
        is_number = pace.isascii() and pace.isdigit() and len(pace) <= PACE_CHARACTERS
        return min(int(pace) / 1000 if is_number else 0.0, self.live.beat_seconds) * KEPT_SHARE
