"""From a rate to machines: what so many events a second take, and at which rate one good server is full."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from landfast.caches.redis_marks import DURABLE_SECONDS
from landfast.drivers import INBOX_CONNECTIONS, LEDGER_SPARE_CONNECTIONS
from landfast.inboxes.postgres.connection import RECORDING
from simulations.measured import Measured

DAY = 86_400.0
HANDS = 16
"""Of a worker on PostgreSQL, unless the settings say otherwise."""
LISTENING = 1
INTAKE_CONNECTIONS = RECORDING + INBOX_CONNECTIONS + LISTENING
WORKER_CONNECTIONS = RECORDING + INBOX_CONNECTIONS + LISTENING + HANDS + LEDGER_SPARE_CONNECTIONS
"""At most: the pools open a connection when they need one."""

NAPTIME = 60.0
"""Seconds between two looks of autovacuum, PostgreSQL's default: the hot table is vacuumed no more often than that."""
DEAD_VERSIONS = 2
"""That an event leaves in the hot table: the claim's update, and the delete when it is settled."""
WEEKS_AHEAD = 4
PARTITIONED = 2
"""Tables in weekly partitions: bodies and history."""
ROWS_WRITTEN = 5
"""For one event: identity, body, work, history, receipt. The handler's own rows come on top."""
READ_AND_WRITTEN = 2
"""How often a random page of the digests' indexes meets the disk between two checkpoints: read, once the index is
larger than memory, and written by the checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    events_per_second: float
    retention_days: float = 90.0
    """Of bodies, history and receipts."""
    dedup_days: float = 35.0
    generation_days: float | None = None
    """How many days of digests lie in one index. Today: all of them."""
    checkpoint_minutes: float = 5.0
    redelivered: float = 0.05
    """Duplicates for each event."""
    seen_hours: float = DURABLE_SECONDS / 3600
    outage_minutes: float = 60.0
    """How long the broker or the spool must be able to hold what comes in."""
    busy: float = 0.7
    """Of a processor: beyond it, queues grow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    events_per_second: float
    intakes: int
    workers: int
    intake_cores: float
    worker_cores: float
    postgres_cores: float
    connections: int
    ingress_mbit: float
    rows_per_second: float
    wal_bytes_per_event: float
    wal_bytes_per_second: float
    page_images_per_event: float
    random_pages_per_second: float
    dead_versions: float
    identities: float
    identity_bytes: float
    identity_index_bytes: float
    body_bytes: float
    history_bytes: float
    receipt_bytes: float
    disk_bytes: float
    partitions: int
    partition_bytes: float
    seen_keys: float
    seen_bytes: float
    journal_bytes: float


def plan(asked: Asked, of: Measured) -> Plan:
    rate, pg, cpu = asked.events_per_second, of.postgres, of.cpu.microseconds
    intake_cores = rate * (cpu.intake + asked.redelivered * cpu.duplicate) / 1e6 / asked.busy
    worker_cores = rate * cpu.worker / 1e6 / asked.busy
    intakes, workers = math.ceil(intake_cores), math.ceil(worker_cores)
    images = page_images(asked, of)
    wal = pg.wal_base + images * pg.image_bytes
    events, identities = rate * DAY * asked.retention_days, rate * DAY * asked.dedup_days
    body, history = events * pg.bytes.body, events * pg.bytes.history
    receipts, identity = events * pg.at_scale.receipt_bytes, identities * pg.at_scale.identity_bytes
    return Plan(
        events_per_second=rate,
        intakes=intakes,
        workers=workers,
        intake_cores=intake_cores,
        worker_cores=worker_cores,
        postgres_cores=rate * cpu.postgres_in_all / 1e6 / asked.busy,
        connections=intakes * INTAKE_CONNECTIONS + workers * WORKER_CONNECTIONS,
        ingress_mbit=rate * (1 + asked.redelivered) * of.jetstream.message_bytes * 8 / 1e6,
        rows_per_second=rate * ROWS_WRITTEN,
        wal_bytes_per_event=wal,
        wal_bytes_per_second=wal * rate,
        page_images_per_event=images,
        random_pages_per_second=rate * images * READ_AND_WRITTEN,
        dead_versions=rate * NAPTIME * DEAD_VERSIONS,
        identities=identities,
        identity_bytes=identity,
        identity_index_bytes=identities * pg.at_scale.index_pages.identity / pg.at_scale.identities * 8192,
        body_bytes=body,
        history_bytes=history,
        receipt_bytes=receipts,
        disk_bytes=body + history + receipts + identity,
        partitions=PARTITIONED * (math.ceil(asked.retention_days / 7) + 1 + WEEKS_AHEAD),
        partition_bytes=rate * DAY * 7 * pg.bytes.body,
        seen_keys=rate * 3600 * asked.seen_hours,
        seen_bytes=rate * 3600 * asked.seen_hours * of.valkey.key_bytes,
        journal_bytes=rate * 60 * asked.outage_minutes * of.jetstream.disk_bytes,
    )


def page_images(asked: Asked, of: Measured) -> float:
    """For one event, in an inbox that has run for long. The first touch of a page after a checkpoint writes the whole
    page; digests are random, so which pages are touched is chance."""
    scale = of.postgres.at_scale
    between = asked.events_per_second * 60 * asked.checkpoint_minutes
    total = 0.0
    for pages, days in (
        (scale.index_pages.identity, asked.dedup_days),
        (scale.index_pages.receipt, asked.retention_days),
    ):
        held = asked.events_per_second * DAY * min(days, asked.generation_days or days)
        total += touched(held * pages / scale.identities, between)
    return total / between


def touched(pages: float, times: float) -> float:
    """How many of so many pages are touched at least once, when each touch takes any of them."""
    return -pages * math.expm1(-times / pages)


@dataclass(frozen=True, slots=True)
class Limit:
    """What one good server takes of something. Assumed, not measured; change it to what yours takes."""

    what: str
    column: str
    most: float
    unit: str
    because: str


TERABYTE, GIGABYTE, MEGABYTE = 1e12, 1e9, 1e6
LIMITS = (
    Limit("disk", "disk_bytes", 30 * TERABYTE, "30 TB", "a restore at 1 GB/s takes 8 hours"),
    Limit("WAL", "wal_bytes_per_second", 200 * MEGABYTE, "200 MB/s", "a standby replays it in one process"),
    Limit("random index pages", "random_pages_per_second", 50_000, "50,000 /s", "of an NVMe disk with other work"),
    Limit("memory of the seen cache", "seen_bytes", 64 * GIGABYTE, "64 GB", "of one Valkey; a cluster has several"),
    Limit("connections", "connections", 1_000, "1,000", "each is a process of PostgreSQL"),
    Limit("processors of PostgreSQL", "postgres_cores", 32, "32", "of one large server"),
)


def reach(limit: Limit, asked: Asked, of: Measured) -> float:
    """The rate at which one server is full, all else as asked."""
    low, high = 1.0, 1e9
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        there = getattr(plan(replace(asked, events_per_second=middle), of), limit.column)
        low, high = (middle, high) if there <= limit.most else (low, middle)
    return low


def reaches(asked: Asked, of: Measured) -> Mapping[str, float]:
    """By limit, the nearest first."""
    found = {limit.what: reach(limit, asked, of) for limit in LIMITS}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def two_figures(rate: float) -> int:
    """The third would be a guess."""
    return int(round(rate, 1 - int(math.log10(rate))))
