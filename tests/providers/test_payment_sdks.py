"""What we sign, checked by the libraries of those who would have signed it: they were written by somebody else."""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from landfast.domain.delivery import Head
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret

NOW = 1_767_323_045
URL = "https://hooks.example.com/in/source"


def signed(name: str, **settings: Any) -> Draft:
    return signed_request(provider(name, **settings), sample(name), sender_secret(name), now=NOW, id="msg_1", url=URL)


def test_stripe_takes_it() -> None:
    stripe = pytest.importorskip("stripe")
    draft = signed("stripe")
    header = draft.headers["Stripe-Signature"]
    assert stripe.WebhookSignature.verify_header(draft.body.decode(), header, sender_secret("stripe"), tolerance=None)


def test_adyen_takes_it() -> None:
    util = pytest.importorskip("Adyen.util")
    draft = signed("adyen")
    assert util.is_valid_hmac_notification(json.loads(draft.body), sender_secret("adyen"))
    platform = signed("adyen-platform")
    signature = platform.headers["HmacSignature"]
    assert util.is_valid_hmac_payload(signature, sender_secret("adyen-platform"), platform.body)


def test_gocardless_takes_it() -> None:
    webhooks = pytest.importorskip("gocardless_pro.webhooks")
    draft = signed("gocardless")
    (event,) = webhooks.parse(draft.body.decode(), sender_secret("gocardless"), draft.headers["Webhook-Signature"])
    assert event.id == "EV00LANDFAST01"


def test_square_takes_it() -> None:
    helper = pytest.importorskip("square.utils.webhooks_helper")
    draft = signed("square")
    assert helper.verify_signature(
        request_body=draft.body.decode(),
        signature_header=draft.headers["x-square-hmacsha256-signature"],
        signature_key=sender_secret("square"),
        notification_url=URL,
    )


def test_razorpay_takes_it() -> None:
    razorpay = pytest.importorskip("razorpay")
    draft = signed("razorpay")
    client = razorpay.Client(auth=("key", "secret"))
    signature = draft.headers["X-Razorpay-Signature"]
    assert client.utility.verify_webhook_signature(draft.body.decode(), signature, sender_secret("razorpay"))


def braintree_gateway(public_key: str) -> Any:
    braintree = pytest.importorskip("braintree")
    return braintree.BraintreeGateway(
        braintree.Configuration(
            braintree.Environment.Sandbox,
            merchant_id="north_pier",
            public_key=public_key,
            private_key=sender_secret("braintree"),
        )
    )


def test_braintree_takes_it_and_reads_the_same_in_it() -> None:
    gateway = braintree_gateway("key")  # that is what we sign as
    fields = dict(parse_qsl(signed("braintree", public_key="key").body.decode()))
    notice = gateway.webhook_notification.parse(fields["bt_signature"], fields["bt_payload"])
    assert notice.kind == "subscription_charged_successfully"
    assert notice.subscription.id == "sample_1001"


# braintree 4.31 makes its samples with datetime.utcnow, which Python 3.12 and later warn of.
@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
def test_braintree_is_taken_as_its_own_library_signs_it() -> None:
    gateway = braintree_gateway("our_key")
    made = gateway.webhook_testing.sample_notification("subscription_went_past_due", "my_id")
    draft = Draft(urlencode(made).encode(), {"Content-Type": "application/x-www-form-urlencoded"})
    profile = provider("braintree", public_key="our_key")
    source = Source("source", profile, our_secrets(profile), public_url=URL)
    (identity,) = examine(source, draft.head(), draft.body, now=datetime.fromtimestamp(NOW, UTC)).identities
    assert (identity.type, identity.entity) == ("subscription_went_past_due", "my_id")


def test_braintree_gives_the_same_answer_to_its_challenge() -> None:
    challenge = "5ea1ce00f77439fe955c977e4c8a5301"
    profile = provider("braintree", public_key="our_key")
    source = Source("source", profile, our_secrets(profile), public_url=URL)
    head = Head("GET", "/in/source", f"bt_challenge={challenge}")
    greeting = examine(source, head, b"", now=datetime.fromtimestamp(NOW, UTC)).greeting
    assert greeting is not None
    assert greeting.answer.body.decode() == braintree_gateway("our_key").webhook_notification.verify(challenge)


def test_coinbase_commerce_takes_it() -> None:
    webhook = pytest.importorskip("coinbase_commerce.webhook")
    draft = signed("coinbase-commerce")
    signature = draft.headers["X-CC-Webhook-Signature"]
    event = webhook.Webhook.construct_event(draft.body.decode(), signature, sender_secret("coinbase-commerce"))
    assert event.type == "charge:confirmed"


def test_paddle_takes_it() -> None:
    notifications = pytest.importorskip("paddle_billing.Notifications")
    draft = signed("paddle-billing")

    class Request:
        headers = draft.headers
        body = draft.body

    secret = notifications.Secret(sender_secret("paddle-billing"))
    assert notifications.Verifier(maximum_variance=None).verify(Request(), secret, verify_time_drift=False)


def test_paddle_classic_is_serialised_as_another_library_does_it() -> None:
    phpserialize = pytest.importorskip("phpserialize")
    draft = signed("paddle-classic")
    fields = dict(parse_qsl(draft.body.decode(), keep_blank_values=True))
    del fields["p_signature"]
    assert draft.request().as_form().php_form() == phpserialize.dumps(dict(sorted(fields.items())))


def test_mollie_takes_it() -> None:
    validator = pytest.importorskip("mollie.utils.webhooks.signature_validator")
    draft = signed("mollie-next")
    signature = draft.headers["X-Mollie-Signature"]
    assert validator.SignatureValidator(sender_secret("mollie-next")).validate_payload(draft.body.decode(), signature)


@pytest.mark.parametrize("name", ["lithic", "polar", "bigcommerce"])
def test_those_that_follow_standard_webhooks_are_taken_by_its_library(name: str) -> None:
    standardwebhooks = pytest.importorskip("standardwebhooks")
    now = time.time()  # the library has its own clock
    draft = signed_request(name, sample(name), sender_secret(name), now=now, id="msg_1")
    secret = sender_secret(name)
    if name != "lithic":  # whose secret is base64 already
        secret = base64.b64encode(secret.encode()).decode()
    assert standardwebhooks.Webhook(secret).verify(draft.body, draft.headers)


def test_easypost_takes_it() -> None:
    util = pytest.importorskip("easypost.util")
    draft = signed("easypost")
    assert util.validate_webhook(draft.body, draft.headers, sender_secret("easypost"))["description"]
