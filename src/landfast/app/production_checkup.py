"""What every list of things to do before production says, as checks that run. What other checkups look at already is
not repeated: durability and uniqueness (the stores'), the shape of secrets and keys (the sources')."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import urlsplit

from landfast.app.source_ages import ages_of, default_ages
from landfast.app.sources import profile_of, source_of
from landfast.config import Settings, SourceSettings
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import ConfigError, LandfastError
from landfast.domain.rates import Heartbeat
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import PublicKey
from landfast.processing.handlers.registry import Registry
from landfast.recovery.doctor import Check, Level

LOOPBACK = ("127.", "localhost", "[::1]")


def examine_production(
    settings: Settings,
    declared: Sequence[SourceSettings],
    registry: Registry,
    processes: Iterable[Heartbeat],
    now: float,
) -> list[Check]:
    sources = list(_loaded(declared, settings))
    return [
        *_forged(sources, now),
        *_clear_secrets(sources),
        *_https(settings, processes),
        *_limits(sources),
        *_memory(settings, declared),
        *_retries(registry),
    ]


def _loaded(declared: Iterable[SourceSettings], overall: Settings) -> Iterator[tuple[SourceSettings, Source]]:
    for settings in declared:
        try:
            yield settings, source_of(settings, overall)
        except LandfastError:
            continue  # the checkup of sources says why


def _forged(sources: Sequence[tuple[SourceSettings, Source]], now: float) -> Iterator[Check]:
    """A request that nobody signed, and one with a signature made up, through the same steps that intake takes."""
    at, body = datetime.fromtimestamp(now, UTC), b'{"id":"forged","type":"forged"}'
    taken = []
    for settings, source in sources:
        if settings.endpoint is not None and not settings.secrets:
            continue  # it says so itself, in the checkup of sources, and takes nothing from other machines
        head = Head("POST", source.path, headers=Headers([(b"content-type", b"application/json")]))
        with suppress(Exception):  # however it is refused: intake answers what it did not foresee with 500
            if examine(source, head, body, now=at).identities:
                taken.append(source.name)
    if taken:
        found = f"a request that nobody signed is taken in by {', '.join(taken)}"
        yield Check("signatures", Level.FAIL, found, "choose a provider that signs, or describe how this one does")
    elif sources:
        yield Check("signatures", Level.OK, "a request that nobody signed is refused by every source")


def _clear_secrets(sources: Sequence[tuple[SourceSettings, Source]]) -> Iterator[Check]:
    clear = [
        f"{source.name} ({secret.name})"
        for settings, source in sources
        for given, secret in zip(settings.secrets, source.secrets, strict=True)
        if not given.value.startswith(("env:", "file:")) and not isinstance(secret.key, PublicKey)
    ]
    if clear:
        found = f"written out in the settings or the code: {', '.join(clear)}"
        yield Check("secrets", Level.WARN, found, "write env:NAME or file:PATH, and the secret where that points to")
    elif sources:
        yield Check("secrets", Level.OK, "none is written out in the settings or the code")


def _https(settings: Settings, processes: Iterable[Heartbeat]) -> Iterator[Check]:
    told = (str(one.doing.get("address", "")) for one in processes if one.role == "intake" and one.is_alive)
    addresses = sorted({address for address in told if address})
    plain = [one for one in addresses if one.startswith("http://") and not urlsplit(one).netloc.startswith(LOOPBACK)]
    if plain and not settings.https_only:
        found = f"{', '.join(plain)} takes plain HTTP from anywhere"
        fix = "set https_only, with trusted_proxies for the proxy that ends TLS; or landfast serve --tls-cert"
        yield Check("https", Level.WARN, found, fix)
    elif addresses:
        yield Check("https", Level.OK, "plain HTTP is taken from this machine alone, or not at all")


def _limits(sources: Sequence[tuple[SourceSettings, Source]]) -> Iterator[Check]:
    if not sources:
        return
    largest = max(source.body_limit for _, source in sources)
    rated = [source.name for _, source in sources if source.rate is not None]
    rates = f"a rate is set for {', '.join(rated)}" if rated else "no source has a rate (rate = ...)"
    yield Check("limits", Level.OK, f"a body has {largest / 2**20:g} MiB at most; {rates}")


def _memory(settings: Settings, declared: Iterable[SourceSettings]) -> Iterator[Check]:
    """A sender that tries again for longer than we remember would have its event twice."""
    try:
        kept = [ages_of(source, profile_of(source), settings).memory for source in declared]
    except ConfigError as error:
        yield Check("dedup memory", Level.FAIL, str(error), "give it more, or leave it out")
    else:
        days = min(kept, default=default_ages(settings).memory) / 86_400
        yield Check("dedup memory", Level.OK, f"{days:g} days or more, longer than any sender tries again")


def _retries(registry: Registry) -> Iterator[Check]:
    once = [handler.name for handler in registry.handlers if handler.attempts == 1]
    if once:
        found = f"tried once, and dead after the first failure: {', '.join(once)}"
        yield Check(
            "retries", Level.WARN, found, "leave attempts out, or give it some: a deadlock or a deploy is no reason"
        )
    elif registry.handlers:
        yield Check(
            "retries", Level.OK, f"all of {len(registry.handlers)} handlers are tried again, with growing pauses"
        )
