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
from pathlib import Path

import click
from rich.console import Console

from landfast import __version__
from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.storm.keys import Keys
from landfast.cli.storm.play import KILLS, Theatre, play
from landfast.cli.storm.screen import Screen, summary
from landfast.cli.storm.sender import EVENT, Sender
from landfast.cli.storm.servers import NaiveServer, Serve
from landfast.domain.errors import UserError

APP = "landfast.cli.storm.shop:inbox"
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
def demo(*, deliveries: int) -> int:
    """Play the retry storm: one event, 11,247 deliveries, a worker that is killed three times, one order."""
    began = time.monotonic()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="landfast-demo-") as folder:
        try:
            is_proven = asyncio.run(_demo(Path(folder), deliveries, console, began))
        except* (OSError, EOFError) as failed:  # TimeoutError is an OSError
            raise UserError(f"the demo could not go on: {failed.exceptions[0]!r}") from None
    return 0 if is_proven else NEGATIVE


async def _demo(folder: Path, deliveries: int, console: Console, began: float) -> bool:
    _stop_on_sigterm()
    async with _theatre(folder) as theatre:
        console.print(_opening(theatre, deliveries, time.monotonic() - began), soft_wrap=True)
        with Screen(console, deliveries) as screen:
            score = await play(theatre, deliveries, show=screen.show)
        proof = await theatre.prove()
        console.print(summary(score, proof), soft_wrap=True)
        if console.is_terminal and sys.stdin.isatty():
            await Keys(theatre, console).run()
    return score.is_won and proof.holds


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
        stack.push_async_callback(shop.stop)
        inbox = Inbox(_own_config(folder), store=str(folder / "landfast.db"), ledger=str(folder / "shop.db"))
        yield Theatre(folder, Sender(secret), shop, naive, inbox)


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


def _stop_on_sigterm() -> None:
    # As Ctrl-C does: everything is taken down before we go.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os.kill, os.getpid(), signal.SIGINT)
