"""How to change a source's secret without refusing one request, step by step. Nothing is changed by it: secrets stand
in the settings and the environment."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from landfast.app.inbox import Inbox
from landfast.app.source_listing import moment_of, reference_of
from landfast.app.sources import profile_of
from landfast.config import FILE, SecretSettings, SourceSettings
from landfast.domain.errors import UserError

LONGEST_HOURS = 10 * 365 * 24.0
"""That anybody may mean; the calendar ends, too."""

OVERLAP_HOURS = 24.0
"""Hours that two secrets overlap at least: time to find out what was forgotten, on one working day."""


def rotation(
    inbox: Inbox, settings: SourceSettings, *, new: str | None, hours: float | None, check: str
) -> dict[str, Any]:
    """`new` is where the new secret will be, `hours` how long both count, `check` the command that checks it."""
    source = settings.name
    if not settings.secrets:
        raise UserError(
            f"sources rotate: {source} asks for no proof (provider {settings.provider}), so it has no secret"
        )
    if new is not None and not re.fullmatch(r"(env|file):\S+", new):
        raise UserError(
            "sources rotate: --new must be env:NAME or file:PATH; a secret itself would stay in your history"
        )
    if new in [secret.value for secret in settings.secrets]:
        raise UserError(f"sources rotate: --new {new} is where a secret of {source} is now; name another place")
    if hours is not None and not hours > 0:
        raise UserError(
            f"sources rotate: --hours {hours:g} leaves no time in which both count; give 24, or leave it out"
        )
    if hours is not None and hours > LONGEST_HOURS:
        raise UserError(f"sources rotate: --hours {hours:g} is more than ten years; give 24, or leave it out")
    until = both_until(inbox, settings, hours)
    return _plan(inbox, settings, new or next_reference(settings), until, check=check)


def both_until(inbox: Inbox, settings: SourceSettings, hours: float | None) -> datetime:
    """The end of the old one, if the change begins now."""
    window = profile_of(settings).redelivery.window or 0.0
    overlap = max(OVERLAP_HOURS, math.ceil(window / 3600)) if hours is None else hours
    return (inbox.clock.now() + timedelta(hours=overlap)).replace(microsecond=0)


def next_reference(settings: SourceSettings) -> str:
    """The last secret's place with a number: STRIPE_SECRET, STRIPE_SECRET_2, STRIPE_SECRET_3."""
    last = reference_of(settings.secrets[-1])
    if last is None:
        return f"env:{re.sub(r'[^A-Z0-9]', '_', settings.name.upper())}_SECRET_2"
    found = re.fullmatch(r"(.*?)_(\d+)", last)
    return f"{found[1]}_{int(found[2]) + 1}" if found else f"{last}_2"


def _plan(inbox: Inbox, settings: SourceSettings, reference: str, until: datetime, *, check: str) -> dict[str, Any]:
    profile = profile_of(settings)
    where, lines = place_of(inbox, settings), settings_lines(inbox, settings, reference, until)
    after = f"{until:%Y-%m-%dT%H:%M:%SZ}"
    title = profile.title or profile.name
    steps = [
        _step(f"Have a new secret made at {title}, or choose one where {title} lets you. Put it into {reference}."),
        _step(f"In {where}, replace secrets by these lines; until {after} both count:", *lines),
        _step("Check it, then restart landfast serve: secrets are read at its start.", check),
        _step(f"Let {title} sign with the new one, before {after}."),
        _step(
            "Watch the log: each secret in use is named once an hour. When only the new one is, take the old one away.",
            f"secret in use source={settings.name} secret={_name(reference)}",
        ),
    ]
    return {"source": settings.name, "until": until, "new": reference, "lines": lines, "steps": steps}


def place_of(inbox: Inbox, settings: SourceSettings) -> str:
    """Where its secrets are named: `landfast.toml, [sources.stripe]`."""
    if settings.name in inbox.settings.sources:
        return f"{os.environ.get('LANDFAST_CONFIG', FILE)}, [sources.{settings.name}]"
    return f"the code, where {_declared(settings)} stands"


def settings_lines(inbox: Inbox, settings: SourceSettings, reference: str, until: datetime | None) -> list[str]:
    """Those that count now beside the new one, until then; or the new one alone."""
    now = inbox.clock.now().timestamp()
    write = _toml if settings.name in inbox.settings.sources else _python
    if until is None:
        return write([], reference, inbox.clock.now())
    others = [one for one in enumerate(settings.secrets, start=1) if one[1].end > now and one[1].value != reference]
    return write(others, reference, until)


def _declared(settings: SourceSettings) -> str:
    if settings.endpoint is not None:
        return f"@inbox.endpoint({settings.path!r}, ...)"
    return f"inbox.source({settings.name!r}, ...)"


def _step(do: str, *lines: str) -> dict[str, Any]:
    return {"do": do, "lines": lines}


def _toml(kept: Sequence[tuple[int, SecretSettings]], reference: str, until: datetime) -> list[str]:
    rows = []
    for number, secret in kept:
        start = moment_of(secret.start)
        value = reference_of(secret) or "(the secret that stands there now)"
        fields = [f'value = "{value}"', f'name = "{secret.name or number}"']
        fields += [f"from = {start:%Y-%m-%dT%H:%M:%SZ}"] if start else []
        rows.append(f"    {{ {', '.join([*fields, f'until = {_earlier(secret, until):%Y-%m-%dT%H:%M:%SZ}'])} }},")
    return ["secrets = [", *rows, f'    {{ value = "{reference}", name = "{_name(reference)}" }},', "]"]


def _python(kept: Sequence[tuple[int, SecretSettings]], reference: str, until: datetime) -> list[str]:
    rows = []
    for number, secret in kept:
        value = reference_of(secret) or "(the secret that stands there now)"
        end = f'datetime.fromisoformat("{_earlier(secret, until).isoformat()}")'
        rows.append(f'    {{"value": "{value}", "name": "{secret.name or number}", "until": {end}}},')
    first = "from datetime import datetime  # at the top of the file"
    return [
        *([first] if rows else []),
        "secrets=[",
        *rows,
        f'    {{"value": "{reference}", "name": "{_name(reference)}"}},',
        "],",
    ]


def _earlier(secret: SecretSettings, until: datetime) -> datetime:
    """One that ends before, ends as it does."""
    return min(until, moment_of(secret.end) or until)


def _name(reference: str) -> str:
    return reference.partition(":")[2].rpartition("/")[2].lower().replace("_", "-")
