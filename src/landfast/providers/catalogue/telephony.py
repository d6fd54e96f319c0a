"""Calls and text messages."""

from __future__ import annotations

from landfast.providers.profile import Profile, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme

TWILIO = Profile(
    name="twilio",
    title="Twilio",
    scheme=SignedScheme(
        signature="header:X-Twilio-Signature",
        algorithm="sha1",
        encoding="base64",
        content="{url}{sorted_form}",
        body_digest="bodySHA256",
        any_port=True,
    ),
    key="body",  # I-Twilio-Idempotency-Token is not signed
    type="body:MessageStatus | body:CallStatus | body:EventType",
    entity="body:MessageSid | body:CallSid | body:ConferenceSid",
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
    key="fields:query:id,query:status,query:statusDatetime",
    type="query:status | body:type",
    entity="query:id",
    methods=("POST", "GET"),  # reports of delivery come in the query of a GET
    samples=(Sample(type="message.updated", data={"id": "{id}", "type": "{type}", "message": {"id": "msg-1001"}}),),
    setup="Developers settings have the signing key, which is the secret. Say public_url in the source.",
    traps=("The token counts for a minute, by the sender's clock.",),
)

PROFILES = (TWILIO, MESSAGEBIRD)
