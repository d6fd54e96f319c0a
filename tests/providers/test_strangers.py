"""Nothing of a stranger's body is decoded but the fields that his proof stands in."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.body import form_pairs
from landfast.domain.delivery import Identity
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.intake.verify import present, verify
from landfast.ports.provider import KeyNeeded
from landfast.providers.catalogue import PROFILES
from landfast.providers.schemes.signed import SignedScheme
from tests.providers.arrivals import event, is_refused
from tests.providers.arrivals import sent as sent_to
from tests.providers.hostile import hostile, stranger
from tests.providers.oracle import NOW
from tests.providers.victims import victim

MOST_COPIES = 6
"""Of the body, in memory at once while it is verified: as raw bytes, with its escapes, without them, as text. Decoded,
what is here takes 10 to 30 times its size."""


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", PROFILES)
def test_no_body_is_decoded_before_it_is_proven(name: str) -> None:
    each = victim(name)
    source = stranger(each)
    for what, sent in hostile(each):
        head = sent.head()
        tracemalloc.start()
        try:
            with pytest.raises((UnverifiedError, KeyNeeded)):
                verify(source, present(source, head, now=NOW), head, sent.body, now=NOW)
            copies = tracemalloc.get_traced_memory()[1] / len(sent.body)
        finally:
            tracemalloc.stop()
        assert copies < MOST_COPIES, f"{what}: {copies:.1f} times the size of the body"


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["mailgun", "dropbox-sign", "aws-sns", "adyen"])
def test_of_a_field_that_stands_twice_the_last_counts_for_the_proof_and_for_the_event(name: str) -> None:
    """Whether it is signed or not: what is read first, to turn strangers away, decides nothing else."""
    genuine = sent_to(name)
    for field in json.loads(genuine.body):
        for other in (b"[[],[]]", b'"text"', b"7", b"null", b"{}"):
            again = b'"%b":%b' % (field.encode(), other)
            before = replace(genuine, body=b"{" + again + b"," + genuine.body[1:])
            assert event(name, before) == event(name, genuine)
            behind = replace(genuine, body=genuine.body[:-1] + b"," + again + b"}")
            whole = replace(genuine, body=json.dumps(json.loads(behind.body)).encode())
            assert is_refused(name, behind) == is_refused(name, whole)
            if not is_refused(name, whole):
                assert _told(event(name, behind)) == _told(event(name, whole))


def _told(identity: Identity) -> object:
    """Without the key, which may be the digest of a spelling."""
    return identity.type, identity.entity, identity.occurred_at


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["mailgun", "dropbox-sign", "aws-sns"])
def test_a_body_that_is_right_where_the_proof_stands_and_deeper_than_we_read_is_refused(name: str) -> None:
    """A stale one, too: its time is not read from what nobody decodes."""
    genuine = sent_to(name)
    assert not is_refused(name, genuine)
    for junk in (b"[" * 100 + b"]" * 100, b"[" * 100_000, b'"\xff"', b"[1,]"):
        assert is_refused(name, replace(genuine, body=genuine.body[:-1] + b',"junk":' + junk + b"}"))


@given(
    st.lists(
        st.sampled_from(
            [b"a", b"b", b"=", b"&", b"+", b"%", b"%4", b"%41", b"%e9", b"%C3%a9", b"%\n", b"%\r", b"\xff", b"_"]
        ),
        max_size=12,
    )
)
def test_a_form_is_read_as_everybody_reads_it(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    read = parse_qsl(body.decode("latin-1"), keep_blank_values=True, encoding="latin-1", max_num_fields=1000)
    assert form_pairs(body) == [(name.encode("latin-1"), value.encode("latin-1")) for name, value in read]


@pytest.mark.parametrize("place", ["body:*.signature", "body:signatures.0", "item:proofs.0.value"])
def test_a_proof_stands_where_it_can_be_found_without_decoding_the_rest(place: str) -> None:
    with pytest.raises(ConfigError, match="cannot be part of a proof"):
        SignedScheme(signature=place, items="body:events" if place.startswith("item") else None)
