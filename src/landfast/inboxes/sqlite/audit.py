"""The proof's part: lines that made events done, and how far they were proven."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

import apsw

from landfast.domain.audit import Finished, Mark
from landfast.domain.ids import InboxId
from landfast.domain.lifecycle import State
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.audit import MARKS_KEPT

RECOUNTED_AT_ONCE = 5_000
"""Events looked up in one read transaction: about 50 ms."""


class Auditing:
    _file: SqliteFile

    async def newest_line(self) -> int:
        return await self._file.run(self._newest_line)

    async def complete_to(self) -> int:
        """There is one writer, so what can be read is complete."""
        return await self._file.run(self._newest_line)

    async def finished(self, *, after: int, upto: int) -> Sequence[Finished]:
        return await self._file.run(partial(self._finished, after, upto))

    async def audit_marks(self, _inbox: InboxId) -> Sequence[Mark]:
        return await self._file.run(self._audit_marks)

    async def set_audit_mark(self, _inbox: InboxId, mark: Mark) -> None:
        await self._file.run(partial(self._set_audit_mark, mark))

    async def move_audit_mark(self, _inbox: InboxId, mark: Mark, *, seen: Mark | None) -> bool:
        return await self._file.run(partial(self._move_audit_mark, mark, seen))

    async def recount(self) -> AsyncIterator[Mapping[State | None, int]]:
        last = b""
        while counted := await self._file.run(partial(self._recount, last)):
            yield Counter(State(state) if state is not None else None for _, state in counted)
            last = counted[-1][0]

    def _newest_line(self) -> int:
        with self._file.reading() as connection:
            ((newest,),) = ask(connection, "history_last")
            return int(newest)

    def _finished(self, after: int, upto: int) -> list[Finished]:
        with self._file.reading() as connection:
            return [rows.finished(row) for row in ask(connection, "finished", {"after": after, "upto": upto})]

    def _audit_marks(self) -> list[Mark]:
        with self._file.reading() as connection:
            return [Mark(seq, nonce) for seq, nonce in ask(connection, "audit_marks", (MARKS_KEPT,))]

    def _set_audit_mark(self, mark: Mark) -> None:
        """Crash before the COMMIT: the next audit begins at the mark before."""
        with self._file.writing(durable=True) as connection:
            _set_mark(connection, mark)

    def _move_audit_mark(self, mark: Mark, seen: Mark | None) -> bool:
        """Crash before the COMMIT: the next audit begins at the mark before."""
        with self._file.writing(durable=True) as connection:
            newest = [Mark(seq, nonce) for seq, nonce in ask(connection, "audit_marks", (1,))]
            is_as_seen = newest == ([] if seen is None else [seen])
            if is_as_seen:
                _set_mark(connection, mark)
            return is_as_seen

    def _recount(self, after: bytes) -> list[tuple[bytes, str | None]]:
        with self._file.reading() as connection:
            return ask(connection, "recount", {"after": after, "chunk": RECOUNTED_AT_ONCE})


def _set_mark(connection: apsw.Connection, mark: Mark) -> None:
    ask(connection, "audit_mark_set", mark._asdict())
    ask(connection, "audit_mark_forget", {"seq": mark.seq, "kept": MARKS_KEPT})
