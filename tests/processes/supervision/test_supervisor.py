"""The supervisor's rules, with children that are real processes but not ours."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable

import pytest

from landfast.domain.ids import WorkerId
from landfast.processes.supervision import child as child_module
from landfast.processes.supervision.child import Child
from landfast.processes.supervision.lives import News, ProcessKind
from landfast.processes.supervision.supervisor import Supervisor
from landfast.testing.clock import ManualClock, SeededChance
from tests.patience import PATIENCE_SECONDS

READY = "import socket,sys,time; s=socket.socket(fileno=int(sys.argv[-1])); s.send(b'!'); "
FOREVER = READY + "s.recv(1)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + FOREVER
REFUSES = "import sys; sys.exit(2)"
FINISHES = READY + "sys.exit(2)"
WAITS = "import sys; sys.exit(75)"


class Stage:
    """A supervisor over scripts: the n-th start runs the n-th script, and the last one for ever after."""

    def __init__(self, *scripts: str, monkeypatch: pytest.MonkeyPatch, **options: object) -> None:
        monkeypatch.setattr(child_module, "INTERPRETER", (sys.executable, "-c"))
        self.scripts = list(scripts)
        self.news: list[News] = []
        self.abandoned: list[WorkerId] = []
        self.started: list[WorkerId] = []
        self.left_behind = 0
        self._heard = asyncio.Event()
        given: dict[str, object] = {"intakes": 0, "workers": 1, "abandon": self._abandon, "clock": ManualClock()}
        given |= {"chance": SeededChance(), "tell": self._tell, "start": self._start} | options
        self.supervisor = Supervisor(**given)  # type: ignore[arg-type]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                await self._heard.wait()
                self._heard.clear()

    def pids(self, what: str) -> list[int]:
        return [news.pid for news in self.news if news.what == what]

    async def _start(self, role: ProcessKind, worker: WorkerId) -> Child:
        self.started.append(worker)
        return await Child.start([self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]])

    async def _abandon(self, worker: WorkerId) -> int:
        self.abandoned.append(worker)
        return self.left_behind

    def _tell(self, news: News) -> None:
        self.news.append(news)
        self._heard.set()


async def test_a_worker_that_is_killed_is_replaced_and_its_claims_are_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(FOREVER, monkeypatch=monkeypatch)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 1)
    os.kill(stage.pids("ready")[0], signal.SIGKILL)
    await stage.until(lambda: len(stage.pids("ready")) == 2)

    assert stage.abandoned == stage.started[:1]
    assert stage.started[0] != stage.started[1]
    stage.supervisor.stop()
    assert await running == 0


async def test_an_intake_that_dies_has_no_claims_to_give_back(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(FOREVER, monkeypatch=monkeypatch, intakes=1, workers=0)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 1)
    os.kill(stage.pids("ready")[0], signal.SIGKILL)
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    assert stage.abandoned == []
    stage.supervisor.stop()
    await running


async def test_a_failing_abandon_does_not_keep_the_next_worker_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(worker: WorkerId) -> int:
        raise OSError("the store is down")

    stage = Stage(FOREVER, monkeypatch=monkeypatch, abandon=fails)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 1)
    os.kill(stage.pids("ready")[0], signal.SIGKILL)
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    stage.supervisor.stop()
    await running


async def test_is_up_means_that_every_child_has_been_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(FOREVER, monkeypatch=monkeypatch, intakes=2, workers=2)
    running = asyncio.create_task(stage.supervisor.run())
    async with asyncio.timeout(PATIENCE_SECONDS):
        await stage.supervisor.is_up.wait()
    assert len(stage.pids("ready")) == 4
    stage.supervisor.stop()
    assert await running == 0


async def test_a_child_that_does_not_stop_in_time_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(STUBBORN, monkeypatch=monkeypatch, grace=0.2)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: bool(stage.pids("ready")))
    stage.supervisor.stop()
    assert await running == 0
    assert stage.news[-1].code == -signal.SIGKILL
    assert stage.abandoned == stage.started, "what it had claimed must not wait for the lease"


async def test_kill_does_not_wait_for_the_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(STUBBORN, monkeypatch=monkeypatch, grace=600.0)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: bool(stage.pids("ready")))
    stage.supervisor.stop()
    stage.supervisor.kill()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await running == 0


async def test_a_child_that_refuses_to_start_ends_it_all_with_2(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(REFUSES, monkeypatch=monkeypatch)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await stage.supervisor.run() == 2
    assert len(stage.started) == 1


async def test_a_handler_that_exits_with_2_does_not_end_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(FINISHES, FOREVER, monkeypatch=monkeypatch)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    stage.supervisor.stop()
    assert await running == 0


async def test_reload_replaces_every_child(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(FOREVER, monkeypatch=monkeypatch, intakes=1, workers=1)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    stage.supervisor.reload()
    await stage.until(lambda: len(stage.pids("ready")) == 4)
    assert len(set(stage.pids("ready"))) == 4
    stage.supervisor.stop()
    assert await running == 0


async def test_under_reload_a_broken_application_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(REFUSES, FOREVER, monkeypatch=monkeypatch, patient=True)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: bool(stage.pids("ended")))
    assert not running.done()
    stage.supervisor.reload()
    await stage.until(lambda: bool(stage.pids("ready")))
    stage.supervisor.stop()
    assert await running == 0


async def test_delays_grow_while_a_child_keeps_dying_and_start_again_after_one_that_lived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock()
    pauses: list[float | None] = []
    lives = iter([1.0, 1.0, 1.0, 11.0, 1.0])

    async def start(role: ProcessKind, worker: WorkerId) -> Child:
        clock.advance(next(lives))
        return await Child.start(["pass"])

    stage = Stage("pass", monkeypatch=monkeypatch, clock=clock, start=start)

    async def pause(seconds: float | None, roused: asyncio.Event) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            stage.supervisor.stop()

    monkeypatch.setattr(stage.supervisor, "_pause", pause)
    await stage.supervisor.run()
    assert pauses == [0.1, 0.2, 0.4, 0.1, 0.2]


async def test_a_process_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter([OSError("no more processes")])
    starts: list[Callable[[], Awaitable[Child]]] = []

    async def start(role: ProcessKind, worker: WorkerId) -> Child:
        for error in failures:
            raise error
        starts.append(lambda: Child.start([FOREVER]))
        return await starts[-1]()

    stage = Stage(FOREVER, monkeypatch=monkeypatch, start=start)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: bool(stage.pids("ready")))
    stage.supervisor.stop()
    assert await running == 0


async def test_replace_has_the_successor_ready_before_it_dismisses_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(FOREVER, monkeypatch=monkeypatch, intakes=2, workers=1, drainers=1)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 4)
    first = dict.fromkeys(stage.pids("ready"))
    assert await stage.supervisor.replace()

    alive = dict.fromkeys(("intake", "worker", "drainer"), 0)
    fewest = dict(alive)
    for news in stage.news:
        alive[news.role] += {"started": 0, "ready": 1, "ended": -1}[news.what]
        if news.what == "ended":
            fewest[news.role] = min(fewest[news.role] or alive[news.role], alive[news.role])
    assert fewest == alive == {"intake": 2, "worker": 1, "drainer": 1}
    assert set(stage.pids("ended")) == first.keys()
    assert [news.role for news in stage.news if news.what == "ended"][-2:] == ["intake", "intake"]
    stage.supervisor.stop()
    assert await running == 0


async def test_one_that_does_not_get_ready_replaces_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(FOREVER, REFUSES, FOREVER, monkeypatch=monkeypatch)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 1)
    assert not await stage.supervisor.replace()
    (old,) = stage.pids("ready")
    assert old not in stage.pids("ended")
    assert await stage.supervisor.replace(), "and the next one may"
    stage.supervisor.stop()
    assert await running == 0


async def test_a_worker_whose_database_is_away_does_not_keep_an_intake_from_its_new_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(FOREVER, FOREVER, WAITS, FOREVER, monkeypatch=monkeypatch, intakes=1, workers=1)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    first = set(stage.pids("ready"))
    assert await stage.supervisor.replace()
    await stage.until(lambda: first < set(stage.pids("ended")) and len(stage.pids("ready")) == 4)
    assert 75 in [news.code for news in stage.news if news.role == "worker"]
    stage.supervisor.stop()
    assert await running == 0


async def test_an_intake_that_cannot_open_its_inbox_now_replaces_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(FOREVER, WAITS, monkeypatch=monkeypatch, intakes=1, workers=0)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 1)
    assert not await stage.supervisor.replace()
    assert stage.pids("ready")[0] not in stage.pids("ended")
    stage.supervisor.stop()
    assert await running == 0


async def test_a_slot_that_waits_to_try_again_is_filled_by_the_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(READY + "sys.exit(1)", FOREVER, monkeypatch=monkeypatch)

    async def pause(seconds: float | None, roused: asyncio.Event) -> None:
        await roused.wait()

    monkeypatch.setattr(stage.supervisor, "_pause", pause)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ended")) == 1)
    assert await stage.supervisor.replace()
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    assert stage.supervisor.alive == 1
    stage.supervisor.stop()
    assert await running == 0


async def test_a_stop_in_the_middle_lets_the_successor_finish_too(monkeypatch: pytest.MonkeyPatch) -> None:
    gentle = "import signal,sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); " + FOREVER
    stage = Stage(STUBBORN, gentle, monkeypatch=monkeypatch, grace=PATIENCE_SECONDS)
    running = asyncio.create_task(stage.supervisor.run())
    await stage.until(lambda: len(stage.pids("ready")) == 1)
    replacing = asyncio.create_task(stage.supervisor.replace())
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    stage.supervisor.stop()
    await stage.until(lambda: stage.pids("ready")[1] in stage.pids("ended"))
    stage.supervisor.kill()  # as the end of the grace does
    assert await running == 0
    await replacing
    codes = {news.pid: news.code for news in stage.news if news.what == "ended"}
    assert [codes[pid] for pid in stage.pids("ready")] == [-signal.SIGKILL, 0]


async def test_a_child_that_waits_for_its_database_ends_nobody_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(WAITS, FOREVER, monkeypatch=monkeypatch)
    running = asyncio.create_task(stage.supervisor.run())
    async with asyncio.timeout(PATIENCE_SECONDS):
        await stage.supervisor.is_up.wait()
    await stage.until(lambda: len(stage.pids("ready")) == 1)
    stage.supervisor.stop()
    assert await running == 0
