"""`landfast serve`: intake and workers on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

import click

from landfast import __version__, config
from landfast.app import Inbox, load
from landfast.app.loading import SIDECAR
from landfast.cli.options import warn_of_strange_variables
from landfast.cli.process_options import (
    admin_port_option,
    count_in,
    health_port_option,
    log_option,
    metrics_port_option,
    page_option,
)
from landfast.domain.errors import ConfigError
from landfast.processes import logs, process_one, serving, tls
from landfast.processes.children import intake_process
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.listeners import Listeners, listeners
from landfast.processes.supervision.lives import News, log
from landfast.processes.supervision.plan import ALL, ROLES, Plan, admin_of, numbers_of


@click.command()
@click.argument("app", required=False)
@click.option(
    "--role", type=click.Choice([*ROLES, ALL]), default=ALL, show_default=True, help="What this machine runs of it."
)
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 chooses a free one.")
@click.option("--intakes", type=click.IntRange(1, 64), help="How many processes take webhooks in.")
@click.option("--workers", type=click.IntRange(0, 64), help="How many processes run handlers; 0: only take in.")
@click.option("--drainers", type=click.IntRange(1, 64), help="How many processes bring a journal into the inbox.")
@health_port_option
@metrics_port_option
@admin_port_option
@log_option
@click.option("--reload", is_flag=True, help="Restart when the application's files change (for development).")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Certificate chain, PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its private key, PEM.")
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON line when ready, and one for what becomes of each process."
)
@click.option("--lifeline", type=int, hidden=True)
def serve(
    *,
    app: str | None,
    role: str,
    host: str | None,
    port: int | None,
    intakes: int | None,
    workers: int | None,
    drainers: int | None,
    health_port: int | None,
    metrics_port: int | None,
    admin_port: int | None,
    form: str | None,
    reload: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    as_json: bool,
    lifeline: int | None,
) -> int:
    """Take webhooks in and run their handlers.

    APP is module:inbox or a file, found from the current directory; none is needed where landfast.toml has [[forward]].

    SIGTERM answers what is in flight and ends with 0. SIGHUP reads sources and secrets anew, and drops no request.
    """
    process_one.step_aside()
    began = time.monotonic()
    logs.to_stderr("serve ", form or "text")
    warn_of_strange_variables()
    name = app or default_app()
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        settings = (inbox := load(name)).settings
    logs.to_stderr("serve ", form := form or settings.log)
    admin = admin_of(role, settings, admin_port)
    asked_on = listeners(inbox, health_port=health_port, metrics_port=metrics_port, admin=admin)
    plan = Plan(
        app=name,
        admin=admin if asked_on.admin is not None else None,
        host=host or settings.host,
        port=settings.port if port is None else port,
        numbers=numbers_of(role, settings, {"intake": intakes, "worker": workers, "drainer": drainers}),
        # A ledger with one writer would have the two processes wait for each other.
        has_suspects_process=not settings.ledger_driver.has_one_writer,
        log=form,
        prints_to_stderr=as_json,
        tls_cert=tls_cert,
        tls_key=tls_key,
        reload_from=_folder(name) if reload else None,
    )
    return _run(inbox, plan, asked_on, began, lifeline=lifeline, as_json=as_json)


def _run(inbox: Inbox, plan: Plan, asked_on: Listeners, began: float, *, lifeline: int | None, as_json: bool) -> int:
    up = partial(_say_json_up if as_json else _say_up, inbox, plan, began)
    tell = _tell_json if as_json else log
    tied = Lifeline(lifeline) if lifeline is not None else None
    return asyncio.run(serving.serve(inbox, plan, up=up, tell=tell, lifeline=tied, asked_on=asked_on))


@click.command("_intake", hidden=True)
@click.argument("app")
@click.option("--fd", type=int, required=True)
@click.option("--lifeline", type=int, required=True)
@click.option("--tls-cert", type=click.Path(path_type=Path))
@click.option("--tls-key", type=click.Path(path_type=Path))
@click.option("--prints-to-stderr", is_flag=True)
@log_option
@page_option
def intake(
    *,
    app: str,
    fd: int,
    lifeline: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    prints_to_stderr: bool,
    form: str | None,
    page: int | None,
) -> int:
    """One intake process; `serve` starts it."""
    count_in(page)
    if prints_to_stderr:
        logs.prints_to_stderr()
    context = tls.context(tls_cert, tls_key)
    inbox = load(app)
    logs.to_stderr("intake", form or inbox.settings.log)
    return intake_process.run(inbox, listener=fd, lifeline=Lifeline(lifeline), tls=context)


@click.command("_admin", hidden=True)
@click.argument("app")
@click.option("--fd", type=int, required=True)
@click.option("--lifeline", type=int, required=True)
@click.option("--loopback", is_flag=True)
@click.option("--tls-cert", type=click.Path(path_type=Path))
@click.option("--tls-key", type=click.Path(path_type=Path))
@click.option("--prints-to-stderr", is_flag=True)
@log_option
@page_option
def admin_(
    *,
    app: str,
    fd: int,
    lifeline: int,
    loopback: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    prints_to_stderr: bool,
    form: str | None,
    page: int | None,
) -> int:
    """The admin process; `serve` starts it."""
    from landfast.processes.children import admin_process  # late: intakes need none of it

    count_in(page)
    if prints_to_stderr:
        logs.prints_to_stderr()
    inbox = load(app)
    logs.to_stderr("admin ", form or inbox.settings.log)
    files = {"tls_cert": tls_cert, "tls_key": tls_key}
    return admin_process.run(inbox, listener=fd, lifeline=Lifeline(lifeline), is_loopback=loopback, **files)


@click.command("_try", hidden=True)
@click.argument("app")
@click.option("--lifeline", type=int, required=True)
@click.option("--tls-cert", type=click.Path(path_type=Path))
@click.option("--tls-key", type=click.Path(path_type=Path))
def try_out(*, app: str, lifeline: int, tls_cert: Path | None, tls_key: Path | None) -> None:
    """Whether `serve` could start this application; it asks before it reloads."""
    tied = Lifeline(lifeline)
    tied.hold()
    serving.check(load(app), tls_cert=tls_cert, tls_key=tls_key)
    tied.say_ready()


def _say_up(inbox: Inbox, plan: Plan, began: float, port: int | None) -> None:
    _say(banner(inbox, plan, port, time.monotonic() - began))


def _say_json_up(_inbox: Inbox, _plan: Plan, _began: float, port: int | None) -> None:
    _say(json.dumps({"ready": True} if port is None else {"ready": True, "port": port}))


def banner(inbox: Inbox, plan: Plan, port: int | None, seconds: float) -> str:
    scheme = "https" if plan.tls_cert else "http"
    host = f"[{plan.host}]" if ":" in plan.host else plan.host
    settings = inbox.settings
    kept = settings.inbox_driver.kept_by if settings.journal is None else "brought in from the journal"
    lines = [f"landfast {__version__}   ready in {seconds:.1f} s"]
    if port is not None:
        lines += [_row("inbox", [f"{scheme}://{host}:{port}{source.path}" for source in inbox.sources.values()])]
    lines += [_row("store", [f"{settings.store}, {kept}"]), _row("ledger", [str(settings.ledger)])]
    layers = [
        f"{name} {place}"
        for name, place in (("cache", settings.redis), ("journal", settings.journal), ("spool", settings.spool))
        if place is not None
    ]
    lines += [_row("layers", layers)] if layers else []
    handlers = [f"{handler.name} ({handler.source} {handler.pattern})" for handler in inbox.registry.handlers]
    if "worker" not in plan.roles:
        handlers = ["none here: they run in your application, or with landfast serve --role worker, or landfast work"]
    lines += [_row("handlers", handlers or ["none yet: events are kept until there is one"])]
    lines += [_row("dashboard", [plan.admin.address])] if plan.admin else []
    lines += [_row("processes", [str(plan)])]
    return "".join(f"  {line}\n" for line in lines)


def _row(name: str, values: list[str]) -> str:
    return f"{name:<11}" + ("\n  " + " " * 11).join(values)


def _folder(app: str) -> Path:
    place = app.partition(":")[0]
    return Path(place).resolve().parent if place.endswith(".py") else Path.cwd()


def _tell_json(news: News) -> None:
    line = {"process": news.role, "state": news.what, "pid": news.pid}
    _say(json.dumps(line if news.code is None else line | {"code": news.code}))


def _say(text: str) -> None:
    try:
        click.echo(text)
    except OSError:  # whoever read our output has gone; the webhooks have not
        # What is left in the buffer goes nowhere, or the interpreter would end with an error when it empties it.
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a descriptor is wanted, not a path
            os.dup2(nowhere.fileno(), 1)


def default_app() -> str:
    """The `app` of landfast.toml; or the sidecar, if events are sent on and nothing else is said."""
    settings = config.load()
    if settings.app is None and not settings.forwards:
        fix = "or write [[forward]], which needs no app"
        raise ConfigError(f"app: say which, such as landfast serve shop:inbox, or set app in landfast.toml; {fix}")
    return settings.app or SIDECAR
