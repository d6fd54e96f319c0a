"""The prover on a SQLite file: all of it is copied, and none of it is touched."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from landfast import Event, Inbox
from landfast.proving import Kind, Report
from tests.proving import planted
from tests.proving.planted import Tx

TABLES = """
CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, payment TEXT, amount INTEGER, reference TEXT UNIQUE, position INTEGER, at TEXT,
    created_at TEXT DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE line (order_id INTEGER REFERENCES orders (id), what TEXT);
INSERT INTO account VALUES ('shop', 100);
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "shop.db"
    monkeypatch.setenv("PLANTED", str(file))
    with closing(sqlite3.connect(file)) as db:
        db.executescript(TABLES)
    return file


@pytest.fixture
def shop(file: Path) -> Inbox:
    inbox = Inbox(store=str(file.parent / "inbox.db"), ledger=str(file))
    inbox.source("stripe", provider="stripe", secrets=["whsec_test"])
    inbox.effect(planted.confirm)
    return inbox


def proven(inbox: Inbox, function: Callable[..., Any]) -> Report:
    inbox.on("stripe", "payment_intent.succeeded")(function)
    return inbox.prove(function)


async def own_connection(event: Event, tx: Tx) -> None:
    await planted.add_order(event, tx)
    with closing(planted.sqlite_connection()) as db:
        # mistake: own_connection
        db.execute("UPDATE account SET balance = balance + 1")


async def commits_below(event: Event, tx: Tx) -> None:
    await planted.add_order(event, tx)
    # mistake: commits_below
    tx.connection.commit()


def swallows(event: Event, tx: Tx) -> None:
    try:
        # mistake: swallows
        tx.execute("INSERT INTO orders (payment) VALUES ($1)", event.key)
    except sqlite3.Error:
        print("never mind")


async def ignores_a_conflict(event: Event, tx: Tx) -> None:
    """It undoes that one statement only, and the handler says which error it means."""
    try:
        await tx.execute("INSERT INTO orders (reference) VALUES ($1)", planted.payment_of(event)["id"])
    except sqlite3.IntegrityError:
        await tx.execute("UPDATE account SET balance = balance + 1")


MISTAKES: dict[Callable[..., Any], Kind] = {
    own_connection: Kind.OUTSIDE_WRITE,
    commits_below: Kind.ENDS_TRANSACTION,
    swallows: Kind.SWALLOWED_ERROR,
    planted.http_call: Kind.DIRECT_EFFECT,
    planted.random_id: Kind.CHANCE,
    planted.global_counter: Kind.MODULE_STATE,
    planted.commit_inside: Kind.ENDS_TRANSACTION,
    planted.effect_before_commit: Kind.DIRECT_EFFECT,
    planted.numbers_by_arrival: Kind.ORDER,
    planted.clock_write: Kind.CLOCK,
}


def named(function: Callable[..., Any]) -> str:
    return function.__name__


@pytest.mark.req("R64")
@pytest.mark.parametrize("mistake", MISTAKES, ids=named)
@pytest.mark.filterwarnings("ignore:The default datetime adapter:DeprecationWarning")
def test_a_mistake_is_found_at_its_line(shop: Inbox, file: Path, mistake: Callable[..., Any]) -> None:
    before = file.read_bytes()
    report = proven(shop, mistake)
    assert [each.kind for each in report.findings] == [MISTAKES[mistake]], str(report)
    (finding,) = report.findings
    assert finding.place.line == planted.line_of(mistake.__name__, finding.place.file), str(report)
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == ["shop.db"]


RIGHT = (
    ignores_a_conflict,
    planted.with_lines,
    planted.adds_in_sql,
    planted.read_modify_write,  # there is one writer: nobody comes between
    planted.stages,
    planted.only_reads,
    planted.blocking,
    planted.remembers_what_it_looked_up,
)


@pytest.mark.req("R64")
@pytest.mark.parametrize("right", RIGHT, ids=named)
def test_what_is_right_passes(shop: Inbox, file: Path, right: Callable[..., Any]) -> None:
    before = file.read_bytes()
    report = proven(shop, right)
    assert not report.findings, str(report)
    assert report.runs > 5
    assert file.read_bytes() == before


def test_events_of_other_objects_have_other_entities(shop: Inbox) -> None:
    """Or the newest of one would pass over the other."""

    @shop.on("stripe", "payment_intent.succeeded", newest_only=True)
    async def keep(event: Event, tx: Tx) -> None:
        payment = planted.payment_of(event)
        await tx.execute("INSERT INTO account VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", payment["id"], 1)

    report = shop.prove(keep)
    assert not report.findings, str(report)


def test_tables_that_a_lifespan_makes_are_made_in_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inbox = Inbox(ledger="new.db")
    inbox.source("stripe", provider="stripe", secrets=["whsec_test"])

    @inbox.lifespan
    async def tables() -> AsyncIterator[None]:
        with closing(sqlite3.connect("new.db")) as db:
            db.execute("CREATE TABLE IF NOT EXISTS orders (payment TEXT, amount INTEGER)")
        yield

    report = proven(inbox, planted.add_order)
    assert not report.findings, str(report)
    assert not list(tmp_path.iterdir())


def test_a_sample_of_ones_own_reaches_the_handler(shop: Inbox) -> None:
    bodies = []

    async def look(event: Event, tx: Tx) -> None:
        bodies.append(event.data["data"]["object"]["amount"])
        await planted.add_order(event, tx)

    shop.on("stripe", "payment_intent.succeeded")(look)
    given = {"id": "evt_9", "type": "payment_intent.succeeded", "data": {"object": {"id": "pi_9", "amount": 77}}}
    assert not shop.prove("look", given).findings
    assert set(bodies) == {77}


def test_an_inbox_that_was_proven_works_as_before(shop: Inbox, file: Path) -> None:
    """Every hook is taken out again: a connection to the user's file is one to the user's file."""
    proven(shop, planted.add_order)
    with closing(sqlite3.connect(file)) as db:
        assert type(db) is sqlite3.Connection
        db.execute("INSERT INTO account VALUES ('mine', 1)")
        db.commit()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM account").fetchone() == (2,)
