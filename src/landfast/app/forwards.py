"""Targets become handlers, each with its own receipts and breaker, and with secrets that are really there."""

from __future__ import annotations

import ipaddress
import os
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landfast.config.dotenv import dotenv
from landfast.config.forwards import ForwardSettings
from landfast.domain.errors import ConfigError
from landfast.domain.event import Event
from landfast.domain.standard_webhooks import key_of
from landfast.forwarding.forward import Target
from landfast.processing.handlers.registry import Handler, Registry
from landfast.providers.secrets import SECRET_BYTES_AT_LEAST, referred

if TYPE_CHECKING:
    from landfast.app.inbox import Inbox

DEADLINE_MARGIN_SECONDS = 5.0
"""Beyond its timeout: so it ends by itself, with a sentence about the target."""


def declare_forward(inbox: Inbox, settings: ForwardSettings) -> None:
    """Register the handler that sends to it."""
    folder = inbox.settings.folder

    @cache
    def keys() -> Sequence[bytes]:
        return [_key(settings, reference, folder) for reference in settings.secrets]

    target = Target(
        name=settings.name,
        url=settings.url,
        keys=keys,
        allow=[ipaddress.ip_network(network) for network in settings.allow],
        timeout=settings.timeout,
        dependency=settings.dependency,
        now=lambda: inbox.clock.now().timestamp(),
    )
    is_async = "async" in inbox.settings.ledger_driver.runs
    inbox.on(
        settings.source,
        settings.type,
        name=settings.name,
        attempts=settings.attempts,
        deadline=settings.timeout + DEADLINE_MARGIN_SECONDS,
        concurrency=settings.concurrency,
        writes=False,
        uses=[settings.dependency],
        ordered=settings.ordered,
    )(target.send if is_async else target.send_blocking)
    inbox.forwards[settings.name] = target


def check_targets(targets: Iterable[Target]) -> None:
    """Find each secret, or say which is missing."""
    for target in targets:
        target.keys()


def sending_nothing(inbox: Inbox) -> Registry:
    """The handlers of an inbox for a proof or a dry run: no target is sent a sample, or an event that is not meant."""
    if not inbox.forwards:
        return inbox.registry

    async def not_sent(_event: Event, _tx: Any) -> dict[str, str]:
        return {"not sent": "a dry run forwards nothing"}

    def not_sent_blocking(_event: Event, _tx: Any) -> dict[str, str]:
        return {"not sent": "a dry run forwards nothing"}

    def function(handler: Handler) -> Callable[..., Any]:
        is_forward = handler.name in inbox.forwards
        return (not_sent if handler.is_async else not_sent_blocking) if is_forward else handler.function

    registry = inbox.registry.wrapped(handler=function, effect=lambda effect: effect.function)
    registry.wants = inbox.registry.wants
    return registry


def _key(settings: ForwardSettings, reference: str, folder: Path) -> bytes:
    text, origin = referred(
        reference,
        name=f"forward {settings.name}: secret",
        environ=ChainMap(os.environ, dotenv(folder)),
        read_file=lambda path: (folder / path).read_bytes(),
    )
    try:
        key = key_of(text)
    except ValueError:
        raise ConfigError(
            f"{origin}: it must be whsec_ and base64, such as openssl rand -base64 32 prints after whsec_"
        ) from None
    if len(key) < SECRET_BYTES_AT_LEAST:
        raise ConfigError(
            f"{origin}: it has {len(key)} bytes, and under {SECRET_BYTES_AT_LEAST} it can be guessed; give it 32"
        )
    return key
