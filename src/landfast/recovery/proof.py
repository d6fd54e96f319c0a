"""The proof: equations between what senders were told, what is in the inbox, and what the ledger says.

What is stored is counted in the transactions that store it, and so is every move of an event: those equations are
exact, whatever crashed, and nothing excuses them. What senders were told is counted in memory and reported every
second. A boot that crashed lacks its own last second of that, and no boot's crash excuses another. More told than
stored means lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from landfast.domain.census import BootCount, Census, SourceTally
from landfast.domain.effect import EffectState
from landfast.domain.lifecycle import State
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Archive, Inbox
from landfast.ports.ledger import Ledger
from landfast.recovery.audit import EXAMPLES, Audit, Report, Rest, at_once, audit, nobody
from landfast.recovery.elsewhere import Elsewhere, elsewhere

REPORT_SECONDS = 10
"""Seconds to wait until every running boot has reported once more: each does within three."""


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
class Recount:
    """Every identity, looked up one by one."""

    states: Mapping[State | None, int]
    before: Census
    """Counted before the walk; `conclude` has the census of after it."""


@dataclass(frozen=True, slots=True)
class Proof:
    equations: tuple[Equation, ...]
    lost: int
    """Told stored, and not in the inbox; in the inbox, and in no state; or done, and not in the ledger."""
    doubled: int
    unproven: tuple[str, ...] = ()
    effects: Mapping[EffectState, int] = field(default_factory=dict)
    audit: Audit = field(default_factory=Audit)

    @property
    def holds(self) -> bool:
        return not self.lost and not self.doubled and all(equation.holds for equation in self.equations)


async def prove(
    inbox: Inbox,
    ledger: Ledger,
    *,
    clock: Clock,
    chance: Chance,
    full: bool = False,
    report: Report = nobody,
    rest: Rest = at_once,
) -> Proof:
    """Ask the ledger for what became done since the last proof, and count. `full` trusts no mark and no counter: it
    asks for everything, and looks up every event there is. Nothing is held meanwhile."""
    identity = await inbox.identity()
    audited = await audit(inbox, ledger, identity=identity, chance=chance, full=full, report=report, rest=rest)
    recount = await _recount(inbox) if full else None
    census = await inbox.census()
    found = elsewhere(census.tallies, census)
    if found.missing and census.running_boots:
        # What waits is known by reports. Each boot has to speak once more about what was told before.
        found = elsewhere(census.tallies, await _heard_of_all(inbox, census, clock))
    return conclude(census, audited, found, effects=await ledger.counts(), recount=recount)


async def _recount(inbox: Inbox) -> Recount:
    before = await inbox.census()
    states: Counter[State | None] = Counter()
    async for chunk in inbox.recount():
        states.update(chunk)
    return Recount(states, before)


async def _heard_of_all(inbox: Archive, first: Census, clock: Clock) -> Census:
    later = first
    for _ in range(REPORT_SECONDS):
        if later.heard_since is None or (first.at is not None and later.heard_since > first.at):
            break
        await clock.sleep(1.0)
        later = await inbox.census()
    return later


def conclude(
    census: Census,
    audited: Audit,
    found: Elsewhere | None = None,
    *,
    effects: Mapping[EffectState, int] | None = None,
    recount: Recount | None = None,
) -> Proof:
    found = found or elsewhere(census.tallies, census)
    looked_up_nowhere = recount.states.get(None, 0) if recount else 0
    # The same events, counted and looked up: not added.
    nowhere = max(census.here - sum(census.states.values()), looked_up_nowhere, 0)
    return Proof(
        equations=tuple(_equations(census, audited, found, recount)),
        lost=sum(boot.missing for boot in census.boots) + nowhere + audited.lacking + found.missing,
        doubled=audited.doubled,
        unproven=audited.unproven,
        effects=dict(effects or {}),
        audit=audited,
    )


def _equations(census: Census, audited: Audit, found: Elsewhere, recount: Recount | None) -> Iterable[Equation]:
    yield _received("received", census.tallies.values(), [(boot, boot.total) for boot in census.boots])
    if len(census.tallies) > 1:
        for source, tally in sorted(census.tallies.items()):
            told = [(boot, boot.told.get(source, SourceTally())) for boot in census.boots]
            yield _received(f"received by {source or 'no source'}", [tally], told)
    yield _acknowledged(census)
    if found.told or found.brought or found.waiting:
        yield _brought(found)
    yield Equation(
        "every event is in one state",
        ("in the inbox", census.events),
        (*((str(state), census.states.get(state, 0)) for state in State), *_expired(census)),
        holds=census.here == sum(census.states.values()),
    )
    done = census.states.get(State.DONE, 0)
    yield Equation(
        "done has its receipts",
        ("done", done),
        (("with every receipt", done - audited.lacking),),
        holds=not audited.lacking,
        note=f"without: {', '.join(audited.unproven)}" if audited.unproven else "",
    )
    if recount is not None:
        yield _recounted(census, recount)


def _received(name: str, tallies: Iterable[SourceTally], boots: Iterable[tuple[BootCount, SourceTally]]) -> Equation:
    """A boot that runs has requests in flight, and one that crashed had: those it had counted as begun. One that said
    goodbye has answered all, and none has given more answers than it had requests."""
    tally = sum(tallies, SourceTally())
    gaps = [(boot, told.unanswered) for boot, told in boots if told.unanswered]
    wrong = [(boot, gap) for boot, gap in gaps if gap < 0 or boot.is_ended]
    excused = [(boot, gap) for boot, gap in gaps if gap > 0 and not boot.is_ended]
    terms = (("stored", tally.stored), ("duplicate", tally.duplicate), ("rejected", tally.rejected))
    return Equation(
        name,
        (name, tally.received),
        (*terms, ("in flight", tally.unanswered)) if tally.unanswered else terms,
        holds=not wrong and tally.unanswered == sum(gap for _, gap in gaps),
        note=_notes(wrong, "not answered, though it stopped in order") or _notes(excused, "in flight"),
    )


def _acknowledged(census: Census) -> Equation:
    missing = [(boot, boot.missing) for boot in census.boots if boot.missing]
    untold = [(boot, boot.untold) for boot in census.boots if boot.untold]
    lost, elsewhere_first = sum(count for _, count in missing), census.told_elsewhere
    unheard = sum(boot.untold + boot.told_elsewhere for boot in census.boots) - elsewhere_first
    here_first = census.stored.recorded - unheard - elsewhere_first
    if lost:
        return Equation(
            "acknowledged is in the inbox",
            ("acknowledged", here_first + lost),
            (("in the inbox", here_first), ("lost", lost)),
            holds=False,
            note=_notes(missing, "told stored, and not in the inbox"),
        )
    came_later = census.stored.drained + elsewhere_first
    terms = [("acknowledged", here_first)]
    terms += [("from a spool or broker", came_later)] if came_later else []
    terms += [("nobody was told", unheard)] if unheard else []
    return Equation(
        "acknowledged is in the inbox",
        ("in the inbox", census.events),
        tuple(terms),
        holds=True,
        note=_notes(untold, "stored without an answer: it crashed, or the answer to a COMMIT was lost"),
    )


def _brought(found: Elsewhere) -> Equation:
    arrived = [("brought into the inbox", found.brought)]
    arrived += [("waiting", found.waiting)] if found.waiting else []
    arrived += [("out of sight", found.out_of_sight)] if found.out_of_sight else []
    arrived += [("lost", found.missing)] if found.missing else []
    return Equation(
        "what waited elsewhere arrives",
        ("in a spool or broker", sum(count for _, count in arrived)),
        tuple(arrived),
        holds=not found.missing,
        note=found.note,
    )


def _expired(census: Census) -> tuple[tuple[str, int], ...]:
    """Old enough to be removed, and counted when they were."""
    removed = sum(census.expired.values())
    return (("expired", removed),) if removed else ()


def _recounted(census: Census, recount: Recount) -> Equation:
    total, nowhere = sum(recount.states.values()), recount.states.get(None, 0)
    terms = tuple((str(state), recount.states.get(state, 0)) for state in State)
    # What moves meanwhile is in two states or in none; what is stored can only have grown, and so has what expired.
    before = recount.before
    is_quiet = (before.events, before.states, before.expired) == (census.events, census.states, census.expired)
    agrees = not is_quiet or all(census.states.get(state, 0) == recount.states.get(state, 0) for state in State)
    least, most = before.events - sum(census.expired.values()), census.events - sum(before.expired.values())
    return Equation(
        "every event was looked up",
        ("looked up", total),
        (*terms, ("nowhere", nowhere)) if nowhere else terms,
        holds=least <= total <= most and not nowhere and agrees,
        note="" if least <= total <= most else f"counted as stored: {census.here:,}",
    )


def _notes(boots: Iterable[tuple[BootCount, int]], what: str) -> str:
    """One line for each boot, and one for those that would be too many."""
    named = [f"boot {boot.boot.hex()} ({_life(boot)}): {count:,} {what}" for boot, count in boots]
    rest = [f"and {len(named) - EXAMPLES} more boots"] if len(named) > EXAMPLES else []
    return "\n".join(named[:EXAMPLES] + rest)


def _life(boot: BootCount) -> str:
    if boot.is_running:
        return "running"
    return "ended" if boot.is_ended else "unclean"
