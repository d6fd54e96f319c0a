"""Proving handlers: each with a sample, on copies of the database that it writes in."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from landfast.domain.errors import UserError
from landfast.processing.handlers.registry import Handler
from landfast.proving.bench import Bench, Subject
from landfast.proving.checks import examine_again, examine_alone, examine_crashes, examine_errors
from landfast.proving.hooks import watching_everything
from landfast.proving.hooks.calls import knowing_effects
from landfast.proving.pairs import examine_concurrency, examine_order
from landfast.proving.report import Kind, Report
from landfast.proving.samples import Sample

T = TypeVar("T")

Case = tuple[Handler, Sample]
Told = Callable[[Handler, str], None]

_ONE_AT_A_TIME = threading.Lock()
"""The hooks are the process's, so proofs in it follow each other."""


async def prove_all(
    subject: Subject, cases: Sequence[Case], *, schema: str | None = None, told: Told = lambda _handler, _what: None
) -> list[Report]:
    """A report for each; `told` hears what is being tried."""
    with _ONE_AT_A_TIME, _in_silence(), watching_everything(), knowing_effects(_effects(subject)):
        bench = Bench(subject, schema=schema)
        async with bench.opened():
            return [await _prove(bench, handler, sample, told) for handler, sample in cases]


def prove_now(subject: Subject, case: Case, *, schema: str | None = None) -> Report:
    """For a test: it waits, wherever it is called from."""
    (report,) = _run(prove_all(subject, [case], schema=schema))
    return report


def handler_named(subject: Subject, wanted: str | Callable[..., Any]) -> Handler:
    """By its name or by its function."""
    for handler in subject.registry.handlers:
        if wanted in {handler.name, handler.function}:
            return handler
    shown = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", repr(wanted))
    known = ", ".join(handler.name for handler in subject.registry.handlers) or "none"
    raise UserError(f"prove: no handler is called {shown!r}; there are {known}")


async def _prove(bench: Bench, handler: Handler, sample: Sample, told: Told) -> Report:
    report = Report(handler.name, handler.source, sample.type, notes=list(bench.copies.notes))
    began = time.monotonic()
    case = await examine_alone(bench, handler, sample, report, lambda what: told(handler, what))
    if case is not None:
        await examine_again(case)
        await examine_crashes(case)
        await examine_errors(case)
        if report.has(Kind.MODULE_STATE):
            report.note("two events were not tried: the first would change what the second does")
        else:
            await examine_order(case)
            await examine_concurrency(case)
    report.seconds = time.monotonic() - began
    return report


@contextmanager
def _in_silence() -> Iterator[None]:
    """What the ledger warns of in its log is what the report says better."""
    log = logging.getLogger("landfast")
    was, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was


def _effects(subject: Subject) -> list[tuple[str, Callable[..., Any]]]:
    return [(effect.name, effect.function) for effect in subject.registry.effects.values()]


def _run(work: Coroutine[Any, Any, T]) -> T:
    """In a loop of its own: here, or in a thread where one runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _in_a_loop(work)
    ended: list[T | BaseException] = []

    def call() -> None:
        try:
            ended.append(_in_a_loop(work))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            ended.append(error)

    thread = threading.Thread(target=call, name="landfast-prove")
    thread.start()
    thread.join()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


def _in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    # Never uvloop: what it connects to, Python's audit does not hear of.
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(work)
