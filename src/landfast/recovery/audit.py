"""The audit: each event that is done, against the ledger, and where it was proven to.

What was proven cannot change while neither database is restored: receipts are never deleted, and lines of history are
only added. So the audit leaves a mark, the same in both databases, and goes on from the newest one that both know. A
mark never passes an event that is not proven, nor a line that may still appear.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from landfast.domain.audit import Mark
from landfast.domain.ids import InboxId
from landfast.ports.audit import Auditable, Audited
from landfast.ports.clock import Chance
from landfast.ports.ledger import Ledger
from landfast.recovery.receipts import ask_ledger

LINES_AT_ONCE = 2_000
"""Lines of history in one question: some 20 ms in each database."""

LINES_PER_MARK = 100_000
"""Lines after which a long walk leaves a mark: that much is walked again if it is interrupted."""

WORTH_A_MARK = 1_000
"""Lines that are worth a mark at the end. Fewer are asked for again, in milliseconds, and cost no COMMIT."""

EXAMPLES = 10
"""Events named in a failing proof: enough to start looking."""


@dataclass(frozen=True, slots=True)
class Audit:
    began_at: int = 0
    """The mark that it went on from; 0 is the beginning."""
    walked_to: int = 0
    looked_at: int = 0
    """Done events that were asked for."""
    lacking: int = 0
    unproven: tuple[str, ...] = ()
    """Some of them, by source and key."""
    doubled: int = 0
    proven: int = 0
    """Up to this line every event has its receipts, and no line can appear any more."""


Report = Callable[[int, int], None]
"""Hears how far of how much it is."""

Rest = Callable[[], Awaitable[None]]
"""What is waited for between two questions."""


def nobody(_walked: int, _newest: int) -> None: ...


async def at_once() -> None: ...


async def audit(
    inbox: Auditable,
    ledger: Ledger,
    *,
    identity: InboxId,
    chance: Chance,
    full: bool = False,
    report: Report = nobody,
    rest: Rest = at_once,
) -> Audit:
    """From the newest mark that both know, or from the beginning."""
    marks = await inbox.audit_marks(identity)
    seen = marks[0] if marks else None
    at = began_at = 0 if full else await _newest_common(marks, ledger, identity)
    newest = await inbox.newest_line()
    complete = min(newest, await inbox.complete_to())
    looked_at = lacking = doubled = 0
    unproven: list[str] = []
    proven = marked = began_at
    is_marked_back = False
    while at < newest:
        upto = min(at + LINES_AT_ONCE, newest)
        lines = await inbox.finished(after=at, upto=upto)
        found = await ask_ledger(ledger, identity, lines) if lines else None
        if found is not None:
            looked_at, lacking, doubled = looked_at + len(lines), lacking + len(found.lacking), doubled + found.doubled
            unproven += [f"{event.source}/{event.key}" for event in found.lacking[: EXAMPLES - len(unproven)]]
            if full and (found.lacking or found.doubled) and not is_marked_back:
                # Marks beyond this are forgotten, or the next proof would begin after what this one has found.
                is_marked_back = True
                marked, seen = proven, Mark(proven, chance.bytes(8))
                await inbox.set_audit_mark(identity, seen)
                await ledger.set_audit_mark(identity, seen)
        at = upto
        if not lacking and not doubled:
            proven = max(proven, min(at, complete))
        if proven - marked >= (LINES_PER_MARK if at < newest else WORTH_A_MARK):
            marked, mark = proven, Mark(proven, chance.bytes(8))
            # The inbox's COMMIT first: it makes the lines durable that the mark speaks of. Crash between the two: the
            # next audit begins at the mark before. A full proof beside this one may have gone back to a place before a
            # loss that we did not see yet. Our mark would hide that loss, so the inbox refuses it.
            if await inbox.move_audit_mark(identity, mark, seen=seen):
                seen = mark
                await ledger.set_audit_mark(identity, mark)
        report(at - began_at, newest - began_at)
        if at < newest:
            await rest()
    return Audit(began_at, at, looked_at, lacking, tuple(unproven), doubled, proven)


async def _newest_common(marks: Sequence[Mark], ledger: Audited, identity: InboxId) -> int:
    """One that only one of them knows was made in a life that the other has lost."""
    known = frozenset(await ledger.audit_marks(identity))
    return next((mark.seq for mark in marks if mark in known), 0)
