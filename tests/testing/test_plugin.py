"""The pytest plugin in projects of their own: real runs of pytest, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SHOP = """
from landfast import Inbox

inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.lifespan
async def connect():
    open("lifespan", "w").close()
    yield


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event, tx):
    payment = event.data["data"]["object"]
    await tx.execute("INSERT INTO orders VALUES ($1, $2)", event.key, 100 / payment["amount"])
    tx.stage(confirm, payment=payment["id"])


@inbox.effect
def confirm(effect, payment):
    open("confirmed", "a").write(payment)
"""
CONFTEST = """
import pytest


@pytest.fixture
def inbox(inbox):
    inbox.ledger.execute("CREATE TABLE orders (event TEXT, amount INTEGER)")
    return inbox
"""
PAID = '"stripe", "payment_intent.succeeded"'
STRICT = """[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider
filterwarnings = error
asyncio_mode = strict
asyncio_default_fixture_loop_scope = function"""


class Project:
    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pytester = pytester
        for name in ("LANDFAST_APP", "STRIPE_WEBHOOK_SECRET"):
            monkeypatch.delenv(name, raising=False)
        self.folder = pytester.path
        self.write("shop.py", SHOP)
        self.write("conftest.py", CONFTEST)
        self.configure("landfast_app = shop:inbox")

    def configure(self, *lines: str) -> None:
        self.write("pytest.ini", "\n".join([STRICT, *lines]))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def test(self, text: str, *arguments: str) -> pytest.RunResult:
        self.write("test_shop.py", text)
        return self._pytester.runpytest_subprocess(*arguments)

    def files(self) -> set[str]:
        made = {"pytest.ini", "conftest.py", "shop.py", "test_shop.py", "stdout", "stderr"}
        return {each.name for each in self.folder.iterdir() if each.is_file() and each.name not in made}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)


def test_a_def_test_needs_no_configuration_beyond_the_name_of_the_inbox(project: Project) -> None:
    ended = project.test(f"""
def test_an_order_is_made_once(inbox):
    inbox.deliver({PAID}, amount=4)
    inbox.deliver({PAID}, amount=4)
    inbox.drain()
    inbox.assert_handled_once("create_order")
    assert [row["amount"] for row in inbox.ledger.execute("SELECT * FROM orders")] == [25]
    assert [effect.name for effect in inbox.effects()] == ["confirm"]


def test_another_one_finds_nothing_of_the_first(inbox):
    assert not inbox.events() and not inbox.effects() and not inbox.errors
    inbox.storm({PAID}, times=5, events=3, workers=2, crashes=1)
    assert len(inbox.ledger.execute("SELECT * FROM orders").fetchall()) == 3
""")
    ended.assert_outcomes(passed=2)
    assert project.files() == set(), "no database, no lifespan, no effect"


def test_a_handler_that_raises_fails_the_test_and_is_shown(project: Project) -> None:
    ended = project.test(f"""
def test_a_payment_of_nothing(inbox):
    inbox.deliver({PAID}, amount=0)
    inbox.drain()


def test_the_same_on_purpose(inbox):
    import pytest

    inbox.deliver({PAID}, amount=0)
    with pytest.raises(ZeroDivisionError):
        inbox.drain()
    (failure,) = inbox.errors
    assert failure.name == "create_order"


def test_collected(inbox):
    inbox.deliver({PAID}, amount=0)
    inbox.drain(raises=False)
    assert len(inbox.errors) == 1
    assert inbox.ledger.execute("SELECT count(*) FROM orders").fetchone()[0] == 0
""")
    ended.assert_outcomes(passed=2, failed=1)
    ended.stdout.fnmatch_lines(
        [
            "*inbox.drain()*",
            "*100 / payment*",
            "E*ZeroDivisionError: division by zero",
            "E*landfast: raised by create_order for *, attempt 1",
            "shop.py:*ZeroDivisionError",
        ]
    )
    ended.stdout.no_fnmatch_line("*transact.py*")
    ended.stdout.no_fnmatch_line("*runners.py*")


@pytest.mark.parametrize("kind", ["asyncio", "anyio"])
def test_an_async_test_runs_its_handlers_on_its_own_loop(project: Project, kind: str) -> None:
    project.write("conftest.py", "")
    backend = "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n" if kind == "anyio" else ""
    ended = project.test(f"""
import asyncio

import pytest
import shop

{backend}

@pytest.mark.{kind}
async def test_on_one_loop(async_inbox):
    loops = []

    @shop.inbox.on("stripe", "charge.refunded")
    async def where(event, tx):
        loops.append(asyncio.get_running_loop())

    await async_inbox.deliver("stripe", "charge.refunded")
    await async_inbox.drain()
    assert loops == [asyncio.get_running_loop()]
    await async_inbox.assert_handled_once("where")


@pytest.mark.{kind}
async def test_the_other_fixture_says_so(inbox):
    inbox.events()


def test_the_inbox_is_as_it_was(async_inbox):
    assert [handler.name for handler in shop.inbox.registry.handlers] == ["create_order"]
""")
    ended.assert_outcomes(passed=2, failed=1)
    ended.stdout.fnmatch_lines(["E*UserError: inbox: this test has an event loop already; ask for async_inbox, *"])


def test_without_the_name_of_an_inbox_one_sentence_says_what_is_missing(project: Project) -> None:
    project.write("conftest.py", "")
    project.configure()
    ended = project.test("def test_nothing(inbox): ...")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["landfast_app: which inbox is tested is not said; set landfast_app = shop:inbox in *"])
    ended.stdout.no_fnmatch_line("*Traceback*")
    project.write("landfast.toml", 'app = "shop:inbox"')
    project.test("def test_something(inbox): ...").assert_outcomes(passed=1)
    project.configure("landfast_app = shop:outbox")
    ended = project.test("def test_nothing(inbox): ...")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["app 'shop:outbox': shop has no 'outbox'*"])


def test_a_fixture_of_the_projects_own_may_be_called_inbox(project: Project) -> None:
    project.write("conftest.py", "import pytest\n\n\n@pytest.fixture\ndef inbox():\n    return 'mine'\n")
    project.configure()
    project.test(
        """
import pytest
import shop


@pytest.fixture
def landfast_app():
    return shop.inbox


async def test_both(inbox, async_inbox, landfast_inbox):
    assert inbox == "mine" and landfast_inbox is async_inbox
""".replace("async def", "def")
    ).assert_outcomes(passed=1)


def test_the_configured_database_is_never_opened_by_accident(project: Project) -> None:
    project.write("conftest.py", "")
    project.write("shop.py", SHOP.replace("Inbox()", 'Inbox(ledger="postgresql://db.invalid/shop")'))
    ended = project.test("def test_nothing(inbox): ...")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(
        ["landfast_ledger: the inbox writes to PostgreSQL, and the tests do not say where they may write; *"]
    )
    project.configure("landfast_app = shop:inbox", "landfast_ledger = postgresql://db.invalid/shop")
    ended = project.test("def test_nothing(inbox): ...")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["landfast_ledger: that is the ledger that the inbox is configured with, and a test *"])
    project.configure("landfast_app = shop:inbox", "landfast_ledger = sqlite")
    project.test("def test_something(inbox): inbox.events()").assert_outcomes(passed=1)


def test_no_database_where_the_tests_want_theirs_is_one_sentence(project: Project) -> None:
    project.write("conftest.py", "")
    project.configure("landfast_app = shop:inbox", "landfast_ledger = postgresql://127.0.0.1:1/shop_test")
    ended = project.test("def test_nothing(inbox): inbox.events()")
    ended.assert_outcomes(failed=1)
    ended.stdout.fnmatch_lines(["E*ledger*"])


def test_it_runs_under_xdist(project: Project) -> None:
    ended = project.test(
        f"""
import pytest


@pytest.mark.parametrize("number", range(6))
def test_one_of_many(inbox, number):
    inbox.deliver({PAID}, amount=1)
    inbox.drain()
    assert inbox.ledger.execute("SELECT count(*) FROM orders").fetchone()[0] == 1
""",
        "-n2",
    )
    ended.assert_outcomes(passed=6)


def test_it_costs_a_project_that_does_not_use_it_nothing(tmp_path: Path) -> None:
    seen = """
import sys
before = set(sys.modules)
import landfast.testing.plugin
print(sorted(name for name in set(sys.modules) - before if name.startswith("landfast")))
"""
    command = [sys.executable, "-c", f"import pytest\n{seen}"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ended.stdout.strip() == "['landfast', 'landfast.testing', 'landfast.testing.plugin']"
