"""E-mail: what is special to each."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from landfast.domain.delivery import Head, Identity
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.providers import provider
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, pair, sender_secret
from tests.providers.requests import headers_of
from tests.providers.test_messaging import AT, BORN, NOW, only, taken

URL = "https://hooks.example.com/in/source"
OPEN = {"event": "open", "_id": "5acb", "ts": 1_767_225_600}


def mandrill(events: list[dict[str, Any]], *, url: str = URL) -> list[Identity]:
    """Signed here, by hand: the URL, then the field and its value."""
    text = json.dumps(events)
    made = hmac.digest(sender_secret("mandrill").encode(), f"{url}mandrill_events{text}".encode(), "sha1")
    headers = {"X-Mandrill-Signature": base64.b64encode(made).decode()}
    headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8"
    profile = provider("mandrill")
    source = Source("source", profile, our_secrets(profile), public_url=URL)
    body = urlencode({"mandrill_events": text}).encode()
    return list(examine(source, Head("POST", "/in/source", headers=headers_of(headers)), body, now=AT).identities)


@pytest.mark.req("R4")
def test_each_event_of_mandrill_has_its_own_key_though_they_share_the_messages_id() -> None:
    click = {**OPEN, "event": "click", "url": "https://example.com/a"}
    identities = mandrill([OPEN, click, {**click, "url": "https://example.com/b"}, {**OPEN, "ts": 1_767_225_601}])
    assert len({each.key for each in identities}) == 4
    assert [each.key for each in mandrill([click, OPEN])] == [identities[1].key, identities[0].key]
    first = identities[0]
    assert (first.type, first.entity, first.occurred_at) == ("open", "5acb", BORN)
    assert first.body == json.dumps(OPEN).encode()


def test_mandrills_list_without_events_leaves_nothing_and_another_url_is_refused() -> None:
    assert mandrill([]) == []
    with pytest.raises(UnverifiedError):
        mandrill([OPEN], url=f"{URL}/")


def test_mandrill_is_answered_to_its_head_request() -> None:
    profile = provider("mandrill")
    source = Source("source", profile, our_secrets(profile), public_url=URL)
    greeting = examine(source, Head("HEAD", "/in/source"), b"", now=AT).greeting
    assert greeting is not None and (greeting.answer.status, greeting.answer.body) == (200, b"")


def test_postmark_takes_user_and_password_and_nothing_less() -> None:
    with pytest.raises(ConfigError, match="user:password"):
        provider("postmark").decode_secret("only-a-password")
    profile = provider("postmark")
    source = Source("source", profile, our_secrets(profile))
    for written in ("user:wrong", "user", "", sender_secret("postmark") + "x"):
        headers = {"Authorization": "Basic " + base64.b64encode(written.encode()).decode()}
        with pytest.raises(UnverifiedError) as refused:
            examine(source, Head("POST", "/", headers=headers_of(headers)), b"{}", now=AT)
        assert refused.value.answer.status == 401  # a 403 would end the retries


@pytest.mark.parametrize(
    ("type_", "field"),
    [
        ("Delivery", "DeliveredAt"),
        ("Bounce", "BouncedAt"),
        ("Open", "ReceivedAt"),
        ("SubscriptionChange", "ChangedAt"),
    ],
)
def test_an_event_of_postmark_has_the_time_of_its_kind(type_: str, field: str) -> None:
    identity = only("postmark", {"RecordType": type_, "MessageID": "m1", field: "2026-01-01T01:00:00+01:00"})
    assert (identity.type, identity.entity, identity.occurred_at) == (type_, "m1", BORN)


def test_two_opens_of_one_message_are_two_events_of_postmark() -> None:
    first, second = (
        only("postmark", {"RecordType": "Open", "MessageID": "m1", "ReceivedAt": at})
        for at in ("2026-01-01", "2026-01-02")
    )
    assert first.key != second.key and first.entity == second.entity


@pytest.mark.parametrize(
    ("data", "entity"),
    [({"id": "a1", "message_id": "m1"}, "m1"), ({"id": "a1", "email": {"message": {"id": "m2"}}}, "m2")],
)
def test_both_shapes_of_mailersend_are_read(data: dict[str, Any], entity: str) -> None:
    event = {"type": "activity.opened", "created_at": "2026-01-01T00:00:00.000000Z", "data": data}
    identity = only("mailersend", event)
    assert (identity.type, identity.entity, identity.occurred_at) == ("activity.opened", entity, BORN)
    assert only("mailersend", {**event, "webhook_id": "another"}).key == identity.key
    assert only("mailersend", {**event, "type": "activity.clicked"}).key != identity.key


def postal(header: str, algorithm: hashes.HashAlgorithm, body: bytes) -> Identity:
    private = serialization.load_pem_private_key(pair("rsa")[0].encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    made = base64.b64encode(private.sign(body, padding.PKCS1v15(), algorithm)).decode()
    profile = provider("postal")
    source = Source("source", profile, our_secrets(profile))
    (identity,) = examine(source, Head("POST", "/", headers=headers_of({header: made})), body, now=AT).identities
    return identity


@pytest.mark.req("R1")
def test_postal_signs_with_sha256_and_in_older_installations_with_sha1() -> None:
    body = sample("postal")
    new = postal("X-Postal-Signature-256", hashes.SHA256(), body)
    old = postal("X-Postal-Signature", hashes.SHA1(), body)
    assert new == old and (new.type, new.entity) == ("MessageSent", "1001")
    for header, algorithm in (("X-Postal-Signature-256", hashes.SHA1()), ("X-Postal-Signature", hashes.SHA256())):
        with pytest.raises(UnverifiedError):
            postal(header, algorithm, body)


def test_the_key_of_postal_may_be_given_as_it_stands_in_its_dkim_record() -> None:
    public = serialization.load_pem_public_key(pair("rsa")[1].encode())
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert provider("postal").decode_secret(base64.b64encode(der).decode()) == der


def test_mailgun_is_taken_at_its_word_for_the_event() -> None:
    """Only a time and a token are signed: the catalogue says so."""
    profile = provider("mailgun")
    draft = signed_request(profile, sample(profile, now=NOW), sender_secret("mailgun"), now=NOW)
    data = json.loads(draft.body)
    data["event-data"]["event"] = "failed"
    source = Source("source", profile, our_secrets(profile))
    (identity,) = examine(source, draft.head(), json.dumps(data).encode(), now=AT).identities
    assert identity.type == "failed" and profile.coverage == "no"


def test_resend_itself_accepts_what_we_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    resend = pytest.importorskip("resend")
    monkeypatch.setattr("time.time", lambda: float(NOW))
    secret = sender_secret("resend")
    draft = signed_request("resend", sample("resend"), secret, now=NOW, id="msg_1")
    headers = {each: draft.headers[f"svix-{each}"] for each in ("id", "timestamp", "signature")}
    shown = {"headers": headers, "webhook_secret": secret, "payload": draft.body.decode()}
    resend.Webhooks.verify(shown)
    with pytest.raises(ValueError, match="signature"):
        resend.Webhooks.verify({**shown, "payload": draft.body.decode() + " "})


def test_sendgrid_itself_accepts_what_we_sign() -> None:
    eventwebhook = pytest.importorskip("sendgrid.helpers.eventwebhook")
    draft = signed_request("sendgrid", sample("sendgrid"), sender_secret("sendgrid"), now=NOW)
    public = "".join(pair("ecdsa")[1].splitlines()[1:-1])
    webhook = eventwebhook.EventWebhook(public)
    name = "X-Twilio-Email-Event-Webhook-"
    signature, timestamp = draft.headers[f"{name}Signature"], draft.headers[f"{name}Timestamp"]
    assert webhook.verify_signature(draft.body.decode(), signature, timestamp)
    assert not webhook.verify_signature(draft.body.decode() + " ", signature, timestamp)


@pytest.mark.req("R1")
def test_the_id_of_resend_is_signed_and_is_the_key() -> None:
    assert only("resend", sample("resend")).key.startswith("msg_")
    with pytest.raises(UnverifiedError, match="no active secret"):
        taken("resend", sample("resend"), headers={"svix-id": "msg_another"})
