"""The crash points that no port has: everything is staged, and COMMIT is not sent yet. If the transaction brings an
event that others wait for, those are told by then, and its arrival is locked."""

from __future__ import annotations

from typing import Any

from landfast.testing.crash import Crash
from landfast.testing.witness import Watched


class Inside:
    """A ledger whose transactions know the steps `stage` and `arrive`."""

    def __init__(self, ledger: Any, crash: Crash) -> None:
        self._ledger = ledger
        self._crash = crash
        self._arrives: tuple[int, int] | None = None
        """Which arrival the transaction that commits now is; None where it is none."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def begin(self, **options: Any) -> Any:
        transaction = await self._ledger.begin(**options)
        if hasattr(transaction, "_wire"):
            self._listen_to_postgres(transaction._wire)
        else:
            self._listen_to_sqlite(transaction)

        async def commit(**what: Any) -> None:
            self._arrives = self._crash.reach("arrive") if what.get("arrivals") else None
            await transaction.commit(**what)

        return Watched(transaction, commit=commit)

    def _listen_to_postgres(self, wire: Any) -> None:
        send = wire.tell_last

        async def tell_last(text: str) -> str:
            """The last statements and COMMIT, in one text."""
            self._passed()
            tag: str = await send(text)
            return tag

        wire.tell_last = tell_last

    def _listen_to_sqlite(self, transaction: Any) -> None:
        connection = transaction._thread.connection

        def hear(statement: str) -> None:
            if statement in ("COMMIT", "ROLLBACK"):
                connection.set_trace_callback(None)
            if statement == "COMMIT":
                self._passed()

        # Called in the connection's own thread, before the statement runs.
        connection.set_trace_callback(hear)

    def _passed(self) -> None:
        if self._arrives is not None:
            self._crash.leave("arrive", self._arrives)
        self._crash.leave("stage", self._crash.reach("stage"))
