"""The end of a session."""

from __future__ import annotations

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Name, Why
from landfast.admin.problems import NothingThereError
from landfast.domain.access import Operator
from landfast.operations import sessions


class EndSession(Asked):
    session: Name
    why: Why = ""


class SessionEnded(Answered):
    who: str
    """Whose it was."""


async def end_session(desk: Desk, asked: EndSession, by: Operator) -> SessionEnded:
    """End a session of somebody who signed in at the identity provider. Every server knows it within two seconds; who
    still has a role there can sign in again."""
    ended = await sessions.end(desk.archive, asked.session, who=by.name, why=asked.why, now=desk.now())
    if ended is None:
        raise NothingThereError(f"no session is open that is called {asked.session!r}; see /api/sessions")
    return SessionEnded(who=ended.who)
