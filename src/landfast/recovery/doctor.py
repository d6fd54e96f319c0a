"""The doctor: look at everything that can be wrong before it is, and say what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from landfast.domain.census import Census
from landfast.domain.effect import UNKNOWN_EFFECT, EffectState
from landfast.domain.errors import LandfastError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.ports.inbox import Archive, Inbox, Switchboard, Workbench
from landfast.ports.ledger import EffectStore, Ledger, ReceiptStore
from landfast.ports.store import Store
from landfast.recovery.switches import open_breakers, paused

MIGRATE = "run landfast migrate"
HELD = "landfast held list says why; then landfast held admit, or landfast held discard"

UNHANDLED = (
    'register a handler for what you want; for the rest write ignore = [...] or unhandled = "done" under its source.'
    " landfast unhandled lists all types"
)

TYPES_SHOWN = 3
"""Those with the most events: they are what fills the shelf."""

COUNT_AT_MOST = 10_000
"""Counting further would cost the inbox more than the exact number is worth."""


EFFECTS_LOOKED_AT = 1_000
"""Of those that wait, the newest: a name that is missing in the code shows up among them."""

REPEATS = "repeats:"
"""What the meters of an intake are called that count them, before the source's name."""

LONG_DELAY_SECONDS = 900.0
"""Seconds: by then somebody may ask where an order is. Most that failed once are done long before."""


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    level: Level
    found: str
    fix: str = ""


async def examine_inbox(inbox: Inbox, *, now: datetime) -> Sequence[Check]:
    store = await _problems("inbox", inbox)
    if store.level is Level.FAIL:
        return [store]  # whatever is asked of it next may fail for the same reason, in worse words
    return [
        store,
        *[Check("inbox", Level.WARN, caution) for caution in await inbox.cautions()],
        await _states(inbox, State.DEAD, "landfast dead list, then fix the cause and landfast replay state:dead"),
        await _states(inbox, State.HELD, HELD),
        await _unhandled(inbox),
        await _waiting(inbox, now - timedelta(seconds=LONG_DELAY_SECONDS)),
        await _suspects(inbox),
        *await _paused(inbox),
        *await _breakers(inbox),
        *await _boots(inbox, now - timedelta(seconds=LONG_DELAY_SECONDS)),
    ]


async def examine_ledger(ledger: Ledger) -> Sequence[Check]:
    store = await _problems("ledger", ledger)
    if store.level is Level.FAIL:
        return [store]
    return [store, await _effects(ledger), await _unknown_effects(ledger)]


async def examine_binding(inbox: Archive, ledger: ReceiptStore) -> Check:
    """Reads which ledger the inbox is bound to and asks the ledger for its name, as a start would."""
    bound = await inbox.bound_ledger()
    if bound is None:
        return Check("binding", Level.WARN, "the inbox is bound to no ledger yet", "start it once: landfast migrate")
    name = await ledger.bind(await inbox.identity())
    if bound != name:
        fix = "point ledger (LANDFAST_LEDGER) to the one the inbox was started with"
        return Check("binding", Level.FAIL, f"the inbox is bound to the ledger {bound}, and this is {name}", fix)
    return Check("binding", Level.OK, f"the inbox is bound to this ledger, {name}")


def failed(name: str, error: LandfastError) -> Check:
    """A check that could not even be made: the error's own sentence says what to do."""
    return Check(name, Level.FAIL, str(error))


def is_well(checks: Sequence[Check]) -> bool:
    return all(check.level is not Level.FAIL for check in checks)


async def _problems(name: str, store: Store) -> Check:
    found = await store.problems()
    if not found:
        return Check(name, Level.OK, "reachable, schema as it should be, durable")
    # Each sentence says what to do; migrating mends several at once, and is said once.
    what = [re.sub(rf"[;:] {MIGRATE}$", "", sentence).removeprefix(f"{name}: ") for sentence in found]
    fix = MIGRATE if any(sentence.endswith(MIGRATE) for sentence in found) else "put back what was changed"
    return Check(name, Level.FAIL, "; ".join(what), fix)


async def _states(inbox: Archive, state: State, fix: str) -> Check:
    count = await inbox.count(Filter(state=state), at_most=COUNT_AT_MOST)
    if not count:
        return Check(f"{state} events", Level.OK, "none")
    more = " or more" if count == COUNT_AT_MOST else ""
    return Check(f"{state} events", Level.WARN, f"{count:,}{more}", fix)


async def _unhandled(inbox: Workbench) -> Check:
    counts = sorted(await inbox.unhandled(), key=lambda one: -one.count)
    if not counts:
        return Check("unhandled events", Level.OK, "none")
    shown = ", ".join(f"{one.source} {one.type} {one.count:,}" for one in counts[:TYPES_SHOWN])
    more = f" and {len(counts) - TYPES_SHOWN} more types" if len(counts) > TYPES_SHOWN else ""
    return Check("unhandled events", Level.WARN, f"{sum(one.count for one in counts):,}: {shown}{more}", UNHANDLED)


async def _waiting(inbox: Archive, before: datetime) -> Check:
    """Delayed again and again, by a handler's breaker say: nothing of it is dead, and nobody is told."""
    old = Filter(state=State.DELAYED, before=before)
    count = await inbox.count(old, at_most=COUNT_AT_MOST)
    if not count:
        return Check("delayed events", Level.OK, f"none for longer than {LONG_DELAY_SECONDS / 60:.0f} minutes")
    (one,) = await inbox.find(old, limit=1) or (None,)
    why = "" if one is None else ", ".join(filter(None, (one.handler, one.reason, one.error, one.message)))
    example = "" if one is None else f", such as {one.source}/{one.key}{f' ({why})' if why else ''}"
    fix = "put right what they wait for; they go on by themselves. See landfast events list state:delayed"
    more = " or more" if count == COUNT_AT_MOST else ""
    return Check(
        "delayed events",
        Level.WARN,
        f"{count:,}{more} for longer than {LONG_DELAY_SECONDS / 60:.0f} minutes{example}",
        fix,
    )


async def _suspects(inbox: Workbench) -> Check:
    if not await inbox.has_suspects():
        return Check("suspects", Level.OK, "none")
    fix = "a worker died or stopped with events in hand; see that one runs: landfast serve, or landfast work"
    return Check("suspects", Level.WARN, "events whose worker fell silent are waiting", fix)


async def _paused(inbox: Switchboard) -> Sequence[Check]:
    found = await paused(inbox)
    if not found:
        return [Check("paused", Level.OK, "nothing")]
    return [
        Check(
            "paused",
            Level.WARN,
            f"{one.kind} {one.name}, since {one.at:%Y-%m-%d %H:%M:%S} by {one.who}{f': {one.why}' if one.why else ''}",
            f"when it may go on: landfast resume {one.name}",
        )
        for one in found
    ]


async def _breakers(inbox: Switchboard) -> Sequence[Check]:
    found = await open_breakers(inbox)
    if not found:
        return [Check("breakers", Level.OK, "none is open")]
    fix = "put right what is broken; the workers try again by themselves, and no attempt is lost meanwhile"
    return [Check("breakers", Level.FAIL, f"{one.name} is open: {one.why}", fix) for one in found]


async def _boots(inbox: Archive, before: datetime) -> Sequence[Check]:
    census = await inbox.census()
    ready = Check("ready events", Level.OK, f"none for longer than {LONG_DELAY_SECONDS / 60:.0f} minutes")
    if census.oldest_ready is not None and census.oldest_ready < before:
        fix = "see that a worker runs and keeps up: landfast serve, or landfast work"
        ready = Check(
            "ready events", Level.WARN, f"the oldest waits since {census.oldest_ready:%Y-%m-%d %H:%M:%S}", fix
        )
    ready_and_trusted = [ready, *_foreign_marks(census), *_repeats(census)]
    if not census.unclean_boots:
        return [
            *ready_and_trusted,
            Check("intake boots", Level.OK, f"{census.running_boots} running, all others ended in order"),
        ]
    fix = "nothing is lost by it; up to a second of counts is missing for each, see landfast proof"
    return [
        *ready_and_trusted,
        Check("intake boots", Level.WARN, f"{census.unclean_boots} ended without a last word", fix),
    ]


def _foreign_marks(census: Census) -> Iterator[Check]:
    if count := census.meters.get("seen_shared_foreign", 0):
        found = f"{count:,} marks that Landfast did not write, since the intakes started; they were not believed"
        yield Check("seen cache", Level.FAIL, found, "somebody else can write to it: give it a password, then restart")


def _repeats(census: Census) -> Iterator[Check]:
    for name, count in sorted(census.meters.items()):
        if name.startswith(REPEATS):
            found = f"{count:,} came with bytes that had come before, and were events like any other"
            fix = "the sender may announce two changes alike; if there are many, who captured a request sends it again"
            yield Check(f"repeats at {name.removeprefix(REPEATS)}", Level.OK, found, fix)


async def _effects(ledger: EffectStore) -> Check:
    dead = (await ledger.counts()).get(EffectState.DEAD, 0)
    if not dead:
        return Check("dead effects", Level.OK, "none")
    return Check(
        "dead effects",
        Level.WARN,
        f"{dead:,}",
        "landfast effects list --state dead; after the fix, landfast effects retry --all",
    )


async def _unknown_effects(ledger: EffectStore) -> Check:
    delayed = await ledger.list(state=EffectState.DELAYED, limit=EFFECTS_LOOKED_AT)
    names = sorted({row["name"] for row in delayed if row["error"] == UNKNOWN_EFFECT})
    if not names:
        return Check("unknown effects", Level.OK, "none")
    fix = "register them again with @inbox.effect, under the same names; after three days they are dead"
    return Check("unknown effects", Level.WARN, f"no worker knows {', '.join(names)}", fix)
