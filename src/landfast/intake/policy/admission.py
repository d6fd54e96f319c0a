"""Admission: which senders are let in, and how much at a time. A request is turned away as early as possible.

Before the body is read: the sender's address, HTTPS, and whether there is room. After the signature: how often. A rate
that counted before the signature would let a stranger use up a sender's share and lock it out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.errors import ForbiddenError, OverloadedError, TooManyError
from landfast.domain.ids import EventId
from landfast.intake.answers import later
from landfast.intake.policy.origin import Networks, origin_of
from landfast.intake.source import Source
from landfast.ports.clock import Chance, Clock

REQUESTS_IN_FLIGHT = 5_000
"""Whole requests that wait for their COMMIT: ten full batches, half a second of them at 10,000 acks a second. At 8 KB
each it is 40 MB of a process that may have 120. Requests whose body is still on its way are not among them: they prove
nothing yet, so a stranger's could fill all of it; the limits of connections and of arriving bytes bound those."""

THROTTLED_EVENTS = 10_000
"""Events whose deliveries are throttled at a time: 3 MB. One that is forgotten starts afresh; but for that so many
others must have come since its last delivery, and then it was not coming often."""

_USE_HTTPS = answer.error(403, "use https", close=True)


class Admission:
    def __init__(
        self,
        sources: Iterable[Source],
        *,
        clock: Clock,
        chance: Chance | None = None,
        https_only: bool = False,
        trusted_proxies: Iterable[str] = (),
        most: int = REQUESTS_IN_FLIGHT,
    ) -> None:
        sources = tuple(sources)
        self._clock = clock
        self._chance = chance
        self._https_only = https_only
        self._trusted = Networks(trusted_proxies)
        self._gates = {each.name: Networks(each.allow_from) for each in sources if each.allow_from or https_only}
        self._rates = _buckets({each.name: each.rate for each in sources}, clock)
        self._events = _buckets({each.name: each.event_rate for each in sources}, clock)
        self._bytes = _buckets({each.name: each.byte_rate for each in sources}, clock)
        self._keys: OrderedDict[EventId, Bucket] = OrderedDict()
        self._most = most
        self.in_flight = 0
        """Whole requests that are not answered yet."""
        self._in_flight_of = dict.fromkeys([each.name for each in sources], 0)

    def check(self, source: Source, head: Head) -> None:
        """Whether there is any point in reading this request. ForbiddenError or OverloadedError if not."""
        gate = self._gates.get(source.name)
        if gate is not None:
            self._check_origin(gate, head)
        if self.in_flight >= self._most:
            raise OverloadedError("too many requests wait for their commit")
        # Each may have as many as are still free: half alone, a third beside another that does the same.
        mine = self._in_flight_of.get(source.name, 0)
        if mine >= self._most - self.in_flight and len(self._in_flight_of) > 1:
            raise OverloadedError("too many requests of this source wait for their commit")

    def takes_unseen(self, source: Source) -> bool:
        """Whether `check` and `throttle` let this source's requests pass, whatever they are; but for room."""
        rates = (source.rate, source.key_rate, source.event_rate, source.byte_rate)
        return source.name not in self._gates and rates == (None, None, None, None)

    def has_room(self) -> bool:
        """Whether `check` finds room for a request of any source; False where it might not."""
        return 2 * self.in_flight < self._most

    def address_of(self, head: Head) -> str:
        """The sender's, seen through the proxies that are trusted; empty where nobody knows it."""
        return str(origin_of(head, self._trusted).address or "") if self._trusted else head.peer

    def enter(self, source: Source) -> None:
        """A whole request waits for its COMMIT, until `leave`."""
        self.in_flight += 1
        self._in_flight_of[source.name] += 1

    def leave(self, source: Source) -> None:
        self.in_flight -= 1
        self._in_flight_of[source.name] -= 1

    def throttle(self, source: Source, events: Sequence[EventId], size: int = 0) -> None:
        """TooManyError for a verified delivery beyond one of its source's rates, or with an event beyond the rate of
        one."""
        bucket = self._rates.get(source.name)
        if bucket is not None and not bucket.take(self._clock.monotonic()):
            raise TooManyError(f"more than {source.rate:g} a second")
        if self._events or self._bytes:
            self._check_amounts(source, len(events), size)
        if source.key_rate is not None:
            for event in dict.fromkeys(events):  # a batch that has one twice is one delivery of it, or it never got in
                if not self._bucket(event, source.key_rate).take(self._clock.monotonic()):
                    raise TooManyError(f"more than {source.key_rate:g} a second of one event")

    def _check_amounts(self, source: Source, events: int, size: int) -> None:
        now = self._clock.monotonic()
        of_events, of_bytes = self._events.get(source.name), self._bytes.get(source.name)
        if of_events is not None and not of_events.take(now, events):
            raise TooManyError(f"more than {source.event_rate:g} events a second")
        if of_bytes is not None and not of_bytes.take(now, size):
            raise TooManyError(f"more than {source.byte_rate:g} bytes a second")

    def later(self, error: OverloadedError | TooManyError) -> Answer:
        """When to come again. Without chance, everybody is told the same."""
        return error.answer if self._chance is None else later(error.answer, self._chance)

    def _check_origin(self, gate: Networks, head: Head) -> None:
        address, is_secure = origin_of(head, self._trusted)
        if gate and address not in gate:
            raise ForbiddenError(f"{address or 'an unknown address'} is not in allow_from")
        if self._https_only and not is_secure:
            raise ForbiddenError("it did not come over https", status=_USE_HTTPS)

    def _bucket(self, event: EventId, rate: float) -> Bucket:
        bucket = self._keys.get(event)
        if bucket is None:
            bucket = self._keys[event] = Bucket(rate, self._clock.monotonic())
            if len(self._keys) > THROTTLED_EVENTS:
                self._keys.popitem(last=False)
        else:
            self._keys.move_to_end(event)
        return bucket


def _buckets(rates: Mapping[str, float | None], clock: Clock) -> dict[str, Bucket]:
    return {name: Bucket(rate, clock.monotonic()) for name, rate in rates.items() if rate is not None}


class Bucket:
    """So many a second, and at most one second's worth at once; a single one always. What is more than that comes out
    of a full bucket, or it could never be taken, and is paid for by those who come next."""

    __slots__ = ("_at", "_burst", "_left", "_rate")

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._burst = self._left = max(rate, 1.0)
        self._at = now

    def take(self, now: float, amount: float = 1.0) -> bool:
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < min(amount, self._burst):
            return False
        self._left -= amount
        return True
