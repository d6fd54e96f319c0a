"""What people would pick instead: how each is installed and started. Their programs are in `programs`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Needs = Literal["valkey", "restate"]
_WEB = ("fastapi==0.162.7", "uvicorn==0.54.0", "uvloop", "httptools")


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    packages: tuple[str, ...]
    """Of its virtualenv; none for what runs in ours."""
    processes: tuple[tuple[str, ...], ...]
    """Commands, with {python} and {port} in them. All of them are killed together."""
    prepare: tuple[str, ...] = ()
    """Run once, before the first start."""
    needs: tuple[Needs, ...] = ()
    """Servers beside PostgreSQL. Like it, they are not killed."""
    settings: Mapping[str, str] = field(default_factory=dict)
    better: str = ""
    """Where it is better than Landfast."""


def _program(name: str, *arguments: str) -> tuple[str, ...]:
    return ("{python}", "-m", f"bench.peers.programs.{name}", *arguments)


LANDFAST = "Landfast"
_SERVE = ("{python}", "-m", "landfast", "serve", "bench/{app}", "--port", "{port}", "--workers", "1", "--intakes", "1")

PEERS = (
    Peer(LANDFAST, (), (tuple(word.replace("{app}", "shop.py") for word in _SERVE),)),
    Peer(
        "the naive handler and worker",
        (),
        (("{python}", "-m", "bench.servers.naive"), ("{python}", "-m", "bench.servers.naive_worker")),
        better="nothing to learn; as safe as its author knew to write it",
    ),
    Peer(
        "DBOS",
        ("dbos==3.3.0", *_WEB),
        (_program("dbos_shop"),),
        better="whole workflows in plain Python, durable sleep, queues; exactly-once writes as well",
    ),
    Peer(
        "Restate",
        ("restate_sdk[serde]==1.2.0", "hypercorn==0.18.0", "httpx", "asyncpg", *_WEB),
        (_program("restate_shop"), _program("restate_shop", "work")),
        needs=("restate",),
        better="workflows and virtual objects in six languages, with a server of its own",
    ),
    Peer(
        "Celery with Redis",
        ("celery[redis]==5.7.0", "psycopg[binary]==3.3.9", *_WEB),
        (
            _program("celery_shop"),
            ("{python}", "-m", "celery", "-A", "bench.peers.programs.celery_shop:celery", "worker", "-c2", "-lERROR"),
        ),
        needs=("valkey",),
        better="known everywhere; schedules, chords, many brokers",
    ),
    Peer(
        "procrastinate",
        ("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.9", *_WEB),
        (_program("procrastinate_shop"), _program("procrastinate_shop", "work")),
        prepare=_program("procrastinate_shop", "prepare"),
        better="jobs of any kind, periodic tasks, a Django integration of long standing",
    ),
    Peer(
        "PgQueuer",
        ("pgqueuer[asyncpg]==1.6.0", *_WEB),
        (_program("pgqueuer_shop"), _program("pgqueuer_shop", "work")),
        prepare=_program("pgqueuer_shop", "prepare"),
        better="jobs of any kind in one small table; schedules; limits for each entrypoint",
    ),
)
