"""Alerts, as the settings say them: sinks with their secrets, and the loop in each process."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields
from urllib.parse import urlsplit

from landfast import telemetry
from landfast.alerting.http_post import is_safe_address
from landfast.alerting.loop import alerting
from landfast.alerting.plan import Plan
from landfast.alerting.sink import Sink
from landfast.config import Settings
from landfast.config.alerts import SinkSettings
from landfast.config.dotenv import dotenv
from landfast.domain.alerts.states import Patience
from landfast.domain.alerts.thresholds import Thresholds
from landfast.domain.errors import ConfigError
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.providers.secrets import referred

SMTP_PORTS = {"smtp": 587, "smtps": 465}


def plan_of(settings: Settings) -> Plan:
    """Everything but sinks that cannot be used: those are told in the log, and nothing else waits for them."""
    given = settings.alerts
    return Plan(
        thresholds=Thresholds(**{each.name: getattr(given, each.name) for each in fields(Thresholds)}),
        patience=Patience(quiet=given.quiet, repeat=given.repeat),
        off=frozenset(given.off),
        sinks=tuple(_usable(settings)),
        runbooks=given.runbooks,
        every=given.every,
    )


def _usable(settings: Settings) -> Iterator[Sink]:
    for given in settings.alerts.sinks:
        try:
            yield sink_of(given, settings)
        except ConfigError as error:
            telemetry.error("alert_sink_unusable", sink=given.name, error=error)


def sink_of(given: SinkSettings, settings: Settings) -> Sink:
    """With its secrets; ConfigError says what is missing. Each kind is imported where it is used."""
    where = f"alerts.sinks.{given.name}"

    def text(key: str) -> str:
        environ = ChainMap(os.environ, dotenv(settings.folder))
        found, _ = referred(
            getattr(given, key),
            name=f"{where}: {key}",
            environ=environ,
            read_file=lambda path: (settings.folder / path).read_bytes(),
        )
        return found

    match given.kind:
        case "slack":
            from landfast.alerting.slack import SlackSink

            return SlackSink(given.name, _address(text("url"), where))
        case "webhook":
            from landfast.alerting.webhook import WebhookSink
            from landfast.domain.standard_webhooks import key_of

            secret = text("secret")
            try:
                key_of(secret)
            except ValueError:
                raise ConfigError(f"{where}: secret must be whsec_ and base64, as landfast init draws them") from None
            return WebhookSink(given.name, _address(text("url"), where), secret)
        case "pagerduty":
            from landfast.alerting.pagerduty import ENDPOINT, PagerDutySink

            url = _address(text("url"), where) if given.url else ENDPOINT
            return PagerDutySink(given.name, text("routing_key"), url)
    return _email(given, where, text("password") if given.password else "")


def _address(url: str, where: str) -> str:
    if not is_safe_address(url):  # not repeated: Slack's is a secret
        raise ConfigError(f"{where}: url must be an https address, or http to this very machine")
    return url


def _email(given: SinkSettings, where: str, password: str) -> Sink:
    from landfast.alerting.mail import EmailSink

    try:
        parts = urlsplit(given.server)
        is_whole = parts.scheme in SMTP_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ConfigError(f"{where}: server must be an address such as smtps://mail.example.com:465")
    if parts.password:
        raise ConfigError(f"{where}: server holds a password; write it as password = 'env:NAME'")
    return EmailSink(
        given.name,
        host=parts.hostname or "",
        port=parts.port or SMTP_PORTS[parts.scheme],
        sender=given.sender,
        to=given.to,
        is_tls=parts.scheme == "smtps",
        user=given.user,
        password=password,
    )


@asynccontextmanager
async def watching_alerts(
    settings: Settings, inbox: Inbox, clock: Clock, chance: Chance, *, is_standby: bool
) -> AsyncIterator[None]:
    """Look for alerts as long as this process runs. `is_standby`: only where nobody else does."""
    async with AsyncExitStack() as stack:
        if settings.alerts.enabled:
            plan, store = plan_of(settings), str(settings.store)
            await stack.enter_async_context(alerting(inbox, plan, clock, chance, is_standby=is_standby, store=store))
        yield
