"""Alerts and messages as rows: the same columns in every driver, with its own kind of times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

from landfast.domain.alerts.alert import Alert, AlertName, Severity
from landfast.domain.message import Message, WaitingMessage
from landfast.domain.text import storable

Times = Callable[[Any], Any]


def _as_it_is(moment: Any) -> Any:
    return moment


def alert_row(alert: Alert, when: Times = _as_it_is) -> tuple[Any, ...]:
    """In the order of `alert_save.sql`."""
    texts = (alert.incident, alert.name, alert.subject, alert.severity, alert.sentence, alert.fix)
    figures = msgspec.json.encode(dict(alert.figures)).decode()
    told = None if alert.told_at is None else when(alert.told_at)
    resolved = None if alert.resolved_at is None else when(alert.resolved_at)
    times = (when(alert.since), when(alert.seen_at), told, alert.told, resolved)
    return (*map(storable, map(str, texts)), storable(figures), *times)


def alert_of(row: Iterable[Any], moment: Callable[[Any], datetime] = _as_it_is) -> Alert:
    incident, name, subject, severity, sentence, fix, figures, since, seen_at, told_at, told, resolved_at = row
    return Alert(
        incident=incident,
        name=AlertName(name),
        subject=subject,
        severity=Severity(severity),
        sentence=sentence,
        fix=fix,
        figures=msgspec.json.decode(figures),
        since=moment(since),
        seen_at=moment(seen_at),
        told_at=None if told_at is None else moment(told_at),
        told=told,
        resolved_at=None if resolved_at is None else moment(resolved_at),
    )


def message_of(row: Iterable[Any], moment: Callable[[Any], datetime] = _as_it_is) -> WaitingMessage:
    id_, sink, content, incident, kind, made_at, tries, error, given_up_at, *_ = row
    return WaitingMessage(
        Message(id_, sink, content, incident, kind),
        made_at=moment(made_at),
        tries=tries,
        error=error,
        given_up_at=None if given_up_at is None else moment(given_up_at),
    )
