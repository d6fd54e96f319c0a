"""Sources as settings become sources as intake knows them: a provider's profile, and secrets that are really there."""

from __future__ import annotations

import math
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from landfast.app.source_ages import ages_of
from landfast.config import Settings, SourceSettings, nearest
from landfast.config.dotenv import dotenv
from landfast.domain.delivery import ALWAYS_SIBLINGS, NO_SIBLINGS, Siblings
from landfast.domain.errors import ConfigError
from landfast.domain.patterns import matches
from landfast.domain.unhandled import Unhandled, Wants
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.processing.handlers.registry import Registry

if TYPE_CHECKING:  # a hundred and more providers: imported with the first source
    from landfast.providers import Profile

NOT_BOTH = "take the type out of ignore, or remove the handler"


def profile_of(settings: SourceSettings) -> Profile:
    from landfast.providers import endpoint, provider

    if settings.endpoint is not None:
        if settings.provider == endpoint.LOOPBACK:
            return endpoint.loopback_profile()
        return endpoint.endpoint_profile(profile_of(replace(settings, endpoint=None)))
    try:
        return provider(
            settings.provider,
            dedup=settings.dedup,
            dedup_key=settings.dedup_key,
            ordered_by=settings.ordered_by,
            described=settings.described,
            **settings.options,
        )
    except ConfigError as error:
        raise ConfigError(f"source {settings.name}: {error}") from None


def secrets_of(settings: SourceSettings, folder: Path) -> tuple[Secret, ...]:
    """Resolved only where they are needed: an operator who reads dead letters needs no secret."""
    return tuple(secret_of(settings, number, folder) for number in range(len(settings.secrets)))


def secret_of(settings: SourceSettings, number: int, folder: Path) -> Secret:
    from landfast.providers.secrets import load_secret

    given = settings.secrets[number]
    name = given.name or f"{number + 1}"
    secret = load_secret(
        given.value,
        provider=profile_of(settings),
        name=f"source {settings.name}: secret {name}",
        environ=ChainMap(os.environ, dotenv(folder)),
        read_file=lambda path: (folder / path).read_bytes(),
        active_from=given.start,
        retired_at=given.end,
        allow_short=settings.allow_short_secret,
    )
    return replace(secret, name=name)


def source_of(settings: SourceSettings, overall: Settings) -> Source:
    profile = profile_of(settings)
    if profile.missing:
        needed = profile.missing[0]
        raise ConfigError(f'source {settings.name}: {profile.name} needs {needed}; write {needed} = "..." beside it')
    if profile.needs_url and not settings.public_url:
        raise ConfigError(
            f"source {settings.name}: {profile.name} signs the public address, which only you know; "
            'write public_url = "https://..." as you gave it to the sender'
        )
    return Source(
        settings.name,
        profile,
        secrets_of(settings, overall.folder),
        tolerance=settings.tolerance,
        body_limit=settings.body_limit or 0,
        public_url=settings.public_url,
        confirms=settings.confirm_subscription,
        is_strict=_is_strict(settings, profile, overall),
        counts_repeats="arrival" in profile.key,
        binds_proofs=settings.same_proof == "hold",
        siblings=_siblings(settings, profile),
        # The time of an object tells nothing about the age of an event.
        memory=math.inf if profile.time_of_object else ages_of(settings, profile, overall).memory,
        rate=settings.rate,
        key_rate=settings.key_rate,
        event_rate=settings.event_rate,
        byte_rate=settings.byte_rate,
        allow_from=settings.allow_from,
        endpoint=settings.endpoint,
    )


def _is_strict(settings: SourceSettings, profile: Profile, overall: Settings) -> bool:
    if settings.endpoint is not None:  # another body is refused there, and not held
        return False
    if settings.same_key is None:
        return overall.preset == "critical" and not profile.body_varies
    return settings.same_key == "hold"


def _siblings(settings: SourceSettings, profile: Profile) -> Siblings | None:
    chosen = settings.unsigned_type
    if not profile.unsigned_type:
        if chosen is None:
            return None
        found = f"{profile.name} signs it, or nothing of the body"
        raise ConfigError(f"source {settings.name}: unsigned_type is for a type that alone is not signed, and {found}")
    if chosen is not None:
        return NO_SIBLINGS if chosen == "hold" else ALWAYS_SIBLINGS
    if settings.dedup is not None:  # the operator said what makes two deliveries one event
        return None
    start, end = profile.siblings
    # What was captured is refused once its signed time is too far away: with a longer tolerance, later.
    return (max(start, 2 * settings.tolerance) if start else start, end)


def wants_of(settings: SourceSettings) -> Wants:
    return Wants(Unhandled(settings.unhandled), settings.ignore)


def check_handlers(registry: Registry, sources: Mapping[str, SourceSettings]) -> None:
    """A handler for a source that does not exist would never run, and nobody would be told. One that asks for order
    where no event says what it is about would run without any."""
    known = list(sources)
    if not known:
        raise ConfigError("there is no source; add one with inbox.source(...) or as [sources.NAME] in landfast.toml")
    for handler in registry.handlers:
        if handler.source not in known:
            hint = nearest(handler.source, known) or f"; there are {', '.join(known)}"
            raise ConfigError(f"handler {handler.name}: there is no source {handler.source!r}{hint}")
        if handler.ordered and profile_of(sources[handler.source]).entity is None:
            raise ConfigError(
                f"handler {handler.name}: ordered=True needs an entity, and source {handler.source} names none;"
                ' say where it stands, such as ordered_by="data.object.id", in the source'
            )


def check_dependencies(registry: Registry) -> None:
    """A rate for something that nobody uses limits nothing, and nobody would be told."""
    for name in registry.dependencies:
        if name not in registry.used:
            hint = nearest(name, registry.used) or "; write uses=[...] at a handler or an effect, or remove it"
            raise ConfigError(f"dependency {name}: nothing uses it{hint}")


def routed(name: str, sources: Mapping[str, SourceSettings], registry: Registry, folder: Path) -> SourceSettings:
    """The source, if a route of the host's may process its events: no worker may settle them meanwhile."""
    settings = sources.get(name)
    if settings is None:
        hint = nearest(name, sources) or f"; there are {', '.join(sources) or 'none'}"
        raise ConfigError(f"middleware: there is no source {name!r}{hint}")
    handlers = [handler.name for handler in registry.handlers if handler.source == name]
    if handlers:
        raise ConfigError(
            f"middleware: source {name} has the handler {handlers[0]}; give it a route or handlers, not both"
        )
    if settings.ignore or settings.unhandled != Unhandled.KEEP:
        raise ConfigError(
            f"middleware: source {name} must have neither ignore nor unhandled; its route sees all events"
        )
    check_secrets([settings], folder)
    return settings


def ignored_handlers(registry: Registry, sources: Mapping[str, SourceSettings]) -> Sequence[tuple[str, str]]:
    """Of each handler that can never run, its name and a sentence. One that takes more than what is ignored is none:
    then `ignore` is its exception."""
    return [
        (handler.name, f"source {handler.source} has ignore = [{pattern!r}], so it never runs for {handler.pattern!r}")
        for handler in registry.handlers
        if handler.source in sources
        for pattern in sources[handler.source].ignore
        if matches(pattern, handler.pattern)  # its own `*` is covered only by one of `ignore`
    ]


def check_secrets(sources: Iterable[SourceSettings], folder: Path) -> None:
    """Find each of them, or say which is missing."""
    for source in sources:
        secrets_of(source, folder)
