"""What handlers queue with `tx.write`: sent together, in order, before the next statement that somebody waits for.

Handlers that do nothing but write share one batch for all events of their group. That is the whole gain: a statement
whose answer nobody needs costs its row, and no round trip.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from landfast.domain import sql_text
from landfast.domain.errors import SwallowedDatabaseError, UserError
from landfast.ports import ledger as port

VERBS = ("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "WITH")

WAITING_AT_MOST = 10_000
"""Writes in the queue: they are in memory until they are sent, and a handler with more of them is an import."""

CARRIED_AT_MOST = 1_000
"""Writes that wait for the next event of their group: beyond it a batch gains nothing more."""

PASSED_AT_MOST = 8
"""Batches that an INSERT may pass by on its way to those of its own kind. Handlers have fewer statements."""


CHANGEABLE = (list, dict, set, bytearray)
"""Arguments that a handler could change before they are sent: they are copied."""


class ApartError(Exception):
    """Roll back, and run the group again with each event's writes sent before the next event, in the very order of the
    queue: one of a batch has failed, and nobody knows whose it was, or whether it failed for having passed others; or a
    handler took its connection while others' writes were waiting."""


class WriteFailedError(Exception):
    """A write was refused by the database; whose it was."""

    def __init__(self, owner: Any, error: BaseException) -> None:
        super().__init__("a write failed")
        self.owner = owner
        self.error = error


class Writes:
    """The queue of one transaction."""

    def __init__(self, *, is_apart: bool = False) -> None:
        self._is_apart = is_apart
        self._batches: list[tuple[str, list[tuple[Any, ...]]]] = []
        self._owners: set[Any] = set()
        self._count = 0
        self._may_be_carried = True
        self._has_passed = False
        """An INSERT stands before others that were queued before it."""
        self._failure: Exception | None = None
        self._cut: Exception | None = None
        """What was being sent when the handler cancelled it: a failure, unless the handler is cancelled itself."""
        self._savepoints: list[Exception | None] = []
        """Those that are open, the innermost last, with what has failed inside of each."""
        self.owner: Any = None
        """The event that is handled now."""
        self.is_last = True
        """No other event of the group comes after it."""

    @property
    def is_waiting(self) -> bool:
        return bool(self._batches)

    def add(self, query: str, args: tuple[Any, ...]) -> None:
        if sql_text.verb(query) not in VERBS:
            raise UserError(
                f"tx.write takes {', '.join(VERBS[:-1])} or a WITH that writes, and gives no answer; use tx.execute or"
                " tx.fetch for anything else"
            )
        if self._count >= WAITING_AT_MOST:
            raise UserError(
                f"tx.write has {WAITING_AT_MOST} statements in its queue; use tx.execute now and then: it sends them"
            )
        self._count += 1
        self._owners.add(self.owner)
        self._may_be_carried = self._may_be_carried and sql_text.sets_nothing(query)
        if any(isinstance(each, CHANGEABLE) for each in args):
            args = tuple([copy.deepcopy(each) if isinstance(each, CHANGEABLE) else each for each in args])
        self._rows_of(query).append(args)

    def must_go(self, *, has_sent: bool) -> bool:
        """Whether what waits is sent before the handler ends. Only writes of handlers that have sent nothing else wait
        for the next event: a setting of theirs, say, would be undone before it."""
        if not self._batches:
            return False
        is_long = self._count > CARRIED_AT_MOST
        return self._is_apart or self.is_last or has_sent or is_long or not self._may_be_carried

    async def send(self, handle: port.Transaction) -> None:
        """Crash before it, or in it: nothing of it is committed, as of any other statement."""
        batches, owners, has_passed = self._batches, self._owners, self._has_passed
        self._forget()
        if not batches:
            return
        try:
            await handle.send_all(batches)
        except BaseException as error:
            # The handler may catch it and go on, but what came after it in the queue is lost.
            if not isinstance(error, Exception):
                self._lost(owners, _cut_off(), has_passed=has_passed, is_cut=True)
            else:
                self._lost(owners, error, has_passed=has_passed)
            raise

    def sending(self, handle: port.Transaction) -> Coroutine[Any, Any, None] | None:
        """For who is about to send something else, if anything waits."""
        return self.send(handle) if self._batches else None

    @asynccontextmanager
    async def savepoint(self, handle: port.Transaction) -> AsyncIterator[None]:
        """What was queued before it is sent before it; what is queued inside is sent inside, or undone with it."""
        await self.send(handle)
        async with handle.savepoint():
            self._savepoints.append(None)
            try:
                yield
                await self.send(handle)
            except BaseException:
                self._forget()
                raise
            finally:
                lost = self._savepoints.pop()
            if lost is not None:
                raise lost  # swallowed inside: not every database has lost the savepoint by that

    def pass_by(self) -> None:
        """The handler takes the driver's connection, whose statements nobody sees."""
        if not self._batches:
            return
        if self._owners == {self.owner}:
            raise mixed()
        self._failure = ApartError()
        raise self._failure

    def check(self, *, has_raised: bool = False) -> None:
        """WriteFailedError or ApartError if a write of this transaction has failed, whatever its handler made of it.
        `has_raised`: the handler says itself that it has failed. What was cut off then needs no other reason."""
        if self._failure is not None:
            raise self._failure
        if self._cut is not None and not has_raised:
            raise self._cut

    def check_sent(self) -> None:
        """Before COMMIT: a receipt without its writes would be a lie."""
        if self._batches:
            raise ApartError

    def _rows_of(self, query: str) -> list[tuple[Any, ...]]:
        """The last batch of this statement, unless another statement came after it that could tell the difference."""
        # In a savepoint its handler would be told an error that it did not make.
        may_pass = not (self._is_apart or self._savepoints) and sql_text.only_inserts(query)
        for known, rows in self._batches[: -PASSED_AT_MOST - 1 : -1]:
            if known == query:
                self._has_passed = self._has_passed or rows is not self._batches[-1][1]
                return rows
            if not (may_pass and sql_text.only_inserts(known)):
                break
        self._batches.append((query, []))
        return self._batches[-1][1]

    def _forget(self) -> None:
        self._batches, self._owners, self._count = [], set(), 0
        self._may_be_carried, self._has_passed = True, False

    def _lost(self, owners: set[Any], error: Exception, *, has_passed: bool, is_cut: bool = False) -> None:
        if self._savepoints:
            self._savepoints[-1] = self._savepoints[-1] or error
            return
        failed = ApartError() if has_passed else _failed(owners, error)
        if is_cut:
            self._cut = self._cut or failed
        else:
            self._failure = self._failure or failed


def mixed() -> UserError:
    return UserError(
        "tx.write and the driver's own connection do not go together in one handler: nobody could tell in which order"
        " their statements are meant; use tx.execute in place of tx.write"
    )


def _cut_off() -> SwallowedDatabaseError:
    return SwallowedDatabaseError(
        "the handler cancelled a statement while what tx.write had queued before it was sent, so nobody knows how much"
        " of that is there; use tx.execute in place of tx.write where a timeout may end it"
    )


def _failed(owners: set[Any], error: Exception) -> Exception:
    if len(owners) > 1:
        return ApartError()
    (owner,) = owners
    return WriteFailedError(owner, error)
