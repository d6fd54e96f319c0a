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
from contextlib import AsyncExitStack, asynccontextmanager
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
from landfast.demo.keyboard import Keys
from landfast.demo.play import KILLS, Score, Theatre, play
from landfast.demo.screen import Screen, summary
from landfast.demo.sender import EVENT, Sender
from landfast.demo.servers import NaiveServer, Serve
from landfast.recovery.proof import Proof

APP = "landfast.demo.shop:inbox"
DELIVERIES = 11_247
"""What the story counted before somebody woke up."""


@click.command()
@click.option(
    "--deliveries",
    type=click.IntRange(100, 1_000_000),
    default=DELIVERIES,
    show_default=True,
    help="How often the one event is delivered.",
)
@click.option("--json", "as_json", is_flag=True, help="Print only what it came to, as JSON.")
def demo(*, deliveries: int, as_json: bool) -> int:
    """Play the retry storm: one event, 11,247 deliveries, a worker that is killed three times, one order."""
    began = time.monotonic()
    console = Console(highlight=False, quiet=as_json)
    code = MISUSE
    with tempfile.TemporaryDirectory(prefix="landfast-demo-") as folder:
        try:
            code = _run(Path(folder), deliveries, console, began, as_json=as_json)
        except* (OSError, EOFError) as failed:  # TimeoutError is an OSError
            click.echo(f"landfast: the demo could not go on: {_last_words(failed)}", err=True)
    return code


def _run(folder: Path, deliveries: int, console: Console, began: float, *, as_json: bool) -> int:
    try:
        score, proof = asyncio.run(_demo(folder, deliveries, console, began, is_quiet=as_json))
    except asyncio.CancelledError:
        return TERMINATED
    if as_json:
        say_json(_fields(score, proof))
    return 0 if score.is_won and proof.holds else NEGATIVE


async def _demo(
    folder: Path, deliveries: int, console: Console, began: float, *, is_quiet: bool
) -> tuple[Score, Proof]:
    _stop_on_sigterm()
    async with _theatre(folder) as theatre:
        try:
            console.print(_opening(theatre, deliveries, time.monotonic() - began), soft_wrap=True)
            with Screen(console, deliveries) as screen:
                score = await play(theatre, deliveries, show=screen.show)
            proof = await theatre.prove()
            console.print(summary(score, proof), soft_wrap=True)
            if console.is_terminal and sys.stdin.isatty() and not is_quiet:
                await Keys(theatre, console).run()
        except asyncio.CancelledError:
            console.print("  stopping ...")
            raise
    return score, proof


@asynccontextmanager
async def _theatre(folder: Path) -> AsyncIterator[Theatre]:
    """Both shops, open. However this ends, their processes end with it."""
    secret = f"whsec_{secrets.token_urlsafe(24)}"
    # The demo's shops know only what is theirs: a LANDFAST_STORE of the user's must not be stormed.
    for name in [name for name in os.environ if name.startswith("LANDFAST_")]:
        del os.environ[name]
    env = os.environ | {"STRIPE_WEBHOOK_SECRET": secret}
    async with AsyncExitStack() as stack:
        naive = await NaiveServer.start(folder / "naive.db", env=env)
        stack.push_async_callback(naive.stop)
        shop = await Serve.start(APP, folder, env=env)
        stack.push_async_exit(partial(_leave, shop))
        inbox = Inbox(_own_config(folder), store=str(folder / "landfast.db"), ledger=str(folder / "shop.db"))
        yield Theatre(folder, Sender(secret), shop, naive, inbox)


async def _leave(shop: Serve, kind: type[BaseException] | None, *_: object) -> None:
    # In the midst of the storm its worker waits at the door for ever, and all that it has is thrown away.
    await (shop.stop() if kind is None else shop.kill())


def _own_config(folder: Path) -> Path:
    config = folder / "demo.toml"
    config.touch()
    return config


def _opening(theatre: Theatre, deliveries: int, seconds: float) -> str:
    return (
        f"\n  landfast {__version__}   ready in {seconds:.1f} s\n"
        f"  inbox      http://127.0.0.1:{theatre.shop.port}/in/stripe     dev secret {theatre.sender.secret}\n"
        f"  store      {theatre.folder}, every ack fsynced     handlers  {APP}\n\n"
        f"  the storm: {deliveries:,} deliveries of {EVENT}, 64 at a time, the worker killed {KILLS} times\n"
    )


def _fields(score: Score, proof: Proof) -> dict[str, Any]:
    return {
        "deliveries": score.deliveries,
        "naive_orders": score.naive_orders,
        "orders": score.our_orders,
        "killed": [{"pid": pid, "at_delivery": answered} for pid, answered in score.killed],
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
