"""`landfast events save-test`: the file that it writes is a test, and it is green or red as the handler is."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_events_export import BODIES, fill, settings

SHOP = """
from landfast import Inbox

inbox = Inbox()

@inbox.on("shop", "order.paid")
async def create_order(event, tx):
    await tx.execute("CREATE TABLE IF NOT EXISTS orders (key TEXT)")
    assert event.body == {body!r}
    assert event.headers["x-odd"] == "caf\u00e9, twice", "the headers are those that it came with"
    {line}
    await tx.execute("INSERT INTO orders VALUES ($1)", event.data["id"])
"""
SEEN = b'{"id":"evt_text", "type":"order.paid",  "quote":"\'\'\'\\"\\\\\xc3\xa9"}\n'


@pytest.fixture
def saved(landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(BODIES, "evt_text", SEEN)
    settings(folder, "there")
    fill("evt_text")
    (folder / "shop.py").write_text(SHOP.format(line="", body=SEEN))
    ended = landfast("events", "save-test", "evt_text", "--to", "test_evt_text.py", "--app", "shop:inbox")
    assert ended.out == "wrote test_evt_text.py; run it with: pytest test_evt_text.py\n"
    return folder / "test_evt_text.py"


@pytest.mark.req("R65")
def test_the_file_holds_the_exact_bytes(saved: Path) -> None:
    tree = ast.parse(saved.read_text())
    headers, body = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    assert body == SEEN
    assert headers == {"content-type": "application/json", "x-odd": "caf\u00e9, twice"}, "its own, without a signature"
    (test,) = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name != "landfast_app"]
    assert test == "test_shop_order_paid_evt_text"
    assert "It was ready when it was saved." in (ast.get_docstring(tree) or "")


def test_without_a_name_the_file_has_that_of_the_test(landfast: Run, saved: Path) -> None:
    ended = landfast("events", "save-test", "evt_text", "--app", "shop:inbox")
    name = "test_shop_order_paid_evt_text.py"
    assert ended.out == f"wrote {name}; run it with: pytest {name}\n"
    assert saved.with_name(name).read_text() == saved.read_text()


def test_a_file_that_is_there_and_an_event_that_is_not_are_told(landfast: Run, saved: Path) -> None:
    before = saved.read_bytes()
    again = landfast("events", "save-test", "evt_text", "--to", saved.name)
    assert again.err == f"landfast: events save-test: {saved.name} is there already; name another file\n"
    assert saved.read_bytes() == before
    assert landfast("events", "save-test", "evt_none", "--to", "other.py").code == 1
    assert landfast("erase", "evt_text", "--yes").code == 0
    assert "was erased at" in landfast("events", "save-test", "evt_text", "--to", "other.py").err


@pytest.mark.req("R65")
def test_the_test_is_green_or_red_as_the_handler_is(saved: Path) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        # By its module and without entry points: it need not be installed for this.
        command = [sys.executable, "-m", "pytest", "-q", "-p", "landfast.testing.plugin", "-p", "no:cacheprovider"]
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            [*command, saved.name], cwd=saved.parent, capture_output=True, text=True, env=environment, check=False
        )

    green = run()
    assert green.returncode == 0, green.stdout + green.stderr
    (saved.parent / "shop.py").write_text(SHOP.format(line='event.data["customer_email"]', body=SEEN))
    red = run()
    assert red.returncode == 1
    assert "KeyError: 'customer_email'" in red.stdout
    assert "shop.py" in red.stdout
