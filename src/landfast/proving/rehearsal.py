"""A dry run of what a replay would do: the real handler at the real event, in a transaction that is rolled back.

No receipt, no write and no effect is left, and no attempt is counted. New connections, programs and files are kept from
the handler as the prover keeps them from it. What it does on a connection of its own that was open before is done.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from landfast.domain.backoff import Backoff
from landfast.domain.effect import StagedEffect
from landfast.domain.errors import LandfastError
from landfast.domain.ids import HandlerName, InboxId, Token
from landfast.domain.outcome import Claim, NextRun, Outcome
from landfast.domain.summary import EventRecord
from landfast.ports.clock import Clock
from landfast.ports.ledger import ReceiptStore
from landfast.processing.handled import Handled
from landfast.processing.handlers.error_text import name_of, shown_trace, source_line, text_of
from landfast.processing.handlers.registry import Handler, Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import Watch
from landfast.processing.prepare import Preparation
from landfast.processing.transact import StumbledError, Transactor
from landfast.processing.work import Work
from landfast.proving import row_counts
from landfast.proving.hooks.outward import watch_outward
from landfast.proving.report import Kind
from landfast.proving.row_counts import TableRows
from landfast.proving.user_code import Place
from landfast.proving.watched import WatchedLedger, watched
from landfast.proving.watching import Run, Sent, on_this_thread


@dataclass(frozen=True, slots=True)
class RehearsedEffect:
    name: str
    key: str
    arguments: dict[str, str]
    """What kind of value each is. The values may be a person's."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What one handler would do for one event."""

    handler: str
    outcome: str
    """done, skipped (it has its receipt), failed, or not run."""
    rows: tuple[TableRows, ...] | None = ()
    """Of the user's tables. None where the ledger's database does not count: then `statements` tell what was sent."""
    statements: tuple[str, ...] = ()
    effects: tuple[RehearsedEffect, ...] = ()
    result: Any = None
    seconds: float = 0.0
    error: str = ""
    message: str = ""
    line: str = ""
    trace: str = ""
    refused: tuple[str, ...] = ()
    """What was kept from it: `connects to api.example:443`."""


@dataclass(slots=True)
class Rehearsal:
    ledger: ReceiptStore
    registry: Registry
    inbox: InboxId
    clock: Clock
    threads: Threads = field(default_factory=Threads)

    async def rehearse(self, record: EventRecord, how: NextRun) -> list[Rehearsed]:
        """What a replay would do, handler by handler. Each has a transaction of its own, as in a worker."""
        claimed = Preparation(self.inbox, self.registry, self.clock).prepare(_claim(record, how))
        if claimed.settlement is not None:
            told = claimed.settlement
            return [Rehearsed(told.handler, "not run", error=told.error or told.reason, message=told.message)]
        on_this_thread()
        watch_outward(is_on=True)
        try:
            return [await self._rehearse(work) for work in claimed.works]
        finally:
            watch_outward(is_on=False)

    async def _rehearse(self, work: Work) -> Rehearsed:
        refused: list[str] = []

        def found(_kind: Kind, place: Place, what: str) -> None:
            refused.append(f"{what} ({place})")

        run = Run(work.handler.function, found=found, loop=asyncio.get_running_loop())
        handler = replace(work.handler, function=watched(work.handler.function, run))
        began = self.clock.monotonic()
        transactor = Transactor(
            WatchedLedger(self.ledger, run), self.registry, self.clock, self.threads, Watch(lambda: None)
        )
        try:
            handled = await transactor.rehearse(
                replace(work, handler=handler),
                first=_counting(work, row_counts.begin),
                last=_counting(work, row_counts.end),
            )
        except StumbledError as stumbled:
            told = _failed(work.handler.name, stumbled.error)
        except LandfastError as error:
            told = _failed(work.handler.name, error)
        else:
            told = _told(work, handled, run)
        return replace(told, seconds=self.clock.monotonic() - began, refused=tuple(refused))


def _claim(record: EventRecord, how: NextRun) -> Claim:
    event = record.summary
    return Claim(
        event_id=event.event_id,
        run=event.run + 1,
        token=Token(b""),
        forced=how.forced,
        suspect=False,
        crashes=0,
        tries=how.tries,
        source=event.source,
        key=event.key,
        type=event.type,
        entity=event.entity,
        occurred_at=event.occurred_at,
        received_at=event.received_at,
        headers=record.headers,
        body=record.body,
    )


def _counting(work: Work, count: row_counts.Counting) -> Work:
    """A handler of our own, in the same transaction."""
    name = HandlerName(f"landfast {count.__name__}")
    handler = Handler(
        name=name,
        source=work.handler.source,
        pattern=work.handler.pattern,
        function=row_counts.as_handler(count, is_async=work.handler.is_async),
        attempts=1,
        backoff=Backoff(),
        deadline=work.handler.deadline,
        isolation=None,
        group=False,
        writes=False,
    )
    return replace(work, handler=handler, receipt=work.receipt._replace(handler=name))


def _told(work: Work, handled: Handled | Outcome, run: Run) -> Rehearsed:
    if isinstance(handled, Outcome):
        why = "" if handled is Outcome.DONE else "a tombstone of a later run is there"
        return Rehearsed(work.handler.name, "skipped", message=why)
    results = {receipt.handler: json.loads(result) for receipt, result in handled.results}
    before, after = (results.pop(HandlerName(f"landfast {name}")) for name in ("begin", "end"))
    rows = row_counts.difference(before, after)
    return Rehearsed(
        handler=work.handler.name,
        outcome="done",
        rows=rows,
        statements=_statements(run.sent) if rows is None else (),
        effects=tuple(_effect(effect) for effect in handled.effects),
        result=results.get(work.handler.name),
    )


def _failed(handler: HandlerName, error: BaseException) -> Rehearsed:
    return Rehearsed(
        handler=handler,
        outcome="failed",
        error=name_of(error),
        message=text_of(error),
        line=source_line(error),
        trace=shown_trace(error),
    )


def _statements(sent: Sequence[Sent]) -> tuple[str, ...]:
    return tuple(one.shown for one in sent if one.is_write and not one.query.startswith("stage "))


def _effect(effect: StagedEffect) -> RehearsedEffect:
    arguments = json.loads(effect.arguments)
    return RehearsedEffect(effect.name, effect.key, {name: _kind_of(value) for name, value in arguments.items()})


def _kind_of(value: Any) -> str:
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    if isinstance(value, list | dict):
        return f"{'list' if isinstance(value, list) else 'object'} of {len(value)}"
    return {bool: "true or false", int: "number", float: "number"}.get(type(value), "null")
