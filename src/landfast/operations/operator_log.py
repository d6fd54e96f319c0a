"""Write what an operator changes into the operator log, and check that log.

    async with audited(inbox, Action.PAUSE, who=operator(), why=why, what={"source": "stripe"}) as audit:
        await inbox.throw(...)
        audit.note(was_paused=False)

The line that asks is written before the body runs: if it cannot be, nothing is changed. Crash in the body, or before
the line that ends it: the log has a line that was asked and never ended, and `landfast audit list` says so.
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.ids import EventId, InboxId
from landfast.domain.operator_log import Action, Chain, Entry, Line, Step, ledger_name, mark_of
from landfast.ports.audit import Audited
from landfast.ports.operator_log import OperatorLog

EVENTS_NAMED = 100
"""Ids of events that a line names: enough to look at. How many there were is always told."""

WHAT_CHARACTERS = 20_000
"""Characters of a line's JSON: a hundred ids and a long filter have about 5,000."""

WHY_CHARACTERS = 2_000

READ_AT_ONCE = 1_000
"""Lines looked at in one statement: some milliseconds."""

LEAST_SEQ, MOST_SEQ = -(1 << 63), (1 << 63) - 1
"""Numbers that the column of a line's number takes, and so whoever puts one there by hand."""


class Audit:
    """What came of a change, as it goes on."""

    def __init__(self) -> None:
        self.count = 0
        self._events: list[str] = []
        self._facts: dict[str, Any] = {}

    def touched(self, events: Iterable[EventId], *, count: int | None = None) -> None:
        """These events were changed. The first hundred are named; `count` where not all of them were changed."""
        named = list(events)
        self.count += len(named) if count is None else count
        self._events += [event.hex() for event in named[: EVENTS_NAMED - len(self._events)]]

    def counted(self, count: int) -> None:
        """So many were changed, of which nobody knows the ids."""
        self.count += count

    def note(self, **facts: Any) -> None:
        """What else is worth knowing: values that JSON has, and times."""
        self._facts |= facts

    def result(self, error: BaseException | None) -> dict[str, Any]:
        told: dict[str, Any] = {"count": self.count, **self._facts}
        if self._events:
            told["events"] = self._events
        if error is not None:
            told["error"] = f"{type(error).__name__}: {error}"[:500] if str(error) else type(error).__name__
        return told


_ASKED_FROM: ContextVar[str] = ContextVar("landfast_asked_from", default="")


@contextmanager
def asked_from(host: str) -> Iterator[None]:
    """Around whatever is done for somebody at another machine: that is what the log says then."""
    before = _ASKED_FROM.set(host)
    try:
        yield
    finally:
        _ASKED_FROM.reset(before)


@asynccontextmanager
async def audited(
    log: OperatorLog,
    action: Action,
    *,
    who: str,
    why: str = "",
    what: Mapping[str, Any] = MappingProxyType({}),
    host: str | None = None,
) -> AsyncIterator[Audit]:
    """Around everything that an operator changes. `what` is what was asked for: a filter, a name, an option. `host` is
    where it was asked from; what `asked_from` says, or this machine, unless it is said."""
    where = host or _ASKED_FROM.get() or socket.gethostname()
    told = why[:WHY_CHARACTERS]
    asked = await log.add_to_operator_log(Entry(action, Step.ASKED, who, where, told, _json(what)))
    audit = Audit()
    try:
        yield audit
    except BaseException as error:  # an interrupt, too, leaves a part of it done
        await _end(log, asked, Step.FAILED, audit.result(error))
        raise
    await _end(log, asked, Step.DONE, audit.result(None))


async def _end(log: OperatorLog, asked: Line, step: Step, result: Mapping[str, Any]) -> None:
    """What was changed is changed, whether or not the log can be told."""
    said = asked.entry
    try:
        await log.add_to_operator_log(Entry(said.action, step, said.who, said.host, "", _json(result), asked.seq))
    except StoreError as error:
        telemetry.warn("operator_log_not_ended", action=said.action, line=asked.seq, error=error)


@dataclass(frozen=True, slots=True)
class Verified:
    lines: int
    digest: bytes | None
    """Of the last line: write it down elsewhere, and give it to the next check as `expect`."""
    problem: str = ""
    """A sentence about the first line that is bad."""
    anchored: int | None = None
    """The newest line that the ledger knows; None where nobody asked it."""


async def verify(
    log: OperatorLog, *, ledger: Audited | None = None, inbox: InboxId | None = None, expect: bytes | None = None
) -> Verified:
    """Follow the whole chain, and compare it with what the ledger knows of it and with a digest that somebody kept."""
    end, key = await log.operator_log_end(), await log.operator_log_key()
    chain = Chain(key or b"", end)
    marks = [] if ledger is None or inbox is None else await ledger.audit_marks(ledger_name(inbox))
    anchored = marks[0].seq if marks else None
    known = {mark.seq: mark for mark in marks}
    is_expected, last = expect is None, None
    for stray in await log.operator_log(after=LEAST_SEQ, upto=0, limit=1):
        return Verified(0, None, f"line {stray.seq} was put there: the log begins with line 1", anchored)
    # Without an end, all there is: somebody has taken the end away. What is added while we read comes behind it.
    upto = MOST_SEQ if end is None else end.seq
    while lines := await log.operator_log(after=chain.seq, upto=upto, limit=READ_AT_ONCE):
        if key is None:
            return Verified(0, None, "line 1 cannot be checked: the key of the log is gone with its end", anchored)
        if problem := chain.follow(lines):
            return Verified(chain.seq, last, problem, anchored)
        for line in lines:
            if known.get(line.seq, mark_of(line)) != mark_of(line):
                return Verified(line.seq, last, f"line {line.seq} is another one than the ledger knows", anchored)
            is_expected = is_expected or line.digest == expect
            last = line.digest
    problem = chain.ended() or await _behind_the_end(log, chain.seq)
    if not problem and anchored is not None and anchored > chain.seq:
        problem = f"line {chain.seq + 1} is missing: the ledger knows line {anchored}; the log was cut, or restored"
    if not problem and not is_expected:
        problem = f"no line has the digest that was expected: the log was cut or replaced, and ends at line {chain.seq}"
    return Verified(chain.seq, last, problem, anchored)


async def _behind_the_end(log: OperatorLog, seq: int) -> str:
    """A sentence about the first line after `seq` that the log did not grow by. Whoever adds one moves the end with it:
    so the lines are read first, and an end that is read later is never before any of them."""
    while lines := await log.operator_log(after=seq, upto=MOST_SEQ, limit=READ_AT_ONCE):
        end = await log.operator_log_end()
        last = 0 if end is None else end.seq
        for line in lines:
            if line.seq > last:
                return f"line {line.seq} was put there: the log ends with line {last}"
        seq = lines[-1].seq
    return ""


async def anchor(log: OperatorLog, ledger: Audited, inbox: InboxId) -> Line | None:
    """Have the ledger know the line that the log ends with; that line, if it is news. Never in the place of what it
    knows already: a log that was cut would look whole again. Nor one that stands behind the end: that is nobody's."""
    end = await log.operator_log_end()
    if end is None:
        return None
    name = ledger_name(inbox)
    known = next(iter(await ledger.audit_marks(name)), None)
    if known == mark_of(end):
        return None
    if known is not None and not await _has(log, known.seq, known.nonce):
        telemetry.error("operator_log_cut", line=known.seq, fix="landfast audit verify")
        return None
    newest = next(iter(await log.operator_log(after=end.seq - 1, upto=end.seq, limit=1)), None)
    if newest is None or mark_of(newest) != mark_of(end):
        telemetry.error("operator_log_cut", line=end.seq, fix="landfast audit verify")
        return None
    # Crash before it: the next one does it.
    await ledger.set_audit_mark(name, mark_of(newest))
    return newest


async def accept(log: OperatorLog, ledger: Audited, inbox: InboxId, *, who: str, why: str) -> Verified:
    """Somebody says why the log is not what the ledger knew, after a restore, say. What was wrong is written into the
    log, and the ledger goes by it from then on. A chain that is broken in itself stays so."""
    found = await verify(log, ledger=ledger, inbox=inbox)
    async with audited(log, Action.ACCEPT, who=who, why=why, what={"problem": found.problem}):
        pass
    name = ledger_name(inbox)
    others = [mark.seq for mark in await ledger.audit_marks(name) if not await _has(log, mark.seq, mark.nonce)]
    if others:  # a mark takes those beyond it away, and one of line 1 the one that was known of it
        # A log that was put back may end long before them, and one that is broken may have no line there at all.
        for before in await log.latest_operations(limit=1, before=max(2, min(others))):
            await ledger.set_audit_mark(name, mark_of(before))
    (newest,) = await log.latest_operations(limit=1)
    await ledger.set_audit_mark(name, mark_of(newest))
    return await verify(log, ledger=ledger, inbox=inbox)


@dataclass(frozen=True, slots=True)
class Operation:
    """A change as people read it: the line that asked, and the line that ended it."""

    asked: Line
    ended: Line | None
    """None while it goes on, and for ever where whoever asked died."""


async def latest(
    log: OperatorLog, *, limit: int, since: datetime | None = None, action: str | None = None
) -> list[Operation]:
    """What was asked for, newest first, each with its end if it has one."""
    found: list[Operation] = []
    ends: dict[int, Line] = {}
    before: int | None = None
    # An end comes after its beginning, so whoever goes back in time has met it already.
    while len(found) < limit and (lines := await log.latest_operations(limit=READ_AT_ONCE, before=before, since=since)):
        before = lines[-1].seq
        for line in lines:
            if line.entry.of is not None:
                ends[line.entry.of] = line
            elif action in (None, line.entry.action):
                found.append(Operation(line, ends.pop(line.seq, None)))
    return found[:limit]


async def _has(log: OperatorLog, seq: int, nonce: bytes) -> bool:
    found = await log.operator_log(after=seq - 1, upto=seq, limit=1)
    return bool(found) and mark_of(found[0]).nonce == nonce


def _json(what: Mapping[str, Any]) -> str:
    text = json.dumps(dict(what), default=_plain, ensure_ascii=True)
    return text if len(text) <= WHAT_CHARACTERS else json.dumps({"cut": text[:WHAT_CHARACTERS]})


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
