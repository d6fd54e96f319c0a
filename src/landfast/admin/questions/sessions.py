"""Who is signed in by an identity provider."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered
from landfast.admin.route import Nothing
from landfast.operations import sessions as operations


class SessionView(Answered):
    session: str
    who: str
    role: str
    host: str
    began_at: datetime
    until: datetime


class Sessions(Answered):
    sessions: Sequence[SessionView]
    """Newest first."""


async def sessions(desk: Desk, _asked: Nothing) -> Sessions:
    """Sessions that are open, of people who signed in at the identity provider."""
    found = await operations.open_sessions(desk.archive, now=desk.now())
    return Sessions(
        sessions=[
            SessionView(
                session=one.id, who=one.who, role=one.role, host=one.host, began_at=one.began_at, until=one.until
            )
            for one in found
        ]
    )
