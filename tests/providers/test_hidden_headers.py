"""Who reads the inbox finds nothing in it to prove a request with: neither a token nor a signature."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.intake.identify import kept_headers
from landfast.ports.provider import Hidden
from landfast.providers.custom import described
from tests.providers.victims import NAMES, Victim, victim


@pytest.mark.req("R12")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_of_a_genuine_request_is_refused_when_somebody_sends_it(name: str) -> None:
    one = victim(name)
    assert accepted(one, one.genuine.headers), "void: it is not genuine"
    stored = json.loads(kept_headers(Headers(one.genuine.headers), one.source.hidden_headers))
    if one.source.hidden_headers:
        assert not accepted(one, [(key.encode(), value.encode("latin-1")) for key, value in stored])


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_that_hides_no_header_is_proven_by_none(name: str) -> None:
    """Its proof is in the body or in the query: the one is kept with the body, which can be sealed, the other nowhere."""
    one = victim(name)
    if not one.source.hidden_headers:
        bare = [pair for pair in one.genuine.headers if pair[0] == b"content-type"]
        assert accepted(one, bare), "its proof is in a header after all"


def accepted(one: Victim, pairs: Sequence[tuple[bytes, bytes]]) -> bool:
    sent = one.genuine
    head = Head(sent.method, "/in/source", sent.query, Headers(pairs))
    try:
        signature = one.profile.present(head)
        one.profile.verify(signature, head, sent.body, one.source.secrets, url=one.source.public_url)
    except UnverifiedError:
        return False
    return True


def test_the_token_of_a_described_provider_is_dropped_under_whatever_name() -> None:
    profile = described("acme", {"scheme": "token", "token": "header:Acme-Auth", "key": "body:id", "type": "body:type"})
    kept = kept_headers(Headers([(b"Acme-Auth", b"very secret"), (b"Via", b"x")]), profile.hidden_headers)
    assert kept == b'[["via","x"]]'
    assert profile.hidden_headers == {b"acme-auth": Hidden.DROPPED}
