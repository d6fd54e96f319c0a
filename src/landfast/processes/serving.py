"""Everything on one machine: one listening socket, intake and worker processes apart, and the supervisor over them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from landfast import telemetry
from landfast.app import Inbox
from landfast.app.extras import check_extras
from landfast.app.sources import source_of
from landfast.app.stores import open_inbox
from landfast.domain.errors import StoreError
from landfast.processes import tls
from landfast.processes.admin_listener import may_listen
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.listeners import Listeners
from landfast.processes.supervision import changed_files, signals
from landfast.processes.supervision.give_back import abandon
from landfast.processes.supervision.lives import News
from landfast.processes.supervision.pages import Pages
from landfast.processes.supervision.plan import Plan
from landfast.processes.supervision.reload import Reload
from landfast.processes.supervision.starting import Starter
from landfast.processes.supervision.supervisor import Supervisor
from landfast.processes.supervision.systemd import Notices
from landfast.web.http.listener import listen, refuse_newcomers


async def serve(
    inbox: Inbox,
    plan: Plan,
    *,
    up: Callable[[int | None], None],
    tell: Callable[[News], None],
    lifeline: Lifeline | None = None,
    asked_on: Listeners = Listeners(),  # noqa: B008 - frozen
) -> int:
    """Run until a signal; the exit code. `up` is told the port, if there is one, when every process is ready. It says
    where it is asked how its processes are, and what they have counted."""
    check(inbox, tls_cert=plan.tls_cert, tls_key=plan.tls_key)
    _check_numbers(inbox, plan)
    with _listening(plan) as listener:
        pages, notices = Pages(), Notices()
        starter = Starter(plan, listener, asked_on.admin, pages)
        supervisor = _supervisor(inbox, plan, starter, pages.before(tell))
        reload = Reload(supervisor, trial=starter.trial, notices=notices)
        migrating = asyncio.ensure_future(_migrate(inbox, plan))

        def stop() -> None:
            notices.stopping()
            migrating.cancel()  # its transaction is rolled back, and the next start repeats it
            _close(listener)
            supervisor.stop()

        def interrupted() -> None:
            telemetry.info("stopping", count=supervisor.alive, fix="Ctrl-C again to kill")
            stop()

        signals.obey(stop=stop, interrupted=interrupted, kill=supervisor.kill, renew=reload.ask)
        if lifeline is not None:
            lifeline.hold()
        await asyncio.wait([migrating])
        if not migrating.cancelled():
            migrating.result()

        async def announce() -> None:
            await supervisor.is_up.wait()
            up(listener.getsockname()[1] if listener is not None else None)
            notices.ready()
            if lifeline is not None:
                lifeline.say_ready()
            await _open_admin(inbox, plan, asked_on.admin, supervisor)

        beside = [announce(), reload.run()]
        if plan.reload_from is not None:
            beside.append(_follow(plan.reload_from, supervisor))
        async with asked_on.answering(inbox, partial(pages.readiness, frozenset(plan.roles)), pages.sums):
            return await _run(supervisor, beside, lifeline)


async def _open_admin(inbox: Inbox, plan: Plan, admin: socket.socket | None, supervisor: Supervisor) -> None:
    """After all others: nobody who sends or processes waits for those who look."""
    if admin is None or plan.admin is None:
        return
    if await may_listen(inbox, plan.admin):
        supervisor.keep_admin()
    else:
        admin.close()


def _close(listener: socket.socket | None) -> None:
    """The intakes go on accepting; a newcomer is refused once the last copy of the socket is closed."""
    if listener is not None:
        refuse_newcomers(listener)
        listener.close()


def _supervisor(inbox: Inbox, plan: Plan, starter: Starter, tell: Callable[[News], None]) -> Supervisor:
    return Supervisor(
        intakes=plan.numbers["intake"],
        workers=plan.numbers["worker"],
        drainers=plan.numbers["drainer"],
        start=starter.start,
        abandon=partial(abandon, inbox),
        clock=inbox.clock,
        chance=inbox.chance,
        tell=tell,
        grace=plan.grace,
        patient=plan.reload_from is not None,
        keeps_suspects=plan.has_suspects_process,
    )


def check(inbox: Inbox, *, tls_cert: Path | None, tls_key: Path | None) -> None:
    """Find here what would stop every child: one sentence now instead of a loop of restarts."""
    check_extras(inbox.settings)
    inbox.check_declared()
    for source in inbox.sources.values():
        source_of(source, inbox.settings)
    tls.context(tls_cert, tls_key)


def _check_numbers(inbox: Inbox, plan: Plan) -> None:
    inbox.settings.ledger_driver.check_number("workers", plan.numbers["worker"])


def _listening(plan: Plan) -> AbstractContextManager[socket.socket | None]:
    return listen(plan.host, plan.port) if plan.numbers["intake"] else nullcontext()


async def _migrate(inbox: Inbox, plan: Plan) -> None:
    """Once, before several children want to at the same time."""
    settings = inbox.settings
    try:
        if "worker" in plan.roles:
            await inbox.migrate()
        else:  # an intake or a drainer may have no way to the ledger
            async with open_inbox(settings, inbox.clock, inbox.chance, migrate=True):
                pass
    except StoreError as error:
        if "intake" not in plan.roles or not (settings.spool or settings.journal):
            raise
        # There is somewhere else to take webhooks into. Who needs the database migrates when it is back.
        telemetry.warn("started_without_database", error=error)


async def _follow(folder: Path, supervisor: Supervisor) -> None:
    seen = changed_files.snapshot(folder)
    while True:
        seen = await changed_files.wait_for_change(folder, seen)
        telemetry.info("reload_begun", folder=folder)
        supervisor.reload()


async def _run(supervisor: Supervisor, beside: list[Coroutine[Any, Any, None]], lifeline: Lifeline | None) -> int:
    tasks = [asyncio.create_task(each) for each in beside]
    try:
        return await supervisor.run()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if lifeline is not None:
            lifeline.let_go()
