"""DocuSign, Dropbox Sign, Typeform, Formstack."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from landfast.domain.body import decode
from landfast.domain.errors import UnverifiedError
from landfast.providers import provider
from landfast.providers.signing import sample, signed_request
from tests.intake.desk import Desk
from tests.providers.keypairs import sender_secret
from tests.providers.senders import NOW, event, profile_of, sample_of, signed, source_of, taken
from tests.web.client import Shop

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
MULTIPART = "multipart/form-data; boundary=------------------------d74496d66958873e"


def in_multipart(body: bytes, boundary: bytes = b"------------------------d74496d66958873e") -> bytes:
    """The JSON as Dropbox Sign wraps it."""
    return b'--%b\r\nContent-Disposition: form-data; name="json"\r\n\r\n%b\r\n--%b--\r\n' % (boundary, body, boundary)


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop(desk=Desk(sources=(source_of("dropbox-sign"),)))
    await shop.open()
    yield shop
    await shop.close()


@pytest.mark.req("R4")
def test_docusign_counts_its_attempts_and_the_event_stays_the_same() -> None:
    data = sample_of("docusign")
    again = event("docusign", {**data, "retryCount": 4})
    assert again.key == event("docusign", data).key
    assert (again.type, again.entity) == ("envelope-completed", data["data"]["envelopeId"])
    assert again.occurred_at == NEW_YEAR


@pytest.mark.req("R4")
def test_two_recipients_of_one_envelope_are_two_events_even_in_the_same_moment() -> None:
    data = {**sample_of("docusign"), "event": "recipient-completed"}
    keys = [event("docusign", {**data, "data": {**data["data"], "recipientId": one}}).key for one in ("1", "2")]
    assert keys[0] != keys[1]


@pytest.mark.req("R54")
def test_any_of_docusigns_headers_may_be_signed_with_our_key() -> None:
    draft = signed("docusign", sample_of("docusign"))
    draft.headers["X-DocuSign-Signature-3"] = draft.headers["X-DocuSign-Signature-1"]
    draft.headers["X-DocuSign-Signature-1"] = "A" * 43 + "="
    assert taken("docusign", draft)
    del draft.headers["X-DocuSign-Signature-3"]
    with pytest.raises(UnverifiedError):
        taken("docusign", draft)


@pytest.mark.req("R4")
def test_dropbox_sign_wraps_its_json_anew_each_time_and_the_event_stays_the_same() -> None:
    plain = signed("dropbox-sign", sample_of("dropbox-sign"))
    first, second = (signed("dropbox-sign", sample_of("dropbox-sign")) for _ in range(2))
    first.headers["Content-Type"], first.body = MULTIPART, in_multipart(plain.body)
    second.headers["Content-Type"], second.body = "multipart/form-data; boundary=x", in_multipart(plain.body, b"x")
    (one,), (other,), (bare,) = (taken("dropbox-sign", draft) for draft in (first, second, plain))
    assert one == other == bare
    assert (one.type, one.occurred_at) == ("signature_request_signed", NEW_YEAR)
    assert one.entity == sample_of("dropbox-sign")["signature_request"]["signature_request_id"]
    assert decode(first.body, MULTIPART) == json.loads(plain.body)


@pytest.mark.req("R4")
def test_two_signers_in_one_second_are_two_events() -> None:
    data = sample_of("dropbox-sign")
    metadata = {**data["event"]["event_metadata"], "related_signature_id": "another"}
    other = event("dropbox-sign", {**data, "event": {**data["event"], "event_metadata": metadata}})
    assert other.key != event("dropbox-sign", data).key


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--",
        in_multipart(b"{}"),
        in_multipart(b'{"event":{"event_time":"1","event_type":"a","event_hash":"' + b"0" * 64 + b'"}}'),
        b"--------------------------d74496d66958873e" * 2_000,
    ],
)
def test_a_multipart_form_without_a_right_signature_is_refused(body: bytes) -> None:
    draft = signed("dropbox-sign", sample_of("dropbox-sign"))
    draft.headers["Content-Type"], draft.body = MULTIPART, body
    with pytest.raises(UnverifiedError):
        taken("dropbox-sign", draft)


@pytest.mark.req("R1")
def test_a_file_that_is_called_json_is_not_the_field() -> None:
    draft = signed("dropbox-sign", sample_of("dropbox-sign"))
    draft.headers["Content-Type"] = MULTIPART
    draft.body = in_multipart(draft.body).replace(b' name="json"', b' name="x";filename="json"')
    with pytest.raises(UnverifiedError):
        taken("dropbox-sign", draft)


async def test_dropbox_sign_reads_its_own_sentence_whether_the_event_is_new_or_not(shop: Shop) -> None:
    now = shop.desk.clock.now().timestamp()
    body = sample("dropbox-sign", now=now)
    draft = signed_request(profile_of("dropbox-sign"), body, sender_secret("dropbox-sign"), now=now)
    wrapped = in_multipart(draft.body)
    lines = ["POST /in/source HTTP/1.1", "Host: shop.example", "Connection: close", f"Content-Length: {len(wrapped)}"]
    for _ in range(2):
        client = await shop.connect()
        await client.send("\r\n".join([*lines, f"Content-Type: {MULTIPART}"]).encode() + b"\r\n\r\n" + wrapped)
        head, _, said = (await client.rest()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ") and b"content-type: text/plain" in head
        assert said == b"Hello API Event Received"
    assert len(shop.desk.recorder.events) == 1 and shop.desk.is_balanced()


async def test_what_dropbox_sign_did_not_sign_is_not_thanked_for(shop: Shop) -> None:
    client = await shop.connect()
    await client.send(
        b"POST /in/source HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    )
    reply = await client.rest()
    assert reply.startswith(b"HTTP/1.1 401 ") and b"Hello" not in reply


def test_dropbox_signs_own_library_agrees_with_what_we_sign() -> None:
    sdk = pytest.importorskip("dropbox_sign")
    draft = signed("dropbox-sign", sample_of("dropbox-sign"))
    callback = sdk.models.EventCallbackRequest.init(json.loads(draft.body))
    assert sdk.EventCallbackHelper.is_valid(sender_secret("dropbox-sign"), callback)
    assert not sdk.EventCallbackHelper.is_valid("the key of somebody else", callback)


def test_a_response_of_typeform_and_a_submission_of_formstack_are_read_right() -> None:
    response = event("typeform", sample_of("typeform"))
    assert (response.key, response.type) == ("01LANDFASTSAMPLE0000001001", "form_response")
    assert (response.entity, response.occurred_at) == ("a3a12ec67a1365927098a606107fac15", NEW_YEAR)
    submission = event("formstack", sample_of("formstack"))
    assert (submission.type, submission.entity) == ("submission", "5550001")


@pytest.mark.req("R4")
def test_the_same_number_in_another_form_of_formstack_is_another_submission() -> None:
    data = sample_of("formstack")
    assert event("formstack", {**data, "FormID": "5550002"}).key != event("formstack", data).key
    assert event("formstack", data, at=NOW + 60).key == event("formstack", data).key


def test_a_source_of_another_provider_has_no_sentence_of_its_own() -> None:
    assert provider("typeform").thanks is None
