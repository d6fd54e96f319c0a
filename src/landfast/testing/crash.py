"""Crash points: die, fail or freeze at the n-th call of a step, before or after it, by wrapping the ports.

    ledger = crash_at(ledger, "commit", when="after")          # SIGKILL, after the first COMMIT was answered

    crash = Crash("settle", when="before", how="pause")        # or one crash over several ports
    bench, ledger = crash.watch(inbox, Workbench), crash.watch(ledger, ReceiptStore)

The steps are those of the path of a webhook. A `Crash` counts every one that it watches, so that a run without a crash
says how many places there are to crash at.
"""

from __future__ import annotations

import inspect
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, cast

from landfast.domain.errors import CommitUnknownError, InboxUnavailableError, LedgerUnavailableError
from landfast.ports.inbox import Archive, Recorder, Workbench
from landfast.ports.ledger import EffectStore, LedgerTransaction, ReceiptStore
from landfast.ports.provider import Provider
from landfast.ports.seen import Seen
from landfast.testing.witness import WatchedLane

P = TypeVar("P")
F = TypeVar("F", bound=Callable[..., Any])
When = Literal["before", "after"]
How = Literal["kill", "raise", "pause"]

ANY = "any"
"""Instead of a step: the n-th call of any of them."""

INTAKE = ("verify", "identify", "seen", "record", "remember", "answer", "tally")
PROCESSING = (
    "requeue",
    "claim",
    "claim_suspect",
    "begin",
    "reserve",
    "mark",
    "lock_states",
    "handle",
    "scope",
    "withdraw",
    "move_states",
    "arrive",
    "stage",
    "commit",
    "rollback",
    "bury",
    "stir",
    "settle",
    "claim_effect",
    "claim_suspect_effect",
    "perform",
    "arrived",
    "settle_effect",
    "replay",
    "admit",
)
STEPS = INTAKE + PROCESSING
"""In the order of the path. `answer`, `handle` and `perform` are no ports but functions: see `Crash.around`. So are
`stage`, and `arrive` of an event that others may wait for: both end inside of `LedgerTransaction.commit`, where only
who knows the driver can stop."""

VIEWS: Mapping[type, Mapping[str, str]] = {
    Provider: {"verify": "verify", "find": "identify"},
    Seen: {"has": "seen", "remember": "remember"},
    Recorder: {"record": "record", "tally": "tally"},
    Workbench: {step: step for step in ("requeue", "claim", "claim_suspect", "stir", "settle")},
    ReceiptStore: {"begin": "begin", "bury": "bury"},
    LedgerTransaction: {
        step: step
        for step in ("reserve", "mark", "lock_states", "scope", "withdraw", "move_states", "commit", "rollback")
    },
    EffectStore: {
        "claim": "claim_effect",
        "claim_suspect": "claim_suspect_effect",
        "arrived": "arrived",
        "settle": "settle_effect",
    },
    Archive: {"replay": "replay", "admit": "admit"},
}
"""Which method of which port is which step. A driver has several ports, and is watched as the one that is used."""


class CrashError(Exception):
    """Nothing that anybody expects: what a bug in a step would raise."""


class Crash:
    """One planned crash. `step=None` plans none, and only counts."""

    def __init__(
        self,
        step: str | None,
        *,
        when: When = "before",
        how: How = "kill",
        nth: int = 1,
        error: BaseException | None = None,
        report: Callable[[str, When, int], None] = lambda _step, _when, _nth: None,
    ) -> None:
        if step is not None and step not in (*STEPS, ANY):
            raise ValueError(f"there is no step {step!r}; the steps are {', '.join(STEPS)}")
        self._step = step
        self._when = when
        self._how = how
        self._nth = nth
        self._error = error
        self._report = report
        self.calls: Counter[str] = Counter()
        """How often each step was reached."""
        self.fired = False

    def watch(self, port: P, *views: type) -> P:
        """The same port, but it crashes."""
        steps = {method: step for view in views for method, step in VIEWS[view].items()}
        return cast("P", _Watched(port, steps, self))

    def around(self, step: str, function: F) -> F:
        """The same function, but it crashes: a handler (`handle`), an effect (`perform`), or what sends an answer."""

        async def wait_for(*args: Any, **kwargs: Any) -> Any:
            nth = self.reach(step)
            try:
                result = await function(*args, **kwargs)
            finally:
                self.leave(step, nth)
            return self.watch(result, LedgerTransaction) if step == "begin" else result

        def call(*args: Any, **kwargs: Any) -> Any:
            nth = self.reach(step)
            try:
                return function(*args, **kwargs)
            finally:
                self.leave(step, nth)

        return cast("F", wait_for if inspect.iscoroutinefunction(function) else call)

    def reach(self, step: str) -> tuple[int, int]:
        """A step is about to begin; its number, and its number among all, for `leave`."""
        self.calls[step] += 1
        nth = (self.calls[step], self.calls.total())
        self._pass(step, "before", nth)
        return nth

    def leave(self, step: str, nth: tuple[int, int]) -> None:
        """It has ended, well or not."""
        self._pass(step, "after", nth)

    def _pass(self, step: str, when: When, nth: tuple[int, int]) -> None:
        is_place = (step, nth[0]) == (self._step, self._nth) or (ANY, nth[1]) == (self._step, self._nth)
        if self.fired or when != self._when or not is_place:
            return
        self.fired = True
        self._report(step, when, nth[0])
        match self._how:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "pause":
                # We go on when somebody sends SIGCONT, and know nothing of the time between.
                os.kill(os.getpid(), signal.SIGSTOP)
            case "raise":
                raise self._error or outage(step, when)


def crash_at(
    port: P,
    step: str,
    *,
    when: When = "before",
    how: How = "kill",
    nth: int = 1,
    error: Exception | None = None,
    report: Callable[[str, When, int], None] = lambda _step, _when, _nth: None,
) -> P:
    """The port, crashing at the n-th call of this step. `how`: SIGKILL to this process, an error (by default the one
    that the port raises when its database is away), or SIGSTOP to this process."""
    crash = Crash(step, when=when, how=how, nth=nth, error=error, report=report)
    return crash.watch(port, *_views_of(step))


def outage(step: str, when: When) -> Exception:
    """What the step raises when the database behind it goes away, before or after it did what it was asked for."""
    if step == "commit" and when == "after":
        return CommitUnknownError("the answer to COMMIT was lost")
    for port, steps in VIEWS.items():
        if step in steps.values():
            if port in (Recorder, Workbench, Archive):
                return InboxUnavailableError(f"the inbox went away {when} {step}")
            if port in (ReceiptStore, LedgerTransaction, EffectStore):
                return LedgerUnavailableError(f"the ledger went away {when} {step}")
    return CrashError(f"{when} {step}")


class _Watched:
    def __init__(self, port: Any, steps: Mapping[str, str], crash: Crash) -> None:
        self._port = port
        self._steps = steps
        self._crash = crash

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if name == "lane" and found is not None:
            return WatchedLane(found, lambda driven: _Watched(driven, self._steps, self._crash))
        step = self._steps.get(name)
        return found if step is None else self._crash.around(step, found)


def _views_of(step: str) -> tuple[type, ...]:
    views = tuple(view for view, steps in VIEWS.items() if step in steps.values())
    if not views:
        raise ValueError(f"no port has the step {step!r}; wrap the function itself with Crash(...).around")
    # A transaction is no port that anybody holds: it comes out of `begin`.
    return (ReceiptStore,) if views == (LedgerTransaction,) else views
