"""Whether a request is genuine, and all that there is to say about it: what `landfast verify-signature` prints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from landfast.cli.output import duration
from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.intake.diagnosis.case import Case
from landfast.intake.diagnosis.forensics import FIRST_MILLISECONDS, diagnose
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import KeyNeeded, Proven, Secret, Signature
from landfast.providers import Profile
from landfast.providers.catalogue import PROFILES
from landfast.providers.dedup import places_read, reads_type
from landfast.providers.locations import split_place
from landfast.providers.request import Request
from landfast.providers.schemes import Scheme
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme


@dataclass(frozen=True, slots=True)
class Question:
    source: Source
    head: Head
    body: bytes
    now: float | None = None
    """The time to judge at; unless it is given, or a tolerance, that of the signature itself."""
    tolerance: float | None = None
    others: Sequence[Source] = ()
    is_by_hand: bool = False
    """Whether it names a provider and secrets, and no source."""


def judge(asked: Question) -> dict[str, Any]:
    source, head, body = asked.source, asked.head, asked.body
    own = _signed_at(source, head, body)
    when: dict[str, Any] = {"provider": source.provider.name}
    if own is not None:
        age = (datetime.now(UTC).timestamp() if asked.now is None else asked.now) - own
        when |= {"signed_at": datetime.fromtimestamp(own, UTC), "age_seconds": round(age)}
    timed, at = _timed(asked, own)
    try:
        examined = examine(timed, head, body, now=at)
    except KeyNeeded as needed:
        reason = f"{needed}: the provider publishes it there; fetch it and give it with --secret"
        return {"valid": False, "reason": reason, "cause": "key-needed"} | when
    except UnverifiedError as error:
        others, known = asked.others, PROFILES.values()
        found = diagnose(Case(timed, head, body, at.timestamp(), others, known, is_by_hand=asked.is_by_hand))
        reason = found.sentence if found.cause != "unverified" else error.reason
        hints = "".join(f"; {hint}" for hint in _hints(source, found.cause))
        return {"valid": False, "reason": reason + hints, "cause": found.cause} | when
    notes = "; ".join([*_notes(source, head, examined), *_of_age(asked, own)])
    told = _genuine(examined) | ({"note": notes} if notes else {})
    return {"valid": True, **told} | when


def _timed(asked: Question, own: float | None) -> tuple[Source, datetime]:
    """The source with the tolerance that was asked for, and the time to judge at."""
    now = datetime.now(UTC)
    if asked.now is None and asked.tolerance is None:
        at = now if own is None else datetime.fromtimestamp(own, UTC)
        return replace(asked.source, tolerance=math.inf), at
    at = now if asked.now is None else datetime.fromtimestamp(asked.now, UTC)
    if asked.tolerance is None:
        return asked.source, at
    # Of 0 seconds, none is left: a source's 0 would mean what suits the provider.
    return replace(asked.source, tolerance=asked.tolerance or 1e-9), at


def _signed_at(source: Source, head: Head, body: bytes) -> float | None:
    """The request's own time; None where it has none that a clock could show."""
    try:
        presented = source.provider.present(head)
    except UnverifiedError:
        return None
    times = [_time_of(each) for each in (presented, *(each for _, each in presented.alternatives))]
    found = next((at for at in times if at is not None), None) or _written_inside(source, head, body)
    return found if found is not None and 0 < found < FIRST_MILLISECONDS else None


def _written_inside(source: Source, head: Head, body: bytes) -> float | None:
    """The time in the body. Not proven yet: it says at which time to judge, and nothing else."""
    return source.provider.signed_at(Proven(Secret("none", b""), Signature(), Request(head, body)))


def _time_of(signature: Signature) -> float | None:
    if signature.signed_at is not None or signature.lifetime is None:
        return signature.signed_at
    start, end = signature.lifetime
    return start or (end if math.isfinite(end) else None)


def _hints(source: Source, cause: str) -> Iterator[str]:
    """What was not said and may be why, and what a header should look like."""
    profile = source.provider
    if not isinstance(profile, Profile):
        return
    if cause == "malformed-header" and (form := _form(profile.scheme)):
        yield f"it should look like {form}"
    if profile.scheme.needs_url and not source.public_url:
        yield "the URL is signed too: give --url"
    for name, value in profile.given.items():
        if not value:
            yield f"{profile.name} needs --setting {name}=..."


def _form(scheme: Scheme) -> str:
    """A header with a signature, as the sender writes it: `Stripe-Signature: t=TIME,v1=HEX`."""
    scheme = scheme.schemes[0] if isinstance(scheme, AnyOf) else scheme
    if not isinstance(scheme, SignedScheme) or not scheme.signature.startswith("header:"):
        return ""
    header = scheme.signature.partition("|")[0].removeprefix("header:").strip()
    entry = (scheme.timestamp or "").removeprefix("entry:")
    first = f"{entry}TIME{scheme.separator}" if scheme.timestamp == f"entry:{entry}" else ""
    return f"{header}: {first}{scheme.prefix.replace('*', 'KEY')}{scheme.encoding.upper()}"


def _notes(source: Source, head: Head, examined: Examined) -> Iterator[str]:
    profile = source.provider
    if not isinstance(profile, Profile):
        return
    if profile.coverage == "no":
        yield "the signature does not cover the body: it proves the sender only"
    if profile.coverage == "checksum":
        yield "the signature covers only a checksum of the body: it proves the sender only"
    if any(not one.type for one in examined.identities):
        is_in_key = reads_type(profile.key) or profile.type in (places_read(profile.key) or ())
        for place in profile.type.partition("+")[0].split("|"):
            kind, name = split_place(place)
            if kind == "header" and head.headers.get(name.lower().encode()) is None:
                yield f"{'type and key need' if is_in_key else 'type needs'} the header {name}: give it with --header"
                return


def _of_age(asked: Question, own: float | None) -> Iterator[str]:
    """Judged at its own time: what a server would say to it now."""
    if own is None or asked.now is not None or asked.tolerance is not None:
        return
    now = datetime.now(UTC)
    try:
        examine(asked.source, asked.head, asked.body, now=now)
    except UnverifiedError:
        age = now.timestamp() - own
        away = f"it is {duration(age)} old" if age > 0 else f"it is of a time that comes in {duration(-age)}"
        yield f"landfast serve would refuse it now: {away}, and tolerance is {duration(asked.source.tolerance)}"


def _genuine(examined: Examined) -> dict[str, Any]:
    name = None if examined.secret is None else examined.secret.name
    fields: dict[str, Any] = {"reason": f"signed with secret {name!r}" if name else "a handshake that nobody signs"}
    if examined.greeting is not None:
        answer = examined.greeting.answer
        return fields | {
            "secret": name,
            "challenge": {
                "status": answer.status,
                "body": answer.body.decode("utf-8", "replace"),
                "content_type": answer.content_type.decode(),
                "headers": [[one.decode("latin-1") for one in pair] for pair in answer.headers],
            },
        }
    events = [
        {"key": one.key, "type": one.type, "occurred_at": one.occurred_at, "entity": one.entity}
        for one in examined.identities
    ]
    first = events[0] if events else {}
    return fields | {"secret": name, **first, "events": events}
