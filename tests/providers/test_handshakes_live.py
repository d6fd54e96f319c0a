"""Every handshake of the catalogue over a socket to the running server, byte for byte what the provider waits for.

What each answer must be is worked out here from the provider's documentation, with no code of ours.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.handshake import Handshake
from landfast.providers.request import Draft
from landfast.providers.schemes.token import TokenScheme
from landfast.providers.signing import sample, signed_request
from tests.intake.desk import Desk
from tests.providers.keypairs import KINDS, TOPIC, our_secrets, pair, sender_secret
from tests.web.client import Reply, Shop

SETTINGS = {
    "verify_token": "ours",
    "verification_token": "t" * 32,
    "public_key": "pk",
    "allowed_origin": "events.example",
}
PLAIN, JSON = "text/plain; charset=utf-8", "application/json"
HTML = "<script>alert(1)</script>"


@dataclass(frozen=True)
class Shake:
    """What the provider sends, and the answer that it waits for."""

    method: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    data: Any = None
    """The body of one that is signed."""
    status: int = 200
    kind: str | None = PLAIN
    body: bytes = b""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the answer."""


def url_of(name: str) -> str:
    return f"https://hooks.example.com/in/{name}"


def mac(name: str, content: str, hash_: str = "sha256") -> bytes:
    key = sender_secret(name).encode()
    return hmac.new(hashlib.sha1(key).digest() if name == "braintree" else key, content.encode(), hash_).digest()


META = {"hub.mode": "subscribe", "hub.verify_token": "ours", "hub.challenge": "1158201444"}
CHALLENGE = "0123456789abcdef0123456789abcdef"
ROSTER = {"events": [], "firstEventSequence": 0, "lastEventSequence": 0, "entropy": "S0m3r4Nd0mt3xt"}
ZOOM = {
    "event": "endpoint.url_validation",
    "payload": {"plainToken": "qgg8vlvZRS6UYooatFL8Aw"},
    "event_ts": 1654503849680,
}
TWITCH = {
    "challenge": "pogchamp-kappa-360noscope",
    "subscription": {"id": "f1", "status": "webhook_callback_verification_pending"},
}
SUBSCRIBE = {
    "Type": "SubscriptionConfirmation", "MessageId": "m-1", "Token": "t-1", "Message": "Confirm.", "TopicArn": TOPIC,
    "SubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t-1",
}  # fmt: skip
AZURE = [
    {"id": "1", "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "data": {"validationCode": "512d38b6"}}
]
ORIGIN = {"WebHook-Request-Origin": "events.example", "WebHook-Request-Rate": "120"}


def written(data: Mapping[str, object]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


SHAKES: dict[str, Shake] = {
    "braintree": Shake("GET", {"bt_challenge": CHALLENGE}, body=f"pk|{mac('braintree', CHALLENGE, 'sha1').hex()}".encode()),
    "xero": Shake("POST", data=ROSTER),
    "woocommerce": Shake("POST", headers={"Content-Type": "application/x-www-form-urlencoded"}),
    "ebay": Shake("GET", {"challenge_code": "a8628072-3d33-45ee"}, kind=JSON, body=written({
        "challengeResponse": hashlib.sha256(f"a8628072-3d33-45ee{'t' * 32}{url_of('ebay')}".encode()).hexdigest()
    })),
    "onfleet": Shake("GET", {"check": "12c31e"}, body=b"12c31e"),
    "slack": Shake("POST", data={"token": "x", "challenge": "3eZbrw1aB1", "type": "url_verification"}, body=b"3eZbrw1aB1"),
    "discord-interactions": Shake("POST", data={"id": "1", "type": 1}, kind=JSON, body=b'{"type":1}'),
    "discord-events": Shake("POST", data={"version": 1, "application_id": "1", "type": 0}, status=204, kind=None),
    "meta": Shake("GET", META, body=b"1158201444"),
    "whatsapp": Shake("GET", META, body=b"1158201444"),
    "x-twitter": Shake("GET", {"crc_token": "MGNjOTc0OWQ"}, kind=JSON, body=written({
        "response_token": f"sha256={base64.b64encode(mac('x-twitter', 'MGNjOTc0OWQ')).decode()}"
    })),
    "twitch": Shake("POST", data=TWITCH, headers={"Twitch-Eventsub-Message-Type": "webhook_callback_verification"},
                    body=b"pogchamp-kappa-360noscope"),
    "mandrill": Shake("HEAD"),
    "trello": Shake("HEAD"),
    "intercom": Shake("HEAD"),
    "aws-sns": Shake("POST", data=SUBSCRIBE, headers={"x-amz-sns-message-type": "SubscriptionConfirmation"}),
    "azure-event-grid": Shake("POST", data=AZURE, headers={"aeg-event-type": "SubscriptionValidation"}, kind=JSON,
                              body=b'{"validationResponse":"512d38b6"}'),
    "okta": Shake("GET", headers={"x-okta-verification-challenge": "Z_hook-1"}, kind=JSON, body=b'{"verification":"Z_hook-1"}'),
    "asana": Shake("POST", headers={"X-Hook-Secret": "b537207f20cbfa02"}, answers={"x-hook-secret": "b537207f20cbfa02"}),
    "microsoft-graph": Shake("POST", {"validationToken": "Validation: Testing client application reachability."},
                             body=b"Validation: Testing client application reachability."),
    "zoom": Shake("POST", data=ZOOM, kind=JSON, body=written({
        "plainToken": "qgg8vlvZRS6UYooatFL8Aw", "encryptedToken": mac("zoom", "qgg8vlvZRS6UYooatFL8Aw").hex()
    })),
    "dropbox": Shake("GET", {"challenge": "YWJjZGVm"}, body=b"YWJjZGVm"),
    "cloudevents": Shake("OPTIONS", headers=ORIGIN, answers={
        "webhook-allowed-origin": "events.example", "webhook-allowed-rate": "*", "allow": "POST"
    }),
}  # fmt: skip

every_shake = pytest.mark.parametrize("name", SHAKES)


class Server:
    """All of them as sources of one running server."""

    def __init__(self) -> None:
        self.shop = Shop(desk=Desk(sources=tuple(_source(name) for name in SHAKES)))

    @property
    def now(self) -> float:
        return self.shop.desk.clock.now().timestamp()

    async def ask(self, name: str, shake: Shake, *, secret: str | None = None) -> Reply:
        """Sent as the provider sends it; signed with another secret, if one is given."""
        draft = Draft(b"", {}, f"{url_of(name)}?{urlencode(shake.query, quote_via=quote)}", shake.method)
        if shake.data is not None:
            draft = self.signed(name, json.dumps(_dated(name, shake.data, self.now)).encode(), secret)
        return await self.send(name, draft, shake.headers)

    def signed(self, name: str, body: bytes, secret: str | None = None) -> Draft:
        profile = _profile(name)
        return signed_request(profile, body, secret or sender_secret(name), now=self.now, url=url_of(name))

    async def send(self, name: str, draft: Draft, headers: Mapping[str, str]) -> Reply:
        query = draft.head().query
        lines = [f"{draft.method} /in/{name}{'?' if query else ''}{query} HTTP/1.1", "Host: hooks.example.com"]
        lines += [f"{key}: {value}" for key, value in {**draft.headers, **headers}.items()]
        length = [f"Content-Length: {len(draft.body)}"] if draft.method == "POST" else []
        client = await self.shop.connect()
        await client.send("\r\n".join([*lines, *length]).encode() + b"\r\n\r\n" + draft.body)
        return await client.reply(is_head=draft.method == "HEAD")

    def is_untouched(self) -> bool:
        """Nothing stored, nothing counted."""
        counts = self.shop.desk.tally.totals().values()
        return not self.shop.desk.recorder.events and not any(each.received or each.rejected for each in counts)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    await server.shop.open()
    yield server
    await server.shop.close()


def test_every_handshake_of_the_catalogue_is_here() -> None:
    assert set(SHAKES) == {name for name, profile in PROFILES.items() if profile.handshakes}


@pytest.mark.req("R2")
@every_shake
async def test_a_handshake_is_answered_exactly_and_leaves_no_trace(server: Server, name: str) -> None:
    shake = SHAKES[name]
    reply = await server.ask(name, shake)
    assert (reply.status, reply.headers.get("content-type"), reply.body) == (shake.status, shake.kind, shake.body)
    assert {key: reply.headers.get(key) for key in shake.answers} == shake.answers
    assert reply.headers.get("x-content-type-options") == ("nosniff" if shake.kind else None)
    assert server.is_untouched()


@pytest.mark.req("R2")
@every_shake
async def test_events_come_after_the_handshake_as_if_there_had_been_none(server: Server, name: str) -> None:
    await server.ask(name, SHAKES[name])
    draft = server.signed(name, sample(name, now=server.now))
    reply = await server.send(name, draft, {})
    assert reply.status in {200, 204} and len(server.shop.desk.recorder.events) == 1
    count = server.shop.desk.count(name)
    assert (count.received, count.stored) == (1, 1)


@pytest.mark.req("R1", "R2")
@pytest.mark.parametrize("name", [name for name, shake in SHAKES.items() if shake.data is not None])
async def test_a_handshake_with_a_wrong_signature_is_refused(server: Server, name: str) -> None:
    reply = await server.ask(name, SHAKES[name], secret=_anothers(name))
    assert reply.status == PROFILES[name].refusal and reply.body == b'{"error":"signature not verified"}'
    unsigned = Draft(json.dumps(SHAKES[name].data).encode(), {"Content-Type": JSON}, url_of(name))
    assert (await server.send(name, unsigned, SHAKES[name].headers)).status == PROFILES[name].refusal
    count = server.shop.desk.count(name)
    assert (count.received, count.rejected) == (2, 2) and not server.shop.desk.recorder.events


@pytest.mark.req("R1", "R2")
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *((name, Shake("GET", {**META, "hub.verify_token": token})) for name in ("meta", "whatsapp") for token in ("", "OURS", "ours ", "our")),
        *((name, Shake("GET", {key: META[key] for key in META if key != "hub.verify_token"})) for name in ("meta", "whatsapp")),
        ("meta", Shake("GET", {**META, "hub.mode": "unsubscribe"})),
        ("cloudevents", Shake("OPTIONS", headers={"WebHook-Request-Origin": "evil.example"})),
        ("braintree", Shake("GET", {"bt_challenge": "PG5vdGlmaWNhdGlvbj4="})),
        ("braintree", Shake("GET", {"bt_challenge": "a" * 64})),
        ("x-twitter", Shake("GET", {"crc_token": '{"tweet_create_events":[]}'})),
        ("x-twitter", Shake("GET", {"crc_token": "a" * 600})),
    ],
)  # fmt: skip
async def test_a_wrong_token_and_a_challenge_that_could_be_an_event_get_nothing(
    server: Server, name: str, wrong: Shake
) -> None:
    reply = await server.ask(name, wrong)
    assert reply.status == PROFILES[name].refusal and reply.body == b'{"error":"signature not verified"}'
    assert not server.shop.desk.recorder.events and server.shop.desk.is_balanced()


@pytest.mark.req("R2")
@every_shake
async def test_whatever_is_said_back_is_never_html(server: Server, name: str) -> None:
    shake = SHAKES[name]
    spoken = replace(
        shake,
        query={
            key: value if key.startswith(("hub.mode", "hub.verify")) else HTML for key, value in shake.query.items()
        },
        headers={key: HTML if "challenge" in key or "Secret" in key else value for key, value in shake.headers.items()},
        data=_with_html(shake.data),
    )
    reply = await server.ask(name, spoken)
    if reply.body:
        assert reply.headers["content-type"] in {PLAIN, JSON} and reply.headers["x-content-type-options"] == "nosniff"
    assert "\n" not in "".join(reply.headers.values())
    assert not server.shop.desk.recorder.events or shake.data is not None


@pytest.mark.req("R2")
async def test_an_echoed_header_cannot_begin_another_one(server: Server) -> None:
    reply = await server.ask("asana", Shake("POST", headers={"X-Hook-Secret": "a\tb\u00e9"}))
    assert reply.status == 401 and "x-hook-secret" not in reply.headers


@pytest.mark.req("R2")
async def test_an_answer_without_content_keeps_the_header_that_the_sender_waits_for() -> None:
    echo = Handshake(when="header:X-Hook-Secret", headers={"X-Hook-Secret": "{header:X-Hook-Secret}"}, status=204)
    profile = Profile(
        name="acme", scheme=TokenScheme(token="header:X-Token"), key="body", type="body:type", handshakes=(echo,)
    )
    shop = Shop(desk=Desk(sources=(Source("acme", profile, (Secret("first", b"a token of the sender"),)),)))
    await shop.open()
    client = await shop.connect()
    reply = await client.ask(b"POST /in/acme HTTP/1.1\r\nHost: a\r\nX-Hook-Secret: b537\r\nContent-Length: 0\r\n\r\n")
    assert (reply.status, reply.headers) == (204, {"x-hook-secret": "b537"})
    await shop.close()


def _profile(name: str) -> Profile:
    settings: dict[str, Any] = {
        each.removesuffix("?"): SETTINGS[each.removesuffix("?")] for each in PROFILES[name].settings
    }
    return provider(name, **settings)


def _source(name: str) -> Source:
    profile = _profile(name)
    return Source(name, profile, our_secrets(profile), public_url=url_of(name))


def _anothers(name: str) -> str:
    """A secret of the right kind, and not the source's."""
    return pair.__wrapped__(KINDS[name])[0] if name in KINDS else "the secret of somebody else"


def _dated(name: str, data: Any, now: float) -> Any:
    """With the time of sending, where the provider has it in the body."""
    at = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return {**data, "Timestamp": at} if name == "aws-sns" else data


def _with_html(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            key: HTML if key in {"challenge", "plainToken", "validationCode"} else _with_html(data[key]) for key in data
        }
    return [_with_html(each) for each in data] if isinstance(data, list) else data
