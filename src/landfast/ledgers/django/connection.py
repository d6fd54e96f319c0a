"""Django's connection of one thread, with a transaction of ours on it. All of it runs in that thread, but `hang_up`."""

from __future__ import annotations

import contextlib
from typing import Any

from landfast.domain.errors import HandlerEndedTransactionError, SwallowedDatabaseError
from landfast.ledgers.django.databases import wrapper_of
from landfast.ledgers.django.fence import Fence


class AbandonedError(Exception):
    """Given to Django's atomic blocks when they are to roll back. Nobody ever sees it."""


class DjangoConnection:
    """BEGIN and COMMIT are those of `transaction.atomic(using, durable=True)`, so that all of Django knows of them.
    What depends on the database is in a subclass."""

    def __init__(self, alias: str, *, is_inline: bool = False) -> None:
        self.alias = alias
        self._is_inline = is_inline
        """In the thread of a test, whose own transaction may be around ours."""
        self._wrapper: Any = None
        self._atomic: Any = None
        self._around = 0
        """Atomic blocks that were open before ours."""
        self._has_committed = False
        self._marker: Any = None
        self._hooks: list[Any] = []
        self.raw: Any = None
        """The driver's connection in the transaction."""
        self.fence = Fence(alias, self)

    @property
    def wrapper(self) -> Any:
        """Django's, of the thread that this is used in. It is asked for before every statement, and Django takes its
        time to find it."""
        if self._wrapper is None:
            self._wrapper = wrapper_of(self.alias, f"django:{self.alias}")
        return self._wrapper

    @property
    def may_reconnect(self) -> bool:
        return not self._is_inline

    @property
    def is_in_a_test(self) -> bool:
        """The transaction of a test is around ours, which is a savepoint in it then."""
        return self._around > 0

    @property
    def is_open(self) -> bool:
        """A transaction of ours has begun, and has not ended by our doing."""
        return self._atomic is not None

    def begin(self) -> None:
        """An idle connection that has died meanwhile shows at the first statement."""
        from django.db import transaction

        wrapper = self.wrapper
        if not self._is_inline and (wrapper.in_atomic_block or wrapper.closed_in_transaction):
            self.drop()
        self._around = len(wrapper.atomic_blocks)
        self._has_committed = False
        wrapper.ensure_connection()
        self._prepare(wrapper)
        atomic = transaction.atomic(self.alias, durable=True)
        with self._beginning(wrapper):
            atomic.__enter__()
        self._atomic, self.raw = atomic, wrapper.connection
        transaction.on_commit(self._note_commit, using=self.alias)
        self._marker, self._hooks = wrapper.run_on_commit[-1], []
        self._fence_in()

    def commit(self) -> None:
        """What the driver raises, raised from Django's error. The `on_commit` hooks of handlers are kept for
        `run_hooks`: how long they take is no matter of the COMMIT."""
        wrapper = self.wrapper
        self.lower()
        ours = wrapper.run_on_commit.index(self._marker)
        marker, hooks = wrapper.run_on_commit.pop(ours), wrapper.run_on_commit
        wrapper.run_on_commit = hooks if self.is_in_a_test else [marker]
        atomic, self._atomic = self._atomic, None
        atomic.__exit__(None, None, None)
        if not self._has_committed and not self.is_in_a_test:
            self.drop()
            raise swallowed()
        self._hooks = [] if self.is_in_a_test else hooks

    @property
    def has_hooks(self) -> bool:
        return bool(self._hooks)

    def run_hooks(self) -> None:
        """After COMMIT, outside of the transaction. One that raises harms neither its neighbours nor us: what was
        committed is committed."""
        wrapper = self.wrapper
        wrapper.run_on_commit, self._hooks = [(ids, hook, True) for ids, hook, _ in self._hooks], []
        with contextlib.suppress(BaseException):  # SystemExit, which Django does not catch
            wrapper.run_and_clear_commit_hooks()

    def roll_back(self) -> None:
        """Whatever state a handler left it in."""
        self.lower()
        atomic, self._atomic = self._atomic, None
        wrapper = self.wrapper
        if atomic is None:
            return
        if atomic not in wrapper.atomic_blocks or wrapper.closed_in_transaction:
            self.drop()
            return
        error = AbandonedError()
        with contextlib.suppress(Exception):  # a connection that cannot roll back is dropped
            while len(wrapper.atomic_blocks) > self._around:
                wrapper.atomic_blocks[-1].__exit__(AbandonedError, error, None)
        if not self._is_inline and (wrapper.in_atomic_block or wrapper.errors_occurred):
            self.drop()

    def drop(self) -> None:
        """Close it; the next transaction connects anew. In a test the connection is the test's."""
        self.lower()
        self._atomic = None
        if self._is_inline:
            return
        wrapper = self.wrapper
        with contextlib.suppress(Exception):
            wrapper.close()
        wrapper.connection, self.raw = None, None
        wrapper.in_atomic_block = wrapper.closed_in_transaction = wrapper.needs_rollback = False
        wrapper.savepoint_ids, wrapper.atomic_blocks, wrapper.run_on_commit = [], [], []

    def release(self) -> None:
        """After a transaction: a connection of a pool goes back to it, all others are kept whatever CONN_MAX_AGE says,
        because the thread has no requests that end."""
        if not self._is_inline and getattr(self.wrapper, "pool", None):
            self.drop()

    def raise_fence(self) -> None:
        self.fence.used, self.fence.elsewhere = False, 0
        self.fence.is_up = True
        self._shield()

    def lower(self) -> None:
        if self.fence.is_up:
            self.fence.is_up, self.fence.before_others = False, None
            self._unshield()
        if self._is_inline:
            self._fence_out()

    def check_handler(self) -> None:
        """What a handler that has returned left behind, and Django's own COMMIT would pass over in silence."""
        wrapper = self.wrapper
        if wrapper.closed_in_transaction or wrapper.connection is None:
            raise HandlerEndedTransactionError(
                f"the handler closed Django's connection {self.alias!r}, by connection.close() or"
                " close_old_connections(); leave that to Landfast: nothing of this attempt was kept"
            )
        if len(wrapper.atomic_blocks) > self._around + 1:
            raise HandlerEndedTransactionError(
                "the handler left a transaction.atomic() block open; write it as `with transaction.atomic():`"
            )
        if wrapper.needs_rollback:
            raise swallowed() from wrapper.rollback_exc
        self.examine()

    def examine(self) -> None:
        raise AssertionError("a database says whether it is in a transaction")

    def note_setting(self, query: str) -> None:
        """Before a statement that may change a setting of the session."""

    def hang_up(self) -> None:
        """From the loop, without waiting: whatever statement runs is to end, and none after it may be sent."""
        self.fence.is_over = True

    def _note_commit(self) -> None:
        self._has_committed = True

    def _fence_in(self) -> None:
        from django.db import connections

        for alias in connections:
            self.fence.install(connections[alias])

    def _fence_out(self) -> None:
        from django.db import connections

        for wrapper in connections.all(initialized_only=True):
            self.fence.remove(wrapper)

    def _prepare(self, wrapper: Any) -> None:
        """Before BEGIN."""

    def _beginning(self, wrapper: Any) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002 - for subclasses
        return contextlib.nullcontext()

    def _shield(self) -> None:
        """The driver's own ways to end the transaction are closed to the handler, as far as that can be had."""

    def _unshield(self) -> None: ...


def swallowed() -> SwallowedDatabaseError:
    return SwallowedDatabaseError(
        "the handler caught a database error and went on, or called set_rollback(True), but its transaction was already"
        " lost; put `with transaction.atomic():` around statements that may fail"
    )
