from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.delivery import Head, Headers, Identity
from landfast.ports.provider import Provider
from landfast.providers import Profile, names, provider
from landfast.testing.signing import sample, sign
from tests.providers.requests import NOW, head_of, proven_of, secret_text

RECEIVED = datetime(2026, 1, 2, tzinfo=UTC)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def identity_of(profile: Profile | str, body: bytes, fields: dict[str, str] | None = None) -> Identity:
    chosen: Provider = provider(profile) if isinstance(profile, str) else profile
    (found,) = chosen.find(proven_of(head_of(fields or {}), body), RECEIVED)
    return found.identity(RECEIVED)


def identity_of_sample(name: str, **chosen: str) -> Identity:
    body = sample(name)
    return identity_of(name, body, {**sign(name, body, secret_text(name), now=NOW), **chosen})


def test_a_stripe_event_is_known_by_its_own_id() -> None:
    assert identity_of_sample("stripe") == Identity(
        "evt_1LandfastSample0001", "payment_intent.succeeded", "pi_1LandfastSample0001", NEW_YEAR
    )


def test_a_thin_stripe_event_is_read_too() -> None:
    body = b'{"id":"evt_2","type":"v2.core.ping","created":"2026-01-01T00:00:00.000Z","related_object":{"id":"acct_1"}}'
    assert identity_of("stripe", body) == Identity("evt_2", "v2.core.ping", "acct_1", NEW_YEAR)


def test_a_field_of_another_shape_than_expected_hides_no_other() -> None:
    assert identity_of("stripe", b'{"id":"evt_3","type":"odd","data":3}') == Identity("evt_3", "odd")
    assert identity_of("stripe", b'{"id":"evt_3","type":"odd","data":null}') == Identity("evt_3", "odd")


def test_a_slack_event_is_known_by_its_own_id() -> None:
    assert identity_of_sample("slack") == Identity("Ev0000SAMPLE", "message", "C0000PIER", NEW_YEAR)


def test_slack_forms_are_read_too() -> None:
    command = identity_of("slack", b"command=%2Fmoor&channel_id=C1&trigger_id=9", FORM)
    assert (command.type, command.entity) == ("/moor", "C1")
    assert command.key.startswith("sha256:")
    click = identity_of(
        "slack", b"payload=%7B%22type%22%3A%22block_actions%22%2C%22channel%22%3A%7B%22id%22%3A%22C2%22%7D%7D", FORM
    )
    assert (click.type, click.entity) == ("block_actions", "C2")


def test_a_standard_webhook_is_known_by_its_signed_id() -> None:
    identity = identity_of_sample("standard-webhooks", **{"webhook-id": "msg_7"})
    assert identity == Identity("msg_7", "invoice.paid", "inv_1001", NEW_YEAR)


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    ("name", "id_header", "type_header", "type_", "entity"),
    [
        ("github", "X-GitHub-Delivery", "X-GitHub-Event", "pull_request.opened", "700001.900007"),
        ("shopify", "X-Shopify-Webhook-Id", "X-Shopify-Topic", "orders/create", "gid://shopify/Order/820000001001"),
    ],
)
def test_a_captured_body_under_a_fresh_unsigned_id_is_still_the_same_event(
    name: str, id_header: str, type_header: str, type_: str, entity: str
) -> None:
    genuine = identity_of_sample(name)
    assert (genuine.type, genuine.entity) == (type_, entity)
    assert genuine.key.startswith("sha256:")
    assert identity_of_sample(name, **{id_header: "fresh"}).key == genuine.key
    assert identity_of_sample(name, **{type_header: "another"}).key == genuine.key  # which is not signed either


def test_a_github_event_without_an_action_has_the_plain_type() -> None:
    assert identity_of("github", b'{"repository":{"id":1}}', {"X-GitHub-Event": "push"}).type == "push"
    assert identity_of("github", b'{"action":"opened"}').type == ""
    assert (
        identity_of("github", b'{"action":"added","organization":{"id":5}}', {"X-GitHub-Event": "member"}).entity == "5"
    )
    form = identity_of("github", b"payload=%7B%22action%22%3A%22opened%22%7D", {**FORM, "X-GitHub-Event": "issues"})
    assert form.type == "issues.opened"


def test_a_shopify_event_has_its_time_and_topic_in_headers() -> None:
    fields = {"Shopify-Topic": "carts/update", "X-Shopify-Triggered-At": "2026-01-01T00:00:00.123456789Z"}
    identity = identity_of("shopify", b'{"id":12}', fields)
    assert (identity.type, identity.entity) == ("carts/update", "12")
    assert identity.occurred_at == NEW_YEAR.replace(microsecond=123456)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff", b"[]", b"null", b"3", b'{"id":', b"[" * 100_000, b'{"a":' * 100_000, b'{"id":null,"type":[],"created":{},"data":3}',
        b'{"id":"","type":"","event_id":""}', b'{"id":true,"type":false}', b'{"id":1.5}', b'{"id":' + b"9" * 4000 + b"}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["stripe", "slack", "generic"])
def test_a_body_that_names_nothing_is_known_by_its_digest(name: str, body: bytes) -> None:
    identity = identity_of(name, body)
    assert identity == Identity(identity.key, "", None, None)
    assert identity.key.startswith("sha256:")
    assert identity_of(name, body + b" ").key != identity.key


@given(st.sampled_from(names()), st.binary(), st.lists(st.tuples(st.binary(), st.binary())))
def test_no_request_makes_identify_or_handshake_raise(name: str, body: bytes, pairs: list[tuple[bytes, bytes]]) -> None:
    known = [
        (b"X-GitHub-Event", body[:20]),
        (b"webhook-id", body[:300]),
        (b"X-Shopify-Topic", body),
        (b"Content-Type", body[-40:]),
    ]
    head = Head("POST", "/", headers=Headers([*pairs, *known]))
    for identity in provider(name).identify(head, body, received_at=RECEIVED):
        assert 0 < len(identity.key) <= 200 and len(identity.type) <= 200
        assert identity.key.isprintable() and identity.type.isprintable()
    assert provider(name).handshake(proven_of(head, body)) is None


@given(
    st.sampled_from(names()),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["id", "type", "data", "object", "event", "created", "event_id", "channel"]), inner
            )
        ),
        max_leaves=12,
    ),
)
def test_json_of_any_shape_is_identified(name: str, value: object) -> None:
    for identity in provider(name).identify(head_of({}), json.dumps(value).encode(), received_at=RECEIVED):
        assert 0 < len(identity.key) <= 200
        identity.key.encode()
        identity.type.encode()
        (identity.entity or "").encode()


def test_names_that_a_database_would_refuse_become_ones_that_it_takes() -> None:
    nul = identity_of("stripe", b'{"id":"a\\u0000b","type":"x\\u0000y","data":{"object":{"id":"c\\u0000"}}}')
    assert nul.key.startswith("sha256:") and nul.type == "x\ufffdy" and str(nul.entity).startswith("sha256:")
    assert nul.key != identity_of("stripe", b'{"id":"a\\u0001b"}').key  # replaced, the two would be one event
    long = identity_of("stripe", json.dumps({"id": "i" * 201, "type": "t" * 201}).encode())
    assert long.key.startswith("sha256:") and long.type == "t" * 200
    assert identity_of("stripe", json.dumps({"id": "i" * 200}).encode()).key == "i" * 200


def test_different_bytes_in_a_header_are_different_ids() -> None:
    rule = provider("github", dedup="header:X-Id")
    assert identity_of(rule, b"{}", {"X-Id": "\xe9"}).key != identity_of(rule, b"{}", {"X-Id": "\xe8"}).key


def test_a_time_far_ahead_is_no_time() -> None:
    def occurred_at(at: datetime) -> datetime | None:
        return identity_of("stripe", json.dumps({"created": at.isoformat()}).encode()).occurred_at

    assert occurred_at(RECEIVED + timedelta(hours=24)) == RECEIVED + timedelta(hours=24)
    assert occurred_at(RECEIVED + timedelta(hours=25)) is None


def test_a_source_may_choose_its_entity() -> None:
    body = sample("stripe")
    assert identity_of(provider("stripe", ordered_by="data.object.customer"), body).entity == "cus_LandfastSample01"
    assert identity_of(provider("stripe", ordered_by="header:X-Tenant"), body, {"X-Tenant": "t1"}).entity == "t1"
    assert identity_of(provider("shopify", ordered_by="line_items.0.id"), sample("shopify")).entity == "1"
    assert identity_of(provider("shopify", ordered_by="line_items.1.id"), sample("shopify")).entity is None


def test_the_slack_handshake_is_echoed_as_plain_text() -> None:
    body = b'{"token":"t","challenge":"3eZ<b>","type":"url_verification"}'
    greeting = provider("slack").handshake(proven_of(head_of({}), body))
    assert greeting is not None
    answer = greeting.answer
    assert (answer.status, answer.body, answer.content_type) == (200, b"3eZ<b>", b"text/plain; charset=utf-8")
    assert provider("stripe").handshake(proven_of(head_of({}), body)) is None


@pytest.mark.parametrize(
    "body",
    [
        sample("slack"),
        b'{"type":"url_verification"}',
        b'{"type":"url_verification","challenge":[3]}',
        b'{"type":"event_callback","event":{"text":"url_verification"},"challenge":"x"}',
        b'["url_verification"]',
        b"url_verification{",
    ],
)
def test_what_is_no_handshake_is_an_event(body: bytes) -> None:
    assert provider("slack").handshake(proven_of(head_of({}), body)) is None


def test_github_may_send_bodies_of_25_mebibytes_those_whose_proof_is_dear_less_and_the_others_one() -> None:
    dear = dict.fromkeys(("paddle-classic", "plivo", "truelayer"), 256)
    kibibytes = {"github": 25 * 1024, "aws-sns": 512, "adyen": 64, **dear}
    assert {name: provider(name).body_limit >> 10 for name in names()} == {
        name: kibibytes.get(name, 1024) for name in names()
    }
