"""Senders whose id stands in a header that nobody signs: who captured one body must not replay it under a fresh id."""

from __future__ import annotations

import pytest

from landfast.providers import provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.coverage import unsigned_headers
from landfast.providers.dedup import places_read, reads_type
from tests.providers.arrivals import event, is_refused, sent, with_headers

UNSIGNED = {
    "github": "X-GitHub-Delivery",
    "bitbucket-cloud": "X-Request-UUID",
    "bitbucket-server": "X-Request-Id",
    "gitea": "X-Gitea-Delivery",
    "gogs": "X-Gogs-Delivery",
    "linear": "Linear-Delivery",
    "jira": "X-Atlassian-Webhook-Identifier",
    "sentry": "Request-ID",
    "pagerduty": "X-Webhook-Id",
    "sanity": "idempotency-key",
    "cursor": "X-Webhook-ID",
    "hook0": "X-Event-Id",
    "convoy": "X-Convoy-Idempotency-Key",
}


@pytest.mark.req("R4")
@pytest.mark.parametrize(("name", "header"), UNSIGNED.items())
def test_a_fresh_id_in_an_unsigned_header_makes_no_new_event(name: str, header: str) -> None:
    first = sent(name)
    again = with_headers(first, {header: "another-id"})
    assert event(name, again).key == event(name, first).key


ATTEMPTS = {
    "bitbucket-cloud": "X-Attempt-Number",
    "jira": "X-Atlassian-Webhook-Retry",
    "sentry": "Sentry-Hook-Timestamp",
    "linear": "Linear-Timestamp",
}


@pytest.mark.req("R4")
@pytest.mark.parametrize(("name", "header"), ATTEMPTS.items())
def test_the_number_and_time_of_an_attempt_make_no_new_event(name: str, header: str) -> None:
    first = sent(name)
    assert event(name, with_headers(first, {header: "1767323099"})).key == event(name, first).key


FOREIGN = {
    "github": ("pull_request.1", "Push", "push/1", ""),
    "gitea": ("push.1", "push:1"),
    "gogs": ("push.1", "PUSH"),
    "bitbucket-cloud": ("repo", "repo:push:1", "repo.push"),
    "bitbucket-server": ("pr", "pr.opened"),
    "shopify": ("orders", "orders/paid/1", "Orders/Paid", "orders/paid1"),
    "woocommerce": ("order", "order created", "Order.created"),
    "sentry": ("issue.1", "Issue"),
    "netlify": ("deploy.created", "deploy-created"),
    "helpscout": ("convo", "convo/created", "convo.1"),
    "sanity": ("created", "update.1"),
    "hook0": ("a b", "a/b", "a" * 300),
}
"""Words that are no type of this sender."""


@pytest.mark.req("R1", "R4")
@pytest.mark.parametrize("name", FOREIGN)
def test_a_type_that_its_sender_does_not_write_is_refused(name: str) -> None:
    profile, genuine = provider(name), sent(name)
    header = profile.unsigned_type[0]
    assert not is_refused(name, genuine)
    for word in FOREIGN[name]:
        assert is_refused(name, with_headers(genuine, {header: word})), word


def test_every_type_that_is_not_signed_has_its_letters() -> None:
    unsigned = {name for name, profile in PROFILES.items() if profile.unsigned_type}
    assert unsigned == set(FOREIGN)
    assert all(PROFILES[name].type_letters for name in unsigned)


def test_no_key_of_the_catalogue_is_made_of_what_is_not_signed() -> None:
    for name, profile in PROFILES.items():
        assert not (profile.unsigned_type and reads_type(profile.key)), name
        assert [unsigned_headers(profile.scheme, place) for place in places_read(profile.key) or () if place] in (
            [],
            [()] * len(places_read(profile.key) or ()),
        ), name
