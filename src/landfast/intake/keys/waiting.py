"""A request that waits for a key which its provider publishes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from landfast.domain.errors import OverloadedError
from landfast.intake.keys.published_keys import FETCH_SECONDS

if TYPE_CHECKING:
    from landfast.intake.receive import Admitted, Answered, Intake


class WaitingForKey:
    """A request whose signature names a key that is being fetched."""

    def __init__(self, intake: Intake, admitted: Admitted, body: bytes, answered: Answered) -> None:
        self._intake = intake
        self._admitted = admitted
        self._body = body
        self._answered = answered
        self._is_over = False
        self._overloaded: OverloadedError | None = None
        """Why it is refused even if the key comes: its bytes are gone."""
        self.deadline = intake.monotonic() + FETCH_SECONDS

    def go_on(self, error: Exception | None) -> None:
        """The key is there, or it is not to be had."""
        name = self._admitted.source.name
        self._intake.unproven.hold(self, name, 0)
        if self._is_over:
            return
        self._is_over = True
        error = error or self._overloaded
        if error is None:
            body = self._body
            given = self._intake.large.receive(self._admitted, lambda: body, len(body), self._answered)
        else:
            given = self._intake.refuse(name, error)
        if given is not None:
            self._answered(given)

    def give_way(self) -> None:
        self._body = b""
        self._overloaded = OverloadedError("its bytes were needed")
        # A moment later: this may be the very request that is being received.
        asyncio.get_running_loop().call_soon(self.go_on, self._overloaded)
