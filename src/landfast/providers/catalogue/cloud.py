"""Clouds."""

from __future__ import annotations

from landfast.providers.catalogue.units import DAY, HOUR, MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.sns import HOST, SnsScheme
from landfast.providers.schemes.token import TokenScheme

AWS_SNS = Profile(
    name="aws-sns",
    title="Amazon SNS",
    scheme=SnsScheme(),
    key="body:MessageId",
    type="body:Type",
    entity="body:TopicArn",
    occurred_at="body:Timestamp",
    signed_at_place="body:Timestamp",
    body_limit=512 * 1024,  # a message has 256 KiB at most, before it is escaped as JSON
    tolerance=HOUR,  # the longest that a policy of retries may span
    handshakes=(
        Handshake(
            when="body:Type=SubscriptionConfirmation",
            is_signed=True,
            visit="body:SubscribeURL",
            visits=HOST + r"/\?[A-Za-z0-9=&%:._-]+",
        ),
    ),
    refusal=503,  # only errors of a server are tried again: a wrong ARN may be ours
    redelivery=Redelivery(timeout=15, window=MINUTE, delays=(20, 20, 20), ends_on="4xx"),
    samples=(
        Sample(
            type="Notification",
            id="00000000-0000-4000-8000-000000001001",
            headers={"x-amz-sns-message-type": "{type}", "Content-Type": "text/plain; charset=UTF-8"},
            data={
                "Type": "{type}",
                "MessageId": "{id}",
                "TopicArn": "arn:aws:sns:eu-west-1:123456789012:shore",
                "Message": "The ice holds.",
                "Timestamp": "{now}",
            },
        ),
    ),
    setup="Give the topic's ARN as the secret, then subscribe the URL. Landfast tells the address that confirms it.",
    traps=(
        "Anybody with an account can have messages signed: only the ARN says that they are yours.",
        "Raw message delivery has no signature, and is refused.",
    ),
)

GOOGLE_PUBSUB = Profile(
    name="google-pubsub",
    title="Google Cloud Pub/Sub",
    scheme=JwtScheme(
        header="Authorization",
        prefix="Bearer ",
        algorithms=("RS256",),
        claims={"iss": "https://accounts.google.com", "aud": "{setting:audience}"},
        true_claims=("email_verified",),
        secret_claim="email",  # noqa: S106 - the name of one
        keys="https://www.googleapis.com/oauth2/v3/certs",
    ),
    key="fields:body:subscription,body:message.messageId",  # the id is unique within its topic
    body_varies=True,  # deliveryAttempt counts, where there is a dead-letter topic
    type="body:message.attributes.eventType | body:message.attributes.ce-type | always:message",
    entity="body:message.orderingKey",
    occurred_at="body:message.publishTime",
    settings=("audience",),
    samples=(
        Sample(
            type="OBJECT_FINALIZE",
            id="2070443601311001",
            data={
                "message": {
                    "attributes": {"eventType": "{type}", "bucketId": "north-pier", "objectId": "ice-chart.pdf"},
                    "data": "eyJraW5kIjoic3RvcmFnZSNvYmplY3QifQ==",
                    "messageId": "{id}",
                    "publishTime": "2026-01-01T00:00:00.000Z",
                    "orderingKey": "north-pier",
                },
                "subscription": "projects/north-pier/subscriptions/landfast",
            },
        ),
    ),
    setup="Enable authentication for the push subscription. The e-mail address of its service account is the secret; "
    "say its audience in the source.",
    traps=(
        "Anybody can have Google sign a token for any audience: only the service account says that it is yours.",
        "The token proves the sender and no body, and counts for an hour: take requests over TLS only.",
        "The data of a message is base64 inside the JSON.",
    ),
)

AZURE_EVENT_GRID = Profile(
    name="azure-event-grid",
    title="Azure Event Grid",
    scheme=TokenScheme(token="query:code"),  # noqa: S106 - where one stands
    key="item:id",
    type="item:eventType",
    entity="item:subject",
    occurred_at="item:eventTime",
    items="body",
    handshakes=(
        Handshake(
            when="header:aeg-event-type=SubscriptionValidation & body:0.data.validationCode",
            is_signed=True,
            json={"validationResponse": "{body:0.data.validationCode}"},
        ),
    ),
    refusal=503,  # after 401 and 403 an event is dropped at once: a wrong secret may be ours
    redelivery=Redelivery(timeout=30, window=DAY, ends_on="400, 401, 403, 413"),
    samples=(
        Sample(
            type="Microsoft.Storage.BlobCreated",
            id="831e1650-0000-4000-8000-000000001001",
            headers={"aeg-event-type": "Notification"},
            data=[
                {
                    "id": "{id}",
                    "topic": "/subscriptions/301/resourceGroups/pier/providers/Microsoft.Storage/storageAccounts/north",
                    "subject": "/blobServices/default/containers/charts/blobs/ice.pdf",
                    "eventType": "{type}",
                    "eventTime": "2026-01-01T00:00:00.0000000Z",
                    "data": {"api": "PutBlob", "contentType": "application/pdf", "contentLength": 4200},
                    "dataVersion": "",
                    "metadataVersion": "1",
                }
            ],
        ),
    ),
    setup="Create the subscription while Landfast runs, in the Event Grid schema, with ?code= and a long random secret "
    "behind the URL.",
    traps=(
        "The secret stands in the URL and proves no body: keep the query out of logs.",
        "A subscription in the CloudEvents schema sends another shape, and asks with OPTIONS.",
    ),
)

PROFILES = (AWS_SNS, GOOGLE_PUBSUB, AZURE_EVENT_GRID)
