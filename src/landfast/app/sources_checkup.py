"""The checkup of sources: will they be believed, and do they believe the right ones? Before a sender finds out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from landfast.app.exposure import examine_exposure
from landfast.app.sources import profile_of, source_of
from landfast.config import Settings, SourceSettings
from landfast.domain.delivery import NO_SIBLINGS, Siblings, siblings_in_words
from landfast.domain.endpoint import Endpoint, OnFailure
from landfast.domain.errors import LandfastError
from landfast.intake.source import Source
from landfast.ports.provider import PublicKey, Secret
from landfast.providers import Profile
from landfast.providers.coverage import unsigned_headers
from landfast.providers.dedup import places_read, reads_type
from landfast.providers.endpoint import LOOPBACK
from landfast.providers.mistaken_secrets import mistaken
from landfast.providers.secrets import SECRET_BYTES_AT_LEAST
from landfast.recovery.doctor import Check, Level

ENDS_SOON_SECONDS = 72 * 3600.0
"""Seconds: whoever is told on Friday that a secret ends can still act on Monday."""

LEAST_TOLERANCE, MOST_TOLERANCE = 60.0, 900.0
"""Seconds. Below, a sender whose clock drifts is refused; above, a captured request can be sent again at leisure."""


def examine_sources(declared: Iterable[SourceSettings], overall: Settings, *, now: float) -> Sequence[Check]:
    """For each source a line that says how it is, and one for each thing to know or to mend."""
    checks: list[Check] = []
    loaded: list[Source] = []
    known: list[tuple[SourceSettings, tuple[Secret, ...]]] = []
    for settings in declared:
        try:
            source = source_of(settings, overall)
        except LandfastError as error:
            sentence = str(error).removeprefix(f"source {settings.name}: ")
            checks.append(Check(f"source {settings.name}", Level.FAIL, sentence))
            continue
        loaded.append(source)
        known.append((settings, source.secrets))
        checks += _examined(source, settings, now)
    return [*checks, *_shared(loaded), *_of_https(overall), *examine_exposure(overall, known)]


def _examined(source: Source, settings: SourceSettings, now: float) -> Iterator[Check]:
    name, profile, active = f"source {source.name}", profile_of(settings), source.active(now)
    count = f"{len(active)} active {'secret' if len(active) == 1 else 'secrets'}"
    if source.endpoint is not None:
        yield from _of_the_endpoint(name, source.endpoint, profile)
    if not settings.secrets and source.endpoint is not None:
        return
    if active:
        yield Check(name, Level.OK, f"{profile.name}, {count}")
    else:
        yield Check(name, Level.FAIL, "no secret is active now", "give one whose from has come and whose until has not")
    yield from _mistaken(name, source, profile)
    if source.siblings is not None:
        yield _of_the_type(name, profile, source.siblings)
    warnings = (
        *_of_secrets(source, active, now),
        *_of_the_scheme(profile, binds_proofs=source.binds_proofs),
        *_of_the_key(settings, profile),
        *_of_time(settings, profile),
    )
    for found, fix in warnings:
        yield Check(name, Level.WARN, found, fix)


def _of_the_endpoint(name: str, endpoint: Endpoint, profile: Profile) -> Iterator[Check]:
    told = "the stored failure" if endpoint.failed is OnFailure.ANSWER else "a fresh run"
    found = f"endpoint {endpoint.path}: callers wait {endpoint.wait:g} s; a key that has failed gets {told}"
    yield Check(name, Level.OK, found)
    if profile.name == LOOPBACK:
        found = f"it asks for no proof: whoever runs a program on this machine can call {endpoint.path}"
        yield Check(name, Level.WARN, found, "give it secrets, unless all programs here may")
    elif profile.coverage == "yes" and unsigned_headers(profile.scheme, "header:Idempotency-Key"):
        captured = "who captured a call can send it again under another key, or to another endpoint with this secret"
        found = f"{profile.name} does not sign Idempotency-Key: {captured}"
        fix = "leave provider out: what it signs then has time, path and key in it; or let calls come over https only"
        yield Check(name, Level.WARN, found, fix)


def _mistaken(name: str, source: Source, profile: Profile) -> Iterator[Check]:
    """Another key of the same provider, where a secret is its text. Of those that are decoded, loading says it."""
    for secret in source.secrets:
        wrong = mistaken(profile.name, secret.key.decode("latin-1"))
        if wrong is not None:
            level = Level.FAIL if wrong.is_certain else Level.WARN
            found = f"secret {secret.name!r} begins with {wrong.begins}: it is {wrong.what}, and no signing secret"
            yield Check(name, level, found, f"give {wrong.wanted}")


def _of_secrets(source: Source, active: Sequence[Secret], now: float) -> Iterator[tuple[str, str]]:
    for secret in source.secrets:
        if len(secret.key) < SECRET_BYTES_AT_LEAST and not isinstance(secret.key, PublicKey):
            has, needs = len(secret.key), SECRET_BYTES_AT_LEAST
            found = f"secret {secret.name!r} has {has} bytes, and under {needs} it can be guessed"
            yield found, "set a longer one at the sender, and here"
    last = max((secret.retired_at for secret in source.secrets), default=math.inf)
    if active and last - now < ENDS_SOON_SECONDS:
        at = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%d %H:%MZ")
        yield f"its last secret ends at {at}: from then on all is refused", f"landfast sources rotate {source.name}"


def _of_the_scheme(profile: Profile, *, binds_proofs: bool) -> Iterator[tuple[str, str]]:
    if profile.coverage != "yes":
        parts = {"no": "does not cover the body", "checksum": "covers only a checksum of the body"}
        found = f"the signature of {profile.name} {parts[profile.coverage]}: it proves who sends, not what"
        if binds_proofs:
            found += "; another body under a known proof is held"
        yield found, "take https only, and ask the sender for what matters before you act on it"
    if "arrival" in profile.key:
        found = f"{profile.name} sends no id with some events, so every arrival is an event: a captured one runs again"
        yield found, "let the handler ask the sender what changed, so that being told twice does no harm"
    if not profile.proves_account:
        found = f"one key of {profile.name} signs for all of its clients: it does not prove the account"
        fix = "give the source a name that cannot be guessed, and check in the handler that the object is yours"
        yield found, fix
    if drops_refused(profile):
        found = f"{profile.name} drops for good what is answered with {profile.refusal} ({profile.redelivery.ends_on})"
        yield found, "give a new secret here before the sender signs with it; see landfast sources rotate"


def _of_the_type(name: str, profile: Profile, siblings: Siblings) -> Check:
    found = f"{profile.name} does not sign the type, which stands in {' or '.join(profile.unsigned_type)}"
    if siblings == NO_SIBLINGS:
        return Check(name, Level.OK, f"{found}: a known body under another type is held")
    fix = 'write unsigned_type = "hold" beside it if no two of its types ever have the same body'
    return Check(name, Level.WARN, f"{found}: a known body under another type is {siblings_in_words(siblings)}", fix)


def _of_the_key(settings: SourceSettings, profile: Profile) -> Iterator[tuple[str, str]]:
    """Of what the user chose. Those of the catalogue were looked at when they were written, and where nothing of the
    body is signed either, a header is no worse."""
    is_own = settings.described is not None or settings.dedup is not None
    if not is_own or profile.coverage == "no":
        return
    more = "who captured a request can send it again under another id, as a new event"
    fix = "take the key from what is signed, such as body:id, or the rule body"
    for place in places_read(profile.key) or ():
        for header in unsigned_headers(profile.scheme, place):
            yield f"the key stands in the header {header}, which is not signed: {more}", fix
    if profile.unsigned_type and reads_type(profile.key):
        yield f"the key is made of the type, which is not signed: {more.replace('id', 'type')}", fix


def drops_refused(profile: Profile) -> bool:
    """Whether the answer to a wrong signature is one after which the sender never comes again."""
    ends_on, _, spared = (profile.redelivery.ends_on or "").partition("other than")
    status = str(profile.refusal)
    return status not in spared and (status in ends_on or f"{status[0]}xx" in ends_on)


def _of_time(settings: SourceSettings, profile: Profile) -> Iterator[tuple[str, str]]:
    given = settings.tolerance
    if not given:
        return
    if math.isinf(profile.tolerance):
        found = f"tolerance is {given:g} s, and {profile.name} signs its retries with the time of the first attempt"
        yield f"{found}: they will be refused", "leave tolerance out"
    elif given < LEAST_TOLERANCE:
        yield f"tolerance is {given:g} s: a clock that drifts is refused", "leave tolerance out, or give 300"
    elif given > max(MOST_TOLERANCE, profile.tolerance):
        found = f"tolerance is {given:g} s: a captured request can be sent again for so long"
        yield found, "leave tolerance out, or give 300"


def _shared(sources: Sequence[Source]) -> Iterator[Check]:
    """Secrets that stand twice: who has the one can sign for the other."""
    owners: dict[bytes, tuple[str, str]] = {}
    for source in sources:
        for secret in source.secrets:
            if isinstance(secret.key, PublicKey):
                continue
            one = owners.setdefault(secret.key, (source.name, secret.name))
            if one != (source.name, secret.name):
                found = f"secret {secret.name!r} is the same as secret {one[1]!r} of source {one[0]}"
                fix = "give each its own, so that none can sign for the other"
                yield Check(f"source {source.name}", Level.WARN, found, fix)


def _of_https(overall: Settings) -> Iterator[Check]:
    if overall.https_only and not overall.trusted_proxies:
        found = "https_only is set, and no proxy is trusted to say that a request came over HTTPS"
        fix = "name the proxy in trusted_proxies; with landfast serve --tls-cert all is well"
        yield Check("https_only", Level.WARN, found, fix)
