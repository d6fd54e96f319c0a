"""A source of the settings as a question to its provider: which list, with which credential, which types."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from landfast.app.source_ages import ages_of
from landfast.app.sources import profile_of, source_of, wants_of
from landfast.config import Settings, SourceSettings
from landfast.config.dotenv import dotenv
from landfast.domain.errors import UserError
from landfast.domain.micros import LONGEST_DELAY
from landfast.domain.patterns import matches
from landfast.operations.reconcile import Asked
from landfast.processing.handlers.registry import Registry
from landfast.providers.listing import KNOWN, Listing, listing_of
from landfast.providers.secrets import referred


def asked_of(
    settings: SourceSettings, overall: Settings, registry: Registry, *, since: datetime, now: datetime, dry: bool
) -> Asked:
    """ConfigError or UserError where it cannot be asked."""
    age = (now - since).total_seconds()
    memory = ages_of(settings, profile_of(settings), overall).memory
    if age > memory:
        days = memory / 86_400
        raise UserError(
            f"reconcile {settings.name}: an event is surely known again for {days:g} days (retention.memory), and what"
            " is older could be taken in a second time; ask for less"
        )
    listing = listing_for(settings)
    patterns = listing.types or tuple(
        handler.pattern for handler in registry.handlers if handler.source == settings.name
    )
    # A worker may have no secrets of senders; they are needed where a list tells signatures.
    known = settings if listing.sent_headers else replace(settings, secrets=())
    return Asked(
        source=source_of(known, overall),
        profile=profile_of(settings),
        listing=listing,
        credential=_credential(settings, listing, overall),
        wants=_wanted(patterns, wants_of(settings).ignores),
        since=since,
        asked_at=now,
        memory=timedelta(seconds=min(memory, LONGEST_DELAY)),
        is_dry=dry,
    )


def listing_for(settings: SourceSettings) -> Listing:
    """ConfigError where there is none, or it is wrong."""
    if settings.listing is None:
        known = settings.provider in KNOWN
        example = '{ credential = "env:NAME" }' if known else '{ url = "https://...", credential = "env:NAME", ... }'
        raise UserError(
            f"reconcile {settings.name}: nobody says where {settings.provider} lists its events; write listing ="
            f" {example} under [sources.{settings.name}]"
        )
    return listing_of(settings.name, settings.provider, settings.listing)


def _credential(settings: SourceSettings, listing: Listing, overall: Settings) -> str:
    text, _ = referred(
        listing.credential,
        name=f"source {settings.name}: listing.credential",
        environ=ChainMap(os.environ, dotenv(overall.folder)),
        read_file=lambda path: (overall.folder / path).read_bytes(),
    )
    return text.strip()


def _wanted(patterns: Iterable[str], ignores: Callable[[str], bool]) -> Callable[[str], bool]:
    chosen = tuple(patterns)

    def wants(type_: str) -> bool:
        is_taken = not chosen or any(matches(pattern, type_) for pattern in chosen)
        return is_taken and not ignores(type_)

    return wants
