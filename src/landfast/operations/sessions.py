"""Sessions of people who signed in at an identity provider: which are open, and the end of one.

The operator log is their register. A line is written before each begins, and before somebody ends one, so that there is
no second place that could know otherwise. A session lasts for hours, so what has to be read of the log is short.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from landfast.domain.operator_log import Action, Line
from landfast.operations.operator_log import audited, latest
from landfast.ports.operator_log import OperatorLog

LONGEST = timedelta(hours=12)
"""A working day: no setting makes one longer."""

READ_AT_MOST = 10_000
"""Sign-ins of twelve hours: of a thousand people ten each."""


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    who: str
    role: str
    host: str
    began_at: datetime
    until: datetime


async def open_sessions(log: OperatorLog, *, now: datetime) -> list[Session]:
    """Newest first."""
    began = await latest(log, limit=READ_AT_MOST, since=now - LONGEST, action=Action.SIGN_IN)
    ended = await latest(log, limit=READ_AT_MOST, since=now - LONGEST, action=Action.SIGN_OUT)
    over = {ended_by(one.asked) for one in ended}
    found = [_session(one.asked) for one in began]
    return [one for one in found if one is not None and one.until > now and one.id not in over]


async def end(log: OperatorLog, session: str, *, who: str, why: str, now: datetime) -> Session | None:
    """None where none is open that is called so."""
    found = next((one for one in await open_sessions(log, now=now) if one.id == session), None)
    if found is None:
        return None
    # It is ended by the line that asks: dead before it, nothing has happened. After it, every process reads it.
    what = {"session": found.id, "of": found.who}
    async with audited(log, Action.SIGN_OUT, who=who, why=why, what=what) as audit:
        audit.counted(1)
    return found


def ended_by(line: Line) -> str | None:
    """The session that this line ended."""
    if line.entry.action != Action.SIGN_OUT or line.entry.of is not None:
        return None
    return str(_what(line).get("session", ""))


def _session(line: Line) -> Session | None:
    what = _what(line)
    if "session" not in what:
        return None
    until = datetime.fromtimestamp(int(what["until"]), UTC)
    return Session(what["session"], line.entry.who, what["role"], line.entry.host, line.at, until)


def _what(line: Line) -> Mapping[str, Any]:
    told: Mapping[str, Any] = json.loads(line.entry.what)
    return told
