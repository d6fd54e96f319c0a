"""The ordinary request: in one read, a POST to a known path, no uncommon header, one signature of the usual form.

Nearly every request is one. It takes this path first, in which each source has functions of its own, made at the start
from its provider and its secrets. The general path (`receive`) is for everything else, and the only one that refuses.
So nothing is counted here, and nobody told anything, before it is certain that the request ends here. Both come to
the same: the same event, row, counts and answer. What `admit` and `receive` do for each request, and where it is here:

    its path, POST, no query, no body that is compressed or in chunks     known lines and shapes, else left
    allow_from, https_only, rates, endpoints, repeats, proofs             such a source has no ordinary requests
    room, in flight and for the commit; traces                            left where it is short; left while they are on
    signature, time, secrets, handshakes, limits of JSON                  the provider's reader, else left
    event, mark, the row, counts, the answer                              by the functions that `receive` calls
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import NamedTuple

from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery
from landfast.domain.ids import SeenMark
from landfast.intake.counting.tally import Tally
from landfast.intake.counting.thanks import Thanks
from landfast.intake.diagnosis.reports import Reports
from landfast.intake.identify import delivery_of, event_of, header_keeper, marks_of
from landfast.intake.lookups import MemoryLooks
from landfast.intake.policy.admission import Admission
from landfast.intake.record import DeliveryRecorder, RecordResult
from landfast.intake.source import Source
from landfast.ports.clock import Clock
from landfast.ports.provider import ReadOrdinary, Shaped
from landfast.telemetry import tracing

LARGEST_BYTES = 32 * 1024
"""Of a body: HMAC of more takes longer than all the rest, so there is nothing to gain, and a forger who is looked at
twice would cost twice. Fewer than one webhook in fifty is larger."""

SHAPES_OF_A_SOURCE = 64
"""Orders of headers that are remembered, of requests that were proven: a sender has one, or one for each of its
proxies."""

STRANGE_ORDERS = 16
"""Once so many orders were unknown as are remembered, and none of them was proven, one in this many is looked at: it
takes as long as half of the general path."""

MOST_HEADERS = 50
"""Half of what is allowed; senders send 10 to 25."""

UNCOMMON = frozenset({b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"te", b"trailer"})
"""Headers that change how a request is read, or its body."""

LARGEST_REQUEST = LARGEST_BYTES + 6 * 16 * 1024
"""Bytes that one takes until its COMMIT: of a head's 16 KiB each may be escaped, in JSON, and has six bytes then."""

Answered = Callable[[Answer], None]


class Taken(Enum):
    LATER = "later"
    """`answered` is told after the COMMIT."""


Conclude = Callable[[Source, Sequence[Delivery], float, Answered, RecordResult], None]
"""Told what became of a request after its COMMIT: as `Intake` concludes all others."""


class _Shape(NamedTuple):
    """An order of headers."""

    read: ReadOrdinary
    keep: Callable[[Sequence[bytes]], bytes]
    """Of the values of the headers, what is stored."""
    length_at: int
    connection_at: int | None


@dataclass(slots=True)
class _Ordinary:
    """What is made of a source."""

    source: Source
    shaped: Shaped
    shapes: dict[tuple[bytes, ...], _Shape] = field(default_factory=dict)
    strange: int = 0
    """Unknown orders of headers since one of them was proven."""


class OrdinaryPath:
    def __init__(
        self,
        routes: Mapping[str, Source],
        recorder: DeliveryRecorder,
        memory: MemoryLooks,
        tally: Tally,
        thanks: Thanks,
        admission: Admission,
        reports: Reports,
        clock: Clock,
        conclude: Conclude,
    ) -> None:
        self._recorder = recorder
        self._memory = memory
        self._tally = tally
        self._thanks = thanks
        self._admission = admission
        self._reports = reports
        self._clock = clock
        self._conclude = conclude
        made = {path: _ordinary(source, admission) for path, source in routes.items()}
        self.lines = {f"POST {path} HTTP/1.1".encode(): each for path, each in made.items() if each is not None}
        """The first lines of requests that may be ordinary ones, with what is made of their source."""

    def take(
        self, line: bytes, fields: Mapping[bytes, bytes], body: bytes, answered: Answered
    ) -> Answer | Taken | None:
        """The answer to a whole request, now or later; None where `admit` and `receive` have to look at it, and nothing
        has come of it yet. `fields` are its headers as they came, and the body is all that followed them."""
        mine = self.lines.get(line)
        if mine is None:
            return None
        source, spelling = mine.source, tuple(fields)
        shape = mine.shapes.get(spelling) or _unknown_shape(mine, spelling)
        if shape is None:
            return None
        values = tuple(fields.values())
        if values[shape.length_at] != b"%d" % len(body) or len(body) > min(LARGEST_BYTES, source.body_limit):
            return None
        if shape.connection_at is not None and values[shape.connection_at].lower() != b"keep-alive":
            return None
        has_room = self._admission.has_room() and self._recorder.has_room(LARGEST_REQUEST)
        if not has_room or tracing.is_on():
            return None
        now = self._clock.now()
        at = now.timestamp()
        believed = shape.read(values, body, now, at)
        if believed is None:
            return None
        if spelling not in mine.shapes:
            mine.strange = 0
            if len(mine.shapes) < SHAPES_OF_A_SOURCE:
                mine.shapes[spelling] = shape  # not before its sender is proven: a stranger can fill no memory
        # From here on it is this path's: it is counted, and it has an answer.
        secret, found = believed
        self._tally.received(source.name)
        self._reports.used(source, secret, at)
        event = event_of(source, found)
        plain = source.siblings is None and not source.is_strict
        marks = (SeenMark(event),) if plain else marks_of(source, (found,), (event,), body, now)
        if self._memory.knows_all(marks):
            return self._thanks.duplicate(source, (event,), "memory")
        request = (delivery_of(source, found, event, shape.keep(values), body, now),)
        conclude = partial(self._conclude, source, request, self._clock.monotonic(), answered)
        self._recorder.record(request, conclude)
        self._admission.enter(source)
        return Taken.LATER


def _ordinary(source: Source, admission: Admission) -> _Ordinary | None:
    is_watched = source.endpoint is not None or source.counts_repeats or source.binds_proofs
    if is_watched or not admission.takes_unseen(source):
        return None
    shaped = source.provider.ordinary(source.secrets, tolerance=source.tolerance)
    return None if shaped is None else _Ordinary(source, shaped)


def _unknown_shape(mine: _Ordinary, spelling: tuple[bytes, ...]) -> _Shape | None:
    mine.strange += 1
    if mine.strange > SHAPES_OF_A_SOURCE and mine.strange % STRANGE_ORDERS:
        return None
    names = tuple([name.lower() for name in spelling])
    at = {name: number for number, name in enumerate(names)}
    is_framed = b"content-length" in at and b"host" in at and UNCOMMON.isdisjoint(at)
    if not is_framed or len(at) < len(names) or len(names) > MOST_HEADERS:
        return None
    read = mine.shaped(names)
    keep = header_keeper(names, mine.source.hidden_headers)
    return None if read is None else _Shape(read, keep, at[b"content-length"], at.get(b"connection"))
