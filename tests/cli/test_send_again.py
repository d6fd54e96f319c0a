"""`landfast send` of bytes that are there already, with headers of one's own; and which samples there are."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.app import load
from landfast.domain.delivery import Head, Headers
from landfast.domain.filter import Filter
from landfast.recovery.find import find_event
from tests.cli.conftest import Run
from tests.cli.test_init_and_send import Door, door
from tests.cli.test_send_every_way import configure

__all__ = ["door"]

PAID = "payment_intent.succeeded"
ODD = b'{"id": "evt_odd",\n  "type":"invoice.paid", "name": "Ren\xc3\xa9 \\u00e9"  }\n\n'
"""Bytes that no encoder would write."""


def take_in(door: Door) -> list[int]:
    async def answers() -> list[int]:
        async with Inbox().intake() as intake:
            return [(await intake.respond(intake.admit(head), body)).status for head, body in door.requests]

    return asyncio.run(answers())


@pytest.mark.req("R54")
def test_a_body_is_sent_as_it_is_and_signed(landfast: Run, door: Door, folder: Path) -> None:
    landfast("init")
    (folder / "event.json").write_bytes(ODD)
    assert landfast("send", "stripe", "--body-file", "event.json", "--url", door.url).code == 0
    assert [body for _, body in door.requests] == [ODD]
    assert take_in(door) == [200]


def test_a_body_comes_from_standard_input(landfast: Run, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    landfast("init")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ODD)))
    assert landfast("send", "stripe", "--body-file", "-", "--url", door.url).code == 0
    assert door.requests[0][1] == ODD


def test_a_type_that_stands_in_a_header_must_be_given_with_a_body(landfast: Run, door: Door, folder: Path) -> None:
    configure("github", "a secret of ours, for tests")
    (folder / "body.json").write_bytes(b'{"ref":"refs/heads/main"}')
    without = landfast("send", "source", "--body-file", "body.json", "--url", door.url)
    assert without.code == 2
    assert "github has the type in the header X-GitHub-Event" in without.err
    assert landfast("send", "source", "push", "--body-file", "body.json", "--url", door.url).code == 0
    given = ("--header", "X-GitHub-Event=push")
    assert landfast("send", "source", "--body-file", "body.json", *given, "--url", door.url).code == 0
    assert [head.headers.get(b"x-github-event") for head, _ in door.requests] == [b"push", b"push"]
    assert take_in(door) == [200, 200]


@pytest.mark.req("R54")
def test_a_header_is_added_or_takes_the_place_of_one(landfast: Run, door: Door) -> None:
    landfast("init")
    given = ("--header", "X-Forwarded-Proto=https", "--header", "content-type=text/plain")
    assert landfast("send", "stripe", PAID, *given, "--url", door.url).code == 0
    headers = door.requests[0][0].headers
    assert headers.get(b"x-forwarded-proto") == b"https"
    assert headers.get(b"content-type") == b"text/plain"
    assert not headers.is_repeated(b"content-type")


def test_https_only_can_be_tried_behind_a_proxy_that_is_not_there(landfast: Run, door: Door, folder: Path) -> None:
    landfast("init")
    settings = folder / "landfast.toml"
    settings.write_text('https_only = true\ntrusted_proxies = ["127.0.0.1"]\n' + settings.read_text())
    landfast("send", "stripe", PAID, "--url", door.url)
    landfast("send", "stripe", PAID, "--url", door.url, "--header", "X-Forwarded-Proto=https")

    async def answers() -> list[int]:
        statuses = []
        async with load("handlers:inbox").intake() as intake:
            for head, body in door.requests:
                request = Head("POST", head.path, "", head.headers, len(body), peer="127.0.0.1")
                try:
                    statuses.append((await intake.respond(intake.admit(request), body)).status)
                except Exception as error:  # noqa: BLE001 - what admit raises carries its answer
                    statuses.append(error.answer.status)  # type: ignore[attr-defined]
        return statuses

    assert asyncio.run(answers()) == [403, 200]


def stored(body: bytes, headers: dict[str, str], *, source: str = "source") -> str:
    """Taken in by the intake of the settings in this folder; the id of the only event there is."""

    async def store() -> str:
        inbox = Inbox()
        await inbox.migrate()
        async with inbox.intake() as intake:
            pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
            head = Head("POST", f"/in/{source}", "", Headers(pairs), len(body))
            answer = await intake.respond(intake.admit(head), body)
            assert answer.status == 200, answer
        async with inbox.archive() as archive:
            (only,) = await archive.find(Filter(), limit=2)
            return only.event_id.hex()

    return asyncio.run(store())


def kept(event: str) -> bytes:
    """Of an event that came in a batch: its own part of it, and nothing of what stood around."""

    async def look() -> bytes:
        async with Inbox().archive() as archive:
            record = await find_event(archive, event)
            assert record is not None
            return record.body

    return asyncio.run(look())


def sent(door: Door) -> tuple[dict[str, str], bytes]:
    head, body = door.requests.pop()
    return {name.decode(): value.decode() for name, value in head.headers}, body


@pytest.mark.req("R54")
@pytest.mark.parametrize(
    ("name", "type_", "secret"),
    [
        ("stripe", "invoice.paid", "whsec_of_our_tests_1001"),
        ("github", "push", "a secret of ours, for tests"),
        ("slack", "app_mention", "0123456789abcdef0123456789abcdef"),
        ("clerk", "user.updated", "whsec_bGFuZGZhc3QtdGVzdC1zZWNyZXQtMTAwMQ=="),
        ("twilio", "sent", "0123456789abcdef0123456789abcdef"),
        ("sendgrid", "bounce", ""),
        ("gocardless", "payments.confirmed", "a secret of ours, for tests"),
    ],
)
def test_a_stored_event_is_sent_again_with_its_bytes_and_is_the_same_event(
    landfast: Run, door: Door, folder: Path, name: str, type_: str, secret: str
) -> None:
    more: tuple[str, ...] = ()
    if name == "sendgrid":
        from landfast.providers import provider
        from landfast.testing.sender_secrets import pair_for

        pair = pair_for(provider(name), url="https://hooks.example.com/in/source")
        (folder / "mine.pem").write_text(str(pair.signing))
        secret, more = pair.secrets[0], ("--private-key", "mine.pem")
    configure(name, secret)
    assert landfast("send", "source", type_, "--url", door.url, "--header", "X-Forwarded-For=10.0.0.7", *more).code == 0
    headers, body = sent(door)
    event = stored(body, headers)
    again = landfast("send", "--event", event, "--url", door.url, *more)
    assert again.code == 0, again.err
    new, same = sent(door)
    assert same == body if name != "gocardless" else same == b'{"events":[%b]}' % kept(event)
    assert "x-forwarded-for" not in {each.lower() for each in new}
    assert stored(same, new) == event, "a duplicate of itself"


def test_an_event_that_is_not_there_or_was_erased_is_not_sent(landfast: Run, door: Door, folder: Path) -> None:
    configure("stripe", "whsec_of_our_tests_1001")
    landfast("send", "source", PAID, "--id", "evt_1", "--url", door.url)
    headers, body = sent(door)
    stored(body, headers)
    missing = landfast("send", "--event", "evt_2", "--url", door.url)
    assert (missing.code, missing.err) == (1, "landfast: no event 'evt_2'; see landfast events list\n")
    assert landfast("erase", "evt_1", "--yes").code == 0
    erased = landfast("send", "--event", "source/evt_1", "--url", door.url)
    assert erased.code == 2
    assert "was erased at" in erased.err
    assert door.requests == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a source and a type"),
        (["stripe"], "which type? landfast send --list stripe"),
        (["stripe", PAID, "--event", "evt_1"], "--event has body and type already"),
        (["stripe", "--body-file", "landfast.toml", "--set", "a=1"], "--set changes a sample"),
        (["stripe", PAID, "--header", "no-equals"], "--header 'no-equals' needs NAME=VALUE"),
        (["stripe", PAID, "--header", "a b=c"], "needs NAME=VALUE"),
        (["stripe", PAID, "--header", "x=a\r\ny: b"], "needs NAME=VALUE"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(landfast: Run, arguments: list[str], says: str) -> None:
    landfast("init")
    ended = landfast("send", *arguments)
    assert ended.code == 2
    assert says in ended.err
    assert len(ended.err.splitlines()) == 1


def test_samples_are_listed_by_source_by_provider_or_all(landfast: Run) -> None:
    landfast("init")
    listed = landfast("send", "--list").out.splitlines()
    assert listed[0] == "provider\ttype"
    assert "stripe\tinvoice.paid" in listed and "stripe\tpayment_intent.succeeded" in listed
    github = landfast("send", "--list", "github", "--json").json
    assert {"provider": "github", "type": "push"} in github
    assert "there is no provider 'githbu': did you mean 'github'?" in landfast("send", "--list", "githbu").err


def test_an_unknown_type_is_sent_with_a_note_that_names_the_near_ones(landfast: Run, door: Door) -> None:
    landfast("init")
    ended = landfast("send", "stripe", "invoice.payed", "--url", door.url)
    assert ended.code == 0
    assert "there is no sample of 'invoice.payed' for stripe" in ended.err
    assert "invoice.paid" in ended.err
    far = landfast("send", "stripe", "zzz", "--url", door.url)
    assert "landfast send --list stripe names those there are" in far.err
    assert landfast("send", "stripe", "invoice.paid", "--url", door.url).err == ""


def test_a_field_of_a_true_sample_is_set(landfast: Run, door: Door) -> None:
    landfast("init")
    landfast("send", "stripe", "invoice.paid", "--set", "data.object.total=7", "--url", door.url)
    invoice = json.loads(door.requests[0][1])["data"]["object"]
    assert (invoice["object"], invoice["total"]) == ("invoice", 7)


async def test_an_id_needs_six_digits_and_says_so(landfast: Run, folder: Path) -> None:
    inbox = Inbox(store=str(folder / "a.db"), ledger=str(folder / "b.db"))
    await inbox.migrate()
    async with inbox.archive() as archive:
        with pytest.raises(Exception, match="at least its first 6 digits"):
            await find_event(archive, "fcf")
