"""Senders whose id stands in a header that nobody signs: who captured one body must not replay it under a fresh id."""

from __future__ import annotations

import pytest

from tests.providers.arrivals import event, sent, with_headers

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
