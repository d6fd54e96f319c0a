"""`landfast retention`, and what the other commands say of a body that has expired."""

from __future__ import annotations

import asyncio
import fcntl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.app.ballast import SUFFIX, Ballast
from landfast.domain.lifecycle import State
from landfast.domain.rates import Meter, Rate, minute_of
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.testing.factory import delivery, event_in
from tests.cli.conftest import Run
from tests.servers import Postgres

pytestmark = pytest.mark.req("R43")

SETTINGS = """
[retention]
bodies = "7d"
[sources.shop]
provider = "stripe"
secrets = ["whsec_x"]
allow_short_secret = true
retention = { dead = "forever" }
"""
LATER = """
CREATE OR REPLACE FUNCTION landfast.clock() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now() + interval ''16 days'''
"""


@pytest.fixture
def shop(folder: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """A done event and a delayed one, 16 days ago."""
    (folder / "landfast.toml").write_text(SETTINGS)
    (folder / "landfast.toml").chmod(0o600)
    name = postgres.new_database()
    monkeypatch.setenv("LANDFAST_STORE", postgres.dsn(name))
    monkeypatch.setenv("LANDFAST_LEDGER", f"sqlite:{folder / 'ledger.db'}")

    async def fill() -> None:
        inbox = Inbox()
        await inbox.migrate()
        async with inbox.archive() as archive:
            for number, state in enumerate((State.DELAYED, State.DONE), 1):
                what = delivery(f"evt_{state}", received_at=datetime.now(UTC))
                await event_in(archive, state, what, number=number)

    asyncio.run(fill())
    postgres.execute(LATER, database=name)


def test_it_shows_counts_and_removes(landfast: Run, shop: None) -> None:
    shown = landfast("retention", "show")
    assert shown.out.splitlines()[0].split("\t") == [
        "source", "bodies", "dead", "unhandled", "dedup memory", "history"
    ]  # fmt: skip
    assert "shop\t7 d\tfor ever\t90 d\t35 d\t35 d" in shown.out
    assert "no pass has come to its end yet" in shown.out
    assert landfast("retention", "show", "--json").json["ages"]["shop"]["dead"] is None
    would = [{"source": "shop", "state": "done", "bodies": 1, "events": 0}]
    assert landfast("retention", "run", "--dry-run", "--json").json == {"would_remove": would}
    ended = landfast("retention", "run", "--json")
    assert (ended.code, ended.json["removed"], ended.json["complete"]) == (0, would, True)
    again = landfast("retention", "run")
    assert again.out.splitlines()[0] == "nothing was old enough"
    assert "the last pass ended" in landfast("retention", "show").out


def test_it_does_not_guess_how_long_a_source_of_the_code_is_kept(landfast: Run, shop: None) -> None:
    """Its dead letters may be kept for ever, and nobody has read the code that says so."""

    async def heard_of(source: str) -> None:
        async with Inbox().archive() as archive:
            await archive.add_rates([Rate(minute_of(datetime.now(UTC)), Meter.STORED, source, "", "", "", count=1)])

    asyncio.run(heard_of("shop"))
    assert landfast("retention", "run", "--dry-run").code == 0
    asyncio.run(heard_of("bank"))
    for how in ((), ("--dry-run",), ("--now",)):
        refused = landfast("retention", "run", *how)
        assert (refused.code, "how long bank is kept" in refused.err, "--app" in refused.err) == (2, True, True)


def test_on_a_full_disk_senders_wait_for_the_inbox_and_not_for_the_ledger(
    landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANDFAST_STORE", f"sqlite:{folder / 'inbox.db'}")
    monkeypatch.setenv("LANDFAST_LEDGER", f"sqlite:{folder / 'ledger.db'}")
    monkeypatch.setattr(Ballast, "is_needed", lambda _: True)
    monkeypatch.setenv("LANDFAST_BALLAST", "4096")
    assert landfast("migrate").code == 0
    ballast = folder / f"inbox.db{SUFFIX}"
    ballast.write_bytes(bytes(4096))
    waits: dict[str, bool] = {}
    retain, expire = SqliteInbox.retain, SqliteLedger.expire

    async def watched_retain(inbox: SqliteInbox, *args: Any, **how: Any) -> Any:
        waits["inbox"] = _is_locked(folder / "inbox.db-lock")
        assert not ballast.exists()
        return await retain(inbox, *args, **how)

    async def watched_expire(ledger: SqliteLedger, *args: Any, **how: Any) -> Any:
        waits["ledger"] = _is_locked(folder / "inbox.db-lock")
        assert ballast.exists(), "whoever comes in now may fill the disk again"
        return await expire(ledger, *args, **how)

    monkeypatch.setattr(SqliteInbox, "retain", watched_retain)
    monkeypatch.setattr(SqliteLedger, "expire", watched_expire)
    ended = landfast("retention", "run", "--now", "--json")
    assert (ended.code, ended.json["complete"]) == (0, True)
    assert waits == {"inbox": True, "ledger": False}


def _is_locked(path: Path) -> bool:
    """As another process finds it, which wants to write."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_body_that_expired_says_so(landfast: Run, shop: None) -> None:
    assert landfast("retention", "run").code == 0
    assert "(headers and body expired on 20" in landfast("events", "show", "evt_done").out
    assert landfast("events", "show", "evt_done", "--json").json["body_expired_at"]
    refused = landfast("replay", "evt_done")
    assert refused.code == 2
    assert "body expired on 20" in refused.err
    assert '"evt_delayed"' in landfast("events", "show", "evt_delayed").out
    assert landfast("proof").code == 0
