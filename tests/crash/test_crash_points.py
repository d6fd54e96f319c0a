"""The public crash points: they fire where they are told to, once, and say so."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from landfast.domain.errors import CommitUnknownError, InboxUnavailableError, LedgerUnavailableError
from landfast.ports.ledger import ReceiptStore
from landfast.testing.crash import ANY, STEPS, VIEWS, Crash, CrashError, crash_at


class Tx:
    async def reserve(self, keys: Any) -> str:
        return "received"

    async def commit(self) -> str:
        return "committed"


class Store:
    """Of every port a method or two, which work."""

    name = "store"
    settled = 0

    async def settle(self, settlements: Any) -> int:
        self.settled += 1
        return self.settled

    async def begin(self) -> Tx:
        return Tx()

    def has(self, event: Any) -> bool:
        return True


async def test_a_port_crashes_at_the_nth_call_and_at_no_other() -> None:
    store = crash_at(Store(), "settle", how="raise", nth=2)
    assert await store.settle([]) == 1
    with pytest.raises(InboxUnavailableError, match="before settle"):
        await store.settle([])
    assert await store.settle([]) == 2 and store.name == "store"


async def test_after_means_that_it_was_done() -> None:
    raw = Store()
    with pytest.raises(InboxUnavailableError, match="after settle"):
        await crash_at(raw, "settle", when="after", how="raise").settle([])
    assert raw.settled == 1


async def test_a_transaction_crashes_as_the_ledger_that_it_comes_from() -> None:
    tx = await crash_at(Store(), "commit", when="after", how="raise").begin()
    with pytest.raises(CommitUnknownError):
        await tx.commit()
    tx = await crash_at(Store(), "reserve", how="raise").begin()
    with pytest.raises(LedgerUnavailableError):
        await tx.reserve([])


async def test_an_error_of_ones_own_may_be_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await crash_at(Store(), "settle", how="raise", error=ZeroDivisionError()).settle([])


def test_a_function_crashes_too_also_where_it_fails_by_itself() -> None:
    def handler() -> None:
        raise ValueError

    crash = Crash("handle", when="after", how="raise", nth=2)
    watched = crash.around("handle", handler)
    with pytest.raises(ValueError):
        watched()
    with pytest.raises(CrashError):
        watched()
    assert crash.calls == {"handle": 2} and crash.fired


async def test_any_counts_every_step_and_none_only_counts() -> None:
    told: list[tuple[str, str, int]] = []
    crash = Crash(ANY, nth=3, how="raise", report=lambda *place: told.append(place))
    ledger = crash.watch(Store(), ReceiptStore)
    tx = await ledger.begin()
    await tx.reserve([])
    with pytest.raises(LedgerUnavailableError):
        await tx.commit()
    assert told == [("commit", "before", 1)]
    idle = Crash(None)
    await idle.watch(Store(), ReceiptStore).begin()
    assert idle.calls == {"begin": 1} and not idle.fired


@pytest.mark.parametrize(("how", "sent"), [("kill", signal.SIGKILL), ("pause", signal.SIGSTOP)])
def test_kill_and_pause_are_signals_to_this_very_process(how: Any, sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    signals: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: signals.append((pid, number)))
    assert crash_at(Store(), "seen", how=how).has(b"event")
    assert signals == [(os.getpid(), sent)]


def test_a_step_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="the steps are verify"):
        crash_at(Store(), "comit")
    with pytest.raises(ValueError, match="wrap the function"):
        crash_at(Store(), "handle")


def test_every_method_that_is_watched_exists_in_its_port_and_is_a_step() -> None:
    for port, steps in VIEWS.items():
        assert all(hasattr(port, method) for method in steps)
        assert set(steps.values()) <= set(STEPS)
