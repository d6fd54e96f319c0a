"""One round: a shop under load, its power cut at random instants, and each image recovered and checked."""

from __future__ import annotations

import asyncio
import hashlib
import random
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import apsw
import asyncpg

from landfast.app import Inbox
from landfast.demo.load import Answers, Connection, send_all
from landfast.domain.lifecycle import State
from tests.powerloss.checker import Cut, Finding, Kind, after_the_cut, after_the_drain, without_order
from tests.powerloss.disks import Bench, clone
from tests.powerloss.sites import SITES, Control, Site
from tests.shops import SECRET

SENDERS = 12
PAUSE = 0.02
"""Seconds between two deliveries of one sender: some 300 events a second, so that workers keep up with intake and an
image holds events in every state."""
PADDING = 8_000
"""Bytes at most: bodies of one page and of several."""
WARM = 40
"""Acknowledged events before the first cut; before that there is little to lose."""
DRAINED_WITHIN = 60.0
AWAY, THERE = 3.5, 1.0
"""Seconds: the spool is used after two of them."""
BROKEN = (OSError, RuntimeError, apsw.Error, asyncpg.PostgresError, EOFError, TimeoutError, AssertionError)
"""What a torn database, or a `landfast` that will not start on it, can raise here."""


class Layout(StrEnum):
    ONE_DISK = "one disk"
    LEDGER_OLDER = "two disks, the ledger older"
    INBOX_OLDER = "two disks, the inbox older"
    SPOOL_BESIDE = "one disk, with a spool"
    SPOOL_OLDER = "two disks, the spool older"


DISKS = {
    Layout.ONE_DISK: ("inbox",),
    Layout.LEDGER_OLDER: ("inbox", "ledger"),
    Layout.INBOX_OLDER: ("inbox", "ledger"),
    Layout.SPOOL_BESIDE: ("inbox",),
    Layout.SPOOL_OLDER: ("inbox", "spool"),
}
ORDER = {Layout.LEDGER_OLDER: (1, 0), Layout.INBOX_OLDER: (0, 1), Layout.SPOOL_OLDER: (1, 0)}
"""In which order the disks lose their power. The spool never after the inbox: what was drained in between would be in
neither, and an inbox that forgets what it has committed is no power cut."""


@dataclass(frozen=True, slots=True)
class Plan:
    store: str
    layout: Layout
    images: int
    checkpoints: bool = False
    """Force checkpoints under the load: a log that is moved while the power goes. It syncs, so only in some rounds."""
    control: Control | None = None

    @property
    def spooled(self) -> bool:
        return self.layout in (Layout.SPOOL_BESIDE, Layout.SPOOL_OLDER)

    def __str__(self) -> str:
        control = f", control: {self.control} not synced" if self.control else ""
        return f"{self.store}, {self.layout}{', with checkpoints' * self.checkpoints}{control}"


@dataclass(frozen=True, slots=True)
class Image:
    files: Sequence[Path]
    cut: Cut


@dataclass(slots=True)
class Result:
    plan: Plan
    images: int = 0
    checked: int = 0
    """Acknowledged events, over all images."""
    unanswered: int = 0
    reruns: int = 0
    """Done events whose receipt was lost with the ledger's tail; `recover ledger` ran them again."""
    spooled: int = 0
    """Events that a recovered spool brought, over all images."""
    findings: list[Finding] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    """Folders with the images that failed."""

    def count(self, kind: Kind) -> int:
        return sum(finding.kind is kind for finding in self.findings)

    @property
    def saw_loss(self) -> bool:
        """What a control is for: an inbox or a spool loses events, a ledger the orders of events that are done."""
        expected = Kind.UNPROVEN if self.plan.control is Control.LEDGER else Kind.LOST
        return self.count(expected) > 0


@dataclass(slots=True)
class Sent:
    """What the sender did, in order."""

    bodies: dict[str, bytes] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)
    refused: int = 0


async def play(bench: Bench, plan: Plan, dice: random.Random, step: Callable[[], None]) -> Result:
    site = SITES[plan.store](bench, disks=DISKS[plan.layout], control=plan.control, spooled=plan.spooled)
    result = Result(plan)
    sent = Sent()
    try:
        await site.create()
        images = await _images(bench, site, plan, dice, sent)
    finally:
        site.stop()
        site.unmount()
    for image in images:
        found = await _examine(site, image, sent, result)
        result.images += 1
        result.checked += len(image.cut.acknowledged)
        result.unanswered += len(image.cut.unanswered)
        result.findings += found
        if found and not plan.control:
            result.kept.append(_keep(image, found))
        for file in image.files:
            file.unlink()
        step()
    if plan.spooled and not plan.control and not result.spooled:
        result.findings.append(Finding(Kind.BROKEN, "no image had anything in its spool: the round proves nothing"))
    return result


async def _images(bench: Bench, site: Site, plan: Plan, dice: random.Random, sent: Sent) -> list[Image]:
    async with (
        site.serving() as serve,
        _load(site, serve.port, sent, dice),
        _checkpoints(site, on=plan.checkpoints),
        _outages(site, on=plan.spooled),
    ):
        await _until(lambda: len(sent.acknowledged) >= WARM)
        if plan.spooled:
            await _until(site.has_spooled)
        images = [await _image(bench, site, plan, dice, sent, number) for number in range(plan.images)]
    assert sent.refused == 0, f"{sent.refused} deliveries were not answered with 200 while nothing was wrong"
    return images


async def _image(bench: Bench, site: Site, plan: Plan, dice: random.Random, sent: Sent, number: int) -> Image:
    await _pause(dice.uniform(0.02, 0.4))
    files = [bench.pool / f"{number}-{disk.name}.cut" for disk in site.disks]
    lag = dice.uniform(0.01, 0.5)
    acknowledged = 0

    def cut(which: int) -> None:
        nonlocal acknowledged
        if which == (order[0] if plan.spooled else 0):
            acknowledged = len(sent.acknowledged)  # the last moment before the copy of the inbox, or of its spool
        site.disks[which].cut(files[which])

    order = ORDER.get(plan.layout, (0,))
    for which in order:
        await asyncio.to_thread(cut, which)
        if which != order[-1]:
            await _pause(lag)
    digests = {key: hashlib.sha256(body).digest() for key, body in list(sent.bodies.items())}
    known = frozenset(sent.acknowledged[:acknowledged])
    return Image(files, Cut(digests, known, ledger_is_older=plan.layout is Layout.LEDGER_OLDER))


async def _examine(site: Site, image: Image, sent: Sent, result: Result) -> list[Finding]:
    copies = [file.with_suffix(".tried") for file in image.files]
    try:
        for file, copy in zip(image.files, copies, strict=True):
            clone(file, copy)  # recovery writes; the image stays as it was
        site.mount(copies)
        site.start()
        books = await site.read()
        if site.spool is not None:
            before = len(books.stored)
            await _drain_spool(site)
            books = await site.read()
            result.spooled += len(books.stored) - before
        found = after_the_cut(image.cut, books)
        if found or site.control:  # what is lost already would never drain
            return found
        if image.cut.ledger_is_older:
            result.reruns += len(without_order(books))
            code, out, err = await site.shop.run("recover", "ledger", "--since", "1h", "--app", "shop.py")
            assert code == 0, out + err
        await _drain(site, image.cut, sent)
        return after_the_drain(image.cut, await site.read())
    except BROKEN as error:
        return [Finding(Kind.BROKEN, f"{type(error).__name__}: {error}")]
    finally:
        site.stop()
        site.unmount()
        for copy in copies:
            copy.unlink(missing_ok=True)


async def _drain_spool(site: Site) -> None:
    """What any process does that finds the folder: bring what is whole in it into the inbox."""
    shop = site.shop
    (shop.folder / "none.toml").touch()
    inbox = Inbox(shop.folder / "none.toml", store=shop.store, ledger=shop.ledger, spool=str(site.spool))
    inbox.source("stripe", provider="stripe", secrets=[SECRET])
    async with inbox.intake():
        await _until(lambda: not site.has_spooled())


async def _drain(site: Site, cut: Cut, sent: Sent) -> None:
    """As after any restart: serve, and the sender sends again what was not answered. An event that does not end is
    left for the checker to find."""
    shop = site.shop
    async with shop.serving() as serve, shop.archive() as archive:
        again = (shop.sender.delivery(sent.bodies[key]) for key in cut.unanswered)
        answers = await send_all(serve.port, again, answers=Answers(), connections=4)
        assert set(answers.statuses) <= {200} and not answers.unanswered, f"sent again: {answers}"

        async def is_drained() -> bool:
            return bool((await archive.census()).states.get(State.DONE, 0) >= len(cut.sent))

        try:
            async with asyncio.timeout(DRAINED_WITHIN):
                while not await is_drained():
                    await asyncio.sleep(0.05)
        except TimeoutError:
            return


@asynccontextmanager
async def _load(site: Site, port: int, sent: Sent, dice: random.Random) -> AsyncIterator[None]:
    seeds = [dice.getrandbits(32) for _ in range(SENDERS)]
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as senders:
        for number, seed in enumerate(seeds):
            senders.create_task(_send(site, port, sent, f"evt_{number}_", random.Random(seed), stop))
        try:
            yield
        finally:
            stop.set()


async def _send(site: Site, port: int, sent: Sent, prefix: str, dice: random.Random, stop: asyncio.Event) -> None:
    connection, sender, number = Connection(port), site.shop.sender, 0
    while not stop.is_set():
        number += 1
        key = f"{prefix}{number}"
        body = sent.bodies[key] = sender.payment(key, padding=dice.choice("xyz") * dice.randrange(PADDING))
        if await connection.send(sender.delivery(body)) == 200:
            sent.acknowledged.append(key)
        else:
            sent.refused += 1
        await _pause(PAUSE)
    connection.close()


@asynccontextmanager
async def _outages(site: Site, *, on: bool) -> AsyncIterator[None]:
    """The inbox is away for some seconds, and there for some, so that cuts meet a spool that fills and one that
    drains."""
    stop = asyncio.Event()

    async def again_and_again() -> None:
        while not stop.is_set():
            async with site.held():
                await _pause(AWAY)
            await _pause(THERE)

    async with asyncio.TaskGroup() as tasks:
        if on:
            tasks.create_task(again_and_again())
        try:
            yield
        finally:
            stop.set()


@asynccontextmanager
async def _checkpoints(site: Site, *, on: bool) -> AsyncIterator[None]:
    stop = asyncio.Event()

    async def again_and_again() -> None:
        while not stop.is_set():
            await asyncio.to_thread(site.checkpoint)
            await _pause(0.1)

    async with asyncio.TaskGroup() as tasks:
        if on:
            tasks.create_task(again_and_again())
        try:
            yield
        finally:
            stop.set()


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DRAINED_WITHIN):
        while not condition():
            await asyncio.sleep(0.01)


async def _pause(seconds: float) -> None:
    """A random instant is what is wanted here, so this waits for no condition."""
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.01)


def _keep(image: Image, found: Sequence[Finding]) -> Path:
    """A failing image is worth more than its report."""
    folder = Path(tempfile.mkdtemp(prefix="landfast-kept-"))
    for file in image.files:
        subprocess.run(["cp", "--sparse=always", file, folder], check=True)
    (folder / "findings.txt").write_text("".join(f"{kind}: {what}\n" for kind, what in found))
    return folder
