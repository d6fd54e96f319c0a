"""One run of a handler under watch: what it sends, from which line, and where it is made to crash, fail or wait."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from landfast.ledgers import control
from landfast.proving.report import Kind
from landfast.proving.user_code import Place, place_of_function, place_of_stack, place_of_task

RUN: ContextVar[Run | None] = ContextVar("landfast_prove_run", default=None)
"""The handler that runs here. Tasks, and the threads of `def` handlers, have it from who started them."""

ON_HANDLE: ContextVar[bool] = ContextVar("landfast_prove_on_handle", default=False)
"""A statement of the handler's is on its way through tx already: below it, the driver does not count it again."""

_ACTIVE: set[Run] = set()
"""What runs now, for threads that have no context."""

_READS = frozenset({"SELECT", "VALUES", "SHOW", "EXPLAIN", "TABLE", "PRAGMA", "SET", "RESET", "DISCARD", "FETCH"})
_CONTROLS = frozenset(
    {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "DECLARE", "CLOSE", "DEALLOCATE"}
)
_WRITES_WITHIN = re.compile(r"\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO)\b", re.IGNORECASE)

Action = Literal["none", "crash_before", "crash_after", "fail", "pause"]


class KilledError(BaseException):
    """The process is gone from here on. No handler is to catch it; one that does sends nothing any more."""


class RefusedError(ConnectionRefusedError):
    """The prover does not let the handler reach the world outside."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to the n-th statement, counted from 0."""

    action: Action = "none"
    at: int = -1


@dataclass(slots=True, eq=False)
class Sent:
    """One statement of the handler's, or an effect that it staged."""

    number: int
    query: str
    args: tuple[Any, ...]
    place: Place
    is_outside: bool = False
    """On another connection than the one that its receipt is on."""
    is_guarded: bool = False
    """Inside of a savepoint: the handler may catch what goes wrong."""
    error: BaseException | None = None

    @property
    def is_write(self) -> bool:
        return is_write(self.query)

    @property
    def shown(self) -> str:
        text = " ".join(self.query.split())
        return text if len(text) <= 90 else f"{text[:87]}..."


def is_write(query: str) -> bool:
    """Whether it changes rows, as far as its text tells."""
    verb = control.verb(query)
    if verb in _CONTROLS or verb in _READS:
        return False
    return bool(_WRITES_WITHIN.search(query)) if verb == "WITH" else bool(verb)


@dataclass(slots=True, eq=False)
class Run:
    """A handler at one event."""

    function: Callable[..., Any]
    plan: Plan = field(default_factory=Plan)
    found: Callable[[Kind, Place, str], None] = lambda _kind, _place, _what: None
    sent: list[Sent] = field(default_factory=list)
    hints: list[tuple[Kind, Place]] = field(default_factory=list)
    """Where it read a clock or drew by chance."""
    refused: bool = False
    """Something was kept from it, so what it wrote says nothing."""
    is_dead: bool = False
    failed: Sent | None = None
    """The statement that was made to fail."""
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    connecting: int = 0
    """Connections under way that lead to the copy: they are let through."""
    savepoints: int = 0
    thread: int = 0
    task: asyncio.Task[Any] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    last: Place | None = None
    answers: set[Any] = field(default_factory=set)
    """Values that the database answered with: one that came from there is no chance of the handler's."""
    born: set[Any] = field(default_factory=set)
    """Those of them that a write was answered with, such as the number of a new row."""

    def begin(self) -> None:
        """In the task or thread that the handler runs in."""
        self.thread = threading.get_ident()
        try:
            self.task = asyncio.current_task()
        except RuntimeError:
            self.task = None
        self.resume()

    def resume(self) -> None:
        _ACTIVE.add(self)

    def end(self) -> None:
        _ACTIVE.discard(self)

    @property
    def is_active(self) -> bool:
        return self in _ACTIVE

    def place(self) -> Place:
        """Which line of the user's code is at work now; or was last, where a session sends what it was told before."""
        here = self._here()
        if here is not None:
            self.last = here
        return here or self.last or place_of_function(self.function)

    def _here(self) -> Place | None:
        here = place_of_stack(sys._getframe(2), self.function)  # noqa: SLF001 - its documented name
        if here is None and self.thread != threading.get_ident():
            here = place_of_stack(sys._current_frames().get(self.thread), self.function)  # noqa: SLF001 - same
        if here is None and self.task is not None:
            here = place_of_task(self.task)
        return here

    def before(
        self, query: str, args: tuple[Any, ...], *, is_outside: bool = False, place: Place | None = None
    ) -> Sent:
        """A statement is about to be sent. KilledError where the process is to be gone by now."""
        if self.is_dead:
            raise KilledError
        sent = Sent(len(self.sent), query, args, place or self.place(), is_outside, self.savepoints > 0)
        self.sent.append(sent)
        if self.plan.at == sent.number and self.plan.action == "crash_before":
            self.die()
        return sent

    def after(self, sent: Sent, error: BaseException | None = None) -> None:
        """It was answered."""
        sent.error = error
        if self.plan.at == sent.number and self.plan.action == "crash_after":
            self.die()

    def die(self) -> None:
        self.is_dead = True
        raise KilledError

    def must_fail(self, sent: Sent) -> bool:
        """Whether an error of the database comes in place of this statement's answer."""
        if self.plan.at != sent.number or self.plan.action != "fail":
            return False
        self.failed = sent
        return True

    async def wait(self, sent: Sent) -> None:
        """Before the statement, where another event is to overtake this one."""
        if self.plan.at == sent.number and self.plan.action == "pause":
            self.paused.set()
            await self.go_on.wait()

    def note_answer(self, sent: Sent, answer: Any) -> None:
        values = set(_scalars(answer))
        self.answers |= values
        if sent.is_write:
            self.born |= values

    def note_rows(self, rows: Any) -> Any:
        """What a cursor was asked for after its statement; the rows themselves."""
        if self.sent:
            self.note_answer(self.sent[-1], rows)
        return rows

    def is_on_loop(self) -> bool:
        """Whether this code runs in the loop's thread, where nothing may block."""
        return threading.get_ident() == _LOOP_THREAD.get("id")

    def wait_blocking(self, sent: Sent) -> None:
        """The same in a thread other than the loop's."""
        if self.plan.at == sent.number and self.plan.action == "pause" and self.loop is not None:
            asyncio.run_coroutine_threadsafe(self.wait(sent), self.loop).result()

    def report(self, kind: Kind, what: str, place: Place | None = None) -> None:
        self.found(kind, place or self.place(), what)


def _scalars(answer: Any) -> Iterator[Any]:
    """Of a value, a row or rows; no more than a screenful of them."""
    if isinstance(answer, str | bytes | int | float):
        if not isinstance(answer, bool):
            yield answer
    elif isinstance(answer, Iterable):
        for each in islice(answer, 200):
            yield from _scalars(each)
    elif isinstance(answer, Hashable) and answer is not None:
        yield answer


def current(*, anywhere: bool = False) -> Run | None:
    """The run that this code belongs to; with `anywhere`, also for a thread without a context, while there is one."""
    run = RUN.get()
    if run is not None or not anywhere or len(_ACTIVE) != 1:
        return run
    (only,) = _ACTIVE
    name = threading.current_thread().name
    is_ours = name.startswith("landfast") or threading.get_ident() == _LOOP_THREAD.get("id")
    return None if is_ours else only


_LOOP_THREAD: dict[str, int] = {}


def on_this_thread() -> None:
    """The prover's own loop runs here: what it does without a context is no handler's."""
    _LOOP_THREAD["id"] = threading.get_ident()
