"""What a proof of handlers needs to know of an Inbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from landfast.app.forwards import sending_nothing
from landfast.app.sources import profile_of
from landfast.domain.errors import UserError
from landfast.proving import Report, Sample, Subject, handler_named, prove_now, sample_for, sample_of_body

if TYPE_CHECKING:
    from landfast.app.inbox import Inbox
    from landfast.processing.handlers.registry import Handler
    from landfast.providers import Profile

SAMPLE_AGE = timedelta(days=2)
"""A sample is that old, so that whatever a handler writes of the present moment shows."""

Given = Sample | bytes | Mapping[str, Any] | None


def subject_of(inbox: Inbox) -> Subject:
    def profile(source: str) -> Profile:
        settings = inbox.sources.get(source)
        if settings is None:
            raise UserError(f"prove: there is no source {source!r} to take a sample of")
        return profile_of(settings)

    lifespans = inbox._lifespans  # noqa: SLF001 - of the same package
    return Subject(inbox.settings, sending_nothing(inbox), lifespans, inbox.clock, inbox.chance, profile)


def sample_given(subject: Subject, handler: Handler, given: Given) -> Sample:
    """A body of the user's, or what `landfast send` would send."""
    if isinstance(given, Sample):
        return given
    now = subject.clock.now() - SAMPLE_AGE
    profile = subject.profile_of(handler.source)
    if given is None:
        return sample_for(handler, profile, now=now)
    body = given if isinstance(given, bytes) else json.dumps(dict(given), separators=(",", ":")).encode()
    return sample_of_body(handler, profile, body, now=now)


def prove_one(subject: Subject, wanted: str | Callable[..., Any], given: Given, schema: str | None) -> Report:
    handler = handler_named(subject, wanted)
    return prove_now(subject, (handler, sample_given(subject, handler, given)), schema=schema)
