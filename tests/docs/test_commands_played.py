"""The commands of ours that pages and `--help` show, typed at an inbox that has something of everything."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest

from landfast.cli import main
from landfast.cli.examples import EXAMPLES
from landfast.domain.lifecycle import State
from tests.docs.blocks import blocks
from tests.docs.test_blocks import PART, is_played
from tests.shops import HEAD, ORDER, sqlite_shop, until

NOT_TYPED = {
    "serve": "runs until it is stopped: test_serve.py, and here",
    "work": "runs until it is stopped: test_work.py",
    "drain": "runs until it is stopped: test_roles.py",
    "status --watch": "runs until it is stopped: test_status.py",
    "listen": "runs until it is stopped: tests/listening",
    "mcp": "runs until its stdin ends: tests/assistant",
    "demo": "test_demo.py",
    "init": "test_init_and_send.py",
    "prove": "tests/proving",
    "reconcile": "asks a provider: tests/operations/test_reconcile.py",
    "duplicates": "needs a table with duplicates: tests/operations/test_duplicates.py",
    "replay show": "needs a job: test_operator.py",
    "replay resume": "needs a job that was stopped: test_operator.py",
    "replay cancel": "needs a job: test_operator.py",
    "events import": "test_events_export.py, with a file to import",
    "seal rotate": "needs two master keys: tests/sealing",
    "verify-signature": "needs a captured request: test_verify_signature.py",
    "alerts test": "needs sinks: tests/cli/test_alerts.py",
    "top": "needs a terminal: tests/cli/test_top.py",
    "sources rotate": "writes into the settings: test_sources.py",
}
SENT_TO = "stripe"
LIFECYCLE = """
inbox.lifecycle("order", states=["paid"], transitions={"absent": "paid"}, state_of={"payment_intent.*": "paid"})

@inbox.on("stripe", "payment_intent.succeeded", lifecycle="order")
async def book(event, tx): ...
"""
FAILS = """
@inbox.on("stripe", "charge.refunded", attempts=1)
async def book_refund(event, tx):
    raise KeyError("refund_reason")
"""


def shown() -> list[str]:
    typed = [
        line
        for block in blocks()
        if block.is_typed and not is_played(block) and not block.reason
        for line in block.commands
    ]
    typed += [line for examples in EXAMPLES.values() for line in examples]
    ours = [line for line in dict.fromkeys(typed) if line.startswith("landfast ")]
    typed = [line for line in ours if not line.removeprefix("landfast ").startswith(tuple(NOT_TYPED))]
    return sorted(typed, key=lambda line: line.startswith("landfast erase"))  # last: nothing is left afterwards


def words_of(line: str, port: int) -> list[str]:
    words = [PART.get(word, word) for word in shlex.split(line)[1:]]
    if "--url" in words:
        words[words.index("--url") + 1] = f"http://127.0.0.1:{port}"
    jobs = (["replay", "list"], ["replay", "show"], ["replay", "cancel"], ["replay", "resume"])
    many = (["held", "admit"], ["held", "discard"], ["dead", "discard"], ["retention", "unbind"])
    asks = (words[0] in {"replay", "erase", "retry"} and words[:2] not in jobs) or words[:2] in many
    return [*words, "--yes"] if asks and "--yes" not in words else words


@pytest.mark.long
async def test_every_command_that_is_shown_does_something_sensible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [line for line in shown() if not line.startswith("landfast send ") or f"send {SENT_TO} " in line]
    assert len(lines) > 25
    shop = sqlite_shop(tmp_path)
    (tmp_path / "shop.py").write_text(HEAD + ORDER + LIFECYCLE + FAILS)
    (tmp_path / "landfast.toml").write_text('app = "shop:inbox"\n')
    await shop.create_orders()
    async with shop.serving(app="shop:inbox") as serve:
        for name, value in {**shop.env, "LANDFAST_PORT": str(serve.port)}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        assert await shop.send(serve, "evt_1A2b") == 200
        for kind in ("charge.refunded", "customer.created"):
            assert await asyncio.to_thread(main, ["send", "stripe", kind]) == 0
        await until(lambda: shop.count(State.DEAD), 1)
        await until(lambda: shop.count(State.UNHANDLED), 1)
        failed = []
        for line in lines:
            capfd.readouterr()
            code = await asyncio.to_thread(main, words_of(line, serve.port))
            out, err = capfd.readouterr()
            if code not in (0, 1) or "Traceback" in err:  # 1 is "no": there is none, or something is wrong
                failed.append(f"{line}: {code} {out[-300:]} {err[-300:]}")
        assert not failed
