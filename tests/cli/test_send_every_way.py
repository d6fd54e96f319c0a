"""`landfast send` for senders that sign elsewhere than in a header: in the body, over the URL, with a private key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.domain.delivery import Head
from landfast.providers import provider
from landfast.testing.sender_secrets import ID, pair_for
from tests.cli.conftest import Run
from tests.cli.test_init_and_send import Door, door
from tests.providers.keypairs import ACCOUNT, TOPIC, WEBHOOK, pair

__all__ = ["door"]

SECRETS = {"adyen": "6c616e64666173742d746573742d736563726574"}
URL = "https://hooks.example.com/in/source"


def configure(name: str, *secrets: str) -> None:
    for number, secret in enumerate(secrets):
        Path(f"secret{number}").write_text(secret)
    references = ", ".join(f'"file:secret{number}"' for number in range(len(secrets)))
    text = f'[sources.source]\nprovider = "{name}"\npublic_url = "{URL}"\nsecrets = [{references}]\n'
    Path("landfast.toml").write_text(text)


def taken(door: Door) -> list[int]:
    """What the intake of the same settings answers to what was sent."""

    async def take_in() -> list[int]:
        async with Inbox().intake() as intake:
            heads = [(_parted(head), body) for head, body in door.requests]
            return [(await intake.respond(intake.admit(head), body)).status for head, body in heads]

    return asyncio.run(take_in())


def _parted(head: Head) -> Head:
    path, _, query = head.path.partition("?")
    return Head("POST", path, query, head.headers, head.content_length)


@pytest.mark.req("R54")
@pytest.mark.parametrize(
    ("name", "type_", "changes"),
    [
        ("adyen", "AUTHORISATION", ["notificationItems.0.NotificationRequestItem.amount.value=8999"]),
        ("mailgun", "delivered", ["event-data.recipient=a@example.com"]),
        ("twilio", "received", ["Body=hello there"]),
        ("messagebird", "message.created", ["x=1"]),
        ("telegram", "message", []),
        ("pusher", "channel_occupied", []),
    ],
)
def test_a_signature_in_the_body_or_over_the_url_is_taken(
    landfast: Run, door: Door, name: str, type_: str, changes: list[str]
) -> None:
    configure(name, SECRETS.get(name, "a secret that is long enough"))
    more = [word for change in changes for word in ("--set", change)]
    ended = landfast("send", "source", type_, "--url", door.url, *more)
    assert ended.code == 0, ended
    assert taken(door) == [200]
    for change in changes:
        assert change.partition("=")[2].split()[0].partition("@")[0].encode() in door.requests[0][1]


@pytest.mark.req("R54")
@pytest.mark.parametrize(
    ("name", "type_"), [("discord-interactions", "2"), ("sendgrid", "delivered"), ("paypal", "A.B")]
)
def test_a_private_key_of_our_own_signs_where_the_source_has_its_public_one(
    landfast: Run, door: Door, name: str, type_: str
) -> None:
    pair = pair_for(provider(name))
    configure(name, *pair.secrets)
    without = landfast("send", "source", type_, "--url", door.url)
    if ID not in pair.secrets:
        assert (without.code, "private key" in without.err) == (2, True)
    Path("mine.pem").write_text(pair.signing)
    ended = landfast("send", "source", type_, "--url", door.url, "--private-key", "mine.pem")
    assert ended.code == 0, ended
    assert taken(door) == [200]


def test_without_an_active_secret_nothing_is_sent(landfast: Run, door: Door) -> None:
    value = '{ value = "a secret that is long enough", until = 2020-01-01T00:00:00Z }'
    Path("landfast.toml").write_text(f'[sources.source]\nprovider = "stripe"\nsecrets = [{value}]\n')
    ended = landfast("send", "source", "invoice.paid", "--url", door.url)
    assert (ended.code, "no secret of source is active now" in ended.err) == (2, True)
    assert not door.requests


def misused(landfast: Run, door: Door, type_: str, *more: str) -> str:
    """The one sentence that is printed, and nothing is sent."""
    ended = landfast("send", "source", type_, "--url", door.url, *more)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1), ended
    assert not door.requests
    return ended.err


KEYS = {
    "plaid": ("client_id_1:secret_1", "EC P-256"),
    "discord-interactions": (pair("ed25519")[1], "Ed25519"),
    "postal": (pair("rsa")[1], "RSA"),
    "sendgrid": (pair("ecdsa")[1], "EC"),
    "aws-sns": (TOPIC, "RSA"),
    "google-pubsub": (ACCOUNT, "RSA"),
    "paypal": (WEBHOOK, "RSA"),
    "truelayer": ("the id of the client", "EC P-521"),
    "ebay": (pair("ecdsa")[1], "EC"),
}
"""A secret that a source may have, whoever holds the key, and the kind of that key."""


@pytest.mark.req("R54")
@pytest.mark.parametrize(("name", "secret", "kind"), [(name, *each) for name, each in KEYS.items()], ids=KEYS)
def test_without_the_key_that_only_the_provider_has_it_says_which_to_give(
    landfast: Run, door: Door, name: str, secret: str, kind: str
) -> None:
    configure(name, secret)
    with Path("landfast.toml").open("a") as file:
        file.writelines(f'{setting} = "a value"\n' for setting in provider(name).settings)
    assert f"{name} signs with a private key that only it has; give one of your own" in misused(landfast, door, "x")
    Path("wrong.pem").write_text(pair("ecdsa" if kind == "Ed25519" else "ed25519")[0])
    assert f"{name} needs an {kind} private key\n" in misused(landfast, door, "x", "--private-key", "wrong.pem")


@pytest.mark.req("R54")
@pytest.mark.parametrize(
    ("name", "secret", "pem", "sentence"),
    [
        ("stripe", "a secret that is long enough", pair("rsa")[0], "stripe signs with a secret that both sides hold"),
        ("paypal", WEBHOOK, pair("rsa")[0], "paypal: the file needs the webhook id of the source as its first line"),
        ("sendgrid", pair("ecdsa")[1], "-----BEGIN PRIVATE KEY-----\nx\n", "sendgrid: the private key cannot be read"),
    ],
    ids=["no key is needed", "an id is needed too", "it is no key"],
)
def test_a_private_key_that_cannot_sign_is_told(
    landfast: Run, door: Door, name: str, secret: str, pem: str, sentence: str
) -> None:
    configure(name, secret)
    Path("mine.pem").write_text(pem)
    assert sentence in misused(landfast, door, "x", "--private-key", "mine.pem")


@pytest.mark.req("R54")
def test_of_two_ways_to_sign_the_private_key_takes_its_own(landfast: Run, door: Door) -> None:
    private, public = pair("ed25519")
    configure("standard-webhooks", public)
    Path("mine.pem").write_text(private)
    assert landfast("send", "source", "a.b", "--url", door.url, "--private-key", "mine.pem").code == 0
    assert taken(door) == [200]


OWN = """
[sources.source]
provider = "acme"
secrets = ["a secret that is long enough"]
[providers.acme]
"""
PLACES = {
    "fields": 'signature = "header:X-Sig"\ntype = "body:event.name"\nkey = "body:event.ids.0"',
    "headers": 'signature = "header:X-Sig"\ntype = "header:X-Topic | body:topic"\nkey = "header:X-Id"',
    "two parts": 'signature = "header:X-Sig"\ntype = "header:X-Event + body:action"\nkey = "body:id"',
    "a form": 'signature = "header:X-Sig"\ntype = "form:event"\nkey = "form:id"',
    "items": 'signature = "header:X-Sig"\nitems = "body:events"\ntype = "item:kind"\nkey = "item:id"',
    "the body is the list": 'signature = "header:X-Sig"\nitems = "body"\ntype = "item:kind"\nkey = "item:id"',
    "lists in a list": 'signature = "header:X-Sig"\nitems = "body:a.*.b"\ntype = "parent:kind"\nkey = "item:id"',
    "a signed item": 'signature = "item:mac"\ncontent = "{item:at}{item:id}"\nitems = "body:events"\n'
    'type = "item:kind"\nkey = "item:id"',
    "a signed header": 'signature = "header:X-Sig"\ncontent = "{header:X-Shop}.{body}"\ntype = "body:t"\nkey = "body:i"',
    "an hmac": 'signature = "header:X-Sig"\ntype = "body:event"\nkey = "hmac:nonce"',
    "chosen fields": 'signature = "header:X-Sig"\ntype = "body:event"\nkey = "fields:type,order.id"',
}


@pytest.mark.req("R2")
@pytest.mark.parametrize("table", PLACES.values(), ids=PLACES)
def test_a_sample_of_a_provider_of_ones_own_has_type_and_id_where_it_reads_them(
    landfast: Run, door: Door, table: str
) -> None:
    Path("landfast.toml").write_text(OWN + table)
    for number in (1, 2, 2):
        assert landfast("send", "source", "order.paid", "--url", door.url, "--id", f"evt_{number}").code == 0
    assert taken(door) == [200] * 3
    found = landfast("events", "list", "--json").json["events"]
    assert [event["type"] for event in found] == ["order.paid"] * 2  # two events: the third was the second again
    if table.rpartition('key = "')[2].startswith(("body", "header", "form", "item")):
        assert {event["key"] for event in found} == {"evt_1", "evt_2"}


@pytest.mark.parametrize(
    ("table", "type_", "sentence"),
    [
        (
            'type = "name:body"',
            "a",
            "a sample of acme cannot be of type 'a', which stands in name:body; send cannot fill",
        ),
        ('type = "always:ping"', "a", "cannot be of type 'a', which stands in always:ping; use ping"),
        ('key = "query:id"', "a", "a sample of acme has no key, which stands in query:id; send cannot fill that in"),
    ],
)
def test_what_a_sample_cannot_express_is_said_and_not_sent(
    landfast: Run, door: Door, table: str, type_: str, sentence: str
) -> None:
    Path("landfast.toml").write_text(OWN + 'signature = "header:X-Sig"\n' + table)
    assert sentence in misused(landfast, door, type_)


def test_a_type_that_no_sample_of_the_catalogue_can_have_is_refused_with_those_that_it_can(
    landfast: Run, door: Door
) -> None:
    configure("discord-interactions", pair("ed25519")[1])
    Path("mine.pem").write_text(pair("ed25519")[0])
    assert "cannot be of type 'PING', which stands in body:type; use 2" in misused(
        landfast, door, "PING", "--private-key", "mine.pem"
    )
