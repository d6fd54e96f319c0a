"""The doctor: look at everything that can be wrong before it is, and say what to do about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from landfast.domain.census import Census
from landfast.domain.effect import UNKNOWN_EFFECT, EffectState
from landfast.domain.errors import LandfastError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.domain.outcome import NO_WRITES
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

LINES_LOOKED_AT = 1_000
"""Of the history, the newest: a handler that never uses its transaction shows up among them."""

FINISHED = frozenset({"done", NO_WRITES})
"""Outcomes of attempts at whose end the handler's transaction was committed."""

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


async def examine_inbox(inbox: Inbox, *, now: datetime, meant: Collection[str] = frozenset()) -> Sequence[Check]:
    """`meant` are handlers that say that they write nothing."""
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
        await _unwritten(inbox, meant),
        *await _boots(inbox),
    ]


async def examine_ledger(ledger: Ledger) -> Sequence[Check]:
    store = await _problems("ledger", ledger)
    if store.level is Level.FAIL:
        return [store]
    cautions = [_caution("ledger", sentence) for sentence in await ledger.cautions()]
    return [store, *cautions, await _effects(ledger), await _unknown_effects(ledger)]


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


def is_well(checks: Sequence[Check], *, strict: bool = False) -> bool:
    """`strict`: a warning is one too many."""
    return all(check.level is Level.OK or (check.level is Level.WARN and not strict) for check in checks)


async def _problems(name: str, store: Store) -> Check:
    found = await store.problems()
    if not found:
        return Check(name, Level.OK, "reachable, schema as it should be, durable")
    # Each sentence says what to do; migrating mends several at once, and is said once.
    what = [re.sub(rf"[;:] {MIGRATE}$", "", sentence).removeprefix(f"{name}: ") for sentence in found]
    fix = MIGRATE if any(sentence.endswith(MIGRATE) for sentence in found) else "put back what was changed"
    return Check(name, Level.FAIL, "; ".join(what), fix)


def _caution(name: str, sentence: str) -> Check:
    """What is behind its last semicolon is the fix."""
    what, _, fix = sentence.removeprefix(f"{name}: ").rpartition("; ")
    return Check(name, Level.WARN, what or fix, fix if what else "")


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
            f"{one.kind} {one.name}, since {one.at:%Y-%m-%d %H:%M:%SZ} by {one.who}{f': {one.why}' if one.why else ''}",
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


async def _unwritten(inbox: Archive, meant: Collection[str]) -> Check:
    """By the newest lines, so that it is quiet soon after the handler was mended. One that writes for some events and
    not for others is nothing to warn of."""
    name, outcomes = "uncovered writes", Counter[tuple[str, bool]]()
    for line in await inbox.lately(limit=LINES_LOOKED_AT):
        outcomes.update((one.handler, one.outcome == NO_WRITES) for one in line.attempts if one.outcome in FINISHED)
    never = {
        handler: count
        for (handler, is_unwritten), count in outcomes.items()
        if is_unwritten and handler not in meant and not outcomes[handler, False]
    }
    if not never:
        return Check(name, Level.OK, "none was seen lately")
    told = ", ".join(f"{handler} ({count:,})" for handler, count in sorted(never.items()))
    fix = "write on tx, or on the session that it is given; if it is meant to write nothing, on(..., writes=False)"
    found = f"done and never used their transaction lately, so what they write may happen twice: {told}"
    return Check(name, Level.WARN, found, fix)


async def _boots(inbox: Archive) -> Sequence[Check]:
    census = await inbox.census()
    trusted = [*_foreign_marks(census), *_repeats(census)]
    if not census.unclean_boots:
        found = f"{census.running_boots} running, all others ended in order"
        return [*trusted, Check("intake boots", Level.OK, found)]
    fix = "nothing is lost by it; up to a second of counts is missing for each, see landfast proof"
    return [*trusted, Check("intake boots", Level.WARN, f"{census.unclean_boots} ended without a last word", fix)]


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
