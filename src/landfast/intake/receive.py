"""Receive: the spine of intake. verify -> identify -> seen -> record -> answer.

It reads no socket. A server (our own, or any ASGI server) calls `admit` when it has the head of a request, `receive`
when it has the body, and `refuse` when the request itself is broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

import msgspec

from landfast import telemetry
from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery, Head, Headers
from landfast.domain.errors import (
    BodyTooLargeError,
    OverloadedError,
    TooManyError,
    UnknownSourceError,
    UnsupportedEncodingError,
    UnverifiedError,
    WrongMethodError,
)
from landfast.domain.ids import EventId
from landfast.domain.readiness import Readiness
from landfast.intake.answers import answer_to
from landfast.intake.counting.repeats import Repeats
from landfast.intake.counting.tally import Tally
from landfast.intake.diagnosis.reports import Reports
from landfast.intake.identify import deliveries, event_of, marks_of, proof_in
from landfast.intake.keys.published_keys import FETCH_SECONDS as KEY_SECONDS
from landfast.intake.keys.published_keys import PublishedKeys
from landfast.intake.policy.admission import Admission
from landfast.intake.policy.unproven import Unproven
from landfast.intake.record import Conclude, RecordResult
from landfast.intake.source import Source
from landfast.intake.verify import greet, present, verify
from landfast.ports.clock import Clock
from landfast.ports.provider import Greeting, KeyNeeded, Provider, PublicKey, Signature
from landfast.ports.seen import Seen

NO_SOURCE = ""
"""Under this name requests are counted that name no source of ours."""

NO_SIGNATURE = Signature()
EMPTY = Answer(200, b'{"status":"empty"}')

Answered = Callable[[Answer], None]
"""Told the answer to a request, once."""


class DeliveryRecorder(Protocol):
    """What makes deliveries durable: `intake.record.GroupCommit`."""

    def record(self, deliveries: Sequence[Delivery], conclude: Conclude) -> None: ...


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
    ) -> None:
        self._routes = {f"/in/{source.name}": source for source in sources}
        self._admission = Admission(self._routes.values(), clock=clock) if admission is None else admission
        self.unproven = Unproven() if unproven is None else unproven
        self.ready = ready
        """Whether deliveries can be taken in now: the answer of `/ready`."""
        self._recorder = recorder
        self._seen = seen
        self._tally = tally
        self._clock = clock
        self.repeats = Repeats()
        self._keys = PublishedKeys(clock) if keys is None else keys
        self.reports = Reports(self._routes.values(), clock=clock, known=known, keys=self._keys)

    def fetch_keys(self) -> None:
        """Have the keys fetched whose address is known, so that the first request need not wait. It delays nobody."""
        for source in self._routes.values():
            has_own = any(isinstance(secret.key, PublicKey) for secret in source.secrets)
            if source.provider.fixed_keys is not None and not has_own:
                self._keys.fetch_ahead(source.provider.fixed_keys, source.provider.name)

    def admit(self, head: Head) -> Admitted:
        """Everything that can be refused before the body is read, cheapest first. What it raises is counted already:
        answer it with `answer_to`."""
        source = self._routes.get(head.path)
        name = NO_SOURCE if source is None else source.name
        self._tally.received(name)
        try:
            return self._admit(source, head)
        except Exception as error:
            self._reject(name, error, source, head)
            raise

    def receive(self, admitted: Admitted, body: bytes, answered: Answered) -> Answer | None:
        """The answer to a whole request, at once where nothing has to be written. Otherwise None, and `answered` is
        told after the COMMIT, whether or not anybody still listens. Never raises."""
        source, head, now = admitted.source, admitted.head, admitted.at
        try:
            if admitted.greeting is not None:
                return self._greeted(source, admitted.greeting)
            at = now.timestamp()
            proven = verify(source, admitted.signature, head, body, now=at, keys=self._keys)
            self.reports.used(source, proven.secret, at)
            greeting = source.provider.handshake(proven)
            if greeting is not None:
                return self._greeted(source, greeting)
            found = source.provider.find(proven, now)
            if not found:  # an empty batch: a sender that shows that it is alive
                self._tally.withdrawn(source.name)
                return source.provider.thanks or EMPTY
            events = [event_of(source, each) for each in found]
            self._admission.throttle(source, events, len(body))
            if source.counts_repeats:
                self.repeats.note(source.name, body)
            proof = proof_in(source, admitted.signature, proven) if source.binds_proofs else None
            if all(map(self._seen.has, marks_of(source, found, events, body, now, proof))):
                return self._duplicate(source, events)
            request = deliveries(source, found, events, head=head, body=body, now=now, proof=proof)
            self._recorder.record(request, partial(self._conclude, source, events[0], answered))
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
        later: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        return self.receive(admitted, body, partial(_tell, later)) or await later

    def refuse(self, source: str | None, error: Exception) -> Answer:
        """The answer to a request that cannot be read: broken, cut short, too slow or too large. `source` is the
        admitted one; None if it did not get that far, or is answered for already."""
        if source is None:
            self._tally.received(NO_SOURCE)
        return self._reject(source or NO_SOURCE, error)

    def monotonic(self) -> float:
        return self._clock.monotonic()

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
        greeting = greet(source, head, now=at) if source.provider.greets else None
        signature = present(source, head, now=at) if greeting is None else NO_SIGNATURE
        if head.content_length is not None and head.content_length > source.body_limit:
            raise BodyTooLargeError(f"{head.content_length} bytes announced")
        return Admitted(source, head, signature, now, greeting)

    def _greeted(self, source: Source, greeting: Greeting) -> Answer:
        self._tally.withdrawn(source.name)
        if greeting.visit is not None and source.confirms:
            self._keys.visit(greeting.visit, source.name)
        elif greeting.visit is not None:
            telemetry.warn("subscription_waits", source=source.name, address=greeting.visit)
        return greeting.answer

    def _conclude(self, source: Source, first: EventId, answered: Answered, outcome: RecordResult) -> None:
        self._admission.leave(source)
        answered(self._answer(source, first, outcome))

    def _answer(self, source: Source, first: EventId, outcome: RecordResult) -> Answer:
        if isinstance(outcome, Exception):
            return self._reject(source.name, outcome)
        again = [row.event_id for row in outcome if not row.is_new]
        if len(again) == len(outcome):
            return self._duplicate(source, again)
        for event in again:
            self._tally.came_again(event)
        # By id: a spool takes a request that names one event twice for two new ones, and the inbox for one.
        new = len({row.event_id for row in outcome if row.is_new})
        elsewhere = len({row.event_id for row in outcome if row.is_new and not row.in_inbox})
        self._tally.stored(source.name, new, known=len(outcome) - new, elsewhere=elsewhere)
        # Of a request with one event, the journal says which it became: another body may be an event of its own.
        return source.provider.thanks or answer.stored(first if len(outcome) > 1 else outcome[0].event_id)

    def _duplicate(self, source: Source, events: Sequence[EventId]) -> Answer:
        for event in events:
            self._tally.came_again(event)
        self._tally.duplicate(source.name, len(events))
        return source.provider.thanks or answer.duplicate(events[0])

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
        given = answer_to(error) if source is None or not isinstance(error, UnverifiedError) else source.refused
        if isinstance(error, UnverifiedError) and source is not None and head is not None:
            self.reports.unverified(source, head, body, error)
        else:
            self.reports.rejected(name, given.status, error)
        return given


class WaitingForKey:
    """A request whose signature names a key that is being fetched."""

    def __init__(self, intake: Intake, admitted: Admitted, body: bytes, answered: Answered) -> None:
        self._intake = intake
        self._admitted = admitted
        self._body = body
        self._answered = answered
        self._is_over = False
        self.deadline = intake.monotonic() + KEY_SECONDS

    def go_on(self, error: Exception | None) -> None:
        """The key is there, or it is not to be had."""
        name = self._admitted.source.name
        self._intake.unproven.hold(self, name, 0)
        if self._is_over:
            return
        self._is_over = True
        if error is None:
            given = self._intake.receive(self._admitted, self._body, self._answered)
        else:
            given = self._intake.refuse(name, error)
        if given is not None:
            self._answered(given)

    def give_way(self) -> None:
        # A moment later: this may be the very request that is being received.
        asyncio.get_running_loop().call_soon(self.go_on, OverloadedError("its bytes were needed"))
        self._body = b""


def _tell(later: asyncio.Future[Answer], answer: Answer) -> None:
    if not later.done():  # cancelled by whoever waited for it
        later.set_result(answer)


def _is_identity(headers: Headers) -> bool:
    encoding = headers.get(b"content-encoding")
    return encoding is None or (encoding.lower() in {b"", b"identity"} and not headers.is_repeated(b"content-encoding"))
