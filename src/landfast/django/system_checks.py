"""`manage.py check` says what `landfast sources check` says, and whether handlers write where the ORM does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import connections

from landfast.app import Inbox
from landfast.app.sources_checkup import examine_sources
from landfast.django.discovery import find_inbox
from landfast.domain.errors import LandfastError
from landfast.recovery.doctor import Check, Level


def check_landfast(app_configs: object = None, **_: Any) -> Sequence[CheckMessage]:
    if app_configs is not None:
        return []  # another app alone is looked at
    try:
        inbox = find_inbox()
    except LandfastError as error:
        return [Error(str(error), id="landfast.E001")]
    return [*_of_handlers(inbox), *_of_sources(inbox), *_of_the_ledger(inbox)]


def _of_handlers(inbox: Inbox) -> Iterator[CheckMessage]:
    try:
        inbox.check_declared()
    except LandfastError as error:
        yield Error(str(error), id="landfast.E002")


def _of_sources(inbox: Inbox) -> Iterator[CheckMessage]:
    checks: Sequence[Check] = examine_sources(inbox.sources.values(), inbox.settings, now=inbox.clock.now().timestamp())
    for check in checks:
        sentence = f"{check.name}: {check.found}"
        if check.level is Level.FAIL:
            yield Error(sentence, hint=check.fix or None, id="landfast.E003")
        elif check.level is Level.WARN:
            yield CheckWarning(sentence, hint=check.fix or None, id="landfast.W001")


def _of_the_ledger(inbox: Inbox) -> Iterator[CheckMessage]:
    ledger = inbox.settings.ledger
    if ledger.scheme != "django":
        sentence = (
            f"ledger: it is {ledger}, and no database of Django's: what handlers write with the ORM is not undone"
        )
        hint = 'write Inbox(ledger="django:default"), or use tx alone in handlers'
        yield CheckWarning(f"{sentence} when they fail", hint=hint, id="landfast.W002")
        return
    alias = ledger.target.partition(":")[2]
    if alias not in connections:
        known = ", ".join(f"django:{each}" for each in connections)
        yield Error(f"ledger: there is no database {alias!r} in DATABASES; there are {known}", id="landfast.E004")
