"""Every way to sign in the catalogue, for any body and any time: what is signed is verified, and one bit more is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landfast.domain.errors import UnverifiedError
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import KeyNeeded
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import pair, sender_secret
from tests.providers.oracle import NOW, Sent, is_genuine, is_timely
from tests.providers.victims import NAMES, PUBLIC, PUBLIC_URL, QUERY, Victim, sent_of, victim

PER_TEST = 400
"""Examples; there are about seventy different ways to sign."""


def _ways() -> list[str]:
    """One provider for each different scheme."""
    return list({repr(victim(name).profile.scheme): name for name in reversed(NAMES)}.values())


WAYS = _ways()

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=8), below, max_size=4),
    max_leaves=8,
)
json_bodies = st.dictionaries(st.text(max_size=8), json_values, max_size=5).map(
    lambda data: json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
)
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
form_bodies = st.dictionaries(words, words, min_size=1, max_size=6).map(lambda data: urlencode(data).encode())
ids = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=30)
times = st.integers(1_000_000_000, 4_000_000_000).map(float)


def bodies(target: Victim, at: float) -> st.SearchStrategy[bytes]:
    """What this provider could sign: any bytes, unless the signature or what it covers stands in the body."""
    scheme, profile = target.schemes[0], target.profile
    place = str(getattr(scheme, "signature", None) or getattr(scheme, "token", ""))
    if target.name == "aws-sns" or place.startswith(("body:", "item:")) or "{form:" in getattr(scheme, "content", ""):
        return ids.map(lambda id_: sample(profile, id=id_, now=at))
    if profile.samples[0].is_form:
        return form_bodies
    if getattr(scheme, "is_json", False) or profile.greets:
        return json_bodies
    return st.binary(min_size=1, max_size=200) | json_bodies


def signed(target: Victim, body: bytes, at: float) -> Sent:
    secret = pair(PUBLIC[target.name])[0] if target.name in PUBLIC else sender_secret(target.name)
    draft = signed_request(target.profile, body, secret, now=at, url=f"{PUBLIC_URL}?{QUERY}")
    return sent_of(draft)._replace(now=at)


def taken(target: Victim, sent: Sent) -> Examined:
    return examine(target.source, sent.head(), sent.body, now=datetime.fromtimestamp(sent.now, UTC))


def is_refused(target: Victim, sent: Sent) -> bool:
    try:
        return taken(target, sent).secret is None
    except (UnverifiedError, KeyNeeded):
        return True


@pytest.mark.req("R1", "R2", "R54")
@settings(max_examples=PER_TEST, deadline=None)
@given(st.sampled_from(WAYS), times, st.data())
def test_whatever_is_signed_is_verified_at_its_time_and_refused_at_another(
    name: str, at: float, data: st.DataObject
) -> None:
    target = victim(name)
    sent = signed(target, data.draw(bodies(target, at)), at)
    assert taken(target, sent).secret in target.source.secrets
    if not is_timely(target.profile, NOW + 10**8) and target.profile.signed_at_place is None:
        for later in (10**8, max(10**5, target.profile.tolerance + 61), target.profile.tolerance + 62):
            assert is_refused(target, sent._replace(now=at + later))
            assert is_refused(target, sent._replace(now=max(0.0, at - later)))


@pytest.mark.req("R1", "R2")
@settings(max_examples=2 * PER_TEST, deadline=None)
@given(st.sampled_from(WAYS), st.data())
def test_any_single_bit_of_what_is_signed_and_of_the_signature_is_noticed(name: str, data: st.DataObject) -> None:
    target = victim(name)
    genuine = signed(target, data.draw(bodies(target, NOW)), NOW)
    forged = data.draw(one_bit(target, genuine))
    assert is_refused(target, forged) or is_genuine(target.profile, genuine, forged)


@pytest.mark.req("R1")
@settings(max_examples=PER_TEST, deadline=None)
@given(st.sampled_from(WAYS), st.data())
def test_no_bytes_make_a_scheme_raise_anything_but_a_refusal(name: str, data: st.DataObject) -> None:
    target = victim(name)
    noise = st.binary(max_size=60) | st.text(max_size=30).map(str.encode)
    headers = tuple((key, data.draw(noise)) for key, _ in target.genuine.headers)
    sent = Sent(
        headers,
        data.draw(noise | json_bodies | form_bodies),
        data.draw(st.text(st.characters(max_codepoint=255), max_size=30)),
    )
    assert is_refused(target, sent) or not target.covered


@st.composite
def one_bit(draw: Any, target: Victim, genuine: Sent) -> Sent:
    """The request with one bit changed: of its body, its query, or a header that is covered."""
    spots = ["body"] if genuine.body and "body" in target.covered else []
    spots += ["query"] if "query" in target.covered else []
    names = [genuine.headers[at][0] for at in target.covered_headers if at < len(genuine.headers)]
    spot = draw(st.sampled_from([*spots, *names]))
    if spot == "body":
        return genuine._replace(body=_flipped(draw, genuine.body))
    if spot == "query":
        return genuine._replace(query=_flipped(draw, genuine.query.encode()).decode("latin-1"))
    pairs = [(key, _flipped(draw, value) if key == spot else value) for key, value in genuine.headers]
    return genuine._replace(headers=tuple(pairs))


def _flipped(draw: Any, text: bytes) -> bytes:
    # Drawn from a fixed range: the lengths of ECDSA signatures differ from run to run.
    at = draw(st.integers(0, 9_999)) % len(text)
    return text[:at] + bytes([text[at] ^ 1 << draw(st.integers(0, 7))]) + text[at + 1 :]
