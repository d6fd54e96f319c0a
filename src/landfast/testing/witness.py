"""Who sees what fails: the errors of handlers and effects as objects, with their tracebacks.

A worker turns an error into text, judges it and goes on; a test wants the error itself. So each function is wrapped to
keep what it raises, and the two stores are watched, because only what is settled tells whether an attempt has failed: a
handler that raises in a group runs again alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from types import TracebackType
from typing import Any

from landfast.domain.effect import EffectSettlement, EffectSignal
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Settlement
from landfast.processing.handlers.registry import Registry
from landfast.testing.reports import Failure, HandlerFailedError

GONE_WELL = frozenset({Signal.FINISH, Signal.DISMISS, Signal.RELEASE, Signal.NO_HANDLER, Signal.PARK, Signal.QUEUE})
"""Signals of a worker that tell of no failure."""

NO_FAILURES = frozenset({"not_due", "at_its_limit", "commit_unknown", "receipt_busy"})
"""Reasons to look again later that no handler is at fault for."""

NOTES_AT_MOST = 5
"""Failures that are named beside the one that is raised."""

Raised = tuple[BaseException, TracebackType | None]


class Witness:
    def __init__(self) -> None:
        self.failures: list[Failure] = []
        """In the order in which they were settled."""
        self._raised: dict[tuple[str, str], Raised] = {}
        """By the id of the event, or the key of the effect, and the name of the function."""
        self._keys: dict[str, str] = {}
        """Of events, by their id."""

    def registry(self, original: Registry) -> Registry:
        """The same functions, watched."""
        return original.wrapped(
            handler=lambda handler: self._watched(handler.name, handler.function, lambda event: event.id),
            effect=lambda effect: self._watched(effect.name, effect.function, lambda staged: staged.key),
        )

    def bench(self, bench: Any) -> Any:
        """The same inbox, watched."""
        return Watched(bench, settle=self._settle_events(bench.settle))

    def effect_settled(self, name: str, settlement: EffectSettlement) -> None:
        raised = self._raised.pop((settlement.key, name), None)
        if settlement.signal not in (EffectSignal.RETRY, EffectSignal.BURY):
            return
        told = HandlerFailedError(f"{settlement.error}: {settlement.message}")
        error = _restored(raised) if raised else told
        self.failures.append(Failure(name=name, key=settlement.key, attempt=settlement.tries.count, error=error))

    def _watched(self, name: str, function: Callable[..., Any], id_of: Callable[[Any], str]) -> Callable[..., Any]:
        def keep(subject: Any, error: BaseException) -> None:
            traceback = error.__traceback__
            self._raised[id_of(subject), name] = (error, traceback.tb_next if traceback else None)
            self._keys[id_of(subject)] = subject.key

        @wraps(function)
        async def wait_for(subject: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return await function(subject, *args, **kwargs)
            except BaseException as error:
                keep(subject, error)
                raise

        @wraps(function)
        def call(subject: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return function(subject, *args, **kwargs)
            except BaseException as error:
                keep(subject, error)
                raise

        return wait_for if inspect.iscoroutinefunction(function) else call

    def _settle_events(self, settle: Callable[..., Any]) -> Callable[..., Any]:
        async def watched(settlements: Sequence[Settlement]) -> Sequence[bool]:
            took: Sequence[bool] = await settle(settlements)
            for settlement, is_so in zip(settlements, took, strict=True):
                if is_so:
                    self._event_settled(settlement)
            return took

        return watched

    def _event_settled(self, settlement: Settlement) -> None:
        event = settlement.event_id.hex()
        raised = {name: self._raised.pop((id_, name)) for id_, name in [*self._raised] if id_ == event}
        if settlement.signal in GONE_WELL:
            return
        key = self._keys.get(event, event)
        failed = [attempt for attempt in settlement.attempts if attempt.error]
        for attempt in failed:
            found = raised.pop(attempt.handler, None)
            if found and type(found[0]).__name__ == attempt.error:
                error = _restored(found)
            else:
                error = HandlerFailedError(f"{attempt.error}: {attempt.message}\n{attempt.trace}".rstrip())
            self.failures.append(Failure(name=attempt.handler, key=key, attempt=attempt.number, error=error))
        for name, found in raised.items():  # its breaker has opened, so no attempt is counted
            self.failures.append(Failure(name=name, key=key, attempt=1, error=_restored(found)))
        if not failed and not raised and settlement.reason not in NO_FAILURES:
            told = HandlerFailedError(": ".join(filter(None, [settlement.reason, settlement.message])))
            self.failures.append(Failure(name=settlement.handler or "(no handler)", key=key, attempt=1, error=told))


class Watched:
    """An object, with some of its methods replaced."""

    def __init__(self, original: Any, **replaced: Any) -> None:
        self._original = original
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced[name] if name in self._replaced else getattr(self._original, name)


class WatchedLane:
    """The lane of a transaction: where all of it runs there in one go, what runs is watched as the transaction is."""

    def __init__(self, lane: Any, watch: Callable[[Any], Any]) -> None:
        self._lane = lane
        self._watch = watch

    def drive(self, work: Callable[[Any], Any]) -> Any:
        return self._lane.drive(lambda driven: work(self._watch(driven)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lane, name)


def _restored(raised: Raised) -> BaseException:
    """As the function raised it: the frames of the worker that it went through since say nothing to its author."""
    error, traceback = raised
    return error.with_traceback(traceback)


def raise_first(failures: Sequence[Failure]) -> None:
    """What the first of them raised; a note names the event, and the others."""
    __tracebackhide__ = True
    if not failures:
        return
    first, *others = failures
    first.error.add_note(f"landfast: raised by {first.name} for {first.key}, attempt {first.attempt}")
    for other in others[:NOTES_AT_MOST]:
        first.error.add_note(f"landfast: and {other}")
    if len(others) > NOTES_AT_MOST:
        first.error.add_note(f"landfast: and {len(others) - NOTES_AT_MOST} more, in errors")
    raise first.error
