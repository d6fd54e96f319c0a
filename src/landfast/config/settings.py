"""What can be set, as the rest of Landfast reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from landfast import drivers
from landfast.config.alerts import AlertSettings
from landfast.config.forwards import ForwardSettings
from landfast.config.oidc import OidcSettings
from landfast.domain.dependency import Dependency
from landfast.domain.endpoint import Endpoint
from landfast.drivers import InboxDriver, LedgerDriver

GIBIBYTE = 2**30


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """Where a database is. It prints without its password."""

    target: str
    """What its driver is given: the path of a file, or the whole address."""
    origin: str = field(default="the default", compare=False)
    """Who says so: a file, a variable, the code. For the sentence about what is wrong with it."""
    scheme: str = "sqlite"
    """Which names the driver."""
    given: Any = None
    """What the code gave in its place, such as an engine. `target` is only what it prints as, then."""

    def __str__(self) -> str:
        return _without_password(self.target, scheme=self.scheme) if "://" in self.target else self.target

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def for_driver(self) -> Any:
        return self.target if self.given is None else self.given


@dataclass(frozen=True, slots=True, repr=False)
class Server:
    """Where a cache or a broker is. It prints without its password."""

    target: str
    origin: str = field(default="the default", compare=False)

    def __str__(self) -> str:
        return _without_password(self.target, scheme=self.target.partition(":")[0])

    def __repr__(self) -> str:
        return f"Server({str(self)!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSettings:
    value: str = field(repr=False)
    """A reference (`env:NAME`, `file:PATH`) or a literal, so never in a repr."""
    name: str | None = None
    """For logs; its number in the source unless it is set."""
    start: float = -math.inf
    end: float = math.inf
    """Unix seconds: `from` and `until` in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """Seconds, and infinity for ever; None where nothing is said. `domain.retention` has the words."""

    bodies: float | None = None
    dead: float | None = None
    unhandled: float | None = None
    memory: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    name: str
    provider: str
    secrets: tuple[SecretSettings, ...]
    tolerance: float = 0.0
    """Seconds a signature's own timestamp may be off; 0 for what suits the provider, 300 for most."""
    dedup: str | None = None
    dedup_key: str | None = field(default=None, repr=False)
    ordered_by: str | None = None
    """Where an event names its entity, if not where the provider's page says."""
    body_limit: int | None = None
    """Bytes; the provider's own limit unless it is set."""
    public_url: str = ""
    """The address that the sender was given: some sign it."""
    allow_short_secret: bool = False
    confirm_subscription: bool = False
    """Whether the address in a handshake is opened without asking."""
    same_key: str | None = None
    """What a known key with another body is: a `duplicate`, or another event to `hold`; the preset says unless this
    does."""
    same_proof: str = "hold"
    """What another body is under a proof that binds none: something to `hold`, or to `take` as any other event."""
    unsigned_type: str | None = None
    """What a known body is under another type, where types are not signed: another event to `hold`, or one to `trust`;
    the provider says unless this does."""
    rate: float | None = None
    """Verified deliveries a second that one intake process takes; no limit unless it is set."""
    key_rate: float | None = None
    """The same for deliveries of one event. It costs: a duplicate beyond it is told 429, and not the 200 that would end
    its sender's retries."""
    event_rate: float | None = None
    """Verified events a second that one intake process takes: a delivery may bring a thousand."""
    byte_rate: float | None = None
    """Bytes of verified bodies a second that one intake process takes."""
    allow_from: tuple[str, ...] = ()
    """Addresses and networks that may send; everybody unless it is set."""
    unhandled: str = "keep"
    """What becomes of an event that no handler takes: it waits for one, is done without one, or is a dead letter."""
    ignore: tuple[str, ...] = ()
    """Types, or patterns of them, that nobody wants: done at once, whatever handlers there are."""
    concurrency: int | None = None
    """How many of its events may run at the same time in one worker process; no limit unless it is set."""
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    listing: Mapping[str, Any] | None = field(default=None, repr=False)
    """Where the provider lists its own events, as it is written."""
    reconcile: float | None = None
    """Seconds between two comparisons with that list; never by itself unless it is set."""
    owner: str = ""
    """Who looks after it: a team, a channel, a page."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What only this provider takes, such as verify_token; and all that describes the generic one."""
    described: Mapping[str, Any] | None = None
    """The table `[providers.NAME]` of this file, if the provider is one."""
    endpoint: Endpoint | None = None
    """Where it takes calls, which want an answer, in place of webhooks."""

    @property
    def path(self) -> str:
        return f"/in/{self.name}" if self.endpoint is None else self.endpoint.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    store: Address
    ledger: Address
    app: str | None = None
    host: str = "127.0.0.1"
    """The loopback: a server that the world can reach is a decision, not a default."""
    port: int = 8420
    metrics_port: int | None = None
    """Where `/metrics` is answered, if anywhere."""
    metrics_host: str = "127.0.0.1"
    admin_port: int | None = None
    """Of the admin API; 0 for none. None for the usual one, if it is free."""
    admin_host: str = "127.0.0.1"
    oidc: OidcSettings | None = None
    """The table `[admin.oidc]`: where people sign in to the dashboard, besides by tokens."""
    log: str = "text"
    """How processes of our own write it: `text` or `json`."""
    redact: tuple[str, ...] = ()
    """Fields that are not shown, besides the usual ones."""
    intakes: int = 1
    workers: int = 1
    concurrency: int
    """How many events one worker process runs at the same time, and so how many hands it has: 16 on PostgreSQL; 1 on
    SQLite, which has one writer."""
    lease: float = 30.0
    """Seconds until a worker that said nothing is taken for dead. It says something every third of that."""
    preset: str | None = None
    redis: Server | None = None
    """A Redis or Valkey that all intakes share what they have seen through."""
    journal: Server | None = None
    """A NATS JetStream that takes deliveries in before the inbox does."""
    drainers: int = 1
    """How many processes bring the journal into the inbox."""
    spool: Path | None = None
    """The folder that takes deliveries in while the inbox, or the journal, cannot."""
    spool_limit: int = GIBIBYTE
    """Bytes of it: at 2 KB an event, half a million of them."""
    spool_anywhere: bool = False
    """Also in memory, or in a container's own layer, where what is acknowledged goes when the machine or container
    does."""
    ballast: int = 64 * 1024 * 1024
    """Bytes kept back beside a SQLite inbox for the moment when its disk is full; 0 for none."""
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    """How long things are kept, where a source does not say otherwise."""
    seal: str | None = None
    """Where the master key is, `env:NAME` or `file:PATH`: then what is stored of events is sealed."""
    seal_old: str | None = None
    """Where the master key before it is, until `landfast seal rotate` has run; alone, what is sealed is only opened."""
    https_only: bool = False
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The tables `[providers.NAME]`, as they are written."""
    dependencies: Mapping[str, Dependency] = field(default_factory=dict)
    """The tables `[dependencies.NAME]`."""
    forwards: tuple[ForwardSettings, ...] = ()
    """The tables `[[forward]]`."""
    alerts: AlertSettings = AlertSettings()  # noqa: RUF009 - frozen
    """The table `[alerts]`, with its sinks."""
    folder: Path = field(default_factory=Path)
    """Where the configuration was found: relative paths in it start there."""
    file: Path | None = None
    """The configuration itself, if there is one."""

    @property
    def inbox_driver(self) -> InboxDriver:
        return drivers.inbox_driver(self.store.scheme)

    @property
    def ledger_driver(self) -> LedgerDriver:
        return drivers.ledger_driver(self.ledger.scheme, self.ledger.for_driver)


def _without_password(url: str, *, scheme: str) -> str:
    parts = urlsplit(url)
    at = f"{parts.username}@" if parts.username else ""
    # The query may hold a password too, so it is left out whole.
    return f"{scheme}://{at}{parts.netloc.rpartition('@')[2]}{parts.path}"
