"""What `simulations.measure` found, with names and types."""

from __future__ import annotations

from pathlib import Path

import msgspec

MEASURED = Path(__file__).resolve().parent / "measured.json"


class Wal(msgspec.Struct, frozen=True):
    record: float
    process: float


class Bytes(msgspec.Struct, frozen=True):
    identity: float
    body: float
    history: float
    receipt: float


class Pages(msgspec.Struct, frozen=True):
    identity: int
    receipt: int


class Run(msgspec.Struct, frozen=True):
    wal_bytes: float
    page_images: int


class AtScale(msgspec.Struct, frozen=True):
    """With millions of identities behind it, so that nearly every event touches index pages of its own."""

    identities: int
    identity_bytes: float
    receipt_bytes: float
    index_pages: Pages
    events: int
    plain: Run
    compressed: Run


class Postgres(msgspec.Struct, frozen=True):
    events: int
    batch: int
    bytes: Bytes
    """Of one event, in each table with its indexes."""
    hot_bytes: float
    """Of one event that waits, in the table of work."""
    wal_bytes: Wal
    """Without full-page images."""
    page_images: int
    at_scale: AtScale

    @property
    def wal_base(self) -> float:
        return self.wal_bytes.record + self.wal_bytes.process

    @property
    def image_bytes(self) -> float:
        """Of one full-page image: less than a page, because the hole in its middle is left out."""
        run = self.at_scale.plain
        return (run.wal_bytes - self.wal_base) * self.at_scale.events / run.page_images


class JetStream(msgspec.Struct, frozen=True):
    messages: int
    message_bytes: int
    disk_bytes: float


class Valkey(msgspec.Struct, frozen=True):
    keys: int
    key_bytes: float


class Microseconds(msgspec.Struct, frozen=True):
    """Of a processor, for one event."""

    intake: float
    duplicate: float
    worker: float
    postgres_of_intake: float
    postgres_in_all: float


class Rates(msgspec.Struct, frozen=True):
    acks: float
    end_to_end: float


class Cpu(msgspec.Struct, frozen=True):
    date: str
    microseconds: Microseconds
    measured_per_second: Rates


class Measured(msgspec.Struct, frozen=True):
    date: str
    machine: dict[str, str | int]
    body_bytes: int
    postgres: Postgres
    jetstream: JetStream
    valkey: Valkey
    cpu: Cpu


def measured() -> Measured:
    return msgspec.json.decode(MEASURED.read_bytes(), type=Measured)
