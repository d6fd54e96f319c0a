"""The one crash point that no port has: everything is staged and the guard is gone, and COMMIT is not sent yet."""

from __future__ import annotations

from typing import Any

from landfast.testing.crash import Crash


class Inside:
    """A ledger whose transactions know the step `stage`."""

    def __init__(self, ledger: Any, crash: Crash) -> None:
        self._ledger = ledger
        self._crash = crash

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def begin(self, **options: Any) -> Any:
        transaction = await self._ledger.begin(**options)
        if hasattr(transaction, "_answer_to_commit"):
            self._listen_to_postgres(transaction)
        else:
            self._listen_to_sqlite(transaction)
        return transaction

    def _listen_to_postgres(self, transaction: Any) -> None:
        send = transaction._answer_to_commit

        async def answer_to_commit() -> str:
            self._passed()
            answer: str = await send()
            return answer

        transaction._answer_to_commit = answer_to_commit

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
        self._crash.leave("stage", self._crash.reach("stage"))
