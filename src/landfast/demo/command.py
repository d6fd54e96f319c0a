"""`landfast demo`: the storm, for real, on this machine, in a folder that is thrown away."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from landfast import __version__
from landfast.app import Inbox
from landfast.cli import MISUSE, NEGATIVE, TERMINATED
from landfast.cli.output import safe, say_json
from landfast.cli.proof import proof_fields
from landfast.demo.dashboard import dashboard, show_in_browser
from landfast.demo.keyboard import Keys
from landfast.demo.play import KILLS, Score, Theatre
from landfast.demo.screen import Screen, summary
from landfast.demo.sender import EVENT, Sender
from landfast.demo.servers import NaiveServer, Serve
from landfast.demo.shop_handlers import register
from landfast.demo.stage import Stage
from landfast.recovery.proof import Proof

APP = "landfast.demo.shop:inbox"
DELIVERIES = 11_247
"""What the story counted before somebody woke up."""

BROWSER_SECONDS = 20.0
"""For a browser to show the page before the storm begins: it may be the first program of the day."""


@click.command()
@click.option(
    "--deliveries",
    type=click.IntRange(100, 1_000_000),
    default=DELIVERIES,
    show_default=True,
    help="How often the one event is delivered.",
)
@click.option("--no-browser", is_flag=True, help="Print the dashboard's address, and open no browser.")
@click.option("--json", "as_json", is_flag=True, help="Print only what it came to, as JSON.")
def demo(*, deliveries: int, no_browser: bool, as_json: bool) -> int:
    """Play the retry storm: one event, 11,247 deliveries, a worker that is killed three times, one order.

    In a terminal there is a dashboard, too: watch the storm on its page, kill the worker there, play it again.
    """
    began = time.monotonic()
    console = Console(highlight=False, quiet=as_json)
    code = MISUSE
    with tempfile.TemporaryDirectory(prefix="landfast-demo-") as folder:
        try:
            code = _run(Path(folder), deliveries, console, began, as_json=as_json, opens_browser=not no_browser)
        except* (OSError, EOFError) as failed:  # TimeoutError is an OSError
            click.echo(f"landfast: the demo could not go on: {_last_words(failed)}", err=True)
    return code


def _run(folder: Path, deliveries: int, console: Console, began: float, *, as_json: bool, opens_browser: bool) -> int:
    is_watched = console.is_terminal and sys.stdin.isatty() and not as_json
    try:
        score, proof = asyncio.run(
            _demo(folder, deliveries, console, began, is_watched=is_watched, opens_browser=opens_browser)
        )
    except asyncio.CancelledError:
        return TERMINATED
    if as_json:
        say_json(_fields(score, proof))
    return 0 if score.is_won and proof.holds else NEGATIVE


async def _demo(
    folder: Path, deliveries: int, console: Console, began: float, *, is_watched: bool, opens_browser: bool
) -> tuple[Score, Proof]:
    """`is_watched`: somebody sits at the terminal. Without anybody there is neither a dashboard nor keys."""
    _stop_on_sigterm()
    async with _theatre(folder) as theatre, AsyncExitStack() as stack:
        stage = Stage(theatre, deliveries)

        def tell(score: Score, proof: Proof) -> None:
            console.print(
                f"  the storm once more, from the page: {score.event}\n{summary(score, proof)}", soft_wrap=True
            )

        try:
            address = await stack.enter_async_context(dashboard(stage, tell)) if is_watched else ""
            console.print(_opening(theatre, deliveries, time.monotonic() - began, address), soft_wrap=True)
            if is_watched and opens_browser:
                await _bring_to_the_page(stage, f"{address}/storm", console)
            with Screen(console, deliveries) as screen:
                score, proof = await stage.storm(screen.show)
            console.print(summary(score, proof), soft_wrap=True)
            if is_watched:
                await Keys(stage, console).run()
        except asyncio.CancelledError:
            console.print("  stopping ...")
            raise
    return score, proof


async def _bring_to_the_page(stage: Stage, address: str, console: Console) -> None:
    if not await show_in_browser(address):
        return
    console.print("  a browser is opening; the storm begins when it is there ...\n")
    with suppress(TimeoutError):
        async with asyncio.timeout(BROWSER_SECONDS):
            await stage.is_seen.wait()


@asynccontextmanager
async def _theatre(folder: Path) -> AsyncIterator[Theatre]:
    """Both shops, open. However this ends, their processes end with it."""
    secret = f"whsec_{secrets.token_urlsafe(24)}"
    # The demo's shops know only what is theirs: a LANDFAST_STORE of the user's must not be stormed.
    for name in [name for name in os.environ if name.startswith("LANDFAST_")]:
        del os.environ[name]
    os.environ["STRIPE_WEBHOOK_SECRET"] = secret  # for the dashboard here, which checks that there is one
    env = dict(os.environ)
    async with AsyncExitStack() as stack:
        naive = await NaiveServer.start(folder / "naive.db", env=env)
        stack.push_async_callback(naive.stop)
        shop = await Serve.start(APP, folder, env=env, options=("--admin-port", "0"))
        stack.push_async_exit(partial(_leave, shop))
        inbox = Inbox(_own_config(folder), store=str(folder / "landfast.db"), ledger=str(folder / "shop.db"))
        yield Theatre(folder, Sender(secret), shop, naive, register(inbox, folder))


async def _leave(shop: Serve, kind: type[BaseException] | None, *_: object) -> None:
    # In the midst of the storm its worker waits at the door for ever, and all that it has is thrown away.
    await (shop.stop() if kind is None else shop.kill())


def _own_config(folder: Path) -> Path:
    config = folder / "demo.toml"
    config.touch()
    return config


def _opening(theatre: Theatre, deliveries: int, seconds: float, address: str) -> str:
    shown = f"  dashboard  {address}/storm     watch it there, kill the worker, play it again\n" if address else ""
    return (
        f"\n  landfast {__version__}   ready in {seconds:.1f} s\n"
        f"  inbox      http://127.0.0.1:{theatre.shop.port}/in/stripe     dev secret {theatre.sender.secret}\n"
        f"{shown}"
        f"  store      {theatre.folder}, every ack fsynced     handlers  {APP}\n\n"
        f"  the storm: {deliveries:,} deliveries of {EVENT}, 64 at a time, the worker killed {KILLS} times\n"
    )


def _fields(score: Score, proof: Proof) -> dict[str, Any]:
    return {
        "deliveries": score.deliveries,
        "naive_orders": score.naive_orders,
        "orders": score.our_orders,
        "killed": [{"pid": pid, "at_delivery": answered} for pid, answered, _ in score.killed],
        "proof": proof_fields(proof),
    }


def _last_words(failed: BaseExceptionGroup[Any]) -> str:
    error: BaseException = failed
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return safe(str(error), lines=True) or type(error).__name__


def _stop_on_sigterm() -> None:
    # Cancelled, not interrupted: a shell starts a job in the background with SIGINT ignored.
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - called on the loop
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
