"""Who is let in, and how much at a time: the rules themselves. Over real connections: `tests/web/test_admission.py`."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from landfast.domain.answer import Answer
from landfast.domain.census import SourceTally
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import ForbiddenError, OverloadedError, TooManyError
from landfast.domain.ids import EventId
from landfast.intake.answers import WAITS, answer_to, later
from landfast.intake.policy import admission as admission_module
from landfast.intake.policy.admission import Admission, Bucket
from landfast.intake.policy.origin import Networks, address_of, origin_of
from landfast.testing.clock import ManualClock, SeededChance
from tests.intake.desk import Desk, body, source

PROXIES = Networks(["10.0.0.0/8", "2001:db8:ffff::/48"])


def head(peer: str, *lines: tuple[str, str], is_secure: bool = False) -> Head:
    pairs = [(name.encode(), value.encode()) for name, value in lines]
    return Head("POST", "/in/stripe", headers=Headers(pairs), peer=peer, is_secure=is_secure)


@pytest.mark.req("R11")
@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.5", [], "203.0.113.5"),
        ("203.0.113.5", ["192.0.2.7"], "203.0.113.5"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("::ffff:10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["192.0.2.7, 203.0.113.5"], "203.0.113.5"),
        ("10.0.0.1", ["192.0.2.7", "203.0.113.5"], "203.0.113.5"),
        ("10.0.0.1", ["192.0.2.7,203.0.113.5 , 10.1.1.1"], "203.0.113.5"),
        ("10.0.0.1", ["10.3.3.3, 10.1.1.1"], "10.3.3.3"),
        ("10.0.0.1", ["192.0.2.7:4711"], "192.0.2.7"),
        ("10.0.0.1", ["::ffff:192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("2001:db8:ffff::1", ["2001:db8::7"], "2001:db8::7"),
        ("2001:db8:fffe::1", ["2001:db8::7"], "2001:db8:fffe::1"),
        ("10.0.0.1", ["192.0.2.7, unknown"], None),
        ("10.0.0.1", ["192.0.2.7, "], None),
        ("10.0.0.1", [""], None),
        ("10.0.0.1", ["9" * 9_000], None),
        ("10.0.0.1", ["2001:db8::7%" + "x" * 9_000], "2001:db8::7"),
        ("2001:db8:ffff::1%eth0", ["2001:db8::7"], "2001:db8::7"),
        ("", ["192.0.2.7"], None),
        ("not an address", ["192.0.2.7"], None),
    ],
)
def test_the_client_is_the_rightmost_address_that_no_proxy_of_ours_has(
    peer: str, forwarded: list[str], client: str | None
) -> None:
    origin = origin_of(head(peer, *(("X-Forwarded-For", each) for each in forwarded)), PROXIES)
    assert origin.address == (None if client is None else ip_address(client))


@pytest.mark.parametrize(
    ("peer", "is_secure", "protocols", "expected"),
    [
        ("203.0.113.5", False, ["https"], False),
        ("203.0.113.5", True, ["http"], True),
        ("10.0.0.1", False, [], False),
        ("10.0.0.1", True, [], True),
        ("10.0.0.1", False, ["HTTPS"], True),
        ("10.0.0.1", True, ["http"], False),
        ("10.0.0.1", False, ["https, http"], False),
        ("10.0.0.1", False, ["http", "https"], True),
    ],
)
def test_a_trusted_proxy_says_whether_it_was_https(
    peer: str, is_secure: bool, protocols: list[str], expected: bool
) -> None:
    lines = [("X-Forwarded-Proto", each) for each in protocols]
    assert origin_of(head(peer, *lines, is_secure=is_secure), PROXIES).is_secure is expected


@pytest.mark.parametrize(
    ("addresses", "protocols", "expected"),
    [
        ("203.0.113.5, 10.0.0.2", "http, https", False),  # plain to the outer proxy, TLS between the two
        ("203.0.113.5, 10.0.0.2", "https, http", True),
        ("203.0.113.5, 10.0.0.2", "https", True),
        ("1.2.3.4, 203.0.113.5", "https, http", False),  # the first of both is what a stranger says
        ("1.2.3.4, 203.0.113.5, 10.0.0.2", "https, http, https", False),
    ],
)
def test_the_protocol_that_counts_stands_beside_the_clients_address(
    addresses: str, protocols: str, expected: bool
) -> None:
    lines = [("X-Forwarded-For", addresses), ("X-Forwarded-Proto", protocols)]
    assert origin_of(head("10.0.0.1", *lines), PROXIES).is_secure is expected


def test_no_source_takes_all_places_before_the_commit() -> None:
    flood, other = source(), source("slack", "slack")
    admission = Admission([flood, other], clock=ManualClock(), most=100)
    taken = 0
    with contextlib.suppress(OverloadedError):
        while taken < 100:
            admission.check(flood, head("192.0.2.1"))
            admission.enter(flood)
            taken += 1
    assert taken == 50
    for _ in range(25):
        admission.check(other, head("192.0.2.1"))
        admission.enter(other)
    admission.leave(flood)
    assert admission.in_flight == 74


def test_a_source_without_neighbours_may_take_all_places() -> None:
    alone = source()
    admission = Admission([alone], clock=ManualClock(), most=100)
    for _ in range(100):
        admission.check(alone, head("192.0.2.1"))
        admission.enter(alone)


def test_an_address_with_a_zone_is_in_its_network() -> None:
    assert address_of("fe80::1%eth0") in Networks(["fe80::/10"])
    assert address_of("") not in Networks(["0.0.0.0/0", "::/0"])


def test_a_bucket_gives_one_seconds_worth_at_once_and_then_its_rate() -> None:
    bucket = Bucket(10.0, 0.0)
    assert [bucket.take(0.0) for _ in range(12)] == [True] * 10 + [False] * 2
    assert [bucket.take(0.25) for _ in range(3)] == [True, True, False]
    assert [bucket.take(1_000.0) for _ in range(12)] == [True] * 10 + [False] * 2


def test_a_bucket_of_less_than_one_a_second_still_gives_one() -> None:
    bucket = Bucket(0.1, 0.0)
    assert [bucket.take(at) for at in (0.0, 5.0, 9.9, 10.0, 10.1)] == [True, False, False, True, False]


@pytest.mark.req("R11")
def test_a_million_keys_cost_no_memory_and_a_hot_one_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_module, "THROTTLED_EVENTS", 100)
    limited = replace(source(), key_rate=1.0)
    admission = Admission([limited], clock=ManualClock())
    hot = EventId(b"hot" + bytes(13))
    admission.throttle(limited, [hot])
    for number in range(1_000):
        admission.throttle(limited, [EventId(number.to_bytes(16))])
        with pytest.raises(TooManyError):
            admission.throttle(limited, [hot])
    assert len(admission._keys) == 100


@pytest.mark.req("R11")
async def test_one_event_beyond_its_rate_gets_429_and_others_do_not(desk: Desk) -> None:
    limited = Desk(sources=(replace(source(), key_rate=2.0),))
    assert [(await limited.deliver(body())).status for _ in range(4)] == [200, 200, 429, 429]
    assert (await limited.deliver(body(2))).status == 200
    limited.clock.advance(1)
    assert (await limited.deliver(body())).status == 200
    assert limited.count() == SourceTally(6, 2, 2, 2)
    assert [(await desk.deliver(body())).status for _ in range(50)] == [200] * 50, "off unless it is set"


def test_a_request_that_names_one_event_twice_is_one_delivery_of_it() -> None:
    """Two of them would never fit into a rate of one a second, however often the request came again."""
    limited = replace(source(), key_rate=1.0)
    admission = Admission([limited], clock=ManualClock())
    twice = [EventId(b"event" + bytes(11))] * 2
    admission.throttle(limited, twice)
    with pytest.raises(TooManyError):
        admission.throttle(limited, twice)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.req("R11")
async def test_beyond_the_budget_of_requests_in_flight_the_answer_is_503_before_the_body_is_read() -> None:
    desk = Desk(sources=(source(),), rules={"most": 3})
    desk.recorder.gate.clear()
    waiting = [desk.receive(body(number)) for number in range(3)]
    with pytest.raises(OverloadedError):
        desk.intake.admit(desk.head(body(4)))
    desk.recorder.gate.set()
    for each in waiting:
        assert isinstance(each, asyncio.Future)
        assert (await each).status == 200
    assert desk.admission.in_flight == 0
    assert (await desk.deliver(body(4))).status == 200
    assert desk.count() == SourceTally(5, 4, 0, 1)


async def test_whatever_becomes_of_a_request_it_is_in_flight_no_longer() -> None:
    desk = Desk()
    assert (await desk.deliver(body())).status == 200
    assert (await desk.deliver(body())).status == 200, "a duplicate"
    desk.recorder.is_down = True
    assert (await desk.deliver(body(2))).status == 503
    desk.recorder.is_down, desk.recorder.poison = False, b'"evt_3"'
    assert (await desk.deliver(body(3))).status == 500
    desk.recorder.bug = ZeroDivisionError("inside")
    assert (await desk.deliver(body(4))).status == 500
    assert desk.admission.in_flight == 0 and desk.is_balanced()


async def test_requests_whose_body_is_still_arriving_take_no_place_of_those_that_wait() -> None:
    """They prove nothing yet: a stranger's could fill it."""
    desk = Desk(rules={"most": 1})
    for _ in range(10):
        desk.intake.admit(desk.head(body()))
    assert (await desk.deliver(body())).status == 200


def test_the_answers_that_say_when_to_come_again_are_made_beforehand_and_differ() -> None:
    chance = SeededChance(7)
    drawn = [later(OverloadedError.answer, chance) for _ in range(3_000)]
    seconds = Counter(int(dict(answer.headers)[b"retry-after"]) for answer in drawn)
    assert seconds.keys() == set(WAITS) and max(seconds.values()) < 3 * min(seconds.values())
    assert len({id(answer) for answer in drawn}) == len(WAITS)
    assert later(TooManyError.answer, chance).status == 429


@pytest.mark.req("R31")
async def test_a_herd_that_was_turned_away_together_comes_back_spread_out_and_all_of_it_is_stored() -> None:
    """An hour's retries at once, while the inbox is away: nobody is lost, and the next wave is a thirtieth of it."""
    desk = Desk(rules={"chance": SeededChance(11)})
    desk.recorder.is_down = True
    herd = 600
    refused = await asyncio.gather(*(desk.deliver(body(number)) for number in range(herd)))
    assert {answer.status for answer in refused} == {503}
    returns: dict[int, list[int]] = {}
    for number, answer in enumerate(refused):
        returns.setdefault(_wait(answer), []).append(number)
    assert max(map(len, returns.values())) < herd / 10, "the largest wave of those that come again"
    desk.recorder.is_down = False
    for _, numbers in sorted(returns.items()):
        answers = await asyncio.gather(*(desk.deliver(body(number)) for number in numbers))
        assert {answer.status for answer in answers} == {200}
    assert desk.count() == SourceTally(2 * herd, herd, 0, herd)


def _wait(answer: Answer) -> int:
    return int(dict(answer.headers)[b"retry-after"])


async def test_thousands_that_are_turned_away_make_a_line_a_second(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "landfast")
    desk = Desk(rules={"most": 0})
    for number in range(1_000):
        if number == 500:
            desk.clock.advance(1)
        with pytest.raises(OverloadedError) as refused:
            desk.intake.admit(desk.head(body()))
        assert answer_to(refused.value).status == 503
    lines = [record.getMessage() for record in caplog.records if "status=503" in record.getMessage()]
    assert len(lines) == 2 and lines[1].endswith("others=499")
    assert desk.count() == SourceTally(1_000, 0, 0, 1_000)


def test_the_log_says_who_was_not_let_in() -> None:
    limited = replace(source(), allow_from=("192.0.2.0/24",))
    with pytest.raises(ForbiddenError, match=r"203\.0\.113\.5 is not in allow_from"):
        Admission([limited], clock=ManualClock()).check(limited, head("203.0.113.5"))
    with pytest.raises(ForbiddenError, match="an unknown address"):
        Admission([limited], clock=ManualClock()).check(limited, head(""))


@pytest.mark.req("R11")
@pytest.mark.parametrize("limits", [{"event_rate": 1.0}, {"byte_rate": 500.0}], ids=["events", "bytes"])
async def test_a_source_beyond_its_rate_of_events_or_bytes_is_told_429(limits: dict[str, Any]) -> None:
    desk = Desk(sources=(replace(source(), **limits), source("slack", "slack")))
    assert [(await desk.deliver(body(number))).status for number in range(2)] == [200, 429]
    desk.clock.advance(1)
    assert (await desk.deliver(body(2))).status == 200


def test_what_is_more_than_a_bucket_is_taken_from_a_full_one_and_paid_for_later() -> None:
    bucket = Bucket(10.0, 0.0)
    assert bucket.take(0.0, 25.0)
    assert not bucket.take(1.4, 1.0)
    assert bucket.take(1.6, 1.0)
