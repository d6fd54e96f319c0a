"""Where texts and sites are kept."""

from __future__ import annotations

import math

from landfast.providers.profile import TOLERANCE, Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

SANITY = Profile(
    name="sanity",
    title="Sanity",
    scheme=SignedScheme(
        signature="header:sanity-webhook-signature",
        encoding="base64url",
        content="{timestamp}.{body}",
        separator=",",
        prefix="v1=",
        timestamp="entry:t=",
        timestamp_unit="ms",
    ),
    # The header idempotency-key is not signed. The body is whatever the projection makes of the document: without its
    # revision in it, two changes may have the same bytes.
    key="fields:body:_id,body:_rev or arrival",
    type="header:sanity-operation",
    type_letters="create|update|delete",
    # What is deleted is sent as it was last changed. The time is signed, so a captured request is refused after that
    # long, and what comes later was signed anew.
    siblings=(2 * TOLERANCE, math.inf),
    entity="body:_id",
    occurred_at="body:_updatedAt",
    time_of_object=True,
    refusal=503,  # only 429 and 5xx make it come again, and a wrong secret may be ours
    redelivery=Redelivery(timeout=30, window=60, delays=(30, 30), ends_on="4xx other than 429"),
    samples=(
        Sample(
            type="update",
            headers={"sanity-operation": "{type}", "idempotency-key": "{id}"},
            data={
                "_id": "ice-report",
                "_type": "post",
                "_rev": "{id}",
                "_updatedAt": "2026-01-01T00:00:00Z",
                "title": "The ice is thin",
            },
        ),
    ),
    setup="Project, API, Webhooks: choose a secret. Keep _id and _rev in the projection.",
    traps=(
        "A projection without _id and _rev says nothing that tells a redelivery from the next change: each then runs.",
        "The time in the signature is in milliseconds.",
    ),
)

WEBFLOW = Profile(
    name="webflow",
    title="Webflow",
    scheme=SignedScheme(
        signature="header:x-webflow-signature",
        content="{timestamp}:{body}",
        timestamp="header:x-webflow-timestamp",
        timestamp_unit="ms",
    ),
    key="body",  # the id in it is that of the object, which has many events
    type="body:triggerType",
    entity="body:payload.id | body:payload.orderId | body:payload.siteId",
    occurred_at="body:payload.lastUpdated | body:payload.submittedAt | body:payload.publishedOn",
    time_of_object=True,
    samples=(
        Sample(
            type="form_submission",
            data={
                "triggerType": "{type}",
                "payload": {
                    "name": "Ask the harbour",
                    "siteId": "690000000000000000000001",
                    "data": {"email": "selma@example.com", "message": "Is the ice thick enough?"},
                    "submittedAt": "2026-01-01T00:00:00.000Z",
                    "id": "{id}",
                    "formId": "690000000000000000000002",
                },
            },
        ),
    ),
    setup="Make the webhook through the API. Its own secret, or the client secret of the OAuth app, is the secret.",
    traps=(
        "Webhooks that are made in the dashboard are not signed, and refused here.",
        "It tries three times at most.",
        "A colon stands between the time and the body in what is signed; the time is in milliseconds.",
    ),
)

PROFILES = (SANITY, WEBFLOW)
