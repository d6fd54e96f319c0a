"""Erase, as operators do: with a line in the operator log, and with the bytes gone from the files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from landfast.domain.filter import Filter
from landfast.domain.ids import InboxId
from landfast.domain.operator_log import Action
from landfast.domain.summary import EventSummary
from landfast.operations.operator_log import Audit, audited
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import Ledger
from landfast.recovery import erase as recovery
from landfast.recovery.erase import Report

_PERSONAL = re.compile(r'(?<!\S)((?:entity|message):)((?:"[^"]*"|\S)+)')
"""Terms of a filter, whose values may stand in quotes and have blanks then."""


async def erase_these(
    inbox: Inbox, ledger: Ledger, identity: InboxId, events: Sequence[EventSummary], *, who: str, why: str
) -> tuple[Report, bool]:
    """What was erased, and whether nothing of it is left in the files."""
    ids = [event.event_id for event in events]
    async with audited(inbox, Action.ERASE, who=who, why=why, what={"events": ids}) as audit:
        report = await recovery.erase_these(inbox, ledger, identity, events, who=who)
        _note(audit, report)
        await recovery.erase_again(inbox, ledger, identity)
        return report, await recovery.scrub(inbox, ledger)


async def erase_all(
    inbox: Inbox, ledger: Ledger, identity: InboxId, chosen: Filter, *, who: str, why: str, asked: str
) -> tuple[Report, bool]:
    """The same of all that match."""
    async with audited(inbox, Action.ERASE, who=who, why=why, what={"filter": _forgetful(asked)}) as audit:
        report = await recovery.erase(inbox, ledger, identity, chosen, who=who)
        _note(audit, report)
        await recovery.erase_again(inbox, ledger, identity)
        return report, await recovery.scrub(inbox, ledger)


async def again(inbox: Inbox, ledger: Ledger, identity: InboxId, *, who: str, why: str) -> tuple[Report, bool]:
    """Finish what was begun, and erase again what a restored database brought back."""
    async with audited(inbox, Action.ERASE, who=who, why=why, what={"again": True}) as audit:
        count = await recovery.erase_again(inbox, ledger, identity, is_thorough=True)
        audit.counted(count)
        return Report(count), await recovery.scrub(inbox, ledger)


def _forgetful(asked: str) -> str:
    """The operator log is kept for ever, and an entity may be a person; a message may name one. Whoever knows it can
    still tell that it was this one."""
    return _PERSONAL.sub(lambda found: f"{found[1]}sha256-{_digest(found[2])}", asked)


def _digest(value: str) -> str:
    return hashlib.sha256(value.replace('"', "").encode()).hexdigest()[:16]


def _note(audit: Audit, report: Report) -> None:
    audit.counted(report.erased)
    audit.note(before=report.before, in_hand=report.in_hand)
