"""Nothing of a stranger's body is decoded but the fields that his proof stands in."""

from __future__ import annotations

import contextlib
import gc
import json
import re
import sys
import tracemalloc
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.delivery import Identity
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.domain.form import MOST_BROKEN_TEXT, MOST_STRAY_SIGNS, form_pairs, form_texts, named_pairs
from landfast.domain.json_limits import MOST_UNPROVEN_MARKS as MARKS
from landfast.intake.verify import present, verify
from landfast.ports.provider import KeyNeeded
from landfast.providers.catalogue import PROFILES
from landfast.providers.items import MOST_ITEMS, slicer
from landfast.providers.outline import outline
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.skim import items_skimmer, skimmer
from tests.providers.arrivals import event, is_refused
from tests.providers.arrivals import sent as sent_to
from tests.providers.hostile import hostile, stranger
from tests.providers.oracle import NOW
from tests.providers.victims import victim

NAMES = st.sampled_from(["a", "b", "c", "d", "value"])

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
@pytest.mark.parametrize("name", PROFILES)
def test_a_refused_body_is_let_go_of_at_once(name: str) -> None:
    """And not when the garbage is collected: until then there may be hundreds of them."""
    each = victim(name)
    source, sent = stranger(each), each.genuine._replace(body=each.genuine.body + b" " * 1000)
    before = sys.getrefcount(sent.body)
    gc.disable()
    try:
        with contextlib.suppress(UnverifiedError, KeyNeeded):
            verify(source, present(source, sent.head(), now=NOW), sent.head(), sent.body, now=NOW)
        after = sys.getrefcount(sent.body)
        assert after == before
    finally:
        gc.enable()


_scalars = st.sampled_from(["x", "", 7, 1.5, True, None])
_shapes = st.recursive(_scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4))


@given(st.lists(st.tuples(NAMES, _shapes), max_size=4))
def test_what_is_skimmed_is_what_the_outline_of_a_body_has(fields: list[tuple[str, Any]]) -> None:
    """Whatever shape a field has, and however often it stands there."""
    body = b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), json.dumps(value).encode()) for name, value in fields)
    places = ["body:a", "body:b.c", "body:b.a.d", "body:c"]
    assert skimmer(places, "body")(body) == outline([place[5:].split(".") for place in places])(body)


@given(
    st.lists(_shapes, max_size=4),
    st.sampled_from([b'{"b":{"a":%b}}', b'{"b":{"a":1},"b":{"a":%b}}', b'{"b":%b}', b"%b"]),
)
def test_what_is_skimmed_of_items_is_what_each_of_them_has(items: list[Any], around: bytes) -> None:
    body = around % json.dumps(items).encode()
    cut = slicer("body:b.a")(body)
    read = items_skimmer("body:b.a", ["item:c.d", "item:a"])
    assert read is not None
    skimmed = read(body)
    if cut is None:
        assert skimmed is None
    else:
        assert [each if isinstance(each, dict) else None for each in skimmed] == [
            outline([["c", "d"], ["a"]])(item.body) for item in cut
        ]


def test_more_items_than_anybody_sends_are_told_apart() -> None:
    read = items_skimmer("body:value", ["item:a"])
    assert read is not None
    for count in (0, 1, MOST_ITEMS, MOST_ITEMS + 1, MOST_ITEMS + 9):
        assert len(read(b'{"value":[%b]}' % b",".join([b"{}"] * count))) == min(count, MOST_ITEMS + 1)


@pytest.mark.parametrize("name", ["mailgun", "dropbox-sign", "aws-sns", "microsoft-graph"])
def test_a_large_body_is_taken_that_has_no_more_marks_than_an_event(name: str) -> None:
    genuine = sent_to(name)
    for junk, is_taken in ((b'"%b"' % (b"x" * 2 * MARKS), True), (b"[%b0]" % (b"0," * (2 * MARKS)), False)):
        more = replace(genuine, body=genuine.body[:-1] + b',"junk":' + junk + b"}")
        assert is_refused(name, more) != is_taken


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
    ),
    st.sampled_from([0, MOST_STRAY_SIGNS + 1]),
)
def test_a_form_is_read_as_everybody_reads_it(pieces: list[bytes], escapes: int) -> None:
    """One of many escapes by another reader, which takes none that is not escaped as it should be."""
    body = b"".join(pieces) + b"%2B" * escapes
    if escapes and re.search(rb"%(?![0-9A-Fa-f]{2})", body):
        with pytest.raises(ValueError, match="not escaped"):
            form_pairs(body)
        return
    read = parse_qsl(body.decode("latin-1"), keep_blank_values=True, encoding="latin-1", max_num_fields=1000)
    assert form_pairs(body) == [(name.encode("latin-1"), value.encode("latin-1")) for name, value in read]


@given(
    st.lists(st.sampled_from([b"a", b"ab", b"=", b"&", b"+", b"%61", b"%62=", b"%4", b"=%41&", b"&&"]), max_size=12),
    st.sampled_from([0, MOST_STRAY_SIGNS + 1]),
)
def test_some_fields_of_a_form_are_those_that_all_of_it_has(pieces: list[bytes], escapes: int) -> None:
    body = b"".join(pieces) + b"&ab=" + b"%2B" * escapes
    for names in ({b"a"}, {b"ab", b"b"}, {b"A", b"a "}, set[bytes]()):
        try:
            expected = [pair for pair in form_pairs(body) if pair[0] in names]
        except ValueError:  # a field that nobody looks into may be escaped in any way
            continue
        assert named_pairs(body, names) == expected


def test_a_form_of_more_fields_than_its_sender_signs_is_not_looked_into() -> None:
    assert form_pairs(b"&a=1&&b=2&", 2) == [(b"a", b"1"), (b"b", b"2")]
    with pytest.raises(ValueError, match="more fields"):
        form_pairs(b"a=1&b=2&c=%", 2)


def test_a_form_of_much_that_is_no_text_is_not_read() -> None:
    assert form_texts([(b"a", b"\xff" * 9)]) == [("a", "\ufffd" * 9)]
    with pytest.raises(ValueError, match="UTF-8"):
        form_texts([(b"a", b"\xff" * (MOST_BROKEN_TEXT // 2))] * 3)


def test_a_form_of_many_signs_between_escapes_is_not_read() -> None:
    assert form_pairs(b"a=" + b"%41=" * MOST_STRAY_SIGNS) == [(b"a", b"A=" * MOST_STRAY_SIGNS)]
    with pytest.raises(ValueError, match="not escaped"):
        form_pairs(b"a=" + b"%41=" * (MOST_STRAY_SIGNS + 1))


@pytest.mark.parametrize("place", ["body:*.signature", "body:signatures.0", "item:proofs.0.value"])
def test_a_proof_stands_where_it_can_be_found_without_decoding_the_rest(place: str) -> None:
    with pytest.raises(ConfigError, match="cannot be part of a proof"):
        SignedScheme(signature=place, items="body:events" if place.startswith("item") else None)
