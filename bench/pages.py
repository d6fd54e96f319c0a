"""Every page of the dashboard over ten million events, and what fifty open dashboards cost those who take webhooks in.

`python -m bench.pages` fills PostgreSQL, `--sqlite` a file with a million. One reader asks for each page again and
again. Then new events come in as fast as they are answered, in turns with nobody looking and with fifty dashboards,
each of which listens to the stream and draws the overview again every five seconds, as a browser does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import httpx

from bench import load, machine, stores
from bench.beside import percentile, say
from bench.retention_fill import CLOCKS, FILL, INDEXED_AGAIN, UNINDEXED
from bench.retention_sqlite import Months
from bench.stage import ROOT, Sizes, Stage
from bench.stores import DiskPostgres, Store
from landfast.app import Inbox
from landfast.domain.rates import LATENCY_BUCKETS, Meter, Rate, minute_of

WEEKS = 13
"""On PostgreSQL; on SQLite five, as `bench.retention_sqlite` fills them."""
PAGES = (
    "/",
    "/?minutes=1440",
    "/events",
    "/events?q=state%3Adead",
    "/events?q=state%3Adone",
    "/events?q=type%3Ainvoice.*+since%3A2160h",
    "/events?q=source%3Anobody",
    "/events?q=error%3AKeyError",
    "/events?q=state%3Adone&after={place}",
    "/events/{event}",
    "/failures",
    "/dead",
    "/held",
    "/replays",
    "/replays/new?q=state%3Adead",
    "/sources",
    "/sources/stripe",
    "/handlers",
    "/effects",
    "/lanes",
    "/proof",
    "/alerts",
    "/rejected",
    "/audit",
    "/doctor",
)
GOAL_MS = 300.0
REDRAWN_SECONDS = 5.0
"""Between two looks of a page that is live."""

# What a dead letter has besides its state, with as many groups as a bad week has.
_ERRORS = """
UPDATE {prefix}shelf SET handler = 'create_order', reason = 'attempts_exhausted', message = 'receipt_email',
    error = {error}, line = 'shop.py:48'
WHERE state = 'dead'
"""


async def fill_postgres(server: DiskPostgres, dsn: str, events: int) -> None:
    """This week and those after it: an inbox makes no room for what is past."""
    app = Inbox(store=dsn, ledger=dsn)
    await app.migrate()
    async with app.stores() as opened, stores.connected(dsn) as filling:
        await filling.execute("SET synchronous_commit = off")
        for statement in UNINDEXED:
            await filling.execute(statement)
        for week in range(WEEKS):
            for clock in CLOCKS:
                await filling.execute(clock.format(days=7 * week))
            await opened.inbox.prepare()  # type: ignore[attr-defined]  # of PostgreSQL
            for statement in FILL:
                text = statement.format(week=week, count=events // WEEKS, size=400, inbox=opened.identity.hex())
                await filling.execute(text, timeout=3600)
            say(f"filled week {week + 1}")
        for clock in CLOCKS:
            await filling.execute(clock.format(days=0))
        for statement in (
            *INDEXED_AGAIN,
            _ERRORS.format(prefix="landfast.", error="'Error' || get_byte(event_id, 3) % 40"),
        ):
            await filling.execute(statement, timeout=3600)
        await filling.execute("VACUUM ANALYZE", timeout=3600)
        await opened.inbox.add_rates(rates())
    server.execute("CHECKPOINT")


async def fill_sqlite(path: Path, events: int) -> None:
    months = Months(path, events // 5, 1_300)
    await months.inbox.open()
    await months.inbox.migrate()
    for _ in range(5):
        await asyncio.to_thread(months.fill)
        say(f"filled week {months.weeks}")
    await months.inbox.add_rates(rates())
    await months.inbox.close()


def rates() -> list[Rate]:
    """A day of them."""
    now, took = minute_of(datetime.now(UTC)), (5,) * LATENCY_BUCKETS
    payment = ("stripe", "payment_intent.succeeded")
    return [
        rate
        for ago in range(24 * 60)
        for at in [now - timedelta(minutes=ago)]
        for rate in (
            Rate(at, Meter.RECEIVED, "stripe", count=600),
            Rate(at, Meter.STORED, *payment, count=580, histogram=took),
            Rate(at, Meter.DUPLICATE, "stripe", detail="memory", count=20),
            Rate(at, Meter.DONE, *payment, "create_order", count=570, histogram=took),
            Rate(at, Meter.FAILED, *payment, "create_order", "KeyError", count=3),
        )
    ]


async def read_pages(url: str, admin: int, times: int) -> None:
    """Each page so often, in turns, by one reader."""
    took: dict[str, list[float]] = {}
    async with httpx.AsyncClient(base_url=url, timeout=60, headers={"accept": "text/html"}) as client:
        names = await _names(client)
        before = machine.peak_megabytes(admin) or 0
        for _ in range(times):
            for page in PAGES:
                began = time.perf_counter()
                answer = await client.get(page.format(**names))
                took.setdefault(page, []).append((time.perf_counter() - began) * 1000)
                if answer.status_code != 200:
                    raise SystemExit(f"{page}: {answer.status_code}")
    for page, found in took.items():
        p95 = percentile(found, 0.95)
        verdict = "" if p95 <= GOAL_MS else f"  MISSED: the goal is {GOAL_MS:.0f}"
        say(f"    {page:45} p50 {percentile(found, 0.5):6.0f}  p95 {p95:6.0f}  max {max(found):6.0f} ms{verdict}")
    after = machine.peak_megabytes(admin) or 0
    say(f"    memory of the admin process, at most: {before:.0f} MB at first, {after:.0f} MB at the end")


async def _names(client: httpx.AsyncClient) -> dict[str, str]:
    """An event, and a place far down in a list."""
    place = ""
    for _ in range(20):
        asked = {"filter": "state:done"} | ({"after": place} if place else {})
        page = (await client.get("/api/events", params=asked)).json()
        place = page["next"]
    return {"event": page["events"][0]["id"], "place": quote(place)}


@asynccontextmanager
async def dashboards(url: str, count: int) -> AsyncIterator[None]:
    """So many browsers, as far as the server can tell."""
    async with httpx.AsyncClient(
        base_url=url, timeout=120, limits=httpx.Limits(max_connections=None), headers={"accept": "text/html"}
    ) as client:

        async def listen() -> None:
            async with client.stream("GET", "/api/stream") as stream:
                async for _ in stream.aiter_bytes():
                    pass

        async def draw(number: int) -> None:
            await asyncio.sleep(REDRAWN_SECONDS * number / count)
            while True:
                await client.get("/")
                await asyncio.sleep(REDRAWN_SECONDS)

        tasks = [asyncio.create_task(each) for number in range(count) for each in (listen(), draw(number))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def measure(stage: Stage, store: Store, asked: argparse.Namespace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    async with stage.serving(store, workers=0, settings={"LANDFAST_ADMIN_PORT": str(port)}) as serve:
        await serve.until(lambda: bool(serve.pids("admin")))
        (admin,) = serve.pids("admin")
        await read_pages(url, admin, asked.times)
        (intake,) = serve.pids("intake")
        found: dict[int, list[float]] = {0: [], asked.dashboards: []}
        for number in range(asked.rounds):
            for count, rows in found.items():
                requests = stage.requests(stage.sizes.requests, f"{number}-{count}")
                async with dashboards(url, count):
                    measured = await stage.at_full_speed(requests, serve.port, lambda: [intake], store.pids)
                rows.append(measured.answered.per_second)
                spent = measured.server / max(1, measured.answered.ok) * 1e6
                others = f"others used {measured.disturbance:.0%} of the machine"
                say(f"    {count} dashboards: {rows[-1]:,.0f} acks/s, {spent:.0f} us of the intake each; {others}")
        alone, watched = (statistics.median(rows) for rows in found.values())
        say(f"    {asked.dashboards} dashboards cost {1 - watched / alone:.1%} of the acks")
        say(f"    memory of the admin process, at most: {machine.peak_megabytes(admin) or 0:.0f} MB")


async def run(stage: Stage, asked: argparse.Namespace) -> None:
    say(f"load {os.getloadavg()[0]:.1f} before we began")
    if asked.sqlite:
        async with stores.on_sqlite(stage.folder) as store:
            await fill_sqlite(Path(store.inbox), asked.events or 1_000_000)
            await measure(stage, store, asked)
        return
    async with stores.on_postgres(stage.postgres) as store:
        await fill_postgres(stage.postgres, store.inbox, asked.events or 10_000_000)
        await measure(stage, store, asked)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--sqlite", action="store_true", help="a file in place of PostgreSQL")
    parser.add_argument("--events", type=int, help="ten million on PostgreSQL, one on SQLite, unless you say")
    parser.add_argument("--times", type=int, default=40, help="that each page is asked for")
    parser.add_argument("--dashboards", type=int, default=50, help="that are open beside the intake")
    parser.add_argument("--rounds", type=int, default=3, help="with and without them, in turns")
    asked = parser.parse_args()
    parent = machine.on_disk(ROOT)
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-", dir=parent))
    postgres = DiskPostgres(parent)
    try:
        if not asked.sqlite:
            postgres.create()
        asyncio.run(run(Stage(Sizes(), folder, load.found(), postgres, say), asked))
    finally:
        postgres.destroy()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
