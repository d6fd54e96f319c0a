"""The proof: equations between what was counted at the door, what is in the inbox, and what the ledger says (R61).

Counts are flushed once a second while an intake runs, and a crash loses the last second of them. So an equation over
counts may be short by what is in flight, but only while a boot is running or after one that ended uncleanly; and never
the other way round: more acknowledged than there is means lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from landfast.domain.census import Census, SourceTally
from landfast.domain.filter import Filter
from landfast.domain.ids import ReceiptDigest, receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.outcome import EffectState, Outcome, Receipt
from landfast.domain.summary import EventSummary
from landfast.domain.unhandled import DISMISSED
from landfast.ports.inbox import Archive
from landfast.ports.ledger import EffectStore, Ledger

CHUNK = 500
EXAMPLES = 10
"""Events named in a failing proof: enough to start looking."""


@dataclass(frozen=True, slots=True)
class Equation:
    name: str
    left: tuple[str, int]
    right: tuple[tuple[str, int], ...]
    holds: bool
    note: str = ""

    def __str__(self) -> str:
        sum_of = " + ".join(f"{name} {value:,}" for name, value in self.right)
        return f"{self.left[0]} {self.left[1]:,} = {sum_of}"


@dataclass(frozen=True, slots=True)
class Receipted:
    """What the ledger says about the done events that were walked."""

    done: int = 0
    proven: int = 0
    unproven: tuple[str, ...] = ()
    """Some of those without a `done` receipt, or with a tombstone in the very run that is done, by source and key."""
    doubled: int = 0
    """Receipts that are there twice: a ledger whose unique key is gone."""


@dataclass(frozen=True, slots=True)
class Proof:
    equations: tuple[Equation, ...]
    lost: int
    """Acknowledged as stored, and not in the inbox; or done, and not in the ledger."""
    doubled: int
    unproven: tuple[str, ...] = ()
    effects: Mapping[EffectState, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return not self.lost and not self.doubled and all(equation.holds for equation in self.equations)


async def prove(archive: Archive, ledger: Ledger, effects: EffectStore) -> Proof:
    """Count, then walk every done event against the ledger, in chunks; nothing is held meanwhile."""
    receipted = await walk(archive, ledger)
    return conclude(await archive.census(), receipted, await effects.counts())


async def walk(archive: Archive, ledger: Ledger) -> Receipted:
    inbox = await archive.identity()
    total = Receipted()
    async for events in archive.walk_done(Filter(), chunk=CHUNK):
        digests = {receipt_digest(inbox, event.source, event.key): event for event in events}
        total = _add(total, check_receipts(digests, await ledger.receipts(list(digests))))
    return total


def check_receipts(digests: Mapping[ReceiptDigest, EventSummary], receipts: Sequence[Receipt]) -> Receipted:
    """A done event has a `done` receipt, and no tombstone in the run that is done; each receipt is there once. One that
    was dismissed had no handler, and owes none."""
    proven = {receipt.key.digest for receipt in receipts if receipt.outcome is Outcome.DONE}
    refuted = {
        receipt.key.digest
        for receipt in receipts
        if receipt.outcome is Outcome.DEAD and receipt.key.run == digests[receipt.key.digest].run
    }
    owed = {digest: event for digest, event in digests.items() if event.reason not in DISMISSED}
    unproven = [event for digest, event in owed.items() if digest not in proven or digest in refuted]
    return Receipted(
        done=len(digests),
        proven=len(digests) - len(unproven),
        unproven=tuple(f"{event.source}/{event.key}" for event in unproven[:EXAMPLES]),
        doubled=sum(times - 1 for times in Counter(receipt.key for receipt in receipts).values()),
    )


def conclude(census: Census, receipted: Receipted, effects: Mapping[EffectState, int] | None = None) -> Proof:
    stored = sum(tally.stored for tally in census.tallies.values())
    return Proof(
        equations=tuple(_equations(census, stored, receipted)),
        lost=(0 if _underway(census) else max(0, stored - census.events)) + receipted.done - receipted.proven,
        doubled=receipted.doubled,
        unproven=receipted.unproven,
        effects=dict(effects or {}),
    )


def _equations(census: Census, stored: int, receipted: Receipted) -> Iterable[Equation]:
    total = sum(census.tallies.values(), SourceTally())
    yield _received("received", total, census)
    if len(census.tallies) > 1:
        for source, tally in sorted(census.tallies.items()):
            yield _received(f"received by {source or 'no source'}", tally, census)
    yield _acknowledged(census, stored)
    yield Equation(
        "every event is in one state",
        ("in the inbox", census.events),
        tuple((str(state), census.states.get(state, 0)) for state in State),
        holds=census.events == sum(census.states.values()),
    )
    yield Equation(
        "done has its receipts",
        ("done", receipted.done),
        (("with every receipt", receipted.proven),),
        holds=receipted.done == receipted.proven,
        note=f"without: {', '.join(receipted.unproven)}" if receipted.unproven else "",
    )


def _received(name: str, tally: SourceTally, census: Census) -> Equation:
    in_flight = tally.received - tally.stored - tally.duplicate - tally.rejected
    terms = (("stored", tally.stored), ("duplicate", tally.duplicate), ("rejected", tally.rejected))
    return Equation(
        name,
        (name, tally.received),
        (*terms, ("in flight", in_flight)) if in_flight > 0 else terms,
        holds=in_flight == 0 or (in_flight > 0 and _may_be_short(census)),
        note=_note(census) if in_flight else "",
    )


def _acknowledged(census: Census, stored: int) -> Equation:
    missing = census.events - stored
    if missing < 0 and (waiting := _underway(census)):
        return Equation(
            "acknowledged is in the inbox",
            ("tallied as stored", stored),
            (("in the inbox", census.events), ("still in a spool or journal", -missing)),
            holds=True,
            note=f"{waiting:,} requests wait there; whether any is missing shows when they are drained",
        )
    return Equation(
        "acknowledged is in the inbox",
        ("in the inbox", census.events),
        (("tallied as stored", stored), *((("not tallied", missing),) if missing > 0 else ())),
        holds=missing == 0 or (missing > 0 and _may_be_short(census)),
        note=_note(census) if missing else "",
    )


def _underway(census: Census) -> int:
    """Requests that are acknowledged, durable, and not yet in the inbox, as running intakes and drainers report. What
    lies in the spool of a machine that is off counts as lost until an intake runs there again."""
    return census.meters.get("spool_records", 0) + census.meters.get("journal_backlog", 0)


def _may_be_short(census: Census) -> bool:
    return census.running_boots > 0 or census.unclean_boots > 0


def _note(census: Census) -> str:
    if not _may_be_short(census):
        return "every intake stopped in order, so nothing can be in flight"
    boots = f"{census.running_boots} running and {census.unclean_boots} unclean boots of intake"
    return f"{boots}: up to a second of counts each, and for an unclean one the outage that it ended in"


def _add(one: Receipted, other: Receipted) -> Receipted:
    return Receipted(
        one.done + other.done,
        one.proven + other.proven,
        (one.unproven + other.unproven)[:EXAMPLES],
        one.doubled + other.doubled,
    )
