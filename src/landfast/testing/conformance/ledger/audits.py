"""Audited: how far each inbox's audit has come, as its ledger remembers it."""

from __future__ import annotations

from landfast.domain.audit import Mark
from landfast.domain.ids import InboxId
from landfast.ports.audit import MARKS_KEPT
from landfast.testing.conformance.ledger.desk import Desk

OURS, THEIRS = InboxId(b"i" * 16), InboxId(b"j" * 16)


class AuditConformance:
    async def test_marks_are_kept_for_each_inbox_newest_first(self, desk: Desk) -> None:
        marks = [Mark(seq, bytes([seq]) * 8) for seq in (10, 20, 30)]
        for mark in marks:
            await desk.ledger.set_audit_mark(OURS, mark)
        await desk.ledger.set_audit_mark(THEIRS, marks[0])
        assert list(await (await desk.another()).audit_marks(OURS)) == marks[::-1]
        assert list(await desk.ledger.audit_marks(THEIRS)) == marks[:1]

    async def test_marks_beyond_a_new_one_are_forgotten(self, desk: Desk) -> None:
        for seq in (10, 20, 30):
            await desk.ledger.set_audit_mark(OURS, Mark(seq, b"12345678"))
        await desk.ledger.set_audit_mark(OURS, Mark(20, b"restored"))
        assert list(await desk.ledger.audit_marks(OURS)) == [Mark(20, b"restored"), Mark(10, b"12345678")]

    async def test_a_limited_number_of_marks_is_kept(self, desk: Desk) -> None:
        for seq in range(1, MARKS_KEPT + 4):
            await desk.ledger.set_audit_mark(OURS, Mark(seq, b"12345678"))
        assert [mark.seq for mark in await desk.ledger.audit_marks(OURS)] == list(range(MARKS_KEPT + 3, 3, -1))
