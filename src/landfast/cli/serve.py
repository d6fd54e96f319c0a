"""`landfast serve`: intake and workers on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path

import click

from landfast import __version__, config
from landfast.app import Inbox, load
from landfast.cli.options import warn_of_strange_variables
from landfast.domain.errors import ConfigError
from landfast.processes import logs, process_one, serving, tls
from landfast.processes.children import intake_process
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.supervision.lives import News, log
from landfast.processes.supervision.plan import ALL, ROLES, Plan, numbers_of


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
    reload: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    as_json: bool,
    lifeline: int | None,
) -> int:
    """Take webhooks in and run their handlers.

    APP is module:inbox or a file, found from the current directory.

    SIGTERM answers what is in flight and ends with 0. SIGHUP reads sources and secrets anew, and drops no request.
    """
    process_one.step_aside()
    began = time.monotonic()
    logs.to_stderr("serve ")
    warn_of_strange_variables()
    name = app or default_app()
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        inbox = load(name)
    settings = inbox.settings
    plan = Plan(
        app=name,
        host=settings.host if host is None else host,
        port=settings.port if port is None else port,
        numbers=numbers_of(role, settings, {"intake": intakes, "worker": workers, "drainer": drainers}),
        # A ledger with one writer would have the two processes wait for each other.
        has_suspects_process=not settings.ledger_driver.has_one_writer,
        prints_to_stderr=as_json,
        tls_cert=tls_cert,
        tls_key=tls_key,
        reload_from=_folder(name) if reload else None,
    )

    def up(port: int | None) -> None:
        ready = {"ready": True} if port is None else {"ready": True, "port": port}
        _say(json.dumps(ready) if as_json else banner(inbox, plan, port, time.monotonic() - began))

    tell = _tell_json if as_json else log
    tied = Lifeline(lifeline) if lifeline is not None else None
    return asyncio.run(serving.serve(inbox, plan, up=up, tell=tell, lifeline=tied))


@click.command("_intake", hidden=True)
@click.argument("app")
@click.option("--fd", type=int, required=True)
@click.option("--lifeline", type=int, required=True)
@click.option("--tls-cert", type=click.Path(path_type=Path))
@click.option("--tls-key", type=click.Path(path_type=Path))
@click.option("--prints-to-stderr", is_flag=True)
def intake(
    *, app: str, fd: int, lifeline: int, tls_cert: Path | None, tls_key: Path | None, prints_to_stderr: bool
) -> int:
    """One intake process; `serve` starts it."""
    if prints_to_stderr:
        logs.prints_to_stderr()
    context = tls.context(tls_cert, tls_key)
    return intake_process.run(load(app), listener=fd, lifeline=Lifeline(lifeline), tls=context)


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


def banner(inbox: Inbox, plan: Plan, port: int | None, seconds: float) -> str:
    scheme = "https" if plan.tls_cert else "http"
    host = f"[{plan.host}]" if ":" in plan.host else plan.host
    settings = inbox.settings
    kept = settings.inbox_driver.kept_by if settings.journal is None else "brought in from the journal"
    lines = [f"landfast {__version__}   ready in {seconds:.1f} s"]
    if port is not None:
        lines += [_row("inbox", [f"{scheme}://{host}:{port}/in/{source}" for source in inbox.sources])]
    lines += [_row("store", [f"{settings.store}, {kept}"]), _row("ledger", [str(settings.ledger)])]
    layers = [
        f"{name} {place}"
        for name, place in (("cache", settings.redis), ("journal", settings.journal), ("spool", settings.spool))
        if place is not None
    ]
    lines += [_row("layers", layers)] if layers else []
    handlers = [f"{handler.name} ({handler.source} {handler.pattern})" for handler in inbox.registry.handlers]
    if "worker" not in plan.roles:
        handlers = ["none here: run them with landfast serve --role worker, or landfast work"]
    lines += [_row("handlers", handlers or ["none yet: events are kept until there is one"])]
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
    """The `app` of landfast.toml."""
    app = config.load().app
    if app is None:
        raise ConfigError("app: say which, such as landfast serve shop:inbox, or set app in landfast.toml")
    return app
