"""Rules of taste that a machine can check. Few, fast, and each with its reason."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from landfast.domain.effect import STAGED, EffectState
from landfast.domain.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

LINES_AT_MOST = 300
"""A file past this has two nouns in it."""

FUNCTION_AT_MOST = 50
"""Lines: what fits on a screen."""

PURE = ("domain", "ports", "providers")
IMPURE = {"time", "random", "socket", "logging", "os", "asyncio", "secrets", "threading"}


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in SOURCES}
    assert not {name: lines for name, lines in long.items() if lines > LINES_AT_MOST}


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in SOURCES
        for node in functions(file)
        if (node.end_lineno or 0) - node.lineno >= FUNCTION_AT_MOST
    ]
    assert not long


def test_the_core_imports_no_clock_chance_socket_file_or_log() -> None:
    found = []
    for part in PURE:
        for file in (ROOT / "src" / "landfast" / part).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                found += [f"{file.relative_to(ROOT)}: {name}" for name in names if name.split(".")[0] in IMPURE]
    assert not found


def test_states_are_compared_by_the_table_and_the_drivers_only() -> None:
    """Nothing else decides which state follows which."""
    allowed = {f"domain/{name}.py" for name in ("lifecycle", "holding", "effect", "job", "filter", "retention")}
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in SOURCES
        if not any(str(file).endswith(name) for name in allowed)
        and not {"inboxes", "testing", "cli", "admin", "demo", "recovery", "operations", "ledgers"} & set(file.parts)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(r"State\.[A-Z]+\b", line)
    ]
    assert not found


def test_nothing_is_left_unfinished_in_the_sources() -> None:
    words = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    assert not [str(file) for file in SOURCES if words.search(file.read_text())]


def test_no_name_says_nothing() -> None:
    """CONTRIBUTING.md, Words: these names hide what a thing is."""
    empty = re.compile(r"^class \w*(Manager|Helper|Util|Base|Processor)\b", re.MULTILINE)
    assert not [str(file) for file in SOURCES if empty.search(file.read_text())]
    assert not [str(file) for file in SOURCES if file.stem in ("utils", "util", "helpers", "common", "base", "manager")]


def test_every_error_is_drawn_in_the_tree_at_the_top_of_its_module() -> None:
    text = (ROOT / "src/landfast/domain/errors.py").read_text()
    tree, code = text.split('"""', 2)[1:]
    for name, parent in re.findall(r"^class (\w+)\((\w+)\)", code, re.MULTILINE):
        if parent != "Exception":
            assert re.search(rf"── {name}\b", tree), f"{name} is not in the tree"


LEDGER_DRIVERS = sorted((ROOT / "src/landfast/ledgers").glob("*/sql"))
ON_ONE_LEDGER_ONLY = {
    "commit": "PostgreSQL stores results and effects and takes the guard row away in one round trip",
    "receipts_result": "part of `commit`; a SQLite file answers without a round trip",
    "effects_stage": "part of `commit`",
    "steps_stage": "PostgreSQL stages steps with what they wait for in one round trip, and `commit` those without",
    "waits_stage": "part of `steps_stage`",
    "steps_after": "part of `steps_free` on PostgreSQL, which frees all at once",
    "waits_expire": "part of `effects_expire` on PostgreSQL; SQLite has no DELETE inside WITH",
    "guard_delete": "part of `commit`",
    "guard_check": "MySQL has no guard row: the server refuses to end an XA transaction by COMMIT",
    "guard_remove": "the check and the end of a guard row, said together with COMMIT: a round trip on PostgreSQL alone",
    "guard_find": "where PostgreSQL has put the guard row that was said together with BEGIN",
    "receipts_take": "as `receipts_insert`, said together with BEGIN",
    "receipts_taken": "what `receipts_take` could not tell",
    "migrations_unlock": "a lock of MySQL's is of the connection, and outlives each CREATE TABLE",
    "receipts_read_now": "MySQL shows REPEATABLE READ what was there at its first look, unless it locks",
    "tables_elsewhere": "MySQL has tables that cannot roll back",
    "guard": "part of `receipts_insert` on PostgreSQL, for the same reason",
    "effects_due": "part of `effects_claim` on PostgreSQL; SQLite before 3.35 has no RETURNING",
    "audit_mark_forget": "part of `audit_mark_set` on PostgreSQL; SQLite has no DELETE inside WITH",
    "bound": "SQLite looks without its writer, which a slow handler may have",
    "durability": "settings of a server; SQLite's are those of a connection, which are pragmas",
    "erase_watched": "of a server: who may still see what was erased",
    "expire_blocks": "a walk by place, which only PostgreSQL has",
    "expire_effects_upto": "a walk in the order of a key, where PostgreSQL goes by place",
    "expire_receipts_upto": "part of the same",
    "expire_marks_upto": "part of the same",
    "expire_states_upto": "part of the same",
    "expire_arrivals_upto": "part of the same",
    "arrivals_locked": "part of `arrivals_lock` on PostgreSQL; SQLite before 3.35 has no RETURNING",
    "effects_hold": "as `effects_held`, which is enough where whoever writes has all of it locked",
    "marks_read": "part of `marks_move` on PostgreSQL; SQLite before 3.35 has no RETURNING",
    "states_lock": "whoever writes to SQLite has all of it locked",
    "states_read_now": "as `receipts_read_now`",
    "kept_drop": "part of `unbind` on PostgreSQL; SQLite has no DELETE inside WITH",
    "migrations_carry": "SQLite has no schemas, so nothing was moved into one",
    "settings_look": "of a session on PostgreSQL, where the ledger is on Django's connection and RESET would undo Django's",
    "settings_undo": "part of the same",
    "settings_read": "what a handler is about to set by name, on any connection of the user's to PostgreSQL",
    "settings_put": "part of the same",
    "migrations_lock": "SQLite says BEGIN EXCLUSIVE",
    "migrations_look": "SQLite has no search_path",
    "migrations_place": "SQLite has no schemas",
    "migrations_schema": "SQLite has no schemas",
}
"""Why a statement has no twin in the other driver. A third driver takes the name that fits it."""


def test_ledger_drivers_call_the_same_statement_by_the_same_name() -> None:
    names = {folder: {file.stem for file in folder.glob("*.sql")} for folder in LEDGER_DRIVERS}
    assert len(names) > 1
    everywhere = set.intersection(*names.values())
    assert set.union(*names.values()) - everywhere == set(ON_ONE_LEDGER_ONLY)


def test_the_statements_of_ledgers_name_no_state() -> None:
    """States are parameters, so that a new one is a row in the table and a migration."""
    literal = re.compile(rf"'({'|'.join({*EffectState, *Outcome})})'")
    files = [file for folder in LEDGER_DRIVERS for file in folder.glob("*.sql")]
    assert not [str(file.relative_to(ROOT)) for file in files if literal.search(file.read_text())]


@pytest.mark.parametrize("driver", LEDGER_DRIVERS, ids=lambda folder: folder.parent.name)
def test_the_schema_of_a_ledger_knows_the_states_of_the_table(driver: Path) -> None:
    made = "".join(file.read_text() for file in sorted((driver.parent / "migrations").glob("*.sql")))
    begins = re.findall(r"state\s+\w+(?:\(\d+\))?\s+NOT NULL DEFAULT '+(\w+)'", made)
    states = re.findall(r"CHECK \(state IN \(([^)]+)\)\)", made)
    assert set(begins) == {STAGED}
    assert set(re.findall(r"\w+", states[-1])) == set(EffectState), "as the newest migration leaves it"


def test_each_sql_file_holds_one_statement() -> None:
    for file in (ROOT / "src").rglob("sql/*.sql"):
        code = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", file.read_text()).strip().rstrip(";")
        assert ";" not in code, f"{file.relative_to(ROOT)} holds more than one statement"


@pytest.mark.parametrize("pattern", [r"(?<!def )\bsleep\((?!0\b|0\.0\d)", r"mock\."])
def test_tests_do_not_sleep_or_mock(pattern: str) -> None:
    """A poll of a real process may wait for hundredths of a second between two looks; nothing may wait and hope."""
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in TESTS
        if file.name != "test_tidy.py"
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not found


def test_tests_have_patience_with_what_must_come() -> None:
    """As long as tests/patience.py says: a machine that stands still for twenty seconds fails no test. A second or two
    is how long something is watched that must not come."""
    bound = r"(?:asyncio\.timeout\(|wait_for\(.*, |\.(?:wait|join|settimeout)\(|\b(?:timeout|within)=)"
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in TESTS
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(bound + r"(?:[3-9]|\d\d+)(?:\.\d+)?[,)]", line)
    ]
    assert not found
