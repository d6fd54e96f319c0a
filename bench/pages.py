"""Every page of the dashboard over ten million events, and what fifty open dashboards cost those who take webhooks in.

`python -m bench.pages` fills PostgreSQL, `--sqlite` a file with a million. One reader asks for each page again and
again. Then fifty dashboards are open, each of which listens to the stream and looks at the overview after a beat, as a
browser does: first beside nothing else, and then beside new events that come in as fast as they are answered, in turns
with nobody looking.
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
from collections import defaultdict
from pathlib import Path
from urllib.parse import quote

import httpx

from bench import load, machine, stores
from bench.beside import percentile, say
from bench.pages_fill import fill_postgres, fill_sqlite
from bench.stage import QUICK, ROOT, Sizes, Stage
from bench.stores import DiskPostgres, Store
from bench.watchers import dashboards
from landfast.demo.servers import Serve

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
SETTLED_SECONDS = 8.0
"""Until every dashboard has looked once, and a proof that the first of them began is over."""


async def read_pages(url: str, admin: int, store: Store, times: int) -> None:
    """Each page so often, in turns, by one reader. What it used of processors can be compared on a busy machine, too:
    on a quiet one, most of the time is that."""
    took: dict[str, list[float]] = {}
    used: dict[str, float] = defaultdict(float)
    async with httpx.AsyncClient(base_url=url, timeout=60, headers={"accept": "text/html"}) as client:
        names = await _names(client)
        before = machine.peak_megabytes(admin) or 0
        for _ in range(times):
            for page in PAGES:
                pids = [admin, *store.pids()]
                began, before_cpu = time.perf_counter(), machine.thread_seconds(pids)
                answer = await client.get(page.format(**names))
                took.setdefault(page, []).append((time.perf_counter() - began) * 1000)
                used[page] += (machine.thread_seconds(pids) - before_cpu) * 1000
                if answer.status_code != 200:
                    raise SystemExit(f"{page}: {answer.status_code}")
    for page, found in took.items():
        p95 = percentile(found, 0.95)
        verdict = "" if p95 <= GOAL_MS else f"  MISSED: the goal is {GOAL_MS:.0f}"
        times_taken = f"p50 {percentile(found, 0.5):6.0f}  p95 {p95:6.0f}  max {max(found):6.0f} ms"
        say(f"    {page:45} {times_taken}  {used[page] / len(found):6.0f} ms of processors{verdict}")
    after = machine.peak_megabytes(admin) or 0
    say(f"    memory of the admin process, at most: {before:.0f} MB at first, {after:.0f} MB at the end")


async def prove(url: str) -> None:
    """An inbox that grew was proven on the way. This one was filled at once, and its first proof takes a while."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        began = time.perf_counter()
        while (await client.get("/proof.json")).json()["proof"].get("is_being_worked_out"):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        say(f"    the first proof, beside which nobody waits: {time.perf_counter() - began:.0f} s")


async def _names(client: httpx.AsyncClient) -> dict[str, str]:
    """An event, and a place far down in a list."""
    place = ""
    for _ in range(20):
        asked = {"filter": "state:done"} | ({"after": place} if place else {})
        page = (await client.get("/api/events", params=asked)).json()
        if page["next"] is None:  # a small inbox has no such place
            break
        place = page["next"]
    return {"event": page["events"][0]["id"], "place": quote(place)}


async def measure(stage: Stage, store: Store, asked: argparse.Namespace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    async with stage.serving(store, workers=0, settings={"LANDFAST_ADMIN_PORT": str(port)}) as serve:
        await serve.until(lambda: bool(serve.pids("admin")))
        (admin,) = serve.pids("admin")
        await prove(url)
        await read_pages(url, admin, store, asked.times)
        await watch_quietly(store, port, admin, asked)
        await watch_intake(stage, store, serve, port, asked)
        say(f"    memory of the admin process, at most: {machine.peak_megabytes(admin) or 0:.0f} MB")


async def watch_quietly(store: Store, port: int, admin: int, asked: argparse.Namespace) -> None:
    """What open dashboards cost in processor time, beside nothing else."""
    for count in (0, asked.dashboards):
        async with dashboards(port, count) as seen:
            await asyncio.sleep(min(SETTLED_SECONDS, asked.seconds))
            before = machine.cpu_seconds([admin]), machine.server_seconds(store.pids()), seen.looks
            await asyncio.sleep(asked.seconds)
            after = machine.cpu_seconds([admin]), machine.server_seconds(store.pids()), seen.looks
        admins, database = after[0] - before[0], machine.spent_between(before[1], after[1])
        looks, admins, database = ((each / asked.seconds) for each in (after[2] - before[2], admins, database))
        used = f"{admins:.3f} s of the admin process and {database:.3f} s of the database"
        say(f"    {count} dashboards, a second: {looks:.1f} looks, {used}")
        if seen.refused:
            raise SystemExit(f"a look was refused: {seen.refused[0]!r}")


async def watch_intake(stage: Stage, store: Store, serve: Serve, port: int, asked: argparse.Namespace) -> None:
    """What they cost an intake at full speed, in turns with and without them."""
    (intake,), (admin,) = serve.pids("intake"), serve.pids("admin")
    found: dict[int, list[float]] = {0: [], asked.dashboards: []}
    for number in range(asked.rounds):
        for count, rows in found.items():
            requests = stage.requests(stage.sizes.requests, f"{number}-{count}")
            async with dashboards(port, count):
                before = machine.cpu_seconds([admin])
                measured = await stage.at_full_speed(requests, serve.port, lambda: [intake], store.pids)
                admins = machine.cpu_seconds([admin]) - before
            rows.append(measured.answered.per_second)
            spent = measured.server / max(1, measured.answered.ok) * 1e6
            each = f"{rows[-1]:,.0f} acks/s, {spent:.0f} us of the intake each, {admins:.2f} s of the admin process"
            say(f"    {count} dashboards: {each}; others used {measured.disturbance:.0%} of the machine")
    alone, watched = (statistics.median(rows) for rows in found.values())
    say(f"    {asked.dashboards} dashboards cost {1 - watched / alone:.1%} of the acks")


async def run(stage: Stage, asked: argparse.Namespace) -> None:
    say(f"load {os.getloadavg()[0]:.1f} before we began")
    if asked.sqlite:
        async with stores.on_sqlite(stage.folder) as store:
            await fill_sqlite(store, asked.events or 1_000_000)
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
    parser.add_argument("--seconds", type=float, default=30.0, help="that dashboards are looked at beside nothing else")
    parser.add_argument("--rounds", type=int, default=3, help="with and without them, in turns")
    parser.add_argument("--quick", action="store_true", help="a look: few events, and figures that say nothing")
    asked = parser.parse_args()
    if asked.quick:
        asked.events, asked.times, asked.dashboards, asked.rounds, asked.seconds = asked.events or 2_600, 1, 5, 1, 0.5
    parent = machine.on_disk(ROOT)
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-", dir=parent))
    postgres = DiskPostgres(parent)
    try:
        if not asked.sqlite:
            postgres.create()
        asyncio.run(run(Stage(QUICK if asked.quick else Sizes(), folder, load.found(), postgres, say), asked))
    finally:
        postgres.destroy()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
