"""Forensics: why a signature was refused, for the operator's eyes only.

It runs after `verify` has refused, never before it and never instead: nothing here can let a request in, and nothing of
it reaches the sender. A stranger can cause it, so it is bounded: so many HMACs over so many bytes for a `case`, a few
cases a second in `reports`, and all of them in the one thread of `guesser`. What it says names secrets and sources; it
quotes no secret, no signature and nothing of a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.intake.diagnosis import guesses
from landfast.intake.diagnosis.case import Case, Diagnosis
from landfast.intake.verify import distance, greet, present
from landfast.ports.provider import Provider, Secret, Signature

LARGEST_BODY = 64 * 1024
"""Bytes of a body of which other readings are tried; see also `guesses.LARGEST_JSON`."""

MOST_SECRETS = 32
"""Of those that do not count: retired ones, other sources', other forms. Real configurations have a dozen."""

GUESSED_SECRETS = 4
"""Secrets that each guess is tried with; two are active while a sender changes over."""

FIRST_MILLISECONDS = 10**11
"""A unix time from here on is in milliseconds: as seconds it would be the year 5138."""


def diagnose(case: Case) -> Diagnosis:
    """Why this request was refused, as well as it can be known."""
    try:
        greet(case.source, case.head, now=case.now)
        signature = case.source.provider.present(case.head)
    except UnverifiedError as error:
        return _unpresented(case, error.reason)
    try:
        fresh = present(case.source, case.head, now=case.now)
    except UnverifiedError as error:
        return _untimely(case, signature, error.reason)
    if case.body is None:
        return Diagnosis("unverified", "the signature was not looked at")
    for explain in (_in_the_body, _another_secret, _another_url, _another_body, _another_form, _another_provider):
        found = explain(case, fresh)
        if found is not None:
            return found
    return _no_match(case)


def _unpresented(case: Case, reason: str) -> Diagnosis:
    """The head holds no signature that this provider could have written."""
    if "handshake" in reason:
        return Diagnosis("handshake-token", reason)
    for version, head in guesses.relabelled(case.head):
        if _is_presented(case.source.provider, head):
            ours = f"{case.source.provider.name} signs with another that we check"
            return Diagnosis("unknown-version", f"{reason}: it has only the version {version}, and {ours}")
    for has, wanted, head in guesses.respelt(case.head):
        if _is_presented(case.source.provider, head):
            secret = case.matching(_active(case), head=head)
            sure = f"; it is right otherwise, by secret {secret.name!r}" if secret else ""
            sentence = f"{reason}: it is written in {has}, and {case.source.provider.name} writes it in {wanted}"
            return Diagnosis("signature-encoding", sentence + sure, secret is not None)
    found = _other_source(case) or _another_provider(case, None)
    if found is not None:
        return found
    hint = ": it was not signed, or a proxy takes the header away" if "missing" in reason else ""
    return Diagnosis("no-header" if "missing" in reason else "malformed-header", reason + hint)


def _untimely(case: Case, signature: Signature, reason: str) -> Diagnosis:
    """Well formed, and of another time than ours."""
    signed_at = next((each.signed_at for each in _each(signature) if each.signed_at is not None), None)
    if signed_at is not None and signed_at > FIRST_MILLISECONDS:
        return Diagnosis("timestamp", f"{reason}: it looks like milliseconds where seconds were expected")
    secret = case.matching(_active(case), signature=signature)
    if secret is not None:
        is_late = signed_at is not None and signed_at < case.now
        why = f"a clock is off{', or it came very late' if is_late else ''}"
        more = f"the signature is right otherwise, by secret {secret.name!r}: {why}"
        return Diagnosis("timestamp", f"{reason}, and {_tolerance(case)}; {more}", is_ours=True)
    return Diagnosis("timestamp", f"{reason}, and {_tolerance(case)}")


def _in_the_body(case: Case, signature: Signature) -> Diagnosis | None:
    """Right as it stands: then it is the time in the signed body that is not."""
    proven = case.proven(case.source.active(case.now)[:MOST_SECRETS], signature=signature)
    if proven is None:
        return None
    at = case.source.provider.signed_at(proven)
    away = "is not one" if at is None else f"is {distance(at, case.now)}, and {_tolerance(case)}"
    return Diagnosis("timestamp", f"the time in the body {away}; the signature is right otherwise", is_ours=True)


def _another_secret(case: Case, signature: Signature) -> Diagnosis | None:
    active = case.source.active(case.now)
    idle = [secret for secret in case.source.secrets if secret not in active][:MOST_SECRETS]
    secret = case.matching(idle, signature=signature) if idle else None
    if secret is not None and secret.active_from > case.now:
        since = f"which counts only from {_time(secret.active_from)}"
        return Diagnosis("future-secret", f"it is signed with secret {secret.name!r}, {since}", is_ours=True)
    if secret is not None:
        until = f"which was retired at {_time(secret.retired_at)}"
        return Diagnosis("retired-secret", f"it is signed with secret {secret.name!r}, {until}", is_ours=True)
    owners = {id(secret): other for other in case.others for secret in other.secrets}
    strangers = [secret for other in case.others for secret in other.secrets][:MOST_SECRETS]
    secret = case.matching(strangers, signature=signature) if strangers else None
    if secret is not None:
        owner = owners[id(secret)].name
        sentence = (
            f"it is signed with secret {secret.name!r} of source {owner!r}: the secrets or the addresses are mixed up"
        )
        return Diagnosis("other-source", sentence, is_ours=True)
    return _other_source(case)


def _other_source(case: Case) -> Diagnosis | None:
    """All of it is as another source of ours has it."""
    for other in case.others:
        try:
            presented = other.provider.present(case.head)
        except UnverifiedError:
            continue
        active = other.active(case.now)[:GUESSED_SECRETS]
        if case.matching(active, signature=presented, provider=other.provider, url=other.public_url):
            sentence = f"it is signed as for source {other.name!r}: the sender has the address of this one instead"
            return Diagnosis("other-source", sentence, is_ours=True)
    return None


def _another_url(case: Case, signature: Signature) -> Diagnosis | None:
    if not case.source.public_url:
        return None
    base, _, registered = case.source.public_url.partition("?")
    query = f"?{case.head.query}" if case.head.query else ""
    own = [base] if case.head.query != registered else []
    for url in (*own, *guesses.urls(base, case.head)):
        if case.matching(_active(case), signature=signature, url=url + query):
            fix = f"{'--url' if case.is_by_hand else 'public_url'} says {case.source.public_url}"
            signed = url + query if registered or own else url
            return Diagnosis("wrong-url", f"it is signed for the address {signed}, and {fix}", is_ours=True)
    return None


def _another_body(case: Case, signature: Signature) -> Diagnosis | None:
    if case.body is None or len(case.body) > LARGEST_BODY:
        return None
    for guess in guesses.bodies(case.body):
        secret = case.matching(_active(case), signature=signature, body=guess.body)
        if secret is not None:
            fix = "something between the sender and us changes it, or the sender signs other bytes than it sends"
            sentence = f"the body is not the one that secret {secret.name!r} signed: {guess.what}; {fix}"
            return Diagnosis(guess.cause, sentence, is_ours=True)
    return None


def _another_form(case: Case, signature: Signature) -> Diagnosis | None:
    keys: dict[bytes, tuple[Secret, str]] = {}
    for secret, how, key in guesses.forms(_active(case)):
        if key and key != secret.key:
            keys.setdefault(key, (secret, how))
    found = case.matching([Secret("", key) for key in keys][:MOST_SECRETS], signature=signature)
    if found is None:
        return None
    secret, how = keys[found.key]
    sentence = f"it is signed with secret {secret.name!r} taken {how}: copy the secret again, or check the provider"
    return Diagnosis("secret-form", sentence, is_ours=True)


def _another_provider(case: Case, presented: Signature | None) -> Diagnosis | None:
    """What the head holds is the signature of another kind of sender."""
    own, alike = case.source.provider.name, []
    ours = set() if presented is None else _digests(presented)
    for provider in case.known:
        case.rest()  # the first to ask has their modules read
        signature = None if provider.name == own else _presented(provider, case.head)
        # Where ours is there and wrong, one in another header explains nothing: it is the older one of the same sender.
        if signature is None or (ours and ours.isdisjoint(_digests(signature))):
            continue
        if case.matching(_active(case), signature=signature, provider=provider):
            wrong = "--provider" if case.is_by_hand else "the source's provider"
            sentence = f"it is signed as {provider.name} does, with our secret: correct {wrong}, which is {own}"
            return Diagnosis("other-provider", sentence, is_ours=True)
        alike.append(provider.name)
    if not alike or _is_presented(case.source.provider, case.head):
        return None
    return Diagnosis("other-provider", f"its headers are not those of {own}, but those of {' or '.join(alike[:3])}")


def _no_match(case: Case) -> Diagnosis:
    names = ", ".join(repr(secret.name) for secret in case.source.active(case.now)[:GUESSED_SECRETS])
    if not names:
        return Diagnosis("no-secret-active", "no secret of the source counts now: look at from and until")
    reason = case.reasons[0] if case.reasons else "no active secret made any of the signatures"
    advice = "the secret is another, the body was changed, or it is forged"
    return Diagnosis("no-secret-matches", f"{reason} (tried {names}); {advice}")


def _active(case: Case) -> tuple[Secret, ...]:
    return case.source.active(case.now)[:GUESSED_SECRETS]


def _each(signature: Signature) -> Iterator[Signature]:
    yield signature
    for _, alternative in signature.alternatives:
        yield alternative


def _digests(signature: Signature) -> set[bytes]:
    return {digest for each in _each(signature) for digest in each.digests}


def _presented(provider: Provider, head: Head) -> Signature | None:
    """None also for what shows nothing: a sender that signs in its body has no sign of its own in the head."""
    try:
        signature = provider.present(head)
    except UnverifiedError:
        return None
    is_empty = all(each == _NOTHING for each in [each for _, each in signature.alternatives] or [signature])
    return None if is_empty else signature


_NOTHING = Signature()


def _is_presented(provider: Provider, head: Head) -> bool:
    return _presented(provider, head) is not None


def _tolerance(case: Case) -> str:
    return f"tolerance is {case.source.tolerance:.0f} s"


def _time(unix: float) -> str:
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
