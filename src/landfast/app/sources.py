"""Sources as settings become sources as intake knows them: a provider's profile, and secrets that are really there."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from landfast.config import Settings, SourceSettings, nearest
from landfast.domain.delivery import ALWAYS_SIBLINGS, NO_SIBLINGS, Siblings
from landfast.domain.errors import ConfigError
from landfast.domain.patterns import matches
from landfast.domain.unhandled import Unhandled, Wants
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.processing.handlers.registry import Registry
from landfast.providers import Profile, provider
from landfast.providers.secrets import load_secret

NOT_BOTH = "take the type out of ignore, or remove the handler"


def profile_of(settings: SourceSettings) -> Profile:
    try:
        return provider(
            settings.provider,
            dedup=settings.dedup,
            dedup_key=settings.dedup_key,
            described=settings.described,
            **settings.options,
        )
    except ConfigError as error:
        raise ConfigError(f"source {settings.name}: {error}") from None


def secrets_of(settings: SourceSettings, folder: Path) -> tuple[Secret, ...]:
    """Resolved only where they are needed: an operator who reads dead letters needs no secret."""
    return tuple(secret_of(settings, number, folder) for number in range(len(settings.secrets)))


def secret_of(settings: SourceSettings, number: int, folder: Path) -> Secret:
    given = settings.secrets[number]
    name = given.name or f"{number + 1}"
    secret = load_secret(
        given.value,
        provider=profile_of(settings),
        name=f"source {settings.name}: secret {name}",
        environ=os.environ,
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
        memory=math.inf if profile.time_of_object else overall.dedup_memory,
        rate=settings.rate,
        key_rate=settings.key_rate,
        event_rate=settings.event_rate,
        byte_rate=settings.byte_rate,
        allow_from=settings.allow_from,
    )


def _is_strict(settings: SourceSettings, profile: Profile, overall: Settings) -> bool:
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


def check_handlers(registry: Registry, sources: Iterable[str]) -> None:
    """A handler for a source that does not exist would never run, and nobody would be told."""
    known = list(sources)
    if not known:
        raise ConfigError("there is no source; add one with inbox.source(...) or as [sources.NAME] in landfast.toml")
    for handler in registry.handlers:
        if handler.source not in known:
            hint = nearest(handler.source, known) or f"; there are {', '.join(known)}"
            raise ConfigError(f"handler {handler.name}: there is no source {handler.source!r}{hint}")


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
