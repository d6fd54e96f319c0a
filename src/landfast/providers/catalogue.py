"""The providers that Landfast knows, one entry each. The facts come from their documentation and SDKs."""

from __future__ import annotations

from landfast.providers.profile import MEBIBYTE, Challenge, Profile
from landfast.providers.scheme import HmacScheme

STRIPE = Profile(
    name="stripe",
    scheme=HmacScheme(
        headers=("Stripe-Signature",),
        content="{timestamp}.{body}",
        separator=",",
        prefix="v1=",  # v0 is a test scheme
        timestamp_prefix="t=",
        # The whole secret is the key, `whsec_` included: not base64, unlike Standard Webhooks.
    ),
    key="body:id",
    type="body:type",
    entity="body:data.object.id | body:related_object.id",  # the second in thin (v2) events
    occurred_at="body:created",
)

GITHUB = Profile(
    name="github",
    # The SHA-1 in X-Hub-Signature is for receivers from before 2020; GitHub always sends both.
    scheme=HmacScheme(headers=("X-Hub-Signature-256",), prefix="sha256="),
    # X-GitHub-Delivery is not signed: whoever captured one body could replay it under a fresh id.
    key="type+body",
    type="header:X-GitHub-Event + body:action",
    entity=(
        "body:repository.id | body:organization.id"
        " + body:pull_request.id | body:issue.id | body:check_run.id | body:workflow_run.id | body:release.id"
    ),
    body_limit=25 * MEBIBYTE,  # GitHub's documented cap on a payload
)

SHOPIFY = Profile(
    name="shopify",
    scheme=HmacScheme(headers=("X-Shopify-Hmac-Sha256", "Shopify-Hmac-Sha256"), encoding="base64"),
    # X-Shopify-Webhook-Id is not signed either, and two topics may have the same body.
    key="type+body",
    type="header:X-Shopify-Topic | header:Shopify-Topic",
    entity="body:admin_graphql_api_id | body:id",
    occurred_at="header:X-Shopify-Triggered-At",
)

SLACK = Profile(
    name="slack",
    scheme=HmacScheme(
        headers=("X-Slack-Signature",),
        content="v0:{timestamp}:{body}",
        prefix="v0=",
        timestamp_header="X-Slack-Request-Timestamp",
    ),
    key="body:event_id",
    type="body:event.type | body:type | body:command",  # events, interactions, slash commands
    entity="body:event.channel | body:channel.id | body:channel_id",
    occurred_at="body:event_time",
    challenge=Challenge(when="type", equals="url_verification", echo="challenge"),
)

STANDARD_WEBHOOKS = Profile(
    name="standard-webhooks",
    scheme=HmacScheme(
        headers=("webhook-signature",),
        content="{id}.{timestamp}.{body}",
        encoding="base64",
        separator=" ",
        prefix="v1,",  # v1a is Ed25519
        timestamp_header="webhook-timestamp",
        id_header="webhook-id",
        key_form="base64",
    ),
    key="header:webhook-id",  # signed
    type="body:type",
    entity="body:data.id",
    occurred_at="body:timestamp",
)

PROFILES = {profile.name: profile for profile in (STRIPE, GITHUB, SHOPIFY, SLACK, STANDARD_WEBHOOKS)}
