"""How far the change of a source's secret is: what is written, what the intakes have, and what each secret proved.

Nothing is changed by a look. Secrets stand in the settings and the environment, where a person puts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from landfast import config
from landfast.app.inbox import Inbox
from landfast.app.secret_rotation import both_until, next_reference, place_of, rotation, settings_lines
from landfast.app.source_listing import moment_of, reference_of
from landfast.app.sources import profile_of, secret_of
from landfast.config import SecretSettings, SourceSettings
from landfast.domain.errors import LandfastError
from landfast.domain.rates import Heartbeat

StepState = Literal["done", "now", "later"]


@dataclass(frozen=True, slots=True)
class SecretUse:
    name: str
    is_new: bool
    intakes: int
    """That have it."""
    deliveries: int
    """That it proved, since the intakes that are alive began."""
    first_used: datetime | None
    last_used: datetime | None
    until: datetime | None
    """When it ends by the settings."""


@dataclass(frozen=True, slots=True)
class Step:
    do: str
    state: StepState
    lines: Sequence[str] = ()
    found: str = ""
    """What was looked at, and how it is."""
    reloads: bool = False
    """Whether it is time that the servers read their settings anew."""


@dataclass(frozen=True, slots=True)
class Progress:
    source: str
    new: str
    """Where the new secret is, or will be."""
    intakes: int
    known_since: datetime | None
    """When the oldest of the intakes began: nobody knows of deliveries before."""
    secrets: Sequence[SecretUse]
    steps: Sequence[Step]
    is_over: bool


def progress(
    inbox: Inbox, settings: SourceSettings, processes: Sequence[Heartbeat], *, new: str | None, hours: float | None
) -> Progress:
    """`new` is where the new secret will be: the one that a change under way has, or the next free name, unless it is
    said. UserError where it cannot be there."""
    reference = new or _under_way(settings) or next_reference(settings)
    written, problem = _written(inbox, settings)
    is_named = reference in [secret.value for secret in (*settings.secrets, *written.secrets)]
    if not is_named:
        rotation(inbox, settings, new=reference, hours=hours, check="")  # for what it refuses
    told = [one for one in processes if one.is_alive and settings.name in one.doing.get("secrets", {})]
    secrets = list(_uses(settings, written, reference, told))
    seen = _Seen(inbox, settings, written, reference, both_until(inbox, settings, hours), secrets, len(told))
    found = [*_steps(seen, problem)]
    first = next((place for place, step in enumerate(found) if step.state != "done"), len(found))
    steps = [
        step if step.state == "done" or place == first else replace(step, state="later")
        for place, step in enumerate(found)
    ]
    return Progress(
        source=settings.name,
        new=reference,
        intakes=len(told),
        known_since=min((one.started_at for one in told), default=None),
        secrets=secrets,
        steps=steps,
        is_over=first == len(found),
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    inbox: Inbox
    settings: SourceSettings
    """As this process has them."""
    written: SourceSettings
    """As the file has them now."""
    reference: str
    until: datetime
    secrets: Sequence[SecretUse]
    intakes: int

    @property
    def new(self) -> SecretUse | None:
        return next((one for one in self.secrets if one.is_new), None)

    @property
    def old(self) -> Sequence[SecretUse]:
        return [one for one in self.secrets if not one.is_new and one.intakes]

    @property
    def is_live(self) -> bool:
        return self.new is not None and 0 < self.intakes == self.new.intakes


def _steps(seen: _Seen, problem: str) -> Iterator[Step]:
    profile = profile_of(seen.settings)
    title = profile.title or profile.name
    place = place_of(seen.inbox, seen.settings)
    is_named = _named(seen.written, seen.reference) is not None
    why_not = _why_not_there(seen)
    put = f"Have a new secret made at {title}, or choose one where {title} lets you. Put it into {seen.reference}."
    yield _step(put, not why_not or seen.is_live, found=why_not or "It is there, and has the form of a secret.")
    lines = settings_lines(seen.inbox, seen.written, seen.reference, seen.until)
    write = f"In {place}, replace secrets by these lines; until {seen.until:%Y-%m-%d %H:%M} UTC both count:"
    yield _step(write, is_named or seen.is_live, lines=() if is_named else lines, found=problem or _told_written(seen))
    yield _step(
        "Have landfast serve read its settings anew. No request is refused meanwhile.",
        seen.is_live,
        found=_told_live(seen),
        reloads=not seen.is_live and (is_named or seen.settings.name not in seen.inbox.settings.sources),
    )
    new, old = seen.new, seen.old
    is_alone = [secret.value for secret in seen.written.secrets] == [seen.reference]
    is_over = is_alone and seen.is_live and not old  # what was proved before is forgotten with the intakes that saw it
    is_used = is_over or (new is not None and new.deliveries > 0)
    yield _step(f"Let {title} sign with the new one.", is_used, found=_told_used(new))
    is_quiet = is_used and all(not _is_after(one, new) for one in old)
    yield _step("See that nothing comes by the old one any more.", is_quiet, found=_told_quiet(old, new))
    alone = settings_lines(seen.inbox, seen.written, seen.reference, None)
    yield _step(
        f"Take the old one away: in {place}, these lines are enough. Then have the settings read anew.",
        is_over,
        lines=() if is_alone else alone,
        found=("It is out of the settings" + "; the intakes still have it" * bool(old) + ".") if is_alone else "",
        reloads=is_alone and not is_over,
    )


def _step(do: str, is_done: bool, *, lines: Sequence[str] = (), found: str = "", reloads: bool = False) -> Step:  # noqa: FBT001
    return Step(do, "done" if is_done else "now", lines, found, reloads)


def _uses(
    settings: SourceSettings, written: SourceSettings, reference: str, told: Sequence[Heartbeat]
) -> Iterator[SecretUse]:
    named = _named(settings, reference) or _named(written, reference)
    rows = [(row, one) for one in told for row in one.doing["secrets"][settings.name]]
    names = dict.fromkeys(name for (name, *_), _ in rows)
    for name in names:
        mine = [row for row, _ in rows if row[0] == name]
        firsts, lasts = [row[2] for row in mine if row[2]], [row[3] for row in mine if row[3]]
        yield SecretUse(
            name=name,
            is_new=name == named,
            intakes=len(mine),
            deliveries=sum(int(row[1]) for row in mine),
            first_used=datetime.fromtimestamp(min(firsts), UTC) if firsts else None,
            last_used=datetime.fromtimestamp(max(lasts), UTC) if lasts else None,
            until=next((moment_of(one.end) for number, one in _numbered(settings) if number == name), None),
        )


def _numbered(settings: SourceSettings) -> list[tuple[str, SecretSettings]]:
    return [(secret.name or f"{number}", secret) for number, secret in enumerate(settings.secrets, start=1)]


def _named(settings: SourceSettings, reference: str) -> str | None:
    """What the secret at this place is called."""
    return next((name for name, secret in _numbered(settings) if secret.value == reference), None)


def _under_way(settings: SourceSettings) -> str | None:
    """The new one of a change that has begun: all others have an end, and it has none."""
    endless = [secret for secret in settings.secrets if moment_of(secret.end) is None]
    return reference_of(endless[0]) if len(settings.secrets) > 1 and len(endless) == 1 else None


def _written(inbox: Inbox, settings: SourceSettings) -> tuple[SourceSettings, str]:
    """As the file has it now, and what is wrong with the file. What stands in code is known when it is loaded."""
    if settings.name not in inbox.settings.sources or inbox.settings.file is None:
        return settings, ""
    try:
        return config.load(inbox.settings.file).sources.get(settings.name, settings), ""
    except LandfastError as error:
        return settings, str(error)


def _why_not_there(seen: _Seen) -> str:
    """What is wrong with the new secret, as this machine sees it: the sentence of whoever would refuse it."""
    if _named(seen.written, seen.reference) is None:
        secret = SecretSettings(value=seen.reference, name="new")
        settings = replace(seen.written, secrets=(secret,))
        number = 0
    else:
        settings = seen.written
        number = [one.value for one in settings.secrets].index(seen.reference)
    try:
        secret_of(settings, number, seen.inbox.settings.folder)
    except LandfastError as error:
        sentence = str(error).removeprefix(f"source {settings.name}: ").partition(": ")[2]
        if seen.reference.startswith("env:"):
            return f"{sentence}. Write it into .env beside the settings, or restart landfast serve with it."
        return sentence
    return ""


def _told_written(seen: _Seen) -> str:
    if _named(seen.written, seen.reference) is not None:
        return "The settings name it."
    if seen.settings.name not in seen.inbox.settings.sources:
        return "What stands in code is seen here once it was read anew."
    return "The settings do not name it yet."


def _told_live(seen: _Seen) -> str:
    if not seen.intakes:
        return "No intake is alive that could tell which secrets it has."
    have = seen.new.intakes if seen.new else 0
    return f"{have} of {seen.intakes} intakes {'has' if have == 1 else 'have'} it."


def _told_used(new: SecretUse | None) -> str:
    if new is None or not new.deliveries:
        return "No delivery has been proved by it yet."
    return f"{new.deliveries:,} {'delivery was' if new.deliveries == 1 else 'deliveries were'} proved by it."


def _told_quiet(old: Sequence[SecretUse], new: SecretUse | None) -> str:
    if new is None or not new.deliveries:
        return ""
    late = [one.name for one in old if _is_after(one, new)]
    if late:
        return f"Deliveries still come by {', '.join(late)}: a sender that tries again, or one that was forgotten."
    return "Since the new one was first used, none came by another."


def _is_after(old: SecretUse, new: SecretUse | None) -> bool:
    """Whether it was used since the new one was."""
    if old.last_used is None or new is None or new.first_used is None:
        return False
    return old.last_used >= new.first_used
