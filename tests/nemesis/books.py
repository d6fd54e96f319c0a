"""What the databases hold in the end, read by plain SQL: the checker believes neither Landfast's own queries nor its
counts. Beside the rules for every crash test there are those for counts, and for events that need not have died."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

import asyncpg
import msgspec

from landfast.domain.effect import EffectState
from landfast.domain.ids import InboxId, receipt_digest
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Outcome
from tests.crash.checker import Books, Staged, Stored

SOURCE = "stripe"
HANDLERS = ("create_order", "tell_crm")
"""Both match every event."""


async def read_books(inbox_dsn: str, ledger_dsn: str) -> Books:
    books = Books()
    inbox = await asyncpg.connect(inbox_dsn)
    ledger = await asyncpg.connect(ledger_dsn)
    try:
        async with inbox.transaction(isolation="repeatable_read", readonly=True):
            lines: dict[bytes, list[tuple[Signal, State, int]]] = {}
            for row in await inbox.fetch("SELECT event_id, signal, state, run FROM landfast.history ORDER BY seq"):
                lines.setdefault(row["event_id"], []).append((Signal(row["signal"]), State(row["state"]), row["run"]))
            identity = InboxId(await inbox.fetchval("SELECT inbox_id FROM landfast.meta"))
            async for row in inbox.cursor("SELECT event_id, key, body, state, run, reason FROM landfast.event"):
                books.events[row["key"]] = Stored(
                    sha=hashlib.sha256(row["body"]).hexdigest(),
                    state=State(row["state"]),
                    run=row["run"],
                    handlers=HANDLERS,
                    history=tuple(lines.get(row["event_id"], ())),
                    reason=row["reason"],
                )
        await _read_ledger(ledger, books, {receipt_digest(identity, SOURCE, key): key for key in books.events})
    finally:
        await inbox.close()
        await ledger.close()
    return books


async def _read_ledger(ledger: asyncpg.Connection, books: Books, keys: dict[bytes, str]) -> None:
    for row in await ledger.fetch("SELECT digest, handler, run, outcome FROM landfast_ledger.receipt"):
        # One that no event has is named by its digest, and the checker says that its event is not stored.
        key = keys.get(row["digest"], row["digest"].hex())
        books.receipts[key, row["handler"], row["run"]] = Outcome(row["outcome"])
    for row in await ledger.fetch("SELECT key, arguments, handler, name, run, state FROM landfast_ledger.effect"):
        given = msgspec.json.decode(row["arguments"])
        state = EffectState(row["state"])
        books.effects.append(Staged(row["key"], given["order"], row["handler"], row["name"], row["run"], state))
    written = await ledger.fetch("SELECT key, handler, run FROM orders")
    books.writes = Counter((row["key"], row["handler"], row["run"]) for row in written)


def needless_deaths(books: Books) -> Iterator[str]:
    """A dead letter that no handler asked for: a fault is no failure of the event that it meets."""
    for key, event in books.events.items():
        if event.state is State.DEAD and not key.endswith("-doomed"):
            yield f"I3: {key} is dead ({event.reason}), and its handlers would have done it"
        if event.state is State.DONE and key.endswith("-doomed"):
            yield f"I4: {key} is done, and its handler gives it up"
