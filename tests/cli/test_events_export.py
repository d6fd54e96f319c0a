"""`landfast events export` and `import`: the same event, byte for byte, in another inbox."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import State
from landfast.domain.summary import EventRecord
from landfast.recovery.proof import prove
from tests.cli.conftest import Run

SOURCE = '[sources.shop]\nprovider = "stripe"\nsecrets = ["whsec_of_our_tests_1001"]\n'
HEADERS = [["content-type", "application/json"], ["x-odd", "caf\u00e9"], ["x-odd", "twice"]]
SIGNATURE = ["stripe-signature", "sha256:" + "0" * 32]
BODIES = {
    "evt_text": '{"id":"evt_text",  "name":"Ren\u00e9"}\n'.encode(),
    "evt_bytes": b"\xff\xfe\x00 no text",
    "evt_empty": b"",
}


def settings(folder: Path, name: str, more: str = "") -> None:
    """Which inbox the commands of this folder mean from now on."""
    toml = folder / "landfast.toml"
    toml.write_text(f'store = "{name}.db"\nledger = "{name}-ledger.db"\n{more}{SOURCE}')
    toml.chmod(0o600)


def fill(*keys: str) -> None:
    async def record() -> None:
        inbox = Inbox()
        await inbox.migrate()
        async with inbox.archive() as archive:
            for key in keys:
                identity = Identity(key, "order.paid", entity="cus_1", occurred_at=inbox.clock.now())
                made = Delivery.of(
                    "shop",
                    identity,
                    received_at=inbox.clock.now(),
                    headers=json.dumps([*HEADERS, SIGNATURE]).encode(),
                    body=BODIES[key],
                )
                await archive.record([made])

    asyncio.run(record())


def show(key: str) -> EventRecord:
    async def look() -> EventRecord:
        async with Inbox().archive() as archive:
            record = await archive.show(event_id("shop", key))
            assert record is not None
            return record

    return asyncio.run(look())


@pytest.fixture
def full(folder: Path) -> Path:
    settings(folder, "there")
    fill(*BODIES)
    return folder


@pytest.mark.req("R54")
def test_an_event_is_the_same_in_another_inbox_byte_for_byte(landfast: Run, full: Path) -> None:
    ended = landfast("events", "export", "source:shop", "--to", "events.jsonl")
    assert ended.out == "3 events in events.jsonl\n"
    there = {key: show(key) for key in BODIES}
    settings(full, "here")
    landfast("migrate")
    assert landfast("events", "import", "events.jsonl").out == "3 events imported, 0 duplicates\n"
    for key, before in there.items():
        now = show(key)
        assert (now.body, now.summary.state) == (BODIES[key], State.READY)
        assert json.loads(now.headers) == HEADERS, "and the digest of a signature is not taken along"
        for name in ("source", "key", "type", "entity", "occurred_at"):
            assert getattr(now.summary, name) == getattr(before.summary, name)
        assert now.summary.received_at > before.summary.received_at


def test_what_is_imported_twice_is_a_duplicate_and_the_proof_still_holds(landfast: Run, full: Path) -> None:
    landfast("events", "export", "source:shop", "--to", "events.jsonl")
    settings(full, "here")
    landfast("migrate")
    landfast("events", "import", "events.jsonl")
    assert landfast("events", "import", "events.jsonl", "--json").json == {"imported": 0, "duplicate": 3}
    assert show("evt_text").summary.redelivered == 1

    async def is_proven() -> bool:
        inbox = Inbox()
        async with inbox.stores() as stores:
            found = await prove(stores.inbox, stores.ledger, clock=inbox.clock, chance=inbox.chance)
        [received] = [one for one in found.equations if one.name == "received"]
        assert str(received) == "received 6 = stored 3 + duplicate 3 + rejected 0"
        return found.holds

    assert asyncio.run(is_proven())


def test_one_event_is_exported_by_its_name_into_a_file_for_its_owner(landfast: Run, full: Path) -> None:
    assert landfast("events", "export", "shop/evt_bytes", "--to", "one.jsonl").out == "1 event in one.jsonl\n"
    assert (full / "one.jsonl").stat().st_mode & 0o777 == 0o600
    (line,) = (full / "one.jsonl").read_text().splitlines()
    assert base64.b64decode(json.loads(line)["body_base64"]) == BODIES["evt_bytes"]
    assert "sha256:" not in line
    again = landfast("events", "export", "evt_bytes", "--to", "one.jsonl")
    assert (again.code, again.err) == (
        2,
        "landfast: events export: one.jsonl is there already; name another file\n",
    )
    none = landfast("events", "export", "evt_none", "--to", "none.jsonl")
    assert none.err == "landfast: no event 'evt_none'; see landfast events list\n"
    assert not (full / "none.jsonl").exists()


def test_a_filter_that_nothing_matches_writes_no_file(landfast: Run, full: Path) -> None:
    ended = landfast("events", "export", "type:nothing.*", "--to", "none.jsonl")
    assert (ended.code, ended.out) == (1, "no event matches, so no file was written\n")
    assert not (full / "none.jsonl").exists()


def test_an_erased_event_says_so_and_a_filter_leaves_it_out(landfast: Run, full: Path) -> None:
    assert landfast("erase", "evt_text", "--yes").code == 0
    alone = landfast("events", "export", "evt_text", "--to", "one.jsonl")
    assert alone.code == 2
    assert "was erased at" in alone.err
    ended = landfast("events", "export", "source:shop", "--to", "rest.jsonl")
    assert ended.out == "2 events in rest.jsonl\n"
    assert ended.err == "landfast: note: left out 1 event that were erased\n"


def test_a_sealed_inbox_is_written_in_clear_only_where_that_is_said(
    landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASTER", "A" * 43 + "=")
    settings(folder, "there", 'seal = "env:MASTER"\n')
    fill("evt_text")
    refused = landfast("events", "export", "evt_text", "--to", "one.jsonl")
    assert refused.code == 2
    assert "add --in-clear" in refused.err
    assert not (folder / "one.jsonl").exists()
    assert landfast("events", "export", "evt_text", "--to", "one.jsonl", "--in-clear").code == 0
    assert json.loads((folder / "one.jsonl").read_text())["body"].encode() == BODIES["evt_text"]
    monkeypatch.delenv("MASTER")
    settings(folder, "there")
    locked = landfast("events", "export", "evt_text", "--to", "two.jsonl")
    assert locked.code == 2
    assert not (folder / "two.jsonl").exists()


GOOD = {"version": 1, "source": "shop", "key": "evt_1", "type": "order.paid", "headers": [], "body": "{}"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "events import: bad.jsonl line 2: it is no JSON"),
        (GOOD | {"version": 2}, "line 2: its version is 2, and this Landfast reads version 1"),
        ([1], "line 2: its version is None"),
        ({"version": 1}, "line 2: Object missing required field `source`"),
        (GOOD | {"body_base64": "AA=="}, "line 2: it needs body or body_base64, and not both"),
        ({name: value for name, value in GOOD.items() if name != "body"}, "line 2: it needs body or body_base64"),
        (GOOD | {"key": ""}, "line 2: source and key must not be empty"),
        (GOOD | {"key": "k" * 600}, "line 2: key is too long"),
        (GOOD | {"headers": [["one"]]}, "line 2: "),
        (GOOD | {"occurred_at": "2026-01-01T00:00:00"}, "line 2: a time has no zone"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_imported(
    landfast: Run, folder: Path, line: object, says: str
) -> None:
    settings(folder, "here")
    landfast("migrate")
    text = line if isinstance(line, str) else json.dumps(line)
    (folder / "bad.jsonl").write_text(f"{json.dumps(GOOD)}\n{text}\n{json.dumps(GOOD | {'key': 'evt_3'})}\n")
    ended = landfast("events", "import", "bad.jsonl")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert says in ended.err
    assert landfast("events", "list").out == "no event matches\n"


def test_a_source_that_is_not_here_is_noted(landfast: Run, folder: Path) -> None:
    settings(folder, "here")
    landfast("migrate")
    (folder / "other.jsonl").write_text(json.dumps(GOOD | {"source": "shpo"}) + "\n")
    ended = landfast("events", "import", "other.jsonl")
    assert ended.err == "landfast: note: there is no source 'shpo' here; did you mean 'shop'?\n"
    assert ended.out == "1 event imported, 0 duplicates\n"


def test_standard_output_takes_them_too(landfast: Run, full: Path) -> None:
    assert json.loads(landfast("events", "export", "evt_text", "--to", "-").out)["key"] == "evt_text"
