"""Receive: the spine of intake. verify -> identify -> seen -> record -> answer.

It reads no socket. A server (our own, or any ASGI server) calls `admit` when it has the head of a request, `receive`
when it has the body, and `refuse` when the request itself is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

import msgspec

from landfast import telemetry
from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery, Head, Headers
from landfast.domain.endpoint import Endpoint
from landfast.domain.errors import (
    BodyTooLargeError,
    OverloadedError,
    SenderError,
    TooManyError,
    UnknownSourceError,
    UnsupportedEncodingError,
    UnverifiedError,
    WrongMethodError,
)
from landfast.domain.metering import Meters
from landfast.domain.rates import Meter
from landfast.domain.readiness import Readiness
from landfast.domain.refusal_causes import cause_of
from landfast.intake.answers import answer_to
from landfast.intake.counting.repeats import Repeats
from landfast.intake.counting.tally import Tally
from landfast.intake.counting.thanks import Thanks
from landfast.intake.diagnosis.refusals import Refusals
from landfast.intake.diagnosis.reports import Reports
from landfast.intake.endpoints.calls import asked_event, check_body, check_head
from landfast.intake.endpoints.desk import CallersDesk, NoDesk
from landfast.intake.endpoints.problems import as_problem
from landfast.intake.identify import deliveries, event_of, marks_of, proof_in
from landfast.intake.keys.published_keys import PublishedKeys
from landfast.intake.keys.waiting import WaitingForKey
from landfast.intake.large import Judge, LargeBodies
from landfast.intake.lookups import MemoryLooks
from landfast.intake.ordinary import OrdinaryPath
from landfast.intake.policy.admission import Admission
from landfast.intake.policy.unproven import Unproven
from landfast.intake.record import DeliveryRecorder, RecordResult
from landfast.intake.source import Source
from landfast.intake.traces import traced, traced_duplicate
from landfast.intake.verify import greet, present, verify
from landfast.ports.clock import Clock
from landfast.ports.provider import Greeting, KeyNeeded, Provider, PublicKey, Signature
from landfast.ports.seen import Seen
from landfast.telemetry import metrics

NO_SOURCE = ""
"""Under this name requests are counted that name no source of ours."""

NO_SIGNATURE = Signature()
EMPTY = Answer(200, b'{"status":"empty"}')

Answered = Callable[[Answer], None]
"""Told the answer to a request, once."""


class Admitted(msgspec.Struct, frozen=True):
    """A request whose body is worth reading. Nothing is believed yet."""

    source: Source
    head: Head
    signature: Signature
    at: datetime
    greeting: Greeting | None = None
    """It is a handshake that nobody signs, and this is its answer; there is no signature then."""


class Intake:
    """Every request ends in exactly one of stored, duplicate and rejected; here is where each is counted."""

    def __init__(
        self,
        sources: Iterable[Source],
        *,
        recorder: DeliveryRecorder,
        seen: Seen,
        tally: Tally,
        clock: Clock,
        keys: PublishedKeys | None = None,
        known: Callable[[], Iterable[Provider]] = tuple,
        admission: Admission | None = None,
        unproven: Unproven | None = None,
        ready: Callable[[], Readiness] = Readiness,
        desk: CallersDesk | None = None,
    ) -> None:
        self._routes = {source.path: source for source in sources}
        self._endpoints = {path: source for path, source in self._routes.items() if source.endpoint is not None}
        self._calls = frozenset(source.name for source in self._endpoints.values())
        self._desk = desk or NoDesk()
        self._admission = Admission(self._routes.values(), clock=clock) if admission is None else admission
        self.unproven = Unproven() if unproven is None else unproven
        self.ready = ready
        """Whether deliveries can be taken in now: the answer of `/ready`."""
        self._recorder = recorder
        self._memory = MemoryLooks(seen)
        self._tally = tally
        self._clock = clock
        self.repeats = Repeats()
        self.meters = Meters(metrics.counted)
        """What came of the requests, by source, type and cause, since somebody took it."""
        self._thanks = Thanks(tally, self.meters)
        self.address = ""
        """Where it is asked for `/ready`, if somebody listens for it alone."""
        self._keys = PublishedKeys(clock) if keys is None else keys
        self.large = LargeBodies(self, self._keys)
        refusals = Refusals(clock, self._admission.address_of)
        self.reports = Reports(self._routes.values(), clock=clock, known=known, keys=self._keys, refusals=refusals)
        told = self._memory, tally, self._thanks, self._admission, self.reports
        self.ordinary = OrdinaryPath(self._routes, recorder, *told, clock, self._conclude)
        """What requests of the usual form take first; `admit` and `receive` are for all others."""

    def fetch_keys(self) -> None:
        """Have the keys fetched whose address is known, so that the first request need not wait. It delays nobody."""
        for source in self._routes.values():
            has_own = any(isinstance(secret.key, PublicKey) for secret in source.secrets)
            if source.provider.fixed_keys is not None and not has_own:
                self._keys.fetch_ahead(source.provider.fixed_keys, source.provider.name)

    def admit(self, head: Head) -> Admitted:
        """Everything that can be refused before the body is read, cheapest first. What it raises is counted already:
        answer it with `answer_to`."""
        source = self._routes.get(head.path) or self._linked(head.path)
        name = NO_SOURCE if source is None else source.name
        self._tally.received(name)
        try:
            return self._admit(source, head)
        except Exception as error:
            given = self._reject(name, error, source, head)
            if source is not None and source.endpoint is not None and isinstance(error, SenderError | OverloadedError):
                error.answer = given
            raise

    def receive(self, admitted: Admitted, body: bytes, answered: Answered, judge: Judge = None) -> Answer | None:
        """The answer to a whole request, at once where nothing has to be written. Otherwise None, and `answered` is
        told after the COMMIT, whether or not anybody still listens. Never raises."""
        source, head, now = admitted.source, admitted.head, admitted.at
        began = self._clock.monotonic()
        try:
            if admitted.greeting is not None:
                return self._greeted(source, admitted.greeting)
            at = now.timestamp()
            proven = judge() if judge else verify(source, admitted.signature, head, body, now=at, keys=self._keys)
            self.reports.used(source, proven.secret, at)
            greeting = source.provider.handshake(proven)
            if greeting is not None:
                return self._greeted(source, greeting)
            if source.endpoint is not None and self._is_question(source, source.endpoint, head, body, answered):
                return None
            found = source.provider.find(proven, now)
            if not found:  # an empty batch: a sender that shows that it is alive
                self._tally.withdrawn(source.name)
                return source.provider.thanks or EMPTY
            events = [event_of(source, each) for each in found]
            self._admission.throttle(source, events, len(body))
            if source.counts_repeats:
                self.repeats.note(source.name, body)
            proof = proof_in(source, admitted.signature, proven) if source.binds_proofs else None
            # Of a call that is known, its desk still has to see whether the body is the same.
            if source.endpoint is None and self._memory.knows_all(marks_of(source, found, events, body, now, proof)):
                traced_duplicate(admitted, found, events, self._clock)
                return self._thanks.duplicate(source, events, "memory")
            request = deliveries(source, found, events, head=head, body=body, now=now, proof=proof)
            conclude = partial(self._conclude, source, request, began, answered)
            self._recorder.record(request, traced(admitted, request, conclude, self._clock))
        except KeyNeeded as needed:
            waiting = WaitingForKey(self, admitted, body, answered)
            refusal = self._keys.need(needed, waiting.go_on, owner=source.provider.name)
            if refusal is not None:
                return self._reject(source.name, refusal, source, head, body)
            self.unproven.hold(waiting, source.name, head.footprint + len(body))
            return None
        except Exception as error:  # noqa: BLE001 - an error in here is answered like any other, never shown
            return self._reject(source.name, error, source, head, body)
        self._admission.enter(source)  # until `_conclude`, which is called in any case
        return None

    async def respond(self, admitted: Admitted, body: bytes) -> Answer:
        """The same for a caller that can wait. A caller that is cancelled meanwhile does not cancel the storing."""
        return await self.large.begin(admitted, lambda: body, len(body))

    def refuse(self, source: str | None, error: Exception) -> Answer:
        """The answer to a request that cannot be read: broken, cut short, too slow or too large. `source` is the
        admitted one; None if it did not get that far, or is answered for already."""
        if source is None:
            self._tally.received(NO_SOURCE)
        return self._reject(source or NO_SOURCE, error)

    def monotonic(self) -> float:
        return self._clock.monotonic()

    @property
    def in_flight(self) -> int:
        """Whole requests that are not answered yet."""
        return self._admission.in_flight

    def let_callers_go(self) -> None:
        self._desk.let_go()  # the server stops, and nobody waits for an answer any longer

    def busy(self) -> Answer:
        """The answer to a connection for which there is no room. No request of it was read, so none is counted."""
        return self._admission.later(OverloadedError())

    def _admit(self, source: Source | None, head: Head) -> Admitted:
        if source is None:
            raise UnknownSourceError
        self._admission.check(source, head)
        if not source.provider.takes(head.method):
            raise WrongMethodError
        if not _is_identity(head.headers):
            raise UnsupportedEncodingError
        now = self._clock.now()
        at = now.timestamp()
        if source.endpoint is not None:
            check_head(source, source.endpoint, head, now=at)
        greeting = greet(source, head, now=at) if source.provider.greets else None
        signature = present(source, head, now=at) if greeting is None else NO_SIGNATURE
        if head.content_length is not None and head.content_length > source.body_limit:
            raise BodyTooLargeError(f"{head.content_length} bytes announced")
        return Admitted(source, head, signature, now, greeting)

    def _linked(self, path: str) -> Source | None:
        """The endpoint whose status link this is."""
        source = self._endpoints.get(path.rpartition("/")[0])
        return source if source is not None and source.endpoint and source.endpoint.event_in(path) else None

    def _is_question(self, source: Source, endpoint: Endpoint, head: Head, body: bytes, answered: Answered) -> bool:
        """Whether a request only asks what became of a call: then the desk answers it. BadCallError for a call that
        nobody could handle."""
        event = asked_event(endpoint, head)
        if event is None:
            check_body(head, body)
            return False
        self._tally.withdrawn(source.name)
        self._desk.ask(endpoint, source.name, event, head.path, answered)
        return True

    def _greeted(self, source: Source, greeting: Greeting) -> Answer:
        self._tally.withdrawn(source.name)
        if greeting.visit is not None and source.confirms:
            self._keys.visit(greeting.visit, source.name)
        elif greeting.visit is not None:
            telemetry.warn("subscription_waits", source=source.name, address=greeting.visit)
        return greeting.answer

    def _conclude(
        self, source: Source, request: Sequence[Delivery], began: float, answered: Answered, outcome: RecordResult
    ) -> None:
        self._admission.leave(source)
        if isinstance(outcome, Exception):
            answered(self._reject(source.name, outcome))
            return
        given = self._thanks.recorded(source, request, outcome, seconds=self._clock.monotonic() - began)
        if source.endpoint is None:
            answered(given)
        else:
            self._desk.follow(source.endpoint, request[0], outcome[0], answered)

    def _reject(
        self,
        name: str,
        error: Exception,
        source: Source | None = None,
        head: Head | None = None,
        body: bytes | None = None,
    ) -> Answer:
        self._tally.rejected(name)
        if isinstance(error, OverloadedError | TooManyError):
            error.answer = self._admission.later(error)
        self.meters.count(Meter.REJECTED, name, detail=cause_of(error))
        given = answer_to(error) if source is None or not isinstance(error, UnverifiedError) else source.refused
        if isinstance(error, UnverifiedError) and source is not None and head is not None:
            self.reports.unverified(source, head, body, error)
        else:
            self.reports.rejected(name, given.status, error, head=head)
        return as_problem(given) if name in self._calls else given


def _is_identity(headers: Headers) -> bool:
    encoding = headers.get(b"content-encoding")
    return encoding is None or (encoding.lower() in {b"", b"identity"} and not headers.is_repeated(b"content-encoding"))
