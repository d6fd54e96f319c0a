"""The options that `serve`, `work` and `drain` share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from landfast.config.setting_keys import LOG
from landfast.telemetry import metrics
from landfast.telemetry.pages import Page

F = TypeVar("F", bound=Callable[..., Any])


def health_port_option(function: F) -> F:
    text = "Answer GET /health and GET /ready on this port of the setting `host`, for an orchestrator's probes."
    return click.option("--health-port", type=click.IntRange(1, 65535), metavar="PORT", help=text)(function)


def metrics_port_option(function: F) -> F:
    text = "Answer GET /metrics, for Prometheus, on this port of the setting `metrics_host`: the loopback by default."
    return click.option("--metrics-port", type=click.IntRange(1, 65535), metavar="PORT", help=text)(function)


def admin_port_option(function: F) -> F:
    text = "The admin API and its pages on this port of the setting `admin_host`: the loopback by default. 0: none."
    function = click.option("--no-admin", "admin_port", flag_value=0, type=int, help="No admin API.")(function)
    kind = click.IntRange(0, 65535)
    return click.option("--admin-port", "admin_port", type=kind, metavar="PORT", help=text)(function)


def log_option(function: F) -> F:
    text = "How the log is written; the setting `log` says unless this does."
    return click.option("--log", "form", type=click.Choice(LOG), help=text)(function)


def page_option(function: F) -> F:
    """The descriptor of the page that a process counts in; whoever starts it reads there."""
    return click.option("--page", type=int, hidden=True)(function)


def count_in(page: int | None) -> None:
    """Before anything is counted."""
    if page is not None:
        metrics.use(Page(page))
        os.close(page)
