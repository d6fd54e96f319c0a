"""Pictures and films, campaigns and their audiences: what is special to each."""

from __future__ import annotations

import hashlib
import json
import time

import pytest

from landfast.domain.delivery import Head, Identity
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.providers import provider
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.requests import headers_of
from tests.providers.test_messaging import AT, BORN, NOW, only, taken


@pytest.mark.req("R4")
def test_an_event_of_mux_is_the_same_whatever_attempts_it_lists() -> None:
    data = json.loads(sample("mux"))
    first = only("mux", data)
    again = only("mux", {**data, "attempts": [{"id": "1", "response_status_code": 500}]})
    assert first == again
    assert (first.type, first.entity, first.occurred_at) == ("video.asset.ready", "asset1001", BORN)


def cloudinary(hash_: str, *, at: int = NOW) -> Identity:
    body = sample("cloudinary")
    made = hashlib.new(hash_, body + str(at).encode() + sender_secret("cloudinary").encode()).hexdigest()
    headers = {"X-Cld-Signature": made, "X-Cld-Timestamp": str(at)}
    profile = provider("cloudinary")
    source = Source("source", profile, our_secrets(profile))
    (identity,) = examine(source, Head("POST", "/", headers=headers_of(headers)), body, now=AT).identities
    return identity


@pytest.mark.req("R1")
def test_cloudinary_signs_with_sha1_or_sha256_and_for_two_hours() -> None:
    assert cloudinary("sha1") == cloudinary("sha256") == cloudinary("sha1", at=NOW - 7200)
    with pytest.raises(UnverifiedError, match="well-formed"):
        cloudinary("sha512")
    with pytest.raises(UnverifiedError, match="s before our clock"):
        cloudinary("sha1", at=NOW - 7201)


@pytest.mark.parametrize("hash_", ["sha1", "sha256"])
def test_cloudinary_itself_accepts_what_we_sign(monkeypatch: pytest.MonkeyPatch, hash_: str) -> None:
    cloudinary_ = pytest.importorskip("cloudinary")
    utils = pytest.importorskip("cloudinary.utils")
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    cloudinary_.config(api_secret=sender_secret("cloudinary"))
    draft = signed_request("cloudinary", sample("cloudinary"), sender_secret("cloudinary"), now=NOW)
    shown = (draft.headers["X-Cld-Timestamp"], draft.headers["X-Cld-Signature"])
    body = draft.body.decode()
    assert utils.verify_notification_signature(body, *shown, algorithm=hash_) == (hash_ == "sha1")
    assert not utils.verify_notification_signature(body + " ", *shown, algorithm=hash_)


def test_an_event_of_customerio_is_named_by_its_object_and_metric() -> None:
    data = {"event_id": "e1", "object_type": "email", "metric": "clicked", "timestamp": 1_767_225_600}
    identity = only("customerio", {**data, "data": {"identifiers": {"cio_id": "d9"}}})
    assert (identity.key, identity.type, identity.entity, identity.occurred_at) == ("e1", "email.clicked", "d9", BORN)


def test_a_late_retry_of_customerio_is_taken_for_else_all_later_events_would_wait() -> None:
    assert taken("customerio", sample("customerio"), now=NOW - 6 * 86_400).identities


HIT = {"contact": {"id": 7}, "timestamp": "2026-01-01T00:00:00+00:00"}


@pytest.mark.req("R4")
def test_each_event_of_mautic_has_the_name_of_its_list_and_its_own_key() -> None:
    body = {"mautic.page_on_hit": [HIT, {**HIT, "contact": {"id": 8}}], "mautic.lead_points_change": [HIT]}
    first, second, points = taken("mautic", body).identities
    assert [each.type for each in (first, second, points)] == [*["mautic.page_on_hit"] * 2, "mautic.lead_points_change"]
    assert len({first.key, second.key, points.key}) == 3
    assert (first.entity, first.occurred_at, first.body) == ("7", BORN, json.dumps(HIT).encode())


@pytest.mark.req("R4")
def test_what_mautic_sends_again_among_what_is_new_is_the_same_event() -> None:
    first = only("mautic", {"mautic.page_on_hit": [HIT]})
    again = taken(
        "mautic", {"mautic.lead_points_change": [HIT], "mautic.page_on_hit": [{"contact": {}}, HIT]}
    ).identities
    assert again[2].key == first.key and again[0].key != first.key


def test_a_body_of_mautic_that_is_no_list_of_lists_is_one_event() -> None:
    for body in (b"{}", b'{"mautic.page_on_hit":{}}', b'{"a":[],"b":1}', b"[[1]", b"not json"):
        (whole,) = taken("mautic", body).identities
        assert whole.body is None
