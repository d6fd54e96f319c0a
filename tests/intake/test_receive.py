"""The spine of intake, against an inbox in memory."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from landfast.domain.answer import Answer
from landfast.domain.census import SourceTally
from landfast.domain.delivery import Head, Headers, Identity
from landfast.domain.errors import (
    BodyTooLargeError,
    FramingError,
    SenderError,
    UnknownSourceError,
    UnsupportedEncodingError,
    UnverifiedError,
    WrongMethodError,
)
from landfast.domain.ids import event_id
from landfast.intake.answers import answer_to
from landfast.intake.source import Source
from landfast.ports.provider import NO_KEYS, Found, Greeting, Hidden, Proven, Secret, Signature
from landfast.testing.signing import sample
from tests.intake.desk import SECRET, Desk, body, source


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.req("R3", "R12")
async def test_a_new_event_is_stored_before_it_is_answered(desk: Desk) -> None:
    desk.recorder.gate.clear()
    outcome = desk.receive(body())
    assert isinstance(outcome, asyncio.Future)
    await desk.recorder.entered.wait()
    assert not outcome.done()
    desk.recorder.gate.set()
    answer = await outcome
    assert answer.status == 200 and json.loads(answer.body)["status"] == "stored"
    (stored,) = desk.recorder.events.values()
    assert stored.body == body() and stored.source == "stripe" and stored.type == "payment_intent.succeeded"
    assert stored.received_at == desk.clock.now() and stored.key == "evt_1"
    assert json.loads(answer.body)["event"] == stored.event_id.hex()
    assert desk.count() == SourceTally(1, 1, 0, 0)


@pytest.mark.req("R5")
async def test_a_duplicate_is_answered_200_at_once_and_not_recorded_again(desk: Desk) -> None:
    await desk.deliver(body())
    again = desk.receive(body())
    assert isinstance(again, Answer)
    assert again.status == 200 and json.loads(again.body)["status"] == "duplicate"
    assert len(desk.recorder.batches) == 1
    assert desk.count() == SourceTally(2, 1, 1, 0)


@pytest.mark.req("R5")
async def test_a_duplicate_that_the_cache_forgot_is_found_by_the_inbox(desk: Desk) -> None:
    await desk.deliver(body())
    desk.seen.clear()
    again = await desk.deliver(body())
    assert json.loads(again.body)["status"] == "duplicate"
    assert desk.count() == SourceTally(2, 1, 1, 0)


@pytest.mark.req("R6")
async def test_of_concurrent_twins_exactly_one_is_stored(desk: Desk) -> None:
    answers = await asyncio.gather(*(desk.deliver(body()) for _ in range(50)))
    assert sorted(json.loads(answer.body)["status"] for answer in answers) == ["duplicate"] * 49 + ["stored"]
    assert desk.count() == SourceTally(50, 1, 49, 0)


@pytest.mark.req("R5")
async def test_the_cache_knows_an_event_only_after_its_commit(desk: Desk) -> None:
    desk.recorder.is_down = True
    assert (await desk.deliver(body())).status == 503
    assert len(desk.seen) == 0
    desk.recorder.is_down = False
    assert json.loads((await desk.deliver(body())).body)["status"] == "stored"
    assert len(desk.seen) == 1


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda head: replace(head, path="/in/nobody"), UnknownSourceError),
        (lambda head: replace(head, path="/"), UnknownSourceError),
        (lambda head: replace(head, path="/in/stripe/"), UnknownSourceError),
        (lambda head: replace(head, method="GET"), WrongMethodError),
        (lambda head: _with(head, b"content-encoding", b"gzip"), UnsupportedEncodingError),
        (lambda head: _with(_with(head, b"content-encoding", b""), b"content-encoding", b""), UnsupportedEncodingError),
        (lambda head: replace(head, headers=Headers()), UnverifiedError),
        (lambda head: replace(head, content_length=10_000_000), BodyTooLargeError),
    ],
)
def test_what_can_be_refused_without_the_body_is(
    desk: Desk, change: Callable[[Head], Head], error: type[SenderError]
) -> None:
    with pytest.raises(error):
        desk.intake.admit(change(desk.head(body())))
    assert desk.count(name := "" if error is UnknownSourceError else "stripe").rejected == 1
    assert desk.count(name).received == 1


def _with(head: Head, name: bytes, value: bytes) -> Head:
    return replace(head, headers=Headers([*head.headers, (name, value)]))


def test_the_path_of_an_unknown_source_is_in_the_log_bounded_and_harmless(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """A typing mistake in a sender's dashboard is found by it."""
    caplog.set_level("INFO", logger="landfast")
    with pytest.raises(UnknownSourceError):
        desk.intake.admit(replace(desk.head(body()), path="/in/strpie\x1b\n" + "a" * 5_000))
    (line,) = [record.getMessage() for record in caplog.records if record.getMessage().startswith("rejected")]
    assert "path=/in/strpie\\x1b\\x0aaaa" in line
    assert len(line) < 400
    with pytest.raises(WrongMethodError):
        desk.intake.admit(replace(desk.head(body()), method="GET"))
    assert "path=" not in caplog.records[-1].getMessage()


def test_an_unknown_source_is_refused_before_its_method_and_a_method_before_its_signature(desk: Desk) -> None:
    with pytest.raises(UnknownSourceError):
        desk.intake.admit(Head("GET", "/in/nobody"))
    with pytest.raises(WrongMethodError):
        desk.intake.admit(Head("GET", "/in/stripe"))


@pytest.mark.req("R1")
@pytest.mark.parametrize(("ago", "is_fresh"), [(0, True), (300, True), (-300, True), (301, False), (-301, False)])
def test_the_timestamp_window_is_300_seconds_both_ways(desk: Desk, ago: float, *, is_fresh: bool) -> None:
    desk.clock.advance(1 - desk.clock.now().microsecond / 1e6)
    if is_fresh:
        desk.intake.admit(desk.head(body(), ago=ago))
        return
    with pytest.raises(UnverifiedError):
        desk.intake.admit(desk.head(body(), ago=ago))


@pytest.mark.req("R1")
@pytest.mark.parametrize("changed", [body() + b" ", b"", body(2)])
async def test_other_bytes_than_the_signed_ones_are_refused_and_leave_no_trace(desk: Desk, changed: bytes) -> None:
    answer = await desk.intake.respond(desk.intake.admit(desk.head(body())), changed)
    assert answer == UnverifiedError.answer
    assert desk.recorder.batches == []
    assert desk.count() == SourceTally(1, 0, 0, 1)


@pytest.mark.req("R1")
async def test_another_sources_secret_is_refused() -> None:
    desk = Desk(sources=(source(secret="whsec_other"), source("twin")))
    assert (await desk.deliver(body())).status == 401


async def test_identity_encoding_is_no_encoding(desk: Desk) -> None:
    desk.intake.admit(desk.head(body(), content_encoding="Identity"))


async def test_a_handshake_is_answered_exactly_and_is_no_delivery(desk: Desk) -> None:
    challenge = b'{"type":"url_verification","challenge":"abc"}'
    headers = desk.headers(challenge, provider_name="slack")
    head = Head(
        "POST", "/in/slack", "", Headers([(k.encode(), v.encode()) for k, v in headers.items()]), len(challenge)
    )
    answer = await desk.intake.respond(desk.intake.admit(head), challenge)
    assert answer.status == 200 and b"abc" in answer.body
    assert desk.recorder.batches == [] and desk.is_balanced()


async def test_the_same_key_of_two_sources_is_two_events() -> None:
    desk = Desk(sources=(source("one"), source("two")))
    for name in ("one", "two"):
        admitted = desk.intake.admit(desk.head(body(), path=f"/in/{name}"))
        assert json.loads((await desk.intake.respond(admitted, body())).body)["status"] == "stored"
    assert len(desk.recorder.events) == 2


@pytest.mark.req("R12")
async def test_a_stored_event_is_logged_with_source_type_key_and_id_once(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    await desk.deliver(body())
    await desk.deliver(body())
    await asyncio.sleep(0)
    (line,) = [r.getMessage() for r in caplog.records if r.getMessage().startswith("stored")]
    identity = event_id("stripe", "evt_1").hex()
    assert line == f"stored source=stripe type=payment_intent.succeeded key=evt_1 event={identity}"


async def test_what_a_sender_says_cannot_forge_a_field_of_a_line(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "landfast")
    kind = 'x" source="other\n2026 INFO stored'
    await desk.deliver(json.dumps({"id": "evt_1", "type": kind}).encode())
    await asyncio.sleep(0)
    (line,) = [r.getMessage() for r in caplog.records if r.getMessage().startswith("stored")]
    assert "\n" not in line and '\\" source=\\"other' in line


async def test_a_refusal_is_logged_with_its_reason_and_without_the_secret(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    await desk.intake.respond(desk.intake.admit(desk.head(body())), b"forged")
    await asyncio.sleep(0)  # the cause is looked for once the answer is on its way
    desk.intake.reports.guesser.finish()  # in a thread of its own, which writes the line
    assert "rejected source=stripe status=401" in caplog.text
    assert SECRET not in caplog.text


def test_what_the_server_finds_is_counted_for_its_source_or_for_none(desk: Desk) -> None:
    assert desk.intake.refuse(None, FramingError("bad")).status == 400
    assert desk.count("") == SourceTally(1, 0, 0, 1)
    admitted = desk.intake.admit(desk.head(body()))
    assert desk.intake.refuse(admitted.source.name, FramingError("cut")).close
    assert desk.count() == SourceTally(1, 0, 0, 1)


@dataclass(frozen=True)
class Thing:
    key: str

    def identity(self, received_at: datetime) -> Identity:
        return Identity(self.key, "thing")


class BatchProvider:
    """A sender that puts many events in one request: comma-separated keys, and no signature to speak of."""

    name = "batch"
    body_limit = 1000
    tolerance = 300.0
    refusal = 401
    thanks = None
    greets = False
    signs_once = False
    hidden_headers: Mapping[bytes, Hidden] = MappingProxyType({})
    fixed_keys = None

    def __init__(self, *, bug: Exception | None = None, signed_at: float | None = None) -> None:
        self.bug = bug
        self.presented_at = signed_at

    def takes(self, method: str) -> bool:
        return method == "POST"

    def ordinary(self, secrets: Sequence[Secret], *, tolerance: float) -> None:
        """A batch is not ordinary."""

    def greet(self, head: Head, secrets: Sequence[Secret], *, url: str = "") -> Greeting | None:
        return None

    def present(self, head: Head) -> Signature:
        if self.bug and head.headers.get(b"early"):
            raise self.bug
        return Signature((b"",), signed_at=self.presented_at)

    def verify(
        self,
        signature: Signature,
        head: Head,
        body: bytes,
        secrets: Sequence[Secret],
        *,
        url: str = "",
        keys: Mapping[str, bytes] = NO_KEYS,
    ) -> Proven:
        return Proven(secrets[0], signature, body)

    def signed_at(self, proven: Proven) -> float | None:
        return None

    def proof(self, signature: Signature, proven: Proven) -> bytes | None:
        return None

    def find(self, proven: Proven, received_at: datetime) -> Sequence[Found]:
        if self.bug:
            raise self.bug
        return [Thing(key) for key in proven.request.decode().split(",")]

    def handshake(self, proven: Proven) -> Greeting | None:
        return None


def batch_desk(provider: BatchProvider) -> Desk:
    return Desk(sources=(Source("batch", provider, (Secret("s", b"k"),)),))


async def send_batch(desk: Desk, text: bytes) -> Answer:
    return await desk.intake.respond(desk.intake.admit(Head("POST", "/in/batch")), text)


async def test_a_batch_is_recorded_as_a_whole_and_is_a_duplicate_only_if_all_of_it_is() -> None:
    desk = batch_desk(BatchProvider())
    assert json.loads((await send_batch(desk, b"a,b")).body)["status"] == "stored"
    assert len(desk.recorder.batches[0]) == 2
    assert json.loads((await send_batch(desk, b"b,a")).body)["status"] == "duplicate"
    assert len(desk.recorder.batches) == 1
    mixed = await send_batch(desk, b"b,c")
    assert json.loads(mixed.body) == {"status": "stored", "event": event_id("batch", "b").hex()}
    # Each event of a request is a delivery: what is counted as stored is what the inbox has.
    assert desk.count("batch") == SourceTally(received=6, stored=3, duplicate=3, rejected=0)
    await desk.tally.flush()
    redelivered = desk.recorder.reports[-1].redelivered
    assert redelivered == {event_id("batch", "a"): 1, event_id("batch", "b"): 2}


async def test_a_timestamp_that_is_no_number_is_outside_every_window() -> None:
    desk = batch_desk(BatchProvider(signed_at=math.nan))
    with pytest.raises(UnverifiedError):
        desk.intake.admit(Head("POST", "/in/batch"))


async def test_a_bug_is_answered_500_with_fixed_text_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    desk = batch_desk(BatchProvider(bug=ZeroDivisionError("inside")))
    answer = await send_batch(desk, b"a")
    assert answer.status == 500 and b"inside" not in answer.body
    assert "ZeroDivisionError" in caplog.text and "inside" not in caplog.text, "its place is told, and not its message"
    with pytest.raises(ZeroDivisionError) as caught:
        desk.intake.admit(Head("POST", "/in/batch", "", Headers([(b"early", b"1")])))
    assert answer_to(caught.value).status == 500
    assert desk.count("batch") == SourceTally(2, 0, 0, 2)


def test_a_source_takes_its_body_limit_from_its_provider_unless_it_has_its_own() -> None:
    assert source().body_limit == 1024 * 1024
    assert source(body_limit=7).body_limit == 7
    assert sample("stripe")
