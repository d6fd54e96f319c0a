"""Removing what is old: a walk through all events in the order of arrival, a few at a time, and space given back.

One step is one transaction of a few milliseconds, in turn with intake at the lock file. Pages that become free are used
again by the next events; a part of them goes back to the disk where much more is free than will be needed soon.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw

from landfast.domain.erasure import EMPTY_BODY, EMPTY_HEADERS
from landfast.domain.errors import TurnLostError
from landfast.domain.lifecycle import State
from landfast.domain.retention import EXPIRES, TURN_LOST, Count, Counts, LastPass, Retention, Standing, Step, Verdict
from landfast.inboxes.sqlite import lanes, rows
from landfast.inboxes.sqlite.connection import in_thread
from landfast.inboxes.sqlite.living import Living, moment_before
from landfast.inboxes.sqlite.statements import ask

LOOKED_AT_ONCE = 500
"""Events that are looked at together where nothing is removed, in some 5 ms."""

REMOVED_AT_ONCE = 10
"""Events that one step removes, in a millisecond or two. Whoever comes meanwhile waits for it, and the next COMMIT of
intake brings its pages to the disk, too: with 40, the slowest hundredth of the records took twice as long."""

REMOVED_ALONE = 150
"""The same where nobody else may write anyway."""

LOOKED_FOR_EACH = 3
"""Events that a step looks at for each that it may remove: most of what is old lies close together."""

BYTES_AT_ONCE = 1024 * 1024
"""Of bodies in one step, or one that is larger: what is deleted is overwritten with zeros, through the log."""

PAGES_AT_ONCE = 250
"""A megabyte that one step gives back to the disk, in some 2 ms."""

FREE_SHARE = 0.2
"""Of the file. What is free below this will be used again soon."""

EVENTS, PROOFS, SPACE = "", "proofs", "space"
"""The phases of a pass, in this order."""

_NOBODYS = '[[0, "", 0]]'
"""Lines that were the newest of all when their events went, as an event that has left."""

_START = {"phase": EVENTS, "after_at": 0, "after_id": b""}


class _Old(NamedTuple):
    """An event whose content, or all of it, has to go."""

    seq: int
    event_id: str
    """In hexadecimal digits, as statements take it."""
    received_at: int
    state: State
    line: int
    """The number of its newest line of history."""
    is_whole: bool
    source: str


@dataclass(frozen=True, slots=True)
class _Window:
    looked_at: int
    old: Sequence[_Old]
    held_back: int
    last: tuple[int, bytes] | None
    """The last event that was looked at; None where there is none left."""


class Retaining(Living):
    @in_thread
    def take_retention_turn(self, holder: bytes, *, every: float, lasting: float, is_urgent: bool = False) -> bool:
        """Crash after the COMMIT: the turn runs out."""
        now = rows.micros(self._clock.now())
        asked = {"holder": holder, "now": now, "until": now + rows.micros_in(lasting), "every": rows.micros_in(every)}
        asked["urgent"] = is_urgent
        with self._file.writing(durable=False) as connection:
            return bool(ask(connection, "retain_turn", asked))

    @in_thread
    def end_retention_turn(self, holder: bytes, *, is_complete: bool) -> None:
        """Crash before the COMMIT: the turn runs out."""
        asked = {"holder": holder, "is_complete": is_complete, "now": rows.micros(self._clock.now())}
        with self._file.writing(durable=False) as connection:
            ask(connection, "retain_turn_end", asked)

    @in_thread
    def retain(self, retention: Retention, *, holder: bytes, proven: int) -> Step | None:
        """Crash before the COMMIT: the step is made again. After it: the pass goes on behind it. A power cut may undo
        the last steps whole: they are made again."""
        now = rows.micros(self._clock.now())
        asked = {"holder": holder, "now": now}
        with self._file.reading() as connection:
            turn = ask(connection, "retain_place", asked)
        if not turn:
            raise TurnLostError(TURN_LOST)
        ((phase, after_at, after_id),) = turn
        asked |= {"after_at": after_at, "after_id": after_id}
        if phase == EVENTS:
            return self._remove_events(retention, asked, proven)
        if phase == PROOFS:
            return self._remove_proofs(retention, asked)
        return self._give_back(asked)

    async def expiring(self, retention: Retention, *, proven: int) -> Counts:
        now = rows.micros(self._clock.now())
        counts: defaultdict[tuple[str, State], Count] = defaultdict(Count)
        after: tuple[int, bytes] | None = (0, b"")
        while after is not None:
            window = await self._expiring(retention, now, proven, after)
            for old in window.old:
                counts[old.source, old.state] += Count(0, 1) if old.is_whole else Count(1, 0)
            after = window.last
        return dict(counts)

    @in_thread
    def last_pass(self) -> LastPass:
        now = {"now": rows.micros(self._clock.now())}
        with self._file.reading() as connection:
            ((began_at, ended_at, is_running),) = ask(connection, "retain_look", now)
            oldest = ask(connection, "retain_oldest")
        began, ended = rows.moment_or_none(began_at), rows.moment_or_none(ended_at)
        return LastPass(began, ended, bool(is_running), rows.moment(oldest[0][0]) if oldest else None)

    @in_thread
    def _expiring(self, retention: Retention, now: int, proven: int, after: tuple[int, bytes]) -> _Window:
        asked = {"now": now, "after_at": after[0], "after_id": after[1]}
        with self._file.reading() as connection:
            return _look(connection, retention, asked, proven, window=LOOKED_AT_ONCE, at_most=LOOKED_AT_ONCE)

    def _remove_events(self, retention: Retention, asked: dict[str, Any], proven: int) -> Step:
        # Looked for without the lock: the statements that remove an event repeat what was found.
        size = REMOVED_ALONE if self._file.is_alone else REMOVED_AT_ONCE
        with self._file.reading() as connection:
            window = _look(connection, retention, asked, proven, window=LOOKED_FOR_EACH * size, at_most=size)
        if window.last is None:
            behind = {"phase": PROOFS, "after_at": 0, "after_id": b""}
        else:
            behind = {"phase": EVENTS, "after_at": window.last[0], "after_id": window.last[1]}
        with self._file.writing(durable=False) as connection:
            _hold(connection, asked)
            counts = _remove(connection, window.old, asked["now"])
            ask(connection, "retain_walk_on", asked | behind)
        came = f" that came until {rows.moment(window.last[0]):%Y-%m-%d %H:%M}" if window.last else ""
        return Step(f"looked through events{came}", window.looked_at, counts, held_back=window.held_back)

    def _remove_proofs(self, retention: Retention, asked: dict[str, Any]) -> Step:
        """A proof has no source. It is known for as long as any event has to be."""
        before = moment_before(asked["now"], max(ages.memory for ages in retention.all))
        asked |= {"before": before, "window": LOOKED_AT_ONCE}
        with self._file.writing(durable=False) as connection:
            _hold(connection, asked)
            upto = next((proof for (proof,) in ask(connection, "retain_proofs_upto", asked)), None)
            ask(connection, "retain_proofs", {**asked, "upto": upto})
            behind = {"phase": SPACE if upto is None else PROOFS, "after_at": 0, "after_id": upto or b""}
            ask(connection, "retain_walk_on", asked | behind)
        return Step("looked through proofs")

    def _give_back(self, asked: dict[str, Any]) -> Step | None:
        with self._file.writing(durable=False) as connection:
            _hold(connection, asked)
            given = give_back(connection, keeping=0 if self._file.is_alone else FREE_SHARE)
            if not given:
                ask(connection, "retain_walk_on", asked | _START)
                return None
        return Step("gave space back to the disk", bytes_freed=given)


def _hold(connection: apsw.Connection, asked: Mapping[str, Any]) -> None:
    if not ask(connection, "retain_hold", asked):
        raise TurnLostError(TURN_LOST)


def give_back(connection: apsw.Connection, *, keeping: float) -> int:
    """One step of it, if more than so much of the file is free; bytes."""
    free, pages = connection.pragma("freelist_count"), connection.pragma("page_count")
    too_many = min(free - int(keeping * pages), PAGES_AT_ONCE)
    if too_many <= 0 or not connection.pragma("auto_vacuum"):
        return 0
    connection.execute(f"PRAGMA incremental_vacuum({too_many})").fetchall()
    return int(connection.pragma("page_size") * (pages - connection.pragma("page_count")))


def _look(
    connection: apsw.Connection,
    retention: Retention,
    asked: Mapping[str, Any],
    proven: int,
    *,
    window: int,
    at_most: int,
) -> _Window:
    """What is old among so many of the next events, until there are `at_most` of them."""
    now = asked["now"]
    before = moment_before(now, min(ages.content(state) for ages in retention.all for state in EXPIRES))
    ((found,),) = ask(connection, "retain_batch", {**asked, "before": before, "window": window})
    old: list[_Old] = []
    held_back = looked_at = weight = 0
    last = None
    for seq, event_id, received_at, source, is_empty, size, state, line, at in json.loads(found):
        looked_at, last = looked_at + 1, (received_at, bytes.fromhex(event_id))
        if state is None:
            continue
        verdict = retention.judge(Standing(source, State(state), (now - at) / 1e6, line, bool(is_empty)))
        if verdict is Verdict.NOTHING:
            continue
        if line > proven:
            held_back += 1
            continue
        old.append(_Old(seq, event_id, received_at, State(state), line, verdict is Verdict.ALL, source))
        weight += size
        if len(old) == at_most or weight > BYTES_AT_ONCE:
            break
    return _Window(looked_at, old, held_back, last)


def _remove(connection: apsw.Connection, found: Sequence[_Old], now: int) -> Counts:
    """Those that are as old and as over as they had looked. A statement for all of them, not for each: between two of
    ours, a handler that computes may keep Python to itself for 5 ms, and all of intake would wait for that."""
    ((still,),) = ask(connection, "retain_still", {"old": json.dumps(found)})
    old = [found[place] for place in json.loads(still)]
    content, gone = ([each for each in old if each.is_whole is is_whole] for is_whole in (False, True))
    named = {"gone": json.dumps(content), "now": now, "headers": EMPTY_HEADERS, "body": EMPTY_BODY}
    for statement in ("retain_content", "retain_data_key") if content else ():
        ask(connection, statement, named)
    leaving = json.dumps(gone)
    held = ask(connection, "retain_lanes", {"gone": leaving}) if gone else []
    for statement in _OF_EVERYTHING if gone else ():
        ask(connection, statement, {"gone": leaving})
    lanes.advance(connection, held)  # what they blocked for a year goes on
    for lines in (leaving, _NOBODYS):
        _remove_lines(connection, lines)
    counts: defaultdict[tuple[str, State], Count] = defaultdict(Count)
    for each in old:
        counts[each.source, each.state] += Count(0, 1) if each.is_whole else Count(1, 0)
    _count(connection, counts)
    return dict(counts)


_OF_EVERYTHING = (
    "retain_shelf",
    "retain_identity",
    "retain_body",
    "retain_data_key",
    "retain_redelivery",
    "retain_erasure",
    "retain_newest_line",
)


def _remove_lines(connection: apsw.Connection, gone: str) -> None:
    """Those that nobody has counted yet are counted here: what is done is a sum over lines and totals."""
    ((uncarried,),) = ask(connection, "retain_uncarried", {"gone": gone, "done": State.DONE})
    ask(connection, "retain_lines", {"gone": gone})
    if uncarried:
        ask(connection, "total_add", (State.DONE, "", uncarried))


def _count(connection: apsw.Connection, counts: Mapping[tuple[str, State], Count]) -> None:
    """In the transaction that removes them: so no crash can make the count another."""
    for (source, state), count in counts.items():
        if count.events:
            ask(connection, "total_add", (f"expired:{state}", source, count.events))
    done = sum(count.events for (_, state), count in counts.items() if state is State.DONE)
    if done:
        ask(connection, "total_add", (State.DONE, "", -done))
