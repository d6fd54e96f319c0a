"""Payments: acquirers and wallets."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN, DAY, HOUR
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

SQUARE = Profile(
    name="square",
    title="Square",
    scheme=SignedScheme(
        signature="header:x-square-hmacsha256-signature",
        encoding="base64",
        content="{url}{body}",
        is_json=True,
    ),
    key="body:event_id",
    type="body:type",
    entity="body:data.id",
    occurred_at="body:created_at",
    redelivery=Redelivery(
        timeout=10,
        window=DAY,
        delays=(60, 120, 240, 480, 960, 1_920, 3_600, 7_200, 14_400, 28_800, 28_800),
    ),
    samples=(
        Sample(
            type="payment.updated",
            id="5ea1ce00-0000-4000-8000-000000001001",
            data={
                "merchant_id": "MLANDFAST0001",
                "type": "{type}",
                "event_id": "{id}",
                "created_at": "2026-01-01T00:00:00.000Z",
                "data": {
                    "type": "payment",
                    "id": "PLANDFAST1001",
                    "object": {
                        "payment": {
                            "id": "PLANDFAST1001",
                            "amount_money": {"amount": 4200, "currency": "EUR"},
                            "order_id": "OLANDFAST1001",
                            "status": "COMPLETED",
                            "version": 3,
                        }
                    },
                },
            },
        ),
    ),
    setup="The application's Webhooks page: add the URL and copy the signature key. Say public_url in the source.",
    traps=(
        "The URL is signed as you registered it: public_url must be the same to the last slash.",
        "The older x-square-signature header, made with SHA-1, is not looked at.",
    ),
)

CHECKOUT_COM = Profile(
    name="checkout-com",
    title="Checkout.com",
    scheme=SignedScheme(signature="header:Cko-Signature"),
    key="body:id",
    type="body:type",
    entity="body:data.payment_id | body:data.id",  # of a dispute, the payment that it is about
    occurred_at="body:created_on | body:timestamp",  # some events have one, some the other
    redelivery=Redelivery(timeout=10, window=30 * HOUR, delays=(300, 600, 900, 1_800, 3_600, 14_400, 43_200, 43_200)),
    samples=(
        Sample(
            type="payment_captured",
            id="evt_landfastsample000000001001",
            data={
                "id": "{id}",
                "type": "{type}",
                "version": "1.0.29",
                "timestamp": "2026-01-01T00:00:00.0000000Z",
                "data": {
                    "id": "pay_landfastsample000000001001",
                    "action_id": "act_landfastsample000000001001",
                    "reference": "order-1001",
                    "amount": 4200,
                    "currency": "EUR",
                    "response_code": "10000",
                    "response_summary": "Approved",
                },
            },
        ),
    ),
    setup="Developers, Webhooks, New webhook: choose a signature key, which is the secret.",
    traps=(
        "The signature key is optional there: without it nothing is signed, and every request is refused here.",
        "payment_captured may come before payment_approved.",
    ),
)

MOLLIE_NEXT = Profile(
    name="mollie-next",
    title="Mollie, next-gen webhooks",
    scheme=SignedScheme(
        signature="header:X-Mollie-Signature",
        prefix="sha256=",
        separator=",",  # where a proxy made one header of two
        is_repeated=True,
    ),
    key="body:id",
    type="body:type",
    entity="body:entityId",
    occurred_at="body:createdAt",
    redelivery=Redelivery(timeout=15, window=26 * HOUR),
    samples=(
        Sample(
            type="payment-link.paid",
            id="event_LandfastSample1001",
            data={
                "resource": "event",
                "id": "{id}",
                "type": "{type}",
                "entityId": "pl_landfast1001",
                "createdAt": "2026-01-01T00:00:00+00:00",
                "_links": {"self": {"href": "https://api.mollie.com/v2/events/{id}", "type": "application/hal+json"}},
            },
        ),
    ),
    setup="Developers, Webhooks in the dashboard, or the Webhooks API: subscribe the URL and copy the signing secret.",
    traps=(
        "For a day after the secret changed, two headers come, one signature in each.",
        "The classic webhook, of one payment's webhookUrl, is not signed: it needs another source.",
    ),
)

MOLLIE = Profile(
    name="mollie",
    title="Mollie, classic webhooks",
    scheme=TokenScheme(token="query:token"),  # noqa: S106 - where one stands
    key="arrival",  # every change of one payment is announced with the same body
    type="always:changed",
    entity="form:id",
    redelivery=Redelivery(timeout=15, window=26 * HOUR, success="200"),
    samples=(Sample(type="changed", is_form=True, data={"id": "tr_{id}"}, id="Landfast1001"),),
    fetch_back=True,
    setup="Choose a long token and add it to each webhookUrl, as ?token=...: it is the secret. Mollie has none.",
    traps=(
        "A request holds only an id: ask the API for its state, and let the handler bear being told twice.",
        "Mollie signs nothing. The token in the URL keeps strangers out; keep the URL out of logs.",
    ),
)

RAZORPAY = Profile(
    name="razorpay",
    title="Razorpay",
    scheme=SignedScheme(signature="header:X-Razorpay-Signature"),
    key="body",  # X-Razorpay-Event-Id is not signed
    type="body:event",
    # A refund and a paid order name their payment too, so that one lane has them all.
    entity=(
        "body:payload.subscription.entity.id | body:payload.payment.entity.id | body:payload.order.entity.id"
        " | body:payload.refund.entity.id | body:payload.invoice.entity.id | body:payload.payment_link.entity.id"
        " | body:payload.payout.entity.id | body:payload.settlement.entity.id"
    ),
    occurred_at="body:created_at",
    redelivery=Redelivery(window=DAY),
    samples=(
        Sample(
            type="payment.captured",
            headers={"X-Razorpay-Event-Id": "{id}"},
            data={
                "entity": "event",
                "account_id": "acc_Landfast000001",
                "event": "{type}",
                "contains": ["payment"],
                "payload": {
                    "payment": {
                        "entity": {
                            "id": "pay_Landfast001001",
                            "entity": "payment",
                            "amount": 420000,
                            "currency": "INR",
                            "status": "captured",
                            "order_id": "order_{id}",
                            "method": "upi",
                        }
                    }
                },
                "created_at": BORN,
            },
        ),
    ),
    setup="Account and Settings, Webhooks: add the URL; the secret is yours to choose there.",
    traps=(
        "The secret is the webhook's own, not that of the API key.",
        "Retries of older events are still signed with the secret from before a change: keep both for a day.",
        "The header with the event's id is not signed, so the digest of the body is the key.",
    ),
)

BRAINTREE = Profile(
    name="braintree",
    title="Braintree",
    # Its own libraries also try a line break after the payload, for frameworks that strip it. Nothing is stripped here,
    # and what verified with and without it would be two events.
    scheme=SignedScheme(
        signature="form:bt_signature",
        algorithm="sha1",
        content="{form:bt_payload}",
        separator="&",
        prefix="*|",  # the public key of a pair, an entry for each that the account has
        secret="sha1",  # noqa: S106 - the form of one
        is_whole=True,
        shortest=64,  # a challenge has 32 at most
    ),
    key="fields:form:bt_payload",  # bt_signature lists every key of the account, and that list may change
    body_varies=True,
    type="xml:bt_payload.notification.kind",
    entity=(
        "xml:bt_payload.notification.subject.subscription.id | xml:bt_payload.notification.subject.transaction.id"
        " | xml:bt_payload.notification.subject.dispute.id | xml:bt_payload.notification.subject.disbursement.id"
        " | xml:bt_payload.notification.subject.merchant-account.id"
    ),
    occurred_at="xml:bt_payload.notification.timestamp",
    handshakes=(
        Handshake(
            method="GET",
            when="query:bt_challenge",
            text=Proof(
                of="{query:bt_challenge}",
                algorithm="sha1",
                prefix="{setting:public_key}|",
                matches="[a-f0-9]{20,32}",  # anything longer could be a payload, which the same key signs
            ),
        ),
    ),
    settings=("public_key",),
    redelivery=Redelivery(timeout=30, window=DAY, delays=(HOUR,) * 24),
    samples=(
        Sample(
            type="subscription_charged_successfully",
            is_form=True,
            encoded="bt_payload",
            data={
                "bt_payload": "<notification><kind>{type}</kind>"
                '<timestamp type="datetime">2026-01-01T00:00:00Z</timestamp><subject><subscription>'
                "<id>{id}</id><status>Active</status><price>42.00</price></subscription></subject></notification>"
            },
        ),
    ),
    setup="API, Webhooks: add the URL while Landfast runs. The private key is the secret; the source says public_key.",
    traps=(
        "The body is a form, and bt_payload in it XML in base64: hand both fields to the library of Braintree.",
        "There is no id of an event: the digest of the payload is its key.",
    ),
)

COINBASE_COMMERCE = Profile(
    name="coinbase-commerce",
    title="Coinbase Commerce",
    scheme=SignedScheme(signature="header:X-CC-Webhook-Signature"),
    key="body:event.id",  # the id beside it is the delivery's, and attempt_number counts
    body_varies=True,
    type="body:event.type",
    entity="body:event.data.id | body:event.data.code",
    occurred_at="body:event.created_at",
    samples=(
        Sample(
            type="charge:confirmed",
            id="5ea1ce01-0000-4000-8000-000000001001",
            data={
                "attempt_number": 1,
                "event": {
                    "api_version": "2018-03-22",
                    "created_at": "2026-01-01T00:00:00Z",
                    "data": {
                        "code": "LANDFAST",
                        "id": "5ea1ce02-0000-4000-8000-000000000001",
                        "name": "Harbour tour",
                        "pricing_type": "fixed_price",
                    },
                    "id": "{id}",
                    "resource": "event",
                    "type": "{type}",
                },
                "id": "5ea1ce03-0000-4000-8000-000000000001",
                "scheduled_for": "2026-01-01T00:00:00Z",
            },
        ),
    ),
    setup="Settings, Notifications: add the URL and copy the shared secret.",
    traps=("Every attempt has another body, with its number in it: only the event's own id stays.",),
)

PROFILES = (SQUARE, CHECKOUT_COM, MOLLIE, MOLLIE_NEXT, RAZORPAY, BRAINTREE, COINBASE_COMMERCE)
