"""`landfast send` for senders that sign elsewhere than in a header: in the body, over the URL, with a private key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.domain.delivery import Head
from landfast.providers import provider
from landfast.testing.keys import ID, pair_for
from tests.cli.conftest import Run
from tests.cli.test_init_and_send import Door, door

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
