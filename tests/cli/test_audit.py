"""`landfast audit`: every command that changes something leaves its lines, and nobody has their hands in them unseen."""

from __future__ import annotations

import getpass
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from landfast.domain.operator_log import Action, Step
from landfast.testing.factory import delivery
from tests.cli.conftest import Run
from tests.cli.crowd import fill, three_dead_two_done

SOURCE = '[sources.shop]\nprovider = "stripe"\nsecrets = ["whsec_x"]\nallow_short_secret = true\n'


@pytest.fixture
def crowd(folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    (folder / "landfast.toml").chmod(0o600)
    fill(three_dead_two_done)


async def two_held(stores: object) -> None:
    await stores.inbox.record([delivery(f"held_{number}", hold="late") for number in range(2)])  # type: ignore[attr-defined]


@pytest.mark.req("R42")
def test_whatever_an_operator_changes_leaves_who_when_why_what_and_the_result(
    landfast: Run, crowd: None, folder: Path
) -> None:
    fill(two_held)
    assert landfast("audit", "list").out == "nobody has changed anything by hand\n"
    assert landfast("events", "export", "done_0000", "--to", "out.jsonl").code == 0
    told = {
        "pause": ("pause", "shop", "--why", "wrong prices"),
        "resume": ("resume", "shop"),
        "replay": ("replay", "state:dead", "key:dead_0000", "--yes", "--why", "fixed in 4.2"),
        "force": ("replay", "done_0000", "--force", "--yes"),
        "admit": ("held", "admit", "held_0"),
        "discard": ("held", "discard", "source:shop", "--yes"),
        "erase": ("erase", "entity:cus_9", "--yes", "--why", "she asked for it"),
        "recover": ("recover", "ledger", "--since", "1h"),
        "import": ("events", "import", "out.jsonl"),
        "retry-effects": ("effects", "retry", "--all"),
    }
    for action, command in told.items():
        assert landfast(*command).code in (0, 1), action
    found = landfast("audit", "list", "--json").json["changes"]
    assert [each["action"] for each in reversed(found)] == list(told)
    assert {each["who"] for each in found} == {getpass.getuser()}
    assert {each["ended"]["result"] for each in found} == {Step.DONE}
    by = {each["action"]: each for each in found}
    assert (by["pause"]["why"], by["pause"]["what"]) == ("wrong prices", {"source": "shop", "now": False})
    assert by["replay"]["what"]["filter"] == "state:dead key:dead_0000"
    assert (by["replay"]["why"], by["replay"]["ended"]["what"]["count"]) == ("fixed in 4.2", 1)
    assert by["force"]["ended"]["what"]["events"] == [by["force"]["what"]["event"]]
    assert by["discard"]["ended"]["what"]["count"] == 1
    assert by["import"]["ended"]["what"] == {"count": 0, "imported": {}, "duplicate": {"shop": 1}}
    # The log is kept for ever: whom somebody had erased is not in it.
    assert "cus_9" not in landfast("audit", "list").out
    assert by["erase"]["what"]["filter"].startswith("entity:sha256-")
    assert landfast("erase", 'entity:"Jane Doe" message:"no such Jane"', "--yes").code in (0, 1)
    assert "Jane" not in landfast("audit", "list", "--json").out and "Doe" not in landfast("audit", "list").out
    only = landfast("audit", "list", "--action", "force", "--json").json["changes"]
    assert [each["action"] for each in only] == [Action.FORCE]
    table = landfast("audit", "list", "--since", "1h", "--limit", "2").out.splitlines()
    assert (len(table), table[0].split("\t")[:4]) == (3, ["line", "at", "who", "action"])


@pytest.mark.req("R42")
def test_a_look_or_a_dry_run_leaves_no_line(landfast: Run, crowd: None) -> None:
    for command in (
        ("pause",),
        ("replay", "state:dead", "--dry-run"),
        ("erase", "entity:x", "--dry-run"),
        ("recover", "ledger", "--since", "1h", "--dry-run"),
        ("dead", "list"),
    ):
        assert landfast(*command).code == 0
    assert landfast("audit", "list", "--json").json == {"changes": []}


@pytest.mark.req("R42")
def test_verify_says_ok_or_names_the_first_bad_line(landfast: Run, crowd: None, folder: Path) -> None:
    assert landfast("audit", "verify", "--json").json["lines"] == 0
    for _ in range(2):
        landfast("pause", "shop", "--why", "x")
    fine = landfast("audit", "verify")
    assert (fine.code, fine.out.splitlines()[0]) == (0, "ok: 4 lines, each where it was written")
    digest = fine.out.split()[-1]
    assert landfast("audit", "verify", "--expect", digest).code == 0
    assert landfast("audit", "verify", "--expect", "xyz").code == 2
    wrong = landfast("audit", "verify", "--expect", "00" * 16)
    assert (wrong.code, "no line has the digest that was expected" in wrong.out) == (1, True)
    with closing(sqlite3.connect(folder / "landfast.db")) as db, db:
        db.execute("UPDATE operator_log SET why = 'y' WHERE seq = 3")
    bad = landfast("audit", "verify")
    assert (bad.code, bad.out) == (1, "BAD: line 3 was changed, put there, or moved\n")
    (folder / "landfast-ledger.db").unlink()
    alone = landfast("audit", "verify")
    assert (alone.code, alone.err.startswith("landfast: note: the ledger was not asked")) == (1, True)
    accepted = landfast("audit", "accept")
    assert accepted.code == 2


def test_a_change_that_never_ended_is_told_as_such(landfast: Run, crowd: None, folder: Path) -> None:
    landfast("pause", "shop", "--why", "x")
    with closing(sqlite3.connect(folder / "landfast.db")) as db, db:
        db.execute("DELETE FROM operator_log WHERE seq = 2")
    assert "no word of its end" in landfast("audit", "list").out


@pytest.mark.req("R47")
def test_duplicates_are_told_on_the_command_line(landfast: Run, crowd: None, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "landfast-ledger.db")) as db, db:
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, payment_id TEXT, event_id TEXT)")
        rows = [("pi_1", "evt_1")] * 9 + [("pi_2", "evt_2"), ("pi_2", "evt_3")]
        db.executemany("INSERT INTO orders (payment_id, event_id) VALUES (?, ?)", rows)
    asked = ("duplicates", "--table", "orders", "--column", "payment_id", "--event-column", "event_id")
    found = landfast(*asked)
    assert found.code == 1
    assert "pi_1\tevt_1\t9\t1\t2, 3, 4, 5, 6 and 3 more\tthe oldest by id" in found.out
    assert "orders: 11 rows; by event, 1 wrote more than one row, and 8 rows are too many" in found.out
    assert "1 with several rows are legitimate: each row is of another event" in found.out
    assert found.out.endswith("nothing was changed\n")
    told = landfast(*asked, "--source", "shop", "--json").json
    assert (told["extra_rows"], told["doubled"][0]["extra"]) == (8, [2, 3, 4, 5, 6, 7, 8, 9])
    assert landfast(*asked[:5], "--source", "shop").code == 2
    assert landfast("duplicates", "--table", "orders", "--column", "id").code == 0


@pytest.mark.req("R60")
def test_reconcile_says_what_is_missing_in_the_settings(landfast: Run, crowd: None) -> None:
    ended = landfast("reconcile", "shop")
    assert ended.code == 2
    assert "nobody says where stripe lists its events; write listing =" in ended.err
    assert "there is no source 'shpo'; did you mean 'shop'" in landfast("reconcile", "shpo").err
