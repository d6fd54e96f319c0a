"""Pipelines, deployments, errors and incidents."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN, DAY
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme

CIRCLECI = Profile(
    name="circleci",
    title="CircleCI",
    scheme=SignedScheme(signature="header:circleci-signature", separator=",", prefix="v1="),
    key="body:id",
    type="body:type",
    entity="body:workflow.id",
    occurred_at="body:happened_at",
    redelivery=Redelivery(timeout=10),
    samples=(
        Sample(
            type="workflow-completed",
            id="6f1c2a9e-1001",
            headers={"circleci-event-type": "{type}"},
            data={
                "type": "{type}",
                "id": "{id}",
                "happened_at": "2026-01-01T00:00:00.000000Z",
                "webhook": {"id": "00000000-0000-4000-8000-000000000011", "name": "Shore"},
                "workflow": {"id": "00000000-0000-4000-8000-000000000012", "name": "build", "status": "success"},
                "pipeline": {"id": "00000000-0000-4000-8000-000000000013", "number": 23},
                "project": {"id": "00000000-0000-4000-8000-000000000014", "name": "shore"},
                "organization": {"id": "00000000-0000-4000-8000-000000000015", "name": "north-pier"},
            },
        ),
    ),
    setup="Project settings, Webhooks: choose a secret token.",
    traps=("A webhook without a secret token is not signed, and refused here.",),
)

VERCEL = Profile(
    name="vercel",
    title="Vercel",
    scheme=SignedScheme(signature="header:x-vercel-signature", algorithm="sha1"),
    key="body:id",
    type="body:type",
    entity="body:payload.deployment.id | body:payload.project.id",
    occurred_at="body:createdAt",
    samples=(
        Sample(
            type="deployment.succeeded",
            data={
                "id": "{id}",
                "type": "{type}",
                "createdAt": BORN * 1000,
                "region": "fra1",
                "payload": {
                    "team": {"id": "team_landfast"},
                    "user": {"id": "user_landfast"},
                    "project": {"id": "prj_shore"},
                    "deployment": {"id": "dpl_1001", "name": "shore", "url": "shore-1001.example.com", "meta": {}},
                },
            },
        ),
    ),
    setup="Team settings, Webhooks: the secret is shown once. An integration signs with its client secret.",
    traps=("The signature is an HMAC with SHA-1, in bare hex.",),
)

NETLIFY = Profile(
    name="netlify",
    title="Netlify",
    scheme=JwtScheme(
        header="X-Webhook-Signature", algorithms=("HS256",), claims={"iss": "netlify"}, body_claim="sha256"
    ),
    key="body",  # its id is the deploy's, and each deploy has several events
    type="header:X-Netlify-Event | body:state",
    type_letters="[a-z_]{1,64}",
    entity="body:id",
    occurred_at="body:updated_at | body:created_at",
    time_of_object=True,
    samples=(
        Sample(
            type="deploy_created",
            headers={"X-Netlify-Event": "{type}"},
            data={
                "id": "5a1e0c3b9d7f2468ace01357",
                "site_id": "00000000-0000-4000-8000-000000000031",
                "build_id": "{id}",
                "state": "ready",
                "name": "shore",
                "url": "https://shore.example.com",
                "branch": "main",
                "context": "production",
                "created_at": "2026-01-01T00:00:00.000Z",
                "updated_at": "2026-01-01T00:00:00.000Z",
            },
        ),
    ),
    setup="Project configuration, Notifications, HTTP POST request: fill in the JWS secret token.",
    traps=(
        "The token in the header is signed and holds a digest of the body; it has no time and never ends.",
        "A notification is for one event: add one for each that you want, with the same secret.",
    ),
)

SENTRY = Profile(
    name="sentry",
    title="Sentry",
    scheme=SignedScheme(signature="header:Sentry-Hook-Signature"),
    key="body",  # neither Request-ID nor Sentry-Hook-Timestamp is signed
    type="header:Sentry-Hook-Resource + body:action",
    type_letters="[a-z_]{1,64}",
    entity="body:data.issue.id | body:data.event.issue_id | body:data.error.issue_id | body:data.installation.uuid",
    occurred_at="body:data.event.datetime | body:data.error.datetime | body:data.issue.lastSeen",
    time_of_object=True,
    redelivery=Redelivery(timeout=1),
    samples=(
        Sample(
            type="issue.created",
            headers={"Sentry-Hook-Resource": "{type.first}", "Request-ID": "{id}"},
            data={
                "action": "{type.rest}",
                "installation": {"uuid": "00000000-0000-4000-8000-000000000021"},
                "data": {
                    "issue": {
                        "id": "4100230023",
                        "shortId": "SHORE-1",
                        "title": "IceError: too thin",
                        "culprit": "{id}",
                        "status": "unresolved",
                        "lastSeen": "2026-01-01T00:00:00.000000+00:00",
                    }
                },
                "actor": {"type": "application", "id": "sentry", "name": "Sentry"},
            },
        ),
    ),
    setup="Settings, Integrations, your internal or public integration: its client secret is the secret.",
    traps=(
        "It waits one second for an answer.",
        "Only integrations sign; the older WebHooks plugin of a project does not.",
    ),
)

PAGERDUTY = Profile(
    name="pagerduty",
    title="PagerDuty",
    scheme=SignedScheme(signature="header:X-PagerDuty-Signature", separator=",", prefix="v1="),
    key="body:event.id",  # X-Webhook-Id is not signed
    type="body:event.event_type",
    entity="body:event.data.incident.id | body:event.data.id",
    occurred_at="body:event.occurred_at",
    refusal=503,  # any 4xx but 429 drops the event for good, and a wrong secret may be ours
    redelivery=Redelivery(timeout=5, window=2 * DAY, ends_on="4xx other than 429", is_ordered=True),
    samples=(
        Sample(
            type="incident.triggered",
            id="01LANDFAST1001",
            headers={"X-Webhook-Id": "hook-{id}"},
            data={
                "event": {
                    "id": "{id}",
                    "event_type": "{type}",
                    "resource_type": "incident",
                    "occurred_at": "2026-01-01T00:00:00.000Z",
                    "agent": {"id": "PLANDF1", "type": "user_reference"},
                    "client": None,
                    "data": {
                        "id": "PICE001",
                        "type": "incident",
                        "number": 2,
                        "status": "triggered",
                        "title": "The ice is thin",
                        "urgency": "high",
                    },
                }
            },
        ),
    ),
    setup="Integrations, Generic Webhooks (v3): the secret is shown once, when the subscription is made.",
    traps=(
        "The secret looks like base64 and is used as it is.",
        "While one event fails, those of its incident wait; three that are lost in a row stop the webhook for a day.",
    ),
)

PROFILES = (CIRCLECI, VERCEL, NETLIFY, SENTRY, PAGERDUTY)
