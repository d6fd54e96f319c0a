"""Forgeries, by the hundred thousand: 0 accepted, 0 exceptions that are not a refusal, bounded time each."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import KeyNeeded, PublicKey, Secret
from landfast.providers.catalogue import PROFILES
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.signing import signed_request
from tests.providers.forgeries import campaign
from tests.providers.keypairs import form_of
from tests.providers.mutations import MUTATIONS
from tests.providers.oracle import NOW, Sent, signing_scheme
from tests.providers.victims import NAMES, PUBLIC_URL, QUERY, Victim, sent_of, victim

SEED = int(os.environ.get("LANDFAST_SEED", "4"))
IN_ALL = 100_000
CHUNKS = 8
EACH = -(-IN_ALL // len(NAMES))
SHARED = b"user:one secret for all senders"
AT = datetime.fromtimestamp(NOW, UTC)

BITES_SELDOM = 0.35
"""Of all cases, at most: those in which nothing that is signed was changed. More, and the campaign would be a toy."""


@pytest.mark.req("R1", "R2")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_forgery_is_accepted_and_none_raises_or_takes_long(chunk: int) -> None:
    names = NAMES[chunk::CHUNKS]
    report = campaign(names, count=EACH, seed=SEED)
    print(f"seed {SEED}; again: python -m tests.providers.forgeries --seed {SEED}\n{report}")
    assert not report.failures, "\n".join(report.failures)
    assert report.refused.total() >= EACH * len(names)
    assert report.genuine.total() < BITES_SELDOM * report.refused.total()


def test_every_kind_of_forgery_is_made_and_refused() -> None:
    report = campaign(
        ["stripe", "hubspot", "aws-sns", "adyen", "netlify", "paddle-classic", "openai"], count=150, seed=SEED
    )
    assert not report.failures, "\n".join(report.failures)
    assert [name for name in MUTATIONS if not report.refused[name]] == []


@pytest.mark.req("R1", "R2")
def test_what_was_signed_for_one_provider_is_refused_by_every_other_that_signs_otherwise() -> None:
    """One secret for all of them, as nobody should have it; providers of the very same scheme are left out."""
    tried, wrong = 0, []
    for sender in PROFILES:
        sent = _from(sender)
        for receiver in PROFILES:
            if sender == receiver or _sign_alike(sender, receiver):
                continue
            tried += 1
            if _is_accepted(receiver, sent):
                wrong.append(f"what {sender} sent, by {receiver}")
    print(f"{tried} requests sent to another provider")
    assert wrong == []
    assert tried > 10_000


@pytest.mark.req("R2")
@pytest.mark.parametrize("name", PROFILES)
def test_an_empty_or_blank_secret_is_no_secret(name: str) -> None:
    target = victim(name)
    blank = ("", " ", "\t", "\n", " \r\n ", "\u00a0")
    for text in (*blank, "whsec_", "whsec_ ") if form_of(name) == "base64" else blank:
        with pytest.raises(ConfigError):
            target.profile.decode_secret(text)
    assert not _is_accepted_with(target, target.genuine, Secret("empty", b""))
    for key in (b"", b" ", b"\0"):
        forged = _signed_with(target, key)
        assert forged is None or not _is_accepted_with(target, forged, *target.source.secrets), key
    empty = _signed_with(target, b"")
    assert empty is None or not _is_accepted_with(target, empty, Secret("empty", b""))


@cache
def _from(name: str) -> Sent:
    target = victim(name)
    if isinstance(target.key, PublicKey):
        return target.genuine
    made = _signed_with(target, SHARED)
    assert made is not None
    return made


def _signed_with(target: Victim, key: bytes) -> Sent | None:
    """A sample that its own signer made with this key; None for a private one."""
    if isinstance(target.key, PublicKey):
        return None
    body = target.genuine.body
    draft = signed_request(target.profile, body, Secret("any", key), now=NOW, url=f"{PUBLIC_URL}?{QUERY}")
    return sent_of(draft)


def _is_accepted(receiver: str, sent: Sent) -> bool:
    target = victim(receiver)
    secrets = target.source.secrets if isinstance(target.key, PublicKey) else (Secret("shared", SHARED),)
    return _is_accepted_with(target, sent, *secrets)


def _is_accepted_with(target: Victim, sent: Sent, *secrets: Secret) -> bool:
    source = Source("source", target.profile, secrets, public_url=f"{PUBLIC_URL}?{QUERY}")
    try:
        return examine(source, sent.head(), sent.body, now=AT).secret is not None
    except (UnverifiedError, KeyNeeded):
        return False


def _sign_alike(sender: str, receiver: str) -> bool:
    signed = _bare(signing_scheme(victim(sender).profile))
    return any(signed == _bare(each) for each in victim(receiver).schemes)


def _bare(scheme: Any) -> Any:
    """Without what says how the secret is shown, which is the same secret here."""
    return replace(scheme, secret="text", is_json=False) if isinstance(scheme, SignedScheme) else scheme
