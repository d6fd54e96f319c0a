"""A captured request whose proof does not bind the body: its proof counts for that body, and for no other."""

from __future__ import annotations

import binascii
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.domain.filter import Filter
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import State
from landfast.intake.counting.tally import Tally
from landfast.intake.durability.drain import Drainer
from landfast.intake.durability.strict import StrictJournal
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ports.journal import Journal
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.schemes.anyof import AnyOf
from landfast.testing.signing import sample, signed_request
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench
from tests.intake.desk import CountingWakeup
from tests.journals.spools import opened
from tests.providers.keypairs import our_secrets, sender_secret

URL = "https://hooks.example.com/in/sender"
ONCE = ("paypal", "mailgun", "dropbox-sign", "plivo")
Bench = SqliteBench | PostgresBench


def genuine(name: str, now: float, *, id_: str = "evt_1") -> Draft:
    """A request of the sender's; of Plivo with its second version, which signs a nonce alone."""
    body = sample(name, id=id_, now=now, day=now)
    if name != "plivo":
        return signed_request(name, body, sender_secret(name), now=now, id=f"transmission-{id_}", url=URL)
    draft = Draft(body, {"Content-Type": "application/x-www-form-urlencoded"}, URL)
    scheme = provider(name).scheme
    assert isinstance(scheme, AnyOf)
    scheme.schemes[1].sign(draft, sender_secret(name).encode(), now=now, id_=f"nonce{id_.removeprefix('evt_')}")
    return draft


def forged(name: str, captured: Draft) -> bytes:
    """Another event under the captured proof, which needs no secret."""
    match name:
        case "plivo":
            return urlencode({"MessageUUID": "of the attacker", "Status": "failed"}).encode()
        case "paypal":
            mine = json.dumps({"id": "WH-MINE", "event_type": "PAYMENT.CAPTURE.COMPLETED"}).encode()
            return with_checksum(mine, binascii.crc32(captured.body))
        case "mailgun":
            return json.dumps(json.loads(captured.body) | {"event-data": {"id": "mine", "event": "opened"}}).encode()
    request = {"signature_request": {"signature_request_id": "mine", "is_complete": True}}
    return json.dumps(json.loads(captured.body) | request).encode()


def with_checksum(body: bytes, wanted: int) -> bytes:
    """The body with blanks and tabs behind it that give it this CRC32: a checksum is linear, so they are solved for."""
    places = 40
    blank = body + b" " * places
    start = binascii.crc32(blank)
    rows: list[tuple[int, int]] = []
    for place in range(places):
        changed = bytearray(blank)
        changed[len(body) + place] = 9
        row = (binascii.crc32(changed) ^ start, 1 << place)
        for value, chosen in rows:
            if row[0] ^ value < row[0]:
                row = (row[0] ^ value, row[1] ^ chosen)
        if row[0]:
            rows = sorted([*rows, row], reverse=True)
    left, picked = start ^ wanted, 0
    for value, chosen in rows:
        if left ^ value < left:
            left, picked = left ^ value, picked ^ chosen
    assert left == 0
    return body + bytes(9 if picked >> place & 1 else 32 for place in range(places))


@pytest.fixture(params=["sqlite", "postgres"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    made: Bench = (
        SqliteBench(tmp_path / "inbox.db")
        if request.param == "sqlite"
        else PostgresBench(request.getfixturevalue("database"))
    )
    await made.inbox.open()
    await made.inbox.migrate()
    yield made
    await made.close()


class Door:
    """An intake of its own, with a cache of its own."""

    def __init__(self, bench: Bench, name: str, *, journal: Journal | None = None, binds_proofs: bool = True) -> None:
        profile = provider(name)
        self.source = Source("sender", profile, our_secrets(profile), public_url=URL, binds_proofs=binds_proofs)
        tally = Tally(bench.inbox, boot=BootId(b"boot-one"), clock=bench.clock, sources=["sender"])
        seen = LocalSeen()
        journal = StrictJournal(bench.inbox, clock=bench.clock) if journal is None else journal
        group = GroupCommit(journal, seen=seen, wakeup=CountingWakeup())
        self.intake = Intake([self.source], recorder=group, seen=seen, tally=tally, clock=bench.clock)

    async def take(self, draft: Draft, body: bytes | None = None) -> Answer:
        pairs = [(each.encode(), value.encode("latin-1")) for each, value in draft.headers.items()]
        sent = draft.body if body is None else body
        head = Head("POST", "/in/sender", "", Headers(pairs), len(sent))
        return await self.intake.respond(self.intake.admit(head), sent)


async def held(bench: Bench) -> int:
    return await bench.inbox.count(Filter(state=State.HELD), at_most=10)


async def ready(bench: Bench) -> int:
    return await bench.inbox.count(Filter(state=State.READY), at_most=10)


@pytest.mark.req("R10")
@pytest.mark.parametrize("name", ONCE)
async def test_another_body_under_a_captured_proof_is_held(bench: Bench, name: str) -> None:
    door, captured = Door(bench, name), genuine(name, bench.clock.now().timestamp())
    assert (await door.take(captured)).status == 200
    mine = forged(name, captured)
    assert (await door.take(captured, mine)).status == 200
    assert (await ready(bench), await held(bench)) == (1, 1)
    # Sent again, through another intake, each is a duplicate of itself.
    other = Door(bench, name)
    await other.take(captured)
    await other.take(captured, mine)
    await door.take(captured, mine)
    assert (await ready(bench), await held(bench)) == (1, 1)


@pytest.mark.parametrize("name", ONCE)
async def test_another_genuine_event_is_one(bench: Bench, name: str) -> None:
    door, now = Door(bench, name), bench.clock.now().timestamp()
    await door.take(genuine(name, now))
    await door.take(genuine(name, now - (86_400 if name == "dropbox-sign" else 0), id_="evt_2"))
    assert (await ready(bench), await held(bench)) == (2, 0)


async def test_a_retry_under_a_fresh_proof_is_a_duplicate_and_its_proof_is_used_up(bench: Bench) -> None:
    door, now = Door(bench, "paypal"), bench.clock.now().timestamp()
    body = sample("paypal", now=now, day=now)
    first, retry = (
        signed_request("paypal", body, sender_secret("paypal"), now=now, id=id_, url=URL) for id_ in ("t-1", "t-2")
    )
    await door.take(first)
    await door.take(retry)
    assert (await ready(bench), await held(bench)) == (1, 0)
    await door.take(retry, forged("paypal", retry))
    assert (await ready(bench), await held(bench)) == (1, 1)


async def test_what_a_spool_took_in_is_held_to_its_proof(bench: Bench, tmp_path: Path) -> None:
    captured = genuine("mailgun", bench.clock.now().timestamp())
    async with opened(tmp_path / "spool") as spool:
        door = Door(bench, "mailgun", journal=spool)
        await door.take(captured)
        bench.clock.advance(0.001)
        await door.take(captured, forged("mailgun", captured))
        assert (await ready(bench), await held(bench)) == (0, 0)
        drainer = Drainer(spool, StrictJournal(bench.inbox, clock=bench.clock, drains=True), clock=bench.clock)
        for _ in range(10):
            bench.clock.advance(await drainer.step())
    assert (await ready(bench), await held(bench)) == (1, 1)


async def test_a_source_that_says_so_takes_every_body(bench: Bench) -> None:
    captured = genuine("dropbox-sign", bench.clock.now().timestamp())
    door = Door(bench, "dropbox-sign", binds_proofs=False)
    await door.take(captured)
    await door.take(captured, forged("dropbox-sign", captured))
    assert (await ready(bench), await held(bench)) == (2, 0)


@pytest.mark.parametrize("name", ["paypal", "mailgun", "dropbox-sign"])
def test_a_proof_ends_with_the_retries_of_its_sender(name: str) -> None:
    profile = provider(name)
    assert profile.redelivery.window is not None
    assert profile.redelivery.window < profile.tolerance <= 1.5 * profile.redelivery.window < math.inf


@pytest.mark.parametrize("cut", [1, -1])
async def test_time_and_token_that_are_cut_at_another_place_are_refused(tmp_path: Path, cut: int) -> None:
    bench = SqliteBench(tmp_path / "inbox.db")
    captured = genuine("mailgun", bench.clock.now().timestamp(), id_="abc")
    fields = json.loads(captured.body)
    signed = fields["signature"]["timestamp"] + fields["signature"]["token"]
    at = len(fields["signature"]["timestamp"]) + cut
    fields["signature"] |= {"timestamp": signed[:at], "token": signed[at:]}
    body = json.dumps(fields).encode()
    door = Door(bench, "mailgun")
    answer = await door.take(captured, body)
    assert answer.status == UnverifiedError.answer.status


def test_callers_can_tell_a_checksum_from_a_signature() -> None:
    assert [provider(name).coverage for name in ("stripe", "paypal", "mailgun")] == ["yes", "checksum", "no"]
