"""The operator log: who did what, and whether anybody has had their hands in it. Each tampering is done by SQL."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.ids import EventId
from landfast.domain.operator_log import Action, Entry, Line, Step, ledger_name, mark_of
from landfast.ledgers.sqlite import SqliteLedger
from landfast.operations import operator_log
from landfast.operations.operator_log import EVENTS_NAMED, audited
from landfast.operations.secret_changes import note_secrets
from landfast.ports.provider import Secret
from landfast.testing.clock import ManualClock, SeededChance
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench, by_hand
from tests.patience import PATIENCE_SECONDS

Bench = SqliteBench | PostgresBench

LINES = 8
"""Four operations."""


@pytest.fixture(params=["sqlite", "postgres"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    if request.param == "sqlite":
        lite = SqliteBench(tmp_path / "inbox.db")
        await lite.inbox.open()
        await lite.inbox.migrate()
        yield lite
        await lite.close()
    else:
        made = PostgresBench(request.getfixturevalue("migrated_database"))
        await made.inbox.open()
        yield made
        await made.close()


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    made = SqliteLedger(tmp_path / "ledger.db", clock=ManualClock(), chance=SeededChance())
    await made.open()
    await made.migrate()
    yield made
    await made.close()


async def by_sql(bench: Bench, *statements: str) -> None:
    if isinstance(bench, SqliteBench):
        by_hand(bench.path, ";".join(statements))
        return
    async with bench.connected() as connection:
        await connection.execute(";".join(statements).replace("operator_log", "landfast.operator_log"))


async def work(bench: Bench) -> None:
    for number in range(LINES // 2):
        async with audited(bench.inbox, Action.PAUSE, who="ada", why=f"reason {number}", what={"source": "shop"}):
            pass


SHIFT = "UPDATE operator_log SET seq = seq + 100 WHERE seq >= 4"
BACK = "UPDATE operator_log SET seq = seq - 99 WHERE seq >= 100"
COPY = (
    "INSERT INTO operator_log (seq, at, action, step, who, host, why, what, asked_by, digest)"
    " SELECT 4, at, action, step, who, host, why, what, asked_by, digest FROM operator_log WHERE seq = 3"
)


def forged(seq: int) -> str:
    """bob is said to have erased something."""
    return (
        "INSERT INTO operator_log (seq, at, action, step, who, host, why, what, asked_by, digest)"
        f" SELECT {seq}, at, 'erase', 'asked', 'bob', 'desk', 'framed', '{{}}', NULL, digest"
        " FROM operator_log WHERE seq = 3"
    )


TAMPERED: list[tuple[list[str], str]] = [
    (["UPDATE operator_log SET who = 'eve' WHERE seq = 3"], "line 3 was changed"),
    (["UPDATE operator_log SET why = '' WHERE seq = 5"], "line 5 was changed"),
    (["UPDATE operator_log SET what = '{}' WHERE seq = 1"], "line 1 was changed"),
    (["UPDATE operator_log SET step = 'failed' WHERE seq = 2"], "line 2 was changed"),
    (["UPDATE operator_log SET asked_by = 3 WHERE seq = 2"], "line 2 was changed"),
    (["UPDATE operator_log SET at = (SELECT at FROM operator_log WHERE seq = 1) WHERE seq = 8"], "line 8 was changed"),
    (["UPDATE operator_log SET digest = (SELECT digest FROM operator_log WHERE seq = 5) WHERE seq = 6"], "line 6 "),
    (["DELETE FROM operator_log WHERE seq = 4"], "line 4 is missing"),
    (["DELETE FROM operator_log WHERE seq = 1"], "line 1 is missing"),
    (["DELETE FROM operator_log WHERE seq = 4", "UPDATE operator_log SET seq = seq - 1 WHERE seq > 4"], "line 4 "),
    ([SHIFT, BACK, COPY], "line 4 was changed, put there, or moved"),
    (
        [f"UPDATE operator_log SET seq = {new} WHERE seq = {old}" for old, new in ((3, 99), (5, 3), (99, 5))],
        "line 3 was changed, put there, or moved",
    ),
    (["DELETE FROM operator_log WHERE seq > 6"], "line 7 is missing: the log goes on to line 8, and was cut"),
    (
        [
            "UPDATE operator_log_end SET seq = 6, digest = (SELECT digest FROM operator_log WHERE seq = 6)",
            "DELETE FROM operator_log WHERE seq > 6",
        ],
        "the end of the log was changed",
    ),
    (["DELETE FROM operator_log_end"], "the key of the log is gone with its end"),
    (["DELETE FROM operator_log"], "line 1 is missing"),
    ([forged(LINES + 1)], "line 9 was put there: the log ends with line 8"),
    ([forged(1 << 40)], f"line {1 << 40} was put there: the log ends with line 8"),
    ([forged((1 << 63) - 1)], f"line {(1 << 63) - 1} was put there"),
    ([forged(0)], "line 0 was put there: the log begins with line 1"),
    ([forged(-7)], "line -7 was put there"),
]
"""Edit, delete, insert, reorder, truncate; and the first bad line of each."""


@pytest.mark.req("R42")
async def test_edit_delete_insert_reorder_and_truncate_are_all_found_and_the_first_bad_line_is_named(
    bench: Bench,
) -> None:
    for _ in range(LINES // 2):
        await bench.advance(1)
        async with audited(bench.inbox, Action.PAUSE, who="ada", why="a reason", what={"source": "shop"}):
            await bench.advance(1)
    fine = await operator_log.verify(bench.inbox)
    assert (fine.lines, fine.problem) == (LINES, "")
    tables = ("operator_log", "operator_log_end")
    await by_sql(bench, *(f"CREATE TABLE {table}_kept AS SELECT * FROM {table}" for table in tables))
    for statements, problem in TAMPERED:
        await by_sql(bench, *statements)
        assert problem in (await operator_log.verify(bench.inbox)).problem, statements
        back = [(f"DELETE FROM {each}", f"INSERT INTO {each} SELECT * FROM {each}_kept") for each in tables]
        await by_sql(bench, *(statement for pair in back for statement in pair))
        assert (await operator_log.verify(bench.inbox)).problem == ""


@pytest.mark.req("R42")
async def test_a_log_that_was_put_back_as_a_whole_is_found_out_by_the_ledger_and_by_a_digest_that_was_kept(
    bench: Bench, ledger: SqliteLedger
) -> None:
    """Whoever has an old copy of both tables needs no key."""
    inbox = await bench.inbox.identity()
    async with audited(bench.inbox, Action.REPLAY, who="ada"):
        pass
    await by_sql(bench, "CREATE TABLE operator_log_old AS SELECT * FROM operator_log_end")
    await work(bench)
    newest = await operator_log.anchor(bench.inbox, ledger, inbox)
    assert newest is not None
    assert await operator_log.anchor(bench.inbox, ledger, inbox) is None
    known: dict[str, Any] = {"ledger": ledger, "inbox": inbox}
    before = await operator_log.verify(bench.inbox, **known, expect=newest.digest)
    assert (before.problem, before.anchored, before.digest) == ("", 2 + LINES, newest.digest)

    await by_sql(
        bench,
        "CREATE TABLE operator_log_first AS SELECT * FROM operator_log",
        "DELETE FROM operator_log WHERE seq > 2",
        "DELETE FROM operator_log_end",
        "INSERT INTO operator_log_end SELECT * FROM operator_log_old",
    )
    assert (await operator_log.verify(bench.inbox)).problem == ""  # by itself it cannot know
    assert "line 3 is missing: the ledger knows line 10" in (await operator_log.verify(bench.inbox, **known)).problem
    assert "no line has the digest" in (await operator_log.verify(bench.inbox, expect=newest.digest)).problem
    # Nor does more of it, later, hide what was cut.
    await bench.advance(60)
    await work(bench)
    await work(bench)
    assert await operator_log.anchor(bench.inbox, ledger, inbox) is None
    assert "line 10 is another one than the ledger knows" in (await operator_log.verify(bench.inbox, **known)).problem

    accepted = await operator_log.accept(bench.inbox, ledger, inbox, who="ada", why="restored from the backup of 3:00")
    assert accepted.problem == ""
    (last, *_) = await operator_log.latest(bench.inbox, limit=1)
    assert (last.asked.entry.action, last.asked.entry.why) == (Action.ACCEPT, "restored from the backup of 3:00")
    assert "line 10 is another one" in json.loads(last.asked.entry.what)["problem"]
    # The proof's own marks are others.
    assert list(await ledger.audit_marks(inbox)) == []
    assert [mark.seq for mark in await ledger.audit_marks(ledger_name(inbox))] == [20, 9]
    # A line that was once right in its place, and does not belong to what follows it now.
    await by_sql(
        bench,
        "DELETE FROM operator_log WHERE seq = 3",
        "INSERT INTO operator_log SELECT * FROM operator_log_first WHERE seq = 3",
    )
    assert (await operator_log.verify(bench.inbox)).problem == "line 4 was changed, put there, or moved"


@pytest.mark.req("R42")
async def test_a_log_that_was_put_back_is_accepted_at_once_however_short_it_is(
    bench: Bench, ledger: SqliteLedger
) -> None:
    inbox = await bench.inbox.identity()
    known: dict[str, Any] = {"ledger": ledger, "inbox": inbox}
    async with audited(bench.inbox, Action.REPLAY, who="ada"):
        pass
    await operator_log.anchor(bench.inbox, ledger, inbox)
    await by_sql(bench, "CREATE TABLE operator_log_old AS SELECT * FROM operator_log_end")
    for _ in range(2):
        await work(bench)
        await operator_log.anchor(bench.inbox, ledger, inbox)
    await by_sql(
        bench,
        "DELETE FROM operator_log WHERE seq > 2",
        "DELETE FROM operator_log_end",
        "INSERT INTO operator_log_end SELECT * FROM operator_log_old",
    )
    assert "the ledger knows line 18" in (await operator_log.verify(bench.inbox, **known)).problem

    accepted = await operator_log.accept(bench.inbox, ledger, inbox, who="ada", why="restored from the backup of 3:00")
    assert (accepted.problem, accepted.lines, accepted.anchored) == ("", 4, 4)
    assert [mark.seq for mark in await ledger.audit_marks(ledger_name(inbox))] == [4, 2]
    (last, *_) = await operator_log.latest(bench.inbox, limit=1)
    assert "line 3 is missing" in json.loads(last.asked.entry.what)["problem"]
    # And from then on the ledger follows it again.
    await work(bench)
    assert await operator_log.anchor(bench.inbox, ledger, inbox) is not None
    assert (await operator_log.verify(bench.inbox, **known)).problem == ""


@pytest.mark.req("R42")
async def test_a_log_that_begins_anew_is_accepted(bench: Bench, ledger: SqliteLedger) -> None:
    """Of the first line, too, the ledger knows another."""
    inbox = await bench.inbox.identity()
    first = await bench.inbox.add_to_operator_log(Entry(Action.ERASE, Step.ASKED, "ada", "desk", "", "{}"))
    await ledger.set_audit_mark(ledger_name(inbox), mark_of(first))
    await by_sql(bench, "DELETE FROM operator_log", "DELETE FROM operator_log_end")
    accepted = await operator_log.accept(bench.inbox, ledger, inbox, who="ada", why="the inbox is a new one")
    assert (accepted.problem, accepted.lines, accepted.anchored) == ("", 2, 2)


@pytest.mark.req("R42")
async def test_a_line_that_was_put_outside_of_the_log_is_shown_to_nobody_and_the_ledger_never_knows_it(
    bench: Bench, ledger: SqliteLedger
) -> None:
    inbox = await bench.inbox.identity()
    await work(bench)
    await by_sql(bench, forged(LINES + 1), forged(0))
    assert {each.asked.entry.who for each in await operator_log.latest(bench.inbox, limit=99)} == {"ada"}
    newest = await operator_log.anchor(bench.inbox, ledger, inbox)
    assert newest is not None
    assert (newest.seq, newest.entry.who) == (LINES, "ada")
    assert [mark.seq for mark in await ledger.audit_marks(ledger_name(inbox))] == [LINES]


@pytest.mark.req("R42")
async def test_the_line_that_the_log_ends_with_is_not_made_known_after_it_was_changed(
    bench: Bench, ledger: SqliteLedger, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = await bench.inbox.identity()
    await work(bench)
    await by_sql(
        bench, "UPDATE operator_log SET digest = (SELECT digest FROM operator_log WHERE seq = 5) WHERE seq = 8"
    )
    assert await operator_log.anchor(bench.inbox, ledger, inbox) is None
    assert "operator_log_cut line=8" in caplog.text
    assert list(await ledger.audit_marks(ledger_name(inbox))) == []


@pytest.mark.req("R42")
async def test_lines_that_are_added_while_somebody_verifies_are_no_tampering(bench: Bench) -> None:
    await work(bench)
    read = bench.inbox.operator_log

    async def busy(*, after: int, upto: int, limit: int) -> Sequence[Line]:
        found = await read(after=after, upto=upto, limit=limit)
        if await _last(bench) < 4 * LINES:
            await work(bench)
        return found

    bench.inbox.operator_log = busy  # type: ignore[method-assign]
    assert (await operator_log.verify(bench.inbox)).problem == ""
    assert await _last(bench) == 4 * LINES


async def _last(bench: Bench) -> int:
    end = await bench.inbox.operator_log_end()
    return 0 if end is None else end.seq


async def test_what_was_done_is_told_with_its_count_and_the_first_events(bench: Bench) -> None:
    events = [EventId(number.to_bytes(16)) for number in range(EVENTS_NAMED + 50)]
    asked = {"filter": "state:dead", "rate": 50.0}
    async with audited(bench.inbox, Action.FORCE, who="ada", why="fixed", what=asked, host="desk") as audit:
        audit.touched(events[:120])
        audit.touched(events[120:], count=29)
        audit.note(mark=None)
    (only,) = await operator_log.latest(bench.inbox, limit=5)
    assert only.asked.entry == Entry("force", Step.ASKED, "ada", "desk", "fixed", json.dumps(asked))
    assert only.ended is not None
    assert only.ended.entry.step is Step.DONE
    result = json.loads(only.ended.entry.what)
    assert (result["count"], len(result["events"]), result["mark"]) == (149, EVENTS_NAMED, None)
    assert result["events"][0] == events[0].hex()


async def test_what_failed_or_was_interrupted_says_so_and_what_it_had_done(bench: Bench) -> None:
    async def broken() -> None:
        async with audited(bench.inbox, Action.ERASE, who="ada") as audit:
            audit.counted(3)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await broken()

    async def long() -> None:
        async with audited(bench.inbox, Action.REPLAY, who="ada"):
            begun.set()
            await asyncio.Event().wait()

    begun = asyncio.Event()
    task = asyncio.create_task(long())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    replay, erase = await operator_log.latest(bench.inbox, limit=5)
    assert replay.ended is not None
    assert erase.ended is not None
    assert json.loads(replay.ended.entry.what) == {"count": 0, "error": "CancelledError"}
    assert json.loads(erase.ended.entry.what) == {"count": 3, "error": "ValueError: broken"}
    assert {replay.ended.entry.step, erase.ended.entry.step} == {Step.FAILED}


async def test_a_crash_between_leaves_a_line_that_was_asked_and_never_ended(bench: Bench) -> None:
    await bench.inbox.add_to_operator_log(Entry(Action.ERASE, Step.ASKED, "ada", "desk", "", "{}"))
    await work(bench)
    found = await operator_log.latest(bench.inbox, limit=99)
    assert [each.ended is None for each in found] == [False] * 4 + [True]
    assert (await operator_log.verify(bench.inbox)).problem == ""


@pytest.mark.req("R42")
async def test_other_secrets_than_before_are_noticed_once_and_none_is_told(bench: Bench) -> None:
    old, new = Secret("1", b"the old secret of stripe"), Secret("2", b"the new secret of stripe")
    github = [Secret("1", b"the secret of github")]
    for given, changed in (
        ({"stripe": [old], "github": github}, ["github", "stripe"]),
        ({"stripe": [old], "github": github}, []),
        ({"stripe": [old, new], "github": github}, ["stripe"]),
        ({"stripe": [new]}, ["stripe"]),
        ({"github": github}, []),
    ):
        assert list(await note_secrets(bench.inbox, given, who="root")) == changed
    found = await operator_log.latest(bench.inbox, limit=9)
    assert [each.asked.entry.action for each in found] == [Action.SECRETS] * 3
    assert json.loads(found[1].asked.entry.what)["sources"] == ["stripe"]
    assert "secret of" not in str(found)


@pytest.mark.req("R42")
async def test_a_worker_has_the_ledger_know_the_newest_line_and_says_so_in_its_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / "none.toml").touch()
    app = Inbox(tmp_path / "none.toml", store=f"sqlite:{tmp_path / 'inbox.db'}")
    app.source("shop", provider="stripe", secrets=["whsec_of_a_test_of_operators"])
    await app.migrate()
    async with app.stores() as stores:
        async with audited(stores.inbox, Action.PAUSE, who="ada"):
            pass
        (newest,) = await stores.inbox.latest_operations(limit=1)
        async with app.worker(), asyncio.timeout(PATIENCE_SECONDS):
            while not (marks := await stores.ledger.audit_marks(ledger_name(stores.identity))):
                await asyncio.sleep(0.01)
    assert list(marks) == [mark_of(newest)]
    assert f"operator_log_grew line=2 action=pause digest={newest.digest.hex()}" in caplog.text


async def test_where_the_log_cannot_be_written_nothing_is_done(bench: Bench) -> None:
    await by_sql(bench, "DROP TABLE operator_log")
    done: list[Line] = []
    with pytest.raises(InboxUnavailableError):
        async with audited(bench.inbox, Action.ERASE, who="ada"):
            done.append(None)  # type: ignore[arg-type]
    assert not done


async def test_the_key_is_sealed_where_the_inbox_is_and_a_key_in_clear_is_sealed_with_the_next_line(
    tmp_path: Path,
) -> None:
    master = bytes(range(32))
    clear = SqliteBench(tmp_path / "inbox.db")
    await clear.inbox.open()
    await clear.inbox.migrate()
    await work(clear)
    key = await clear.inbox.operator_log_key()
    await clear.close()
    assert by_hand(clear.path, "SELECT key FROM operator_log_end") == [(key,)]

    sealed = SqliteBench(tmp_path / "inbox.db", master=master)
    await sealed.inbox.open()
    await work(sealed)
    assert await (await sealed.another()).operator_log_key() == key
    assert (await operator_log.verify(sealed.inbox)).lines == 2 * LINES
    await sealed.close()
    ((box,),) = by_hand(sealed.path, "SELECT key FROM operator_log_end")
    assert key is not None
    assert key not in box
