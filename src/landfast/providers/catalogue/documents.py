"""Forms, and documents to sign."""

from __future__ import annotations

from landfast.domain.answer import plain
from landfast.providers.catalogue.units import DAY, HOUR
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

_MOST_KEYS = 10
"""DocuSign sends a header for each active key. It allows a hundred; nobody changes over to ten at once."""

DOCUSIGN = Profile(
    name="docusign",
    title="DocuSign Connect",
    scheme=SignedScheme(
        signature=" | ".join(f"header:X-DocuSign-Signature-{number}" for number in range(1, _MOST_KEYS + 1)),
        encoding="base64",
    ),
    # retryCount changes with each attempt. Only events about a recipient name one.
    key="fields:type,body:data.envelopeId,body:generatedDateTime,body:data.recipientId | always:none",
    body_varies=True,
    type="body:event",
    entity="body:data.envelopeId",
    occurred_at="body:generatedDateTime",
    samples=(
        Sample(
            type="envelope-completed",
            id="7c0d5a1e-0000-4000-8000-000000001001",
            data={
                "event": "{type}",
                "apiVersion": "v2.1",
                "uri": "/restapi/v2.1/accounts/301/envelopes/{id}",
                "retryCount": 0,
                "configurationId": 12,
                "generatedDateTime": "2026-01-01T00:00:00.0000000Z",
                "data": {"accountId": "301", "userId": "302", "envelopeId": "{id}"},
            },
        ),
    ),
    setup="Connect, Keys: create an HMAC key, which is the secret. In the configuration choose JSON and the signature.",
    traps=(
        "Every attempt has another body and so another signature: retryCount counts.",
        "Each active key signs in a header of its own, and any of the first ten will do.",
        "A configuration that includes documents sends megabytes: leave them out, or raise body_limit.",
    ),
)

DROPBOX_SIGN = Profile(
    name="dropbox-sign",
    title="Dropbox Sign",
    scheme=SignedScheme(
        signature="body:event.event_hash",
        content="{body:event.event_time}{body:event.event_type}",
        signs_once=True,
    ),
    key=(
        "fields:type,body:event.event_time,body:event.event_metadata.related_signature_id | always:none"
        ",body:signature_request.signature_request_id | body:template.template_id | body:account_guid | always:none"
    ),
    type="body:event.event_type",
    entity="body:signature_request.signature_request_id | body:template.template_id",
    occurred_at="body:event.event_time",
    signed_at_place="body:event.event_time",
    tolerance=3 * DAY + HOUR,  # signed once, and tried for three days
    thanks=plain("Hello API Event Received"),  # with any other answer it comes again
    redelivery=Redelivery(window=3 * DAY, success="200 and its sentence"),
    samples=(
        Sample(
            type="signature_request_signed",
            id="fa5c8a0b0f492d768749333ad6fcc214c1001",
            data={
                "event": {
                    "event_time": "{now.s}",
                    "event_type": "{type}",
                    "event_hash": "",
                    "event_metadata": {
                        "related_signature_id": "78caf2a1d01cd39cea2bc1cbb340dac3",
                        "reported_for_account_id": "63522885f9261e2b04eea043933ee7313eb674fd",
                    },
                },
                "signature_request": {
                    "signature_request_id": "{id}",
                    "title": "Berth contract",
                    "is_complete": False,
                    "has_error": False,
                },
            },
        ),
    ),
    setup="Settings, API: enter the callback URL. The API key is the secret.",
    traps=(
        "Only the time and the type of an event are signed: ask for the signature request before you trust the rest.",
        "Two events of one type within one second have the same proof, and the second is held until it is released.",
        'Whoever sends in bulk writes same_proof = "take" in the source, and asks for each signature request.',
        "The JSON comes as a field of a multipart form.",
    ),
)

TYPEFORM = Profile(
    name="typeform",
    title="Typeform",
    scheme=SignedScheme(signature="header:Typeform-Signature", encoding="base64", prefix="sha256="),
    key="body:event_id",
    type="body:event_type",
    entity="body:form_response.token",
    occurred_at="body:form_response.submitted_at",
    samples=(
        Sample(
            type="form_response",
            id="01LANDFASTSAMPLE0000001001",
            data={
                "event_id": "{id}",
                "event_type": "{type}",
                "form_response": {
                    "form_id": "pier01",
                    "token": "a3a12ec67a1365927098a606107fac15",
                    "landed_at": "2025-12-31T23:59:00Z",
                    "submitted_at": "2026-01-01T00:00:00Z",
                    "answers": [
                        {"type": "text", "text": "Selma", "field": {"id": "f1", "type": "short_text", "ref": "name"}}
                    ],
                },
            },
        ),
    ),
    setup="Connect, Webhooks: add the URL, then edit it and choose a secret.",
    traps=("The signature is base64, though its prefix looks like GitHub's.",),
)

FORMSTACK = Profile(
    name="formstack",
    title="Formstack Forms",
    scheme=SignedScheme(signature="header:X-FS-Signature", prefix="sha256="),
    key="fields:body:FormID,body:UniqueID",
    type="always:submission",
    entity="body:FormID",
    samples=(
        Sample(
            type="submission",
            id="1001",
            data={"FormID": "5550001", "UniqueID": "{id}", "Name": "Selma Holm", "Berth": "North 12"},
        ),
    ),
    setup="Settings, Emails & Actions, WebHook: enter the URL, choose JSON, and set an HMAC key under Advanced.",
    traps=(
        "Without an HMAC key nothing is signed, and requests are refused.",
        "Two fields of one name become one: post with field ids, or give each its own name.",
    ),
)

PROFILES = (DOCUSIGN, DROPBOX_SIGN, TYPEFORM, FORMSTACK)
