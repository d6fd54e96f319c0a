"""Small rules: ids, patterns, backoff, filters, verdicts, headers, parsing into models."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain import ids
from landfast.domain.backoff import Backoff
from landfast.domain.census import SourceTally
from landfast.domain.delivery import Delivery, Headers, Identity
from landfast.domain.errors import SenderError, UnverifiedError, UserError
from landfast.domain.event import Event
from landfast.domain.filter import Filter, parse
from landfast.domain.lifecycle import State
from landfast.domain.patterns import matches
from landfast.domain.verdict import RetryLater

NOW = datetime(2026, 11, 15, 3, 42, tzinfo=UTC)


def test_ids_frame_their_parts_so_that_shifted_names_differ() -> None:
    assert ids.event_id("ab", "c") != ids.event_id("a", "bc")
    assert ids.event_id("stripe", "evt_1") == ids.event_id("stripe", "evt_1")
    assert len(ids.event_id("stripe", "evt_1")) == 16


def test_the_same_key_of_two_sources_or_two_inboxes_never_meets() -> None:
    one, two = ids.InboxId(b"1" * 16), ids.InboxId(b"2" * 16)
    digests = {
        ids.receipt_digest(one, "stripe", "evt_1"),
        ids.receipt_digest(one, "github", "evt_1"),
        ids.receipt_digest(two, "stripe", "evt_1"),
    }
    assert len(digests) == 3


def test_an_effect_key_depends_on_event_handler_and_name_but_not_on_the_run() -> None:
    digest = ids.receipt_digest(ids.InboxId(b"1" * 16), "stripe", "evt_1")
    assert ids.effect_key(digest, "a", "mail") != ids.effect_key(digest, "b", "mail")
    assert ids.effect_key(digest, "a", "mail") != ids.effect_key(digest, "a", "fax")
    assert ids.effect_key(digest, "a", "mail") == ids.effect_key(digest, "a", "mail")


def test_tokens_grow_within_a_worker_and_name_it() -> None:
    worker = ids.WorkerId(b"workerid")
    assert ids.token(worker, 2) > ids.token(worker, 1)
    assert ids.worker_of(ids.token(worker, 7)) == worker


@pytest.mark.parametrize(
    ("pattern", "type_", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b.c", True),
        ("*", "", True),
        ("*.failed", "invoice.payment.failed", True),
        ("a.*", "ab", False),
        ("a.b", "a.b.c", False),
        ("a[1].*", "a1.x", False),
        ("a.*", "a.\nb", True),
        ("ab*ba", "aba", False),
        ("*a*b*", "b.a", False),
        ("*a*b*", "a.b", True),
        ("a**b", "ab", True),
        ("*" + "a*" * 1000 + "b", "a" * 100_000, False),  # in no time, however many stars there are
    ],
)
def test_patterns(pattern: str, type_: str, expected: bool) -> None:
    assert matches(pattern, type_) is expected


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_a_pattern_means_what_it_means_as_a_regular_expression(pattern: str, text: str) -> None:
    assert matches(pattern, text) is (re.fullmatch(pattern.replace("*", ".*"), text) is not None)


@pytest.mark.req("R23")
@given(failures=st.integers(1, 10_000), fraction=st.floats(0, 1, exclude_max=True))
def test_backoff_grows_jitters_and_stays_under_its_cap(failures: int, fraction: float) -> None:
    backoff = Backoff(first=2, factor=2, longest=60)
    delay = backoff.delay(failures, fraction=fraction)
    assert 0.2 <= delay <= 60
    assert backoff.delay(1, fraction=0.999) <= 2


def test_retry_later_refuses_a_negative_delay() -> None:
    assert RetryLater("busy", after=3).after == 3
    with pytest.raises(ValueError, match="zero or more"):
        RetryLater(after=-1)


def test_a_filter_reads_its_terms() -> None:
    found = parse(
        "source:stripe type:invoice.* state:dead error:IntegrityError entity:cus_9 key:evt_1 since:2h", now=NOW
    )
    assert found == Filter(
        "stripe", "invoice.*", State.DEAD, "IntegrityError", "cus_9", "evt_1", NOW - timedelta(hours=2), None
    )
    assert parse("", now=NOW) == Filter()
    assert parse("before:2026-11-01", now=NOW).before == datetime(2026, 11, 1, tzinfo=UTC)
    assert parse("since:2026-11-01T02:00:00+02:00", now=NOW).since == datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("stripe", "cannot read 'stripe'"),
        ("source:", "cannot read 'source:'"),
        ("colour:red", "cannot read 'colour:red'"),
        ("source:a source:b", "source is given twice"),
        ("state:gone", "no state 'gone'"),
        ("since:yesterday", "an age such as 2h"),
        ("since:999999d", "give a shorter age"),
    ],
)
def test_a_filter_that_cannot_be_read_says_why(text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        parse(text, now=NOW)


def test_headers_keep_order_and_repeats_and_never_print_values() -> None:
    headers = Headers([(b"X-A", b"1"), (b"x-a", b"2"), (b"B", b"\xff")])
    assert headers.get(b"x-a") == b"1"
    assert headers.is_repeated(b"x-a") and not headers.is_repeated(b"b")
    assert headers.text(b"b") == "\ufffd" and headers.text(b"c") is None
    assert list(headers) == [(b"x-a", b"1"), (b"x-a", b"2"), (b"b", b"\xff")] and len(headers) == 3
    assert headers == Headers(headers.pairs) and hash(headers) == hash(Headers(headers.pairs))
    assert "1" not in repr(headers)


def test_a_delivery_derives_its_event_id() -> None:
    delivery = Delivery.of("stripe", Identity("evt_1", "a.b"), received_at=NOW, headers=b"[]", body=b"{}")
    assert delivery.event_id == ids.event_id("stripe", "evt_1")


def test_tallies_add_up() -> None:
    assert SourceTally(3, 1, 1, 1) + SourceTally(1, 0, 1, 0) == SourceTally(4, 1, 2, 1)


def test_a_refusal_tells_the_operator_why_and_the_sender_nothing() -> None:
    error = UnverifiedError("skew of 900 s")
    assert error.reason == "skew of 900 s" and b"skew" not in error.answer.body and error.answer.status == 401
    assert str(SenderError()) == "SenderError"


@dataclass
class Order:
    id: str


class OrderStruct(msgspec.Struct):
    id: str


class OrderModel(pydantic.BaseModel):
    id: str


@pytest.mark.parametrize("model", [Order, OrderStruct, OrderModel])
def test_an_event_parses_into_the_users_model(model: type) -> None:
    event = Event(
        id="00", source="s", key="k", type="t", entity=None, occurred_at=None, received_at=NOW,
        headers={}, body=b'{"id":"o1"}', data={"id": "o1"},
    )  # fmt: skip
    assert event.parse(model).id == "o1"
    assert "o1" not in repr(event)
