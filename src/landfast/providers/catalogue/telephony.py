"""Calls and text messages."""

from __future__ import annotations

from dataclasses import replace

from landfast.domain.answer import plain
from landfast.providers.catalogue.units import HOUR
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme

_TWILIO_SCHEME = SignedScheme(
    signature="header:X-Twilio-Signature",
    algorithm="sha1",
    encoding="base64",
    content="{url}{sorted_form}",
    body_digest="bodySHA256",
    any_port=True,
)

TWILIO = Profile(
    name="twilio",
    title="Twilio",
    scheme=AnyOf(_TWILIO_SCHEME, replace(_TWILIO_SCHEME, algorithm="sha256")),  # the length tells which one it is
    key="form",  # I-Twilio-Idempotency-Token is not signed, nor is how the form is spelt
    type="body:MessageStatus | body:CallStatus | body:EventType",
    entity="body:MessageSid | body:CallSid | body:ConferenceSid",
    thanks=plain(""),  # text would be sent to the caller as a message, and JSON is an error to it
    samples=(
        Sample(
            type="delivered",
            is_form=True,
            data={
                "MessageSid": "SM0000000000000000000000000000{id}",
                "MessageStatus": "{type}",
                "From": "+4930000001",
                "To": "+4930000002",
                "AccountSid": "AC00000000000000000000000000001001",
            },
            id="1001",
        ),
    ),
    setup="Give the number or service the URL; the auth token is the secret. Say public_url in the source.",
    traps=(
        "An account with a shared key for webhooks signs with that and SHA-256, no longer with the auth token.",
        "The exact public URL is signed: behind a proxy public_url must be the one that Twilio was given.",
        "Nothing is sent again after an HTTP error unless the URL asks for it.",
    ),
)

MESSAGEBIRD = Profile(
    name="messagebird",
    title="MessageBird, Bird",
    scheme=AnyOf(
        JwtScheme(
            header="MessageBird-Signature-JWT",
            algorithms=("HS256", "HS384", "HS512"),
            claims={"iss": "MessageBird"},
            body_claim="payload_hash",
            is_absent_when_empty=True,
            url_claim="url_hash",
        ),
        SignedScheme(
            signature="header:MessageBird-Signature",
            encoding="base64",
            content="{timestamp}\n{sorted_query}\n{sha256}",
            timestamp="header:MessageBird-Request-Timestamp",
        ),
    ),
    key="fields:query:id,query:status,query:statusDatetime or query",
    type="query:status | body:type",
    entity="query:id",
    methods=("POST", "GET"),  # reports of delivery come in the query of a GET
    redelivery=Redelivery(window=8 * HOUR),
    samples=(Sample(type="message.updated", data={"id": "{id}", "type": "{type}", "message": {"id": "msg-1001"}}),),
    setup="Developers settings have the signing key, which is the secret. Say public_url in the source.",
    traps=("The token counts for a minute, by the sender's clock.",),
)

PLIVO = Profile(
    name="plivo",
    title="Plivo",
    scheme=AnyOf(  # calls have the third version, messages the second
        SignedScheme(
            signature="header:X-Plivo-Signature-V3",
            encoding="base64",
            content="{url_and_form}.{id}",
            separator=",",
            id="header:X-Plivo-Signature-V3-Nonce",
        ),
        SignedScheme(
            signature="header:X-Plivo-Signature-V2",
            encoding="base64",
            content="{url_without_query}{id}",
            id="header:X-Plivo-Signature-V2-Nonce",
            signs_once=True,
        ),
    ),
    key="form",  # how it is spelt is not signed
    type="body:Event | body:Status | body:CallStatus | body:Type",
    entity="body:CallUUID | body:ParentMessageUUID | body:MessageUUID",
    body_limit=256 * 1024,  # the longest field is what was said in a call: five hours of it
    samples=(
        Sample(
            type="delivered",
            is_form=True,
            id="1001",
            data={
                "From": "4930000001",
                "To": "4930000002",
                "MessageUUID": "db3c0000-0000-4000-8000-00000000{id}",
                "Status": "{type}",
                "TotalAmount": "0.0041",
                "Units": "1",
            },
        ),
    ),
    setup="Give the application or message the URL, by POST. The auth token is the secret. Say public_url too.",
    traps=(
        "Version 2 of the signature covers only the URL and a nonce: another body under a known nonce is held.",
        "The exact public URL is signed.",
        "The longest field is what was said in a call; five hours of that are within the limit.",
    ),
)

PROFILES = (TWILIO, MESSAGEBIRD, PLIVO)
