"""What flows and what does not: refusals, failures, waiting, and who is there to do the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from landfast.domain.lifecycle import State
from landfast.domain.rates import Heartbeat
from landfast.domain.refusal_causes import fix_of
from landfast.operations.flow_status import REFUSALS_AT_LEAST, HandlerStatus, SourceStatus
from landfast.operations.status import Status
from landfast.recovery.doctor import Check, Level

REFUSED_SHARE = 0.5
"""From which on refusals beside accepted requests are worth a look."""

FAILING_SHARE, ALL_FAILING_SHARE = 0.05, 0.5
"""From which on a handler's failures are worth a look, and are an outage. Retries carry a few of a hundred."""

FAILURES_AT_LEAST = 3
"""Below, and beside runs that were done, a failure is what retries are for."""

WAITING_SECONDS, WAITING_LONG_SECONDS = 30.0, 900.0
"""An event that is ready and not taken for so long waits for a worker. After the second one somebody asks."""

PARKED_SECONDS = 900.0
"""Senders that mix up the order of events do so within minutes."""

IN_HAND_SECONDS = 10.0
"""A handler that runs for so long holds one of the hands that others need."""

SKEW_SECONDS, SKEW_UNSAFE_SECONDS = 2.0, 60.0
"""Clocks of machines that are kept by NTP agree within milliseconds. Signatures are refused after 300 s."""

START = "start one: landfast serve, or landfast work; see why it ended in its log, or systemctl status landfast"


def examine_flow(now: Status, *, sources: Collection[str] = ()) -> list[Check]:
    """`sources` are those that are configured: of others that nobody sends to nothing is said."""
    return [
        *_processes(now),
        *(check for one in now.sources for check in _source(one, now.minutes, sources)),
        *_handlers(now),
        *_dead(now),
        *_waiting(now),
        *_blocked(now),
        *_parked(now),
        *_in_hand(now),
        *_clocks(now.processes),
    ]


def _source(one: SourceStatus, minutes: int, configured: Collection[str]) -> Iterator[Check]:
    name = f"requests to {one.name}" if one.name else "requests to no source"
    lately = f"in the last {minutes} minutes"
    if not one.name:
        if one.rejected >= REFUSALS_AT_LEAST:
            yield Check(
                name,
                Level.WARN,
                f"{one.rejected:,} {lately}: {_shares(one.causes)}",
                _fix(one, "landfast rejected list"),
            )
        return
    refused = f"{one.rejected:,} of {one.accepted + one.rejected:,} were refused {lately}: {_shares(one.causes)}"
    if one.refused_since is not None:
        began = f"{one.refused_since.since:%H:%MZ}"
        refused = f"all {one.refused_since.count:,} were refused since {began}: {_shares(one.causes)}"
    since = f"; the last that was taken in came at {_time(one.last_accepted)}" if one.last_accepted else ""
    if one.has_only_refusals and one.rejected >= REFUSALS_AT_LEAST:
        yield Check(name, Level.FAIL, refused + (since or "; none was ever taken in"), _fix(one))
    elif one.rejected >= REFUSALS_AT_LEAST and one.rejected >= REFUSED_SHARE * (one.accepted + one.rejected):
        yield Check(name, Level.WARN, refused, _fix(one))
    elif one.accepted or one.rejected:
        yield Check(name, Level.OK, f"{one.accepted:,} taken in and {one.rejected:,} refused {lately}")
    elif one.name in configured:
        ever = f"none {lately}; the last came at {_time(one.last_accepted)}" if one.last_accepted else "none so far"
        yield Check(name, Level.OK, ever)


def _fix(one: SourceStatus, otherwise: str = "") -> str:
    return fix_of(one.causes[0][0]) if one.causes else otherwise


def _shares(found: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{what} ({count:,})" for what, count in found[:3]) or "for a reason that was not noted"


def _handlers(now: Status) -> Iterator[Check]:
    failing = [one for one in now.handlers if _level(one) is not Level.OK]
    if not failing:
        ran, lately = sum(one.done for one in now.handlers), f"in the last {now.minutes} minutes"
        yield Check("handlers", Level.OK, f"{ran:,} runs done {lately}; none goes wrong again and again")
    for one in failing:
        runs, error = one.done + one.failed, _shares(one.errors)
        found = f"{one.failed:,} of {runs:,} runs ({one.failing:.0%}) failed in the last {now.minutes} minutes: {error}"
        if one.is_well_again:
            found += f"; the last {one.lately_done:,} were done"
        fix = (
            f"landfast dead summary --failing has error and line; landfast pause {one.name} stops it meanwhile;"
            f" after the fix, landfast retry handler:{one.name}"
        )
        yield Check(f"handler {one.name}", _level(one), found, fix)


def _level(one: HandlerStatus) -> Level:
    if one.failed >= FAILURES_AT_LEAST and one.failing >= ALL_FAILING_SHARE:
        return Level.WARN if one.is_well_again else Level.FAIL
    if one.failed and (not one.done or (one.failed >= FAILURES_AT_LEAST and one.failing >= FAILING_SHARE)):
        return Level.WARN
    return Level.OK


def _dead(now: Status) -> Iterator[Check]:
    if now.dead:
        found = f"{now.dead:,} more in the last {now.minutes} minutes"
        yield Check("dead letters grow", Level.WARN, found, "landfast dead summary says why; mend it, then replay")


def _processes(now: Status) -> Iterator[Check]:
    waits = now.states.get(State.READY)
    is_waiting = waits is not None and waits.number > 0
    if not now.workers:
        level = Level.FAIL if is_waiting else Level.WARN
        more = f", and {waits} events wait" if is_waiting else ""
        yield Check("workers", level, f"none is alive{_last_heard(now, 'worker')}{more}", START)
    else:
        yield Check("workers", Level.OK, _named(now.workers))
    intakes = now.alive("intake")
    if not intakes:
        found = f"none is alive{_last_heard(now, 'intake')}: nothing can be taken in"
        fix = "start one: landfast serve; one that is mounted in your application opens with its first request"
        yield Check("intakes", Level.WARN, found, fix)
    else:
        yield Check("intakes", Level.OK, _named(intakes))
    silent = [one for one in now.processes if not one.is_alive]
    if silent:
        found = ", ".join(f"{one.role} {one.host}/{one.pid} since {_time(one.seen_at)}" for one in silent[:3])
        fix = "it was killed, or cannot reach the inbox: see its log; the line goes a day after"
        yield Check("silent processes", Level.WARN, f"{len(silent)} ended without a word: {found}", fix)


def _named(processes: Sequence[Heartbeat]) -> str:
    hosts = Counter(one.host for one in processes)
    return f"{len(processes)} alive: {', '.join(f'{host} ({count})' for host, count in sorted(hosts.items()))}"


def _last_heard(now: Status, role: str) -> str:
    heard = max((one.seen_at for one in now.processes if one.role == role), default=None)
    return f" (last heard of at {_time(heard)})" if heard else ""


def _waiting(now: Status) -> Iterator[Check]:
    oldest = next((one for one in now.waiting if one.since is not None), None)
    seconds = 0.0 if oldest is None or oldest.since is None else (now.at - oldest.since).total_seconds()
    if oldest is None or oldest.since is None or seconds < WAITING_SECONDS:
        yield Check("oldest ready", Level.OK, f"no event waits for longer than {WAITING_SECONDS:.0f} s")
        return
    level = Level.FAIL if seconds >= WAITING_LONG_SECONDS else Level.WARN
    found = f"{oldest.source} {oldest.type} waits since {_time(oldest.since)}, for {seconds:,.0f} s"
    fix = "see that workers run and keep up: landfast status; more of them, or a larger concurrency, if they do not"
    yield Check("oldest ready", level, found, fix)


def _blocked(now: Status) -> Iterator[Check]:
    """Until somebody decides, nothing of these entities runs."""
    lanes = now.blocked
    if not lanes.count:
        yield Check("lanes", Level.OK, "no dead letter blocks its entity")
        return
    entities = "entity waits" if lanes.count == 1 and not lanes.is_more else "entities wait"
    since = f", the first since {_time(lanes.oldest)}" if lanes.oldest else ""
    found = f"{lanes} {entities} behind a dead letter{_of(lanes.handlers)}{since}; {lanes.waiting:,} events are queued"
    fix = (
        "landfast lanes list names them; after the fix landfast replay EVENT runs the dead letter, and"
        " landfast lanes skip EVENT goes on without it"
    )
    yield Check("lanes", Level.WARN, found, fix)


def _parked(now: Status) -> Iterator[Check]:
    """Each has a deadline, after which it is a dead letter: those that wait for long tell what never comes."""
    count, parked = now.states.get(State.PARKED), now.parked
    seconds = 0.0 if parked.oldest is None else (now.at - parked.oldest).total_seconds()
    if count is None or not count.number or seconds < PARKED_SECONDS:
        yield Check(
            "parked", Level.OK, f"no event waits for its entity for longer than {PARKED_SECONDS / 60:.0f} minutes"
        )
        return
    waits = f"{count} events{_of(parked.handlers)} wait for their entities to move"
    found = f"{waits}, the oldest came at {_time(parked.oldest)}"
    fix = (
        "landfast events list state:parked has what each waits for: an event that never came (landfast reconcile),"
        " or that a handler refused (landfast dead summary)"
    )
    yield Check("parked", Level.WARN, found, fix)


def _of(handlers: Sequence[str]) -> str:
    more = f" and {len(handlers) - 3} more" if len(handlers) > 3 else ""
    return f" of {', '.join(handlers[:3])}{more}" if handlers else ""


def _in_hand(now: Status) -> Iterator[Check]:
    """Handlers that have run for long, and whether others wait for the hands that they hold."""
    held, longest = Counter[str](), dict[str, float]()
    hands = sum(int(one.doing.get("hands", 0)) for one in now.workers)
    for worker in now.workers:
        for one in worker.doing.get("in_hand", ()):
            seconds = now.at.timestamp() - float(one["since"])
            if seconds >= IN_HAND_SECONDS:
                held[one["handler"]] += 1
                longest[one["handler"]] = max(seconds, longest.get(one["handler"], 0.0))
    if not held:
        yield Check("in hand", Level.OK, f"no handler runs for longer than {IN_HAND_SECONDS:.0f} s")
    late = now.at - timedelta(seconds=IN_HAND_SECONDS)
    waiting = [one for one in now.waiting if one.since is not None and one.since < late]
    for name, count in held.most_common():
        found = f"{name} has {count} of {hands} hands, one of them for {longest[name]:,.0f} s"
        if waiting:
            others = ", ".join(dict.fromkeys(f"{one.source} {one.type}" for one in waiting[:3]))
            found += f", while {others} {'waits' if len(waiting) == 1 else 'wait'}"
        fix = (
            f"landfast pause {name} --now frees them; then see what it waits for (landfast events list state:claimed),"
            " and give it a shorter deadline or a concurrency of its own"
        )
        yield Check("in hand", Level.WARN, found, fix)


def _clocks(processes: Sequence[Heartbeat]) -> Iterator[Check]:
    worst = max((one for one in processes if one.is_alive), key=lambda one: abs(one.skew), default=None)
    if worst is None:
        return
    if abs(worst.skew) < SKEW_SECONDS:
        yield Check("clocks", Level.OK, f"all within {SKEW_SECONDS:g} s of the inbox's")
        return
    level = Level.FAIL if abs(worst.skew) >= SKEW_UNSAFE_SECONDS else Level.WARN
    found = f"that of {worst.host} is {abs(worst.skew):,.0f} s {'ahead of' if worst.skew > 0 else 'behind'} the inbox's"
    yield Check("clocks", level, found, "set it right (NTP): signatures are refused and retries come at wrong times")


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%SZ}"
