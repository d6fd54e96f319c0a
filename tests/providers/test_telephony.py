"""Calls and text messages: what is special to each."""

from __future__ import annotations

import base64
import hmac
import time
from urllib.parse import parse_qs, parse_qsl, urlencode

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.test_messaging import AT, NOW

URL = "https://hooks.example.com/in/source"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CALL = {"CallUUID": "c1", "Event": "Hangup", "To": "+49 30", "Name": "Jökull"}


def examined(name: str, draft: Draft) -> Examined:
    profile = provider(name)
    return examine(Source("source", profile, our_secrets(profile), public_url=URL), draft.head(), draft.body, now=AT)


def plivo(version: int, body: bytes, url: str = URL) -> Draft:
    """A request of Plivo with one of its two signatures."""
    scheme = provider("plivo").scheme
    assert isinstance(scheme, AnyOf)
    draft = Draft(body, dict(FORM), url)
    scheme.schemes[3 - version].sign(draft, sender_secret("plivo").encode(), now=NOW, id_="12345")
    return draft


@pytest.mark.parametrize(
    ("fields", "type_", "entity"),
    [
        (CALL, "Hangup", "c1"),
        ({"MessageUUID": "m1", "Status": "delivered"}, "delivered", "m1"),
        ({"MessageUUID": "m2", "ParentMessageUUID": "m1", "Status": "sent"}, "sent", "m1"),
    ],
)
def test_plivo_names_a_call_by_its_event_and_a_message_by_its_status(
    fields: dict[str, str], type_: str, entity: str
) -> None:
    (identity,) = examined("plivo", plivo(2, urlencode(fields).encode())).identities
    assert (identity.type, identity.entity) == (type_, entity)


@pytest.mark.req("R1")
def test_the_third_signature_of_plivo_covers_the_form_and_the_second_does_not() -> None:
    third, second = (plivo(version, urlencode(CALL).encode()) for version in (3, 2))
    assert examined("plivo", third).identities and examined("plivo", second).identities
    for draft in (third, second):
        draft.body = draft.body.replace(b"Hangup", b"Answer")
    assert examined("plivo", second).identities[0].type == "Answer"
    with pytest.raises(UnverifiedError):
        examined("plivo", third)
    assert provider("plivo").coverage == "no"


def test_a_third_signature_of_plivo_that_is_wrong_is_not_excused_by_a_second_that_is_right() -> None:
    draft = plivo(2, urlencode(CALL).encode())
    draft.headers |= {name: value for name, value in plivo(3, b"Event=Other").headers.items() if "V3" in name}
    with pytest.raises(UnverifiedError):
        examined("plivo", draft)


@pytest.mark.req("R1")
def test_the_nonce_and_the_url_of_plivo_are_signed_and_the_query_is_not_in_the_second_version() -> None:
    draft = plivo(2, b"Status=sent")
    draft.url += "?more=1"
    assert examined("plivo", draft).identities
    draft.headers["X-Plivo-Signature-V2-Nonce"] = "54321"
    with pytest.raises(UnverifiedError):
        examined("plivo", draft)
    with pytest.raises(UnverifiedError):
        examined("plivo", plivo(2, b"Status=sent", url="https://elsewhere.example.com/in/source"))


@pytest.mark.parametrize("query", ["", "?b=2&a=1&a=0", "?name=J+k&empty="])
@pytest.mark.parametrize("body", [b"", urlencode(CALL).encode(), b"b=2&a=2&a=1&c="])
def test_plivo_itself_accepts_what_we_sign(query: str, body: bytes) -> None:
    utils = pytest.importorskip("plivo.utils")
    token, url = sender_secret("plivo"), URL + query
    headers = plivo(2, body, url).headers
    assert utils.validate_signature(url, headers["X-Plivo-Signature-V2-Nonce"], headers["X-Plivo-Signature-V2"], token)
    headers = plivo(3, body, url).headers
    form = parse_qs(body.decode(), keep_blank_values=True)
    assert utils.validate_v3_signature(
        "POST", url, headers["X-Plivo-Signature-V3-Nonce"], token, headers["X-Plivo-Signature-V3"], form
    )


@pytest.mark.req("R4")
def test_reports_of_messagebird_in_the_query_of_a_get_are_events_of_their_own() -> None:
    def key(query: str) -> str:
        draft = Draft(b"", url=f"{URL}?{query}", method="GET")
        provider("messagebird").scheme.sign(draft, sender_secret("messagebird").encode(), now=NOW, id_="1")
        (identity,) = examined("messagebird", draft).identities
        return identity.key

    whole = "id=m1&status=delivered&statusDatetime=2026-01-01T00%3A00%3A00%2B00%3A00"
    assert key(whole) == key(f"{whole}&reference=again") != key(whole.replace("m1", "m2"))
    assert key("id=m1&status=sent") == key("id=m1&status=sent") != key("id=m2&status=sent")


def test_messagebird_itself_accepts_what_we_sign() -> None:
    messagebird = pytest.importorskip("messagebird.request_validator")
    body = sample("messagebird")
    draft = signed_request("messagebird", body, sender_secret("messagebird"), now=time.time(), url=URL)
    validator = messagebird.RequestValidator(sender_secret("messagebird"))
    with pytest.raises(Exception, match="payload_hash"):
        validator.validate_signature(draft.headers["MessageBird-Signature-JWT"], URL, body + b" ")
    assert validator.validate_signature(draft.headers["MessageBird-Signature-JWT"], URL, body)


def test_twilio_itself_accepts_what_we_sign() -> None:
    validation = pytest.importorskip("twilio.request_validator")
    draft = signed_request("twilio", sample("twilio"), sender_secret("twilio"), now=NOW, url=URL)
    validator = validation.RequestValidator(sender_secret("twilio"))
    form = dict(parse_qsl(draft.body.decode()))
    assert validator.validate(URL, form, draft.headers["X-Twilio-Signature"])
    assert not validator.validate(URL, {**form, "MessageStatus": "failed"}, draft.headers["X-Twilio-Signature"])


@pytest.mark.req("R1")
def test_twilio_may_sign_with_a_shared_key_and_sha256() -> None:
    draft = Draft(b"b=2&a=1", dict(FORM), URL)
    for algorithm, is_right in (("sha1", True), ("sha256", True), ("sha512", False), ("md5", False)):
        made = hmac.digest(sender_secret("twilio").encode(), f"{URL}a1b2".encode(), algorithm)
        draft.headers["X-Twilio-Signature"] = base64.b64encode(made).decode()
        if is_right:
            assert examined("twilio", draft).identities
        else:
            with pytest.raises(UnverifiedError, match="well-formed"):
                examined("twilio", draft)
