"""The providers that Landfast knows, one entry each, by family. The facts come from their documentation and SDKs.

How to add one
--------------
Write a `Profile` in the module of its family, add it to that module's `PROFILES` and its name to `_FAMILIES` below,
give it a sample, run `tests/providers`. Nothing else knows the list. An entry of a known scheme needs no code:

    ACME = Profile(
        name="acme",                         # what a source says in `provider =`; small letters and hyphens
        title="Acme Payments",               # for people
        scheme=SignedScheme(                 # how it signs; `landfast.providers.schemes` lists the schemes
            signature="header:Acme-Signature",
            content="{timestamp}.{body}",    # exactly what is signed; the parts are listed in `template`
            separator=",",
            prefix="v1=",
            timestamp="entry:t=",
        ),
        key="body:id",                       # what makes two deliveries one event; see `landfast.providers.dedup`
        type="body:type",                    # places are written as in `landfast.providers.locations`
        entity="body:data.id",               # the object that the event is about
        occurred_at="body:created",
        redelivery=Redelivery(timeout=10, window=3 * DAY),
        samples=(Sample(type="payment.paid", data={"id": "{id}", "type": "{type}"}),),
        setup="Dashboard, Webhooks, Add endpoint. The signing secret is shown once.",
        traps=("A test event is signed with the secret of the test mode.",),
    )

The fields
----------
`key`          Only from what is signed. An id or a type in an unsigned header is no key: who captured one body could
               replay it under a fresh one; take `body` there. A field that counts attempts makes every delivery a new
               event: then take `fields:` that stay the same. A body that only says that something changed is the same
               each time, and a digest of it would lose every change but the first: there take `arrival`. A token proves
               no body, so there any field is as good as another.
`occurred_at`  When it happened. An event whose time is further back than the inbox remembers is held.
`time_of_object`   Whether that is when its object last changed: that may be long ago, and such an event is not held.
`body_varies`  Whether the same event comes with other bytes in a later delivery, such as a count of attempts: then the
               preset `critical` does not hold a delivery for its bytes.
`items`        Where one request brings many events, the list of them; `key`, `type` and the rest then read `item:`. The
               event's body is the item's own bytes. Choose the smallest element that makes sense alone.
`signed_at_place`  A signed time in the body, where no header has one. Checked against `tolerance`, like a header's.
`signed_at_unit`   "ms" where that time is in milliseconds, however small; otherwise its size tells.
`tolerance`    Seconds; `math.inf` where the sender signs its retries with the time of the first attempt.
`refusal`      The status for a wrong signature, where 401 is not the right one for this sender.
`thanks`       What the answer must say, where the sender reads it and comes again if it says something else.
`methods`      Other than POST, where events come so.
`settings`     What a source must say besides its secrets, such as `verify_token`; `name?` if it need not.
`handshakes`   See `landfast.providers.handshake`. Unsigned ones are answered before verification: give them a `token`
               where the provider has one, and let them reflect no more than they must.
`redelivery`   Only what is published; None is better than a guess.
`fetch_back`   Whether an event only says that something changed, and the handler has to ask what.
`environments` Where the provider has a sandbox with keys of its own: what `environment` in a source may be. The first
               is meant unless a source says otherwise, and only that one's keys count.
`proves_account`   False where one key signs for all clients of the provider, and nothing that is signed names ours.
`samples`      At least one, written here, realistic, never copied. `{id}` must stand in what the key reads.
`type_letters` Where the type stands in a header that is not signed, the pattern of those that the sender writes.
`siblings`     There, when the same body under another type is an event of its own: seconds after the first arrival,
               from and until. Never, unless the sender is known to send the same bytes under several types (ADR 23).
`setup`, `traps`   Two or three short sentences of our own for the provider's page.

Samples and vectors
-------------------
`tests/providers/test_catalogue.py` signs every sample and takes it through intake's own path: it must verify, and be
refused after any change that the scheme covers; its key must follow `{id}`, its type `{type}`. Vectors that others
published lie in `tests/providers/vectors/`, each with where it comes from, and `tests/providers/test_vectors.py` runs
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from landfast.providers.profile import Profile

_FAMILIES = {
    "payments": ("stripe", "paypal", "adyen", "adyen-platform", "gocardless"),
    "acquirers": ("square", "checkout-com", "mollie", "mollie-next", "razorpay", "braintree", "coinbase-commerce"),
    "billing": ("paddle-billing", "paddle-classic", "lemonsqueezy", "chargebee", "polar"),
    "banking": ("plaid", "truelayer", "lithic", "xero", "quickbooks"),
    "commerce": ("shopify", "woocommerce", "bigcommerce", "ebay"),
    "logistics": ("easypost", "onfleet"),
    "code": ("github", "gitlab", "bitbucket-cloud", "bitbucket-server", "gitea", "gogs"),
    "pipelines": ("circleci", "vercel", "netlify", "sentry", "pagerduty"),
    "messaging": ("slack", "discord-interactions", "discord-events", "telegram", "line", "webex", "pusher"),
    "social": ("meta", "whatsapp", "x-twitter", "twitch"),
    "telephony": ("twilio", "messagebird", "plivo"),
    "email": ("sendgrid", "mailgun", "resend", "postmark", "mandrill", "mailersend", "postal"),
    "marketing": ("customerio", "mautic"),
    "media": ("mux", "cloudinary"),
    "cloud": ("aws-sns", "google-pubsub", "azure-event-grid"),
    "identity": ("okta", "auth0", "clerk", "workos", "fusionauth", "onfido", "finch"),
    "work": ("asana", "notion", "airtable", "clickup", "microsoft-graph", "hubspot", "zoom"),
    "planning": ("linear", "jira", "trello"),
    "scheduling": ("calendly", "cal-com", "acuity"),
    "documents": ("docusign", "dropbox-sign", "typeform", "formstack"),
    "content": ("sanity", "webflow"),
    "storage": ("dropbox", "box"),
    "support": ("zendesk", "intercom", "helpscout"),
    "ai": ("openai", "elevenlabs", "cursor"),
    "infrastructure": ("standard-webhooks", "svix", "hook0", "convoy", "cloudevents"),
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names}


@cache
def _family(name: str) -> Mapping[str, Profile]:
    return {profile.name: profile for profile in import_module(f"{__name__}.{name}").PROFILES}


class _Catalogue(Mapping[str, Profile]):
    """A family is read when one of its providers is asked for: a worker of two sources need not know a hundred."""

    def __getitem__(self, name: str) -> Profile:
        return _family(_FAMILY_OF[name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_FAMILY_OF)

    def __len__(self) -> int:
        return len(_FAMILY_OF)


PROFILES: Mapping[str, Profile] = _Catalogue()
