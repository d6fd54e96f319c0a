"""Everything on one machine: one listening socket, intake and worker processes apart, and the supervisor over them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from landfast import telemetry
from landfast.app import Inbox
from landfast.app.sources import check_handlers, check_secrets
from landfast.domain.errors import ConfigError
from landfast.domain.ids import WorkerId
from landfast.processes import reload, tls
from landfast.processes.child import Child
from landfast.processes.lifeline import GRACE, Lifeline
from landfast.processes.supervisor import News, Role, Supervisor
from landfast.web.http.server import listen


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    app: str
    host: str
    port: int
    intakes: int
    workers: int
    prints_to_stderr: bool = False
    """Where handlers print: standard output, unless that is for JSON lines."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    reload_from: Path | None = None
    """The folder whose changes restart the children, in development."""
    grace: float = GRACE


async def serve(
    inbox: Inbox,
    plan: Plan,
    *,
    up: Callable[[int], None],
    tell: Callable[[News], None],
    lifeline: Lifeline | None = None,
) -> int:
    """Run until a signal; the exit code. `up` is told the port when every process is ready."""
    _check(inbox, plan)
    with listen(plan.host, plan.port) as listener:
        port: int = listener.getsockname()[1]
        await inbox.migrate()

        prints = ["--prints-to-stderr"] if plan.prints_to_stderr else []

        async def start(role: Role, worker: WorkerId) -> Child:
            if role == "worker":
                return await Child.start(["work", plan.app, "--worker-id", worker.hex(), *prints])
            return await Child.start(["_intake", plan.app, *_tls_options(plan), *prints], listener=listener)

        async def abandon(worker: WorkerId) -> None:
            async with inbox.stores() as stores:
                events = await stores.inbox.abandon(worker=worker)
                effects = await stores.ledger.abandon(worker=worker)
            telemetry.info("gave back the claims of a dead worker", events=events, effects=effects)

        supervisor = Supervisor(
            intakes=plan.intakes,
            workers=plan.workers,
            start=start,
            abandon=abandon,
            clock=inbox.clock,
            chance=inbox.chance,
            tell=tell,
            grace=plan.grace,
            patient=plan.reload_from is not None,
        )

        def stop() -> None:
            # Ours too: as long as one copy is open, new connections are queued that nobody will ever answer.
            listener.close()
            supervisor.stop()

        def interrupted() -> None:
            what = "1 process" if supervisor.alive == 1 else f"{supervisor.alive} processes"
            telemetry.info(f"stopping: waiting for {what}; Ctrl-C again to kill")
            stop()

        _obey_signals(stop, interrupted, supervisor.kill)
        if lifeline is not None:
            lifeline.hold()
        return await _run(supervisor, plan, lambda: up(port), lifeline)


async def _run(supervisor: Supervisor, plan: Plan, up: Callable[[], None], lifeline: Lifeline | None) -> int:
    async def announce() -> None:
        await supervisor.is_up.wait()
        up()
        if lifeline is not None:
            lifeline.say_ready()

    async def follow(folder: Path) -> None:
        seen = reload.snapshot(folder)
        while True:
            seen = await reload.wait_for_change(folder, seen)
            telemetry.info("reloading", folder=folder)
            supervisor.reload()

    beside = [asyncio.create_task(announce())]
    if plan.reload_from is not None:
        beside.append(asyncio.create_task(follow(plan.reload_from)))
    try:
        return await supervisor.run()
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        if lifeline is not None:
            lifeline.let_go()


def _check(inbox: Inbox, plan: Plan) -> None:
    """Find here what would stop every child: one sentence now instead of a loop of restarts."""
    if plan.workers > 1 and inbox.settings.ledger.is_sqlite:
        raise ConfigError(
            f"workers is {plan.workers}, but a SQLite ledger has one writer; set it to 1, or use PostgreSQL"
        )
    check_handlers(inbox.registry, inbox.sources)
    check_secrets(inbox.sources.values(), inbox.settings.folder)
    tls.context(plan.tls_cert, plan.tls_key)


def _tls_options(plan: Plan) -> list[str]:
    options = []
    if plan.tls_cert is not None:
        options += ["--tls-cert", str(plan.tls_cert)]
    if plan.tls_key is not None:
        options += ["--tls-key", str(plan.tls_key)]
    return options


def _obey_signals(stop: Callable[[], None], interrupted: Callable[[], None], kill: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def first() -> None:
        # The second Ctrl-C comes from somebody who does not want to wait.
        loop.add_signal_handler(signal.SIGINT, kill)
        interrupted()

    loop.add_signal_handler(signal.SIGINT, first)
    loop.add_signal_handler(signal.SIGTERM, stop)
