"""Banks, cards and books."""

from __future__ import annotations

from landfast.domain.answer import plain
from landfast.providers.catalogue.infrastructure import standard_scheme
from landfast.providers.catalogue.units import DAY
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.jws import JwsScheme
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme

PLAID = Profile(
    name="plaid",
    title="Plaid",
    scheme=JwtScheme(
        header="Plaid-Verification",
        algorithms=("ES256",),
        body_claim="request_body_sha256",
        time_claim="iat",
        keys="https://production.plaid.com/webhook_verification_key/get",
        sandbox_keys="https://sandbox.plaid.com/webhook_verification_key/get",
        credentials=("client_id", "secret"),
    ),
    key="arrival",  # each change of an item is announced with the same body, and no id
    type="body:webhook_type + body:webhook_code",
    entity="body:item_id",
    samples=(
        Sample(
            type="TRANSACTIONS.SYNC_UPDATES_AVAILABLE",
            data={
                "webhook_type": "{type.first}",
                "webhook_code": "{type.rest}",
                "item_id": "item-landfast-{id}",
                "initial_update_complete": True,
                "historical_update_complete": True,
                "environment": "production",
            },
        ),
    ),
    fetch_back=True,
    environments=("production", "sandbox"),
    proves_account=False,
    redelivery=Redelivery(timeout=10, window=DAY, delays=(30, 120, 480, 1_920, 7_680, 30_720), success="200"),
    setup="Give CLIENT_ID:SECRET of your keys as the secret: the public key of each token is asked for with them.",
    traps=(
        "An event has neither id nor time, so each arrival is one: a handler must bear being told twice.",
        "If nine in ten of a day are refused, Plaid does not try them again.",
    ),
)

TRUELAYER = Profile(
    name="truelayer",
    title="TrueLayer",
    scheme=JwsScheme(
        header="Tl-Signature",
        algorithm="ES512",
        headers_field="tl_headers",
        keys="https://webhooks.truelayer.com/.well-known/jwks",
        sandbox_keys="https://webhooks.truelayer-sandbox.com/.well-known/jwks",
    ),
    key="body:event_id",
    type="body:type | body:event_type",
    entity="body:payment_id | body:payout_id | body:mandate_id",
    occurred_at="header:X-Tl-Webhook-Timestamp",
    body_limit=256 * 1024,  # one payment: ids, an amount, a reason, and the few metadata that you gave it
    samples=(
        Sample(
            type="payment_executed",
            headers={"X-Tl-Webhook-Timestamp": "{now}"},
            data={"type": "{type}", "event_id": "{id}", "event_version": 1, "payment_id": "pay-landfast-1001"},
        ),
    ),
    environments=("production", "sandbox"),
    proves_account=False,
    setup="Console, Settings, Webhooks: enter the URL. Give the client id as the secret, and say public_url.",
    traps=(
        "The path of the URL is signed.",
        "One key signs for every client: check in the handler that the payment is yours.",
        'The sandbox has a key of its own, which counts only with environment = "sandbox" in the source.',
        "An event is one payment, in a few KB: ids, an amount, a reason, and the metadata that you gave it.",
    ),
)

LITHIC = Profile(
    name="lithic",
    title="Lithic",
    scheme=standard_scheme(),
    key="header:webhook-id",  # signed
    type="body:event_type",
    entity="body:token | body:card_token | body:account_token",
    occurred_at="body:updated | body:created",
    time_of_object=True,
    samples=(
        Sample(
            type="card_transaction.updated",
            id="msg_landfast_sample_0001",
            data={
                "event_type": "{type}",
                "token": "5d1a0c3e-0000-4000-8000-000000001001",
                "card_token": "7b2f9e10-0000-4000-8000-000000000001",
                "account_token": "1c8d4a77-0000-4000-8000-000000000001",
                "amount": 4200,
                "merchant": {"descriptor": "NORTH PIER HARBOUR TOURS", "mcc": "4722", "country": "DEU"},
                "status": "SETTLED",
                "result": "APPROVED",
                "created": "2025-12-31T23:59:00Z",
                "updated": "2026-01-01T00:00:00Z",
            },
        ),
    ),
    setup="Create an event subscription and fetch its secret, which starts with whsec_.",
    traps=(
        "The body is the object itself and has no id of the event: the signed header webhook-id is the key.",
        "The older X-Lithic-HMAC header is not looked at.",
    ),
)

XERO = Profile(
    name="xero",
    title="Xero",
    scheme=SignedScheme(signature="header:x-xero-signature", encoding="base64"),
    key="fields:item:tenantId,item:eventCategory,item:resourceId,item:eventType,item:eventDateUtc",
    type="item:eventCategory + item:eventType",
    entity="item:resourceId",
    occurred_at="item:eventDateUtc",
    items="body:events",
    handshakes=(
        # The intent to receive: several requests, some signed wrongly on purpose, which must get 401.
        Handshake(when="body:firstEventSequence=0 & body:lastEventSequence=0", is_signed=True, text=""),
    ),
    thanks=plain(""),  # an answer with a body is a failure to it
    redelivery=Redelivery(timeout=5, window=DAY, success="200"),
    samples=(
        Sample(
            type="INVOICE.UPDATE",
            data={
                "events": [
                    {
                        "resourceUrl": "https://api.xero.com/api.xro/2.0/Invoices/{id}",
                        "resourceId": "{id}",
                        "tenantId": "c2cc9b6e-0000-4000-8000-000000000001",
                        "tenantType": "ORGANISATION",
                        "eventCategory": "{type.first}",
                        "eventType": "{type.rest}",
                        "eventDateUtc": "2026-01-01T00:00:00.000",
                    }
                ],
                "firstEventSequence": 1,
                "lastEventSequence": 1,
                "entropy": "QWERTYLANDFAST",
            },
        ),
    ),
    fetch_back=True,
    setup="The app's Webhooks page: enter the URL, copy the key, and send the intent to receive while Landfast runs.",
    traps=(
        "Some requests of the intent to receive are signed wrongly: their 401 in the log is what Xero wants.",
        "An event says only what changed: fetch it by its resourceId.",
        "After a day of failures the webhook is switched off, and nothing is sent until you switch it on.",
    ),
)

QUICKBOOKS = Profile(
    name="quickbooks",
    title="QuickBooks Online",
    scheme=SignedScheme(signature="header:intuit-signature", encoding="base64"),
    # Two shapes: since 2026 a list of CloudEvents, before that notifications by company.
    key=(
        "fields:parent:realmId | item:intuitaccountid,item:name | item:type,item:id"
        ",item:operation | item:specversion,item:lastUpdated | item:time"
    ),
    type="item:type | item:name + item:operation",
    entity="parent:realmId | item:intuitaccountid + item:intuitentityid | item:id",
    occurred_at="item:lastUpdated | item:time",
    items="body:eventNotifications.*.dataChangeEvent.entities + body",
    redelivery=Redelivery(
        timeout=3, window=6_000, delays=(1_200, 1_800, 3_000), success="200", ends_on="all but 408, 500, 502, 503, 504"
    ),
    refusal=503,  # after a 401 it does not come again, and a wrong token may be ours
    samples=(
        Sample(
            type="qbo.invoice.created.v1",
            data=[
                {
                    "specversion": "1.0",
                    "id": "{id}",
                    "source": "intuit.landfast-sample",
                    "type": "{type}",
                    "datacontenttype": "application/json",
                    "time": "2026-01-01T00:00:00.000Z",
                    "intuitentityid": "1001",
                    "intuitaccountid": "310001",
                    "data": {},
                }
            ],
        ),
    ),
    fetch_back=True,
    setup="The app's Webhooks page: enter the URL and copy the verifier token, which is the secret.",
    traps=(
        "An event says only what changed: fetch it by the ids of its company and its object.",
        "The verifier token is not the client secret of the app.",
        "Order the events of one object by their time, not by their arrival.",
    ),
)

PROFILES = (PLAID, TRUELAYER, LITHIC, XERO, QUICKBOOKS)
