"""The proof's part: lines that made events done, and how far they were proven."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence

import apsw

from landfast.domain.audit import Finished, Mark
from landfast.domain.ids import InboxId
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.audit import MARKS_KEPT

RECOUNTED_AT_ONCE = 5_000
"""Events looked up in one read transaction: about 50 ms."""


class Auditing:
    _file: SqliteFile

    @in_thread
    def newest_line(self) -> int:
        with self._file.reading() as connection:
            ((newest,),) = ask(connection, "history_last")
            return int(newest)

    async def complete_to(self) -> int:
        """There is one writer, so what can be read is complete."""
        return await self.newest_line()

    @in_thread
    def finished(self, *, after: int, upto: int) -> Sequence[Finished]:
        asked = {"after": after, "upto": upto, "done": State.DONE, "replay": Signal.REPLAY}
        with self._file.reading() as connection:
            return [rows.finished(row) for row in ask(connection, "finished", asked)]

    @in_thread
    def audit_marks(self, _inbox: InboxId) -> Sequence[Mark]:
        with self._file.reading() as connection:
            return [Mark(seq, nonce) for seq, nonce in ask(connection, "audit_marks", (MARKS_KEPT,))]

    @in_thread
    def set_audit_mark(self, _inbox: InboxId, mark: Mark) -> None:
        """Crash before the COMMIT: the next audit begins at the mark before."""
        with self._file.writing(durable=True) as connection:
            _set_mark(connection, mark)

    @in_thread
    def move_audit_mark(self, _inbox: InboxId, mark: Mark, *, seen: Mark | None) -> bool:
        """Crash before the COMMIT: the next audit begins at the mark before."""
        with self._file.writing(durable=True) as connection:
            newest = [Mark(seq, nonce) for seq, nonce in ask(connection, "audit_marks", (1,))]
            is_as_seen = newest == ([] if seen is None else [seen])
            if is_as_seen:
                _set_mark(connection, mark)
            return is_as_seen

    async def recount(self) -> AsyncIterator[Mapping[State | None, int]]:
        last = b""
        while counted := await self._recount(last):
            yield Counter(State(state) if state is not None else None for _, state in counted)
            last = counted[-1][0]

    @in_thread
    def _recount(self, after: bytes) -> list[tuple[bytes, str | None]]:
        derived = {"ready": State.READY, "claimed": State.CLAIMED, "done": State.DONE}
        with self._file.reading() as connection:
            return ask(connection, "recount", {"after": after, "chunk": RECOUNTED_AT_ONCE, **derived})


def _set_mark(connection: apsw.Connection, mark: Mark) -> None:
    ask(connection, "audit_mark_set", mark._asdict())
    ask(connection, "audit_mark_forget", {"seq": mark.seq, "kept": MARKS_KEPT})
