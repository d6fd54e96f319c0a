"""What the handler of one event is given: a session of its own on our transaction, and `tx`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from landfast.domain.errors import UserError
from landfast.domain.savepoints import OwnSavepoints
from landfast.ledgers.sqlalchemy.driving import Driving
from landfast.ledgers.sqlalchemy.joined import Joined
from landfast.ledgers.sqlalchemy.scoped import forget
from landfast.ledgers.sqlalchemy.target import Target
from landfast.ports.ledger import Transaction

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


FLUSHES_AT_MOST = 100
"""As SQLAlchemy has it at a commit."""


class SessionScope:
    """A Scope. The session is made when it is asked for: a handler that uses `tx` alone pays for none."""

    def __init__(self, joined: Joined, driving: Driving, target: Target, handle: Transaction) -> None:
        self._joined = joined
        self._driving = driving
        self._target = target
        self.handle = handle
        self._session: Any = None
        self._used: bool | None = None
        joined.fence.used = False
        joined.fence.savepoints = OwnSavepoints()
        joined.fence.is_up = True
        joined.fence.session = lambda: self.given("session")
        forget(target.scoped)

    @property
    def used(self) -> bool:
        if self._used is not None:
            return self._used
        return self._joined.fence.used or bool(getattr(self.handle, "used", False))

    def given(self, kind: str) -> Any:
        if kind == "session":
            if self._session is None:
                self._session = self._target.session_on(self._joined.connection)
            return self._session
        if kind == "connection":
            return self._target.shown(self._joined.connection)
        raise UserError(f"a ledger on SQLAlchemy has no {kind} to give; it has a session, a connection and tx")

    def before_others(self, sending: Callable[[], Coroutine[Any, Any, None] | None]) -> bool:
        def send() -> None:
            if (work := sending()) is not None:
                self._driving.inside(work)

        self._joined.fence.before_others = send
        return True

    @property
    def closes_at_once(self) -> bool:
        return self._session is None

    async def close(self) -> None:
        if self._session is None:
            self._joined.check()
        else:
            await self._driving.run(self._flush)
        self._used = self.used

    def _flush(self) -> None:
        """An error that shows only now is still this event's own."""
        session: Session = self._target.inner(self._session)
        self._joined.fence.check()
        _flush_all(session)
        self._joined.check()
        session.close()
        forget(self._target.scoped)


def _flush_all(session: Session) -> None:
    """Until nothing is left, as a commit of the session's own does: a hook of the user's may add more at each flush."""
    for _ in range(FLUSHES_AT_MOST):
        session.flush()
        if not (session.new or session.dirty or session.deleted):
            return
    raise UserError(
        f"after {FLUSHES_AT_MOST} flushes the handler's session still has something to write; a hook of yours"
        " (after_flush) adds more at each of them"
    )
