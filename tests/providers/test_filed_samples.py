"""The samples in files: each is a request of its type, and everything that the profile reads is there to be read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest

from landfast.providers import provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.samples import sample_of, sample_types
from landfast.providers.signing import sample
from tests.providers.test_catalogue import NOW, signed, source_of, taken

FILES = {file.name.removesuffix(".json"): file for file in files("landfast.providers.samples").iterdir()}
FILED = {name: json.loads(file.read_text()) for name, file in sorted(FILES.items()) if file.name.endswith(".json")}
EACH = [(name, type_) for name, samples in FILED.items() for type_ in samples]
each_sample = pytest.mark.parametrize(("name", "type_"), EACH, ids=[f"{name}-{type_}" for name, type_ in EACH])

ABOUT_NOTHING = {
    ("paypal", "CUSTOMER.DISPUTE.CREATED"),  # its id is in dispute_id
    ("slack", "app_uninstalled"),
    ("slack", "channel_created"),  # the channel is an object there
    ("slack", "channel_rename"),
    ("slack", "file_shared"),
    ("slack", "reaction_added"),
    ("slack", "reaction_removed"),
    ("slack", "team_join"),
    ("slack", "tokens_revoked"),
    ("slack", "user_change"),
}
"""Where the provider writes the object elsewhere, or there is none."""

MOST_USED = {
    "clerk",
    "github",
    "paddle-billing",
    "paypal",
    "sendgrid",
    "shopify",
    "slack",
    "square",
    "stripe",
    "twilio",
}


@pytest.mark.req("R54")
def test_the_most_used_providers_have_ten_types_and_more() -> None:
    assert set(FILED) == MOST_USED
    assert all(len(sample_types(PROFILES[name])) > 10 for name in MOST_USED)


@pytest.mark.req("R54")
@each_sample
def test_a_sample_is_an_event_of_its_type_under_its_id(name: str, type_: str) -> None:
    first, again, other = (taken(source_of(name), signed(name, type_=type_, id_=id_)) for id_ in ("77", "77", "78"))
    (one,), (two,), (three,) = first.identities, again.identities, other.identities
    assert one.type == type_
    assert one.key == two.key != three.key
    assert (one.entity is None) == ((name, type_) in ABOUT_NOTHING)


@each_sample
def test_a_sample_is_of_the_day_that_it_is_sent_on(name: str, type_: str) -> None:
    """One that happened long ago would be held."""
    body = sample(PROFILES[name], type_, id="77", now=NOW, day=NOW)
    assert b"1767225600" not in body and b"2026-01-01" not in body
    (identity,) = taken(source_of(name), signed(name, type_=type_)).identities
    reads_time = PROFILES[name].occurred_at is not None
    assert (identity.occurred_at is not None) == reads_time
    sent = datetime.fromtimestamp(NOW, UTC)
    assert identity.occurred_at is None or abs(sent - identity.occurred_at) < timedelta(days=3)


@each_sample
def test_a_sample_has_the_size_of_a_request_and_no_word_is_left_unfilled(name: str, type_: str) -> None:
    body = sample(PROFILES[name], type_)
    assert 150 < len(body) < 16_000
    assert not any(word in body for word in (b"{id}", b"{type", b"{now"))


def test_a_type_has_one_sample_and_no_file_is_of_a_provider_that_is_not_there() -> None:
    assert set(FILED) <= set(PROFILES)
    twice = [(name, one.type) for name in FILED for one in PROFILES[name].samples if one.type in FILED[name]]
    assert not twice


def test_an_invoice_is_an_invoice_and_an_unknown_type_is_the_first_sample() -> None:
    stripe = PROFILES["stripe"]
    assert json.loads(sample(stripe, "invoice.paid"))["data"]["object"]["object"] == "invoice"
    assert sample_of(stripe, "foo.bar") is stripe.samples[0]
    assert json.loads(sample(stripe, "foo.bar"))["type"] == "foo.bar"


def test_what_ends_later_ends_later_on_every_day() -> None:
    subscription = json.loads(sample("stripe", "customer.subscription.created", day=NOW))["data"]["object"]
    item = subscription["items"]["data"][0]
    assert item["current_period_end"] - item["current_period_start"] == 30 * 86_400
    assert item["current_period_start"] == NOW // 86_400 * 86_400
    paddle = json.loads(sample("paddle-billing", "subscription.created", day=NOW))["data"]
    starts, ends = (datetime.fromisoformat(paddle["current_billing_period"][name]) for name in ("starts_at", "ends_at"))
    assert ends - starts == timedelta(days=30)


def test_a_provider_that_the_user_described_has_none_of_ours() -> None:
    table = {"signature": "header:X-Signature", "key": "body:id", "type": "body:type"}
    described = provider("stripe", described=table)
    assert sample_types(described) == ()
