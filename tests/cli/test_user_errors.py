"""Every error that a user can cause here: one clear sentence on stderr, exit 2, and no traceback."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Run
from tests.free_port import free_port

TOML = '[sources.stripe]\nprovider = "stripe"\nsecrets = ["{secret}"]\n'
FULL = """
import resource, sys
from landfast.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main(["migrate"]))
"""
APP = "from landfast import Inbox\ninbox = Inbox()\n"


def is_one_sentence(ended: Ended, *words: str) -> bool:
    assert ended.code == 2, ended
    assert ended.out == ""
    assert ended.err.startswith("landfast: ")
    assert ended.err.count("\n") == 1, ended.err
    assert "Traceback" not in ended.err
    assert all(word in ended.err for word in words), ended.err
    return True


def write(name: str, text: str) -> None:
    Path(name).write_text(text)


def test_bad_config(landfast: Run) -> None:
    write("landfast.toml", "prot = 1")
    assert is_one_sentence(landfast("proof"), "there is no key 'prot'; did you mean 'port'?")


def test_missing_secret(landfast: Run) -> None:
    write("landfast.toml", TOML.format(secret="env:NOT_SET_ANYWHERE"))
    assert is_one_sentence(
        landfast("send", "stripe", "x"), "NOT_SET_ANYWHERE is not set; set it to the secret, here or in .env"
    )


def test_empty_secret(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    write("landfast.toml", TOML.format(secret="env:EMPTY"))
    assert is_one_sentence(landfast("send", "stripe", "x"), "env:EMPTY", "the secret is empty")


def test_unknown_provider(landfast: Run) -> None:
    write("landfast.toml", TOML.format(secret="x").replace('"stripe"', '"strip"'))
    assert is_one_sentence(landfast("proof"), "did you mean 'stripe'?")


@pytest.mark.parametrize(
    ("store", "words"),
    [
        (
            "missing/folder/in.db",
            ("store (LANDFAST_STORE): the folder missing/folder does not exist; create it, or correct the path",),
        ),
        ("mysql://me:hunter2@db/x", ("store: 'mysql' is no kind of database",)),
        ("postgres//me/x", ("store: the address has // and no scheme before it; write it as postgresql://",)),
        (
            "postgresql://me:hunter2@127.0.0.1:{closed}/x",
            ("store (LANDFAST_STORE): 127.0.0.1:", "start the server, or correct the address"),
        ),
    ],
)
def test_wrong_address(landfast: Run, monkeypatch: pytest.MonkeyPatch, store: str, words: tuple[str, ...]) -> None:
    monkeypatch.setenv("LANDFAST_STORE", store.format(closed=free_port()))
    ended = landfast("migrate")
    assert is_one_sentence(ended, *words)
    assert "hunter2" not in ended.err


def test_wrong_database_name(landfast: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDFAST_STORE", database + "_not_there")
    assert is_one_sentence(landfast("migrate"), "LANDFAST_STORE")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("sslmod=require", ("option", 'unrecognized configuration parameter "sslmod"')),
        ("sslmode=require", ("takes no TLS", "leave sslmode out")),
        ("sslmode=secure", ("`sslmode` parameter must be one of",)),
    ],
)
def test_wrong_option_in_an_address(
    landfast: Run, database: str, monkeypatch: pytest.MonkeyPatch, option: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("LANDFAST_STORE", f"{database}?{option}")
    assert is_one_sentence(landfast("migrate"), "LANDFAST_STORE", *words)
    write("landfast.toml", TOML.format(secret="x" * 16))
    checks = {check["name"]: check["found"] for check in landfast("doctor", "--json").json["checks"]}
    for word in ("ledger (it follows store)", *words):
        assert word in checks["ledger"]


def test_a_folder_that_is_missing_is_blamed_on_whoever_named_it(landfast: Run) -> None:
    write("landfast.toml", 'ledger = "no/shop.db"')
    assert is_one_sentence(landfast("migrate"), "ledger (landfast.toml): the folder no does not exist")


def test_an_unknown_variable_is_a_warning(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDFAST_STOER", "x.db")
    ended = landfast("migrate")
    assert ended.code == 0
    assert (
        ended.err == "landfast: warning: LANDFAST_STOER is set, and nothing reads it; did you mean 'LANDFAST_STORE'?\n"
    )


def test_a_store_that_is_no_database(landfast: Run) -> None:
    write("landfast.db", "this is a text, and no database at all" * 100)
    assert is_one_sentence(landfast("migrate"), "landfast.db")


@pytest.mark.parametrize(
    ("files", "app", "words"),
    [
        ({}, "shop:inbox", ("there is no module 'shop'",)),
        ({}, "shop.py", ("there is no file 'shop.py'",)),
        ({}, ".", ("app '.': write module:inbox, such as handlers:inbox, or the name of a file",)),
        ({}, "examples/shop", ("or the name of a file, such as shop.py",)),
        ({"shop.py": "x = 1\nimport nothing_of_the_kind\n"}, "shop:inbox", ("shop.py, line 2: ModuleNotFoundError",)),
        ({"shop.py": "def broken(:\n"}, "shop:inbox", ("shop.py, line 1: SyntaxError",)),
        ({"shop.py": "import rest\n", "rest.py": "\n\n1 / 0\n"}, "shop.py", ("rest.py, line 3: ZeroDivisionError",)),
        ({"shop.py": "import json\njson.loads('')\n"}, "shop.py", ("shop.py, line 2: JSONDecodeError",)),
        ({"shop.py": "raise SystemExit(3)\n"}, "shop", ("shop.py, line 1: SystemExit: 3",)),
        ({"shop.py": APP}, "shop:inbx", ("shop has no 'inbx'; did you mean 'inbox'?",)),
        ({"shop.py": "inbox = 1\n"}, "shop:inbox", ("inbox is a int; it must be a landfast.Inbox",)),
        ({"shop.py": "inbox = 1\n"}, "shop", ("shop has no Inbox; make one with inbox = landfast.Inbox()",)),
        ({"shop.py": APP + "other = Inbox()\n"}, "shop", ("shop has several; say which, such as shop:inbox",)),
        ({"json.py": APP}, "json.py", ("another module is called 'json' already",)),
        ({"shop.py": APP + "inbox.source('a', provider='x', secrets=['x'])\n"}, "shop", ("no provider 'x'",)),
    ],
)
def test_app_import_error(landfast: Run, files: dict[str, str], app: str, words: tuple[str, ...]) -> None:
    for name, text in files.items():
        write(name, text)
    assert is_one_sentence(landfast("proof", "--app", app), *words)


@pytest.mark.parametrize(
    ("file", "table", "migration"),
    [("landfast.db", "body", "0001_inbox"), ("landfast-ledger.db", "landfast_receipt", "0001_ledger")],
)
def test_broken_migration(landfast: Run, file: str, table: str, migration: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"CREATE TABLE {table} (of_somebody_else)")
    connection.close()
    assert is_one_sentence(landfast("migrate"), migration)
    with closing(sqlite3.connect(file)) as connection, connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    connection.close()
    assert tables == [(table,)]


@pytest.mark.parametrize("command", [("proof",), ("effects", "list"), ("recover", "ledger", "--since", "2h")])
def test_a_ledger_that_only_the_code_names_is_looked_for_there_first(landfast: Run, command: tuple[str, ...]) -> None:
    write("shop.py", "from landfast import Inbox\ninbox = Inbox(ledger='shop.db')\n")
    assert landfast("migrate", "--app", "shop:inbox").code == 0
    ended = landfast(*command)
    assert is_one_sentence(
        ended, "there is no database landfast-ledger.db yet; no app was given: add --app module:inbox"
    )
    assert ended.err.index("--app") < ended.err.index("landfast migrate")
    assert landfast("proof", "--app", "shop:inbox").code == 0
    assert not Path("landfast-ledger.db").exists()


def test_inbox_bound_to_another_ledger(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert landfast("migrate").code == 0
    monkeypatch.setenv("LANDFAST_LEDGER", "other.db")
    assert is_one_sentence(landfast("migrate"), "landfast.db is bound to the ledger", "point ledger (LANDFAST_LEDGER)")


def test_disk_full(folder: Path) -> None:
    """Files that may not grow past a page, as on a disk that is full."""
    ended = subprocess.run(
        [sys.executable, "-c", FULL],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert is_one_sentence(Ended(ended.returncode, ended.stdout, ended.stderr))


@pytest.mark.parametrize("terms", [("nonsense",), ("state:happy",), ("since:yesterday",), ("source:a", "source:b")])
def test_bad_filter(landfast: Run, terms: tuple[str, ...]) -> None:
    assert is_one_sentence(landfast("events", "list", *terms), "filter: ")


def test_a_field_of_a_filter_that_is_misspelt(landfast: Run) -> None:
    assert is_one_sentence(landfast("events", "list", "stat:dead"), "no field 'stat'; did you mean 'state'?")


def test_a_command_that_is_misspelt(landfast: Run) -> None:
    ended = landfast("evnts", "list")
    assert (ended.code, ended.out) == (2, "")
    assert "There is no command 'evnts'; did you mean 'events'?" in ended.err


def test_bad_cursor(landfast: Run) -> None:
    landfast("migrate")
    for cursor in ("nonsense", "2026-01-01T00:00:00/ab", f"2026-01-01T00:00:00/{'0' * 32}"):
        ended = landfast("events", "list", "--after", cursor)
        assert is_one_sentence(ended, "after: give the cursor that the last page ended with")
