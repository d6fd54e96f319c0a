"""A graph of effects in a test of the user's: it drains to its end, time is the test's, and each step is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from landfast import Effect, Event, Inbox, Transaction
from landfast.testing.tester import InboxTester


def shop(tmp_path: Path, log: list[str]) -> Inbox:
    settings = tmp_path / "landfast.toml"
    settings.touch()
    inbox = Inbox(settings, store=str(tmp_path / "real.db"), ledger=str(tmp_path / "real-ledger.db"))
    inbox.source("stripe", provider="stripe", secrets=["env:NOT_SET_IN_TESTS"])

    @inbox.effect
    async def account(effect: Effect, tx: Transaction) -> int:
        await tx.execute("CREATE TABLE IF NOT EXISTS account (id INTEGER)")
        await tx.execute("INSERT INTO account VALUES (7)")
        log.append("account")
        return 7

    @inbox.effect
    def mail(effect: Effect, account: int) -> None:
        log.append(f"mail to {account}")

    @inbox.effect
    def remind(effect: Effect) -> None:
        log.append("remind")

    @inbox.on("stripe", "payment_intent.succeeded")
    async def sign_up(event: Event, tx: Transaction) -> None:
        opened = tx.stage(account)
        tx.stage(mail, named="welcome", account=opened.result)
        tx.stage(remind, after=[opened], at=timedelta(days=3))

    return inbox


@pytest.mark.req("R30")
async def test_a_graph_is_drained_and_shown_and_time_is_the_tests(tmp_path: Path) -> None:
    log: list[str] = []
    tester = InboxTester(shop(tmp_path, log), tmp_path)
    await tester.deliver("stripe", "payment_intent.succeeded")
    await tester.drain()
    states = {effect.name: effect.state for effect in await tester.effects()}
    assert states == {"account": "ready", "mail": "waiting", "remind": "waiting"}
    tester.crash_at("after effect")
    await tester.drain(effects=True)
    assert log == ["account", "mail to 7"], "a step that writes runs once, wherever its worker dies"
    account, mail, remind = await tester.effects()
    assert (account.result, mail.after, mail.named, remind.attempts) == (7, (account.key,), "welcome", 0)
    tester.travel(days=2)
    await tester.drain(effects=True)
    assert log[2:] == []
    await tester.run_for(days=2, effects=True)
    assert log[2:] == ["remind"]
