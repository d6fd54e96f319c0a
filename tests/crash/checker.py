"""Reads a history and the final databases, and says which invariants of ARCHITECTURE.md do not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from landfast.domain.effect import EffectState
from landfast.domain.lifecycle import Signal, State, after
from landfast.domain.outcome import Outcome
from tests.crash.history import Line

SILENT = (Signal.CLAIM, Signal.WAKE, Signal.PROMOTE)
"""Transitions that leave no line of history: they happen to every event many times."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One event as the inbox has it in the end."""

    sha: str
    state: State
    run: int
    handlers: tuple[str, ...]
    """Those that match it."""
    history: tuple[tuple[Signal, State, int], ...] = ()
    reason: str = ""
    begins: State = State.READY
    """Held, where a rule says so."""


@dataclass(frozen=True, slots=True)
class Staged:
    """One row of the table `effect`."""

    effect: str
    """Its own key, which goes outside."""
    key: str
    """The event's."""
    handler: str
    name: str
    run: int
    state: EffectState
    is_arrival: bool = False
    """It stands for an event, and nothing is performed for it."""
    told: str = ""
    """Why it gave up, if it did."""


@dataclass(slots=True)
class Books:
    """What the two databases hold in the end."""

    events: dict[str, Stored] = field(default_factory=dict)
    receipts: dict[tuple[str, str, int], Outcome] = field(default_factory=dict)
    """By event, handler and run."""
    writes: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """Rows of the user's own table, by event, handler and run."""
    effects: list[Staged] = field(default_factory=list)


def check(lines: Sequence[Line], books: Books) -> list[str]:
    """One sentence for each thing that is wrong; none, and the run was good."""
    rules = (_acknowledged, _once, _ended, _receipts, _replays, _effects, _arrivals, _transitions)
    return [problem for rule in rules for problem in rule(lines, books)]


def out_of_order(walked: Sequence[tuple[int, bool]]) -> list[str]:
    """Of an entity whose highest number occurred first: those that are late, and are not told, or the reverse."""
    return [
        f"I5: number {number} is {'' if late else 'not '}flagged late after {[each for each, _ in walked[:at]]}"
        for at, (number, late) in enumerate(walked)
        if late != any(before < number for before, _ in walked[:at])
    ]


def _acknowledged(lines: Sequence[Line], books: Books) -> Iterator[str]:
    sent = {line.id: line.sha for line in lines if line.op == "deliver" and line.phase == "invoke"}
    for line in lines:
        if line.op == "deliver" and line.phase == "ok":
            stored = books.events.get(line.key)
            if stored is None:
                yield f"I1: {line.key} was acknowledged and is not stored"
            elif stored.sha != sent.get(line.id):
                yield f"I1: {line.key} was stored with other bytes than were acknowledged"


def _once(_lines: Sequence[Line], books: Books) -> Iterator[str]:
    for (key, handler, run), count in books.writes.items():
        if count > 1:
            yield f"I2: {handler} wrote {count} times for {key} in run {run}"


def _ended(_lines: Sequence[Line], books: Books) -> Iterator[str]:
    for key, event in books.events.items():
        if event.state not in (State.DONE, State.DEAD) and (event.state, event.begins) != (State.HELD, State.HELD):
            yield f"I3: {key} is {event.state} for ever"


def _receipts(_lines: Sequence[Line], books: Books) -> Iterator[str]:
    for at in books.receipts | books.writes:
        key, handler, run = at
        outcome, count = books.receipts.get(at), books.writes[at]
        if outcome is Outcome.DONE and not count:
            yield f"I4: {handler} has a done receipt for {key} in run {run}, and its writes are not there"
        if outcome is not Outcome.DONE and count:
            yield f"I4: {handler} wrote for {key} in run {run}, and {outcome or 'nothing'} is what its receipt says"
        if key not in books.events:
            yield f"I4: {handler} has seen {key}, which is not stored"
    for key, event in books.events.items():
        without = [handler for handler in event.handlers if not _is_done(books, key, handler, event)]
        if event.state is State.DONE and without:
            yield f"I4: {key} is done, but {', '.join(without)} has no done receipt"
        if event.state is State.DEAD and event.reason not in ("malformed_body", "discarded"):
            now = [books.receipts.get((key, handler, event.run)) for handler in event.handlers]
            if Outcome.DEAD not in now:
                yield f"I4: {key} is dead in run {event.run}, and no tombstone says so"


def _is_done(books: Books, key: str, handler: str, event: Stored) -> bool:
    runs = range(1, event.run + 1)
    return any(books.receipts.get((key, handler, run)) is Outcome.DONE for run in runs)


def _replays(lines: Sequence[Line], books: Books) -> Iterator[str]:
    asked = {(line.key, line.id): line for line in lines if line.op == "replay" and line.phase == "invoke"}
    granted = Counter(line.key for line in lines if line.op == "replay" and line.phase == "ok")
    perhaps = Counter(line.key for line in lines if line.op == "replay" and line.phase == "unknown")
    may_repeat = {line.key for line in asked.values() if line.forced}
    for key, event in books.events.items():
        started = sum(1 for signal, _, _ in event.history if signal is Signal.REPLAY)
        if event.run != 1 + started:
            yield f"I8: {key} is in run {event.run} after {started} replays"
        if not granted[key] <= started <= granted[key] + perhaps[key]:
            yield f"I8: {key} was replayed {started} times; {granted[key]} were granted, {perhaps[key]} are unknown"
        for handler in event.handlers:
            runs = [run for run in range(1, event.run + 1) if books.writes[key, handler, run]]
            if len(runs) > 1 and key not in may_repeat:
                yield f"I8: {handler} wrote for {key} in the runs {runs}, and nobody forced it"
        if key in may_repeat and event.state is State.DONE and started:
            for handler in event.handlers:
                if not books.writes[key, handler, event.run]:
                    yield f"I8: {key} was forced into run {event.run}, and {handler} wrote nothing in it"


def _effects(lines: Sequence[Line], books: Books) -> Iterator[str]:
    performed = Counter((line.effect, line.run) for line in lines if line.op == "perform" and line.phase == "ok")
    begun = {(line.effect, line.run) for line in lines if line.op == "perform"}
    committed = {(staged.effect, staged.run) for staged in books.effects}
    keys: dict[tuple[str, str, str], set[str]] = {}
    for staged in books.effects:
        what = f"{staged.name} for {staged.key} in run {staged.run}"
        keys.setdefault((staged.key, staged.handler, staged.name), set()).add(staged.effect)
        if staged.state not in (EffectState.DONE, EffectState.DEAD):
            yield f"I9: {what} is {staged.state} for ever"
        is_done = staged.state is EffectState.DONE and not staged.is_arrival
        if is_done and not performed[staged.effect, staged.run]:
            yield f"I9: {what} is done and was never performed"
        if books.receipts.get((staged.key, staged.handler, staged.run)) is not Outcome.DONE:
            yield f"I9: {what} is staged, and its handler has no done receipt"
    for effect, run in sorted(begun - committed):
        yield f"I9: the effect {effect} was performed in run {run}, and no committed row has it"
    for (key, handler, name), several in keys.items():
        if len(several) > 1:
            yield f"I9: {name} of {handler} for {key} went out under {len(several)} keys"


def _arrivals(_lines: Sequence[Line], books: Books) -> Iterator[str]:
    for staged in books.effects:
        what = f"{staged.name} for {staged.key} in run {staged.run}"
        if staged.told:
            yield f"I23: {what} was given up: {staged.told}"
        if staged.is_arrival and staged.state is EffectState.DEAD:
            yield f"I23: {what} is dead, and its event came, or its step was to run without it"


def _transitions(_lines: Sequence[Line], books: Books) -> Iterator[str]:
    for key, event in books.events.items():
        state, run, may_run = event.begins, 1, event.begins is not State.HELD
        for signal, became, in_run in event.history:
            run += signal is Signal.REPLAY
            may_run |= signal in {Signal.ADMIT, Signal.REPLAY}
            if signal is Signal.FINISH and not may_run:
                yield f"I11: {key} was processed before anybody admitted it"
            if became not in _reachable(state, signal):
                yield f"I11: {key} went from {state} to {became} by {signal}"
            if in_run != run:
                yield f"I11: {key} was in run {in_run} by {signal}, where run {run} was due"
            state = became
        if event.state is not state and event.state not in _silently(state):
            yield f"I11: {key} is {event.state}, and its history ends in {state}"


def _reachable(state: State, signal: Signal) -> set[State]:
    ends = (after(each, signal) for each in _silently(state))
    return {end for end in ends if end is not None}


@cache
def _silently(state: State) -> frozenset[State]:
    """Where an event may have got to from here without a line of history."""
    found = {state}
    for _ in range(len(State)):
        steps = (after(each, signal) for each in found for signal in SILENT)
        found |= {step for step in steps if step is not None}
    return frozenset(found)
