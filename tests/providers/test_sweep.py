"""No change of a captured request that needs no secret makes an event that runs, at any provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.provider_pages import provider_pages
from landfast.providers.catalogue import PROFILES
from tests.providers.sweep import Counter, changes, in_other_ways
from tests.providers.victims import Victim, victim

ROUNDS = 4
UNPROVEN_BODY = "does not cover the body"
EVERY_ARRIVAL = "every arrival is an event"
SIBLINGS = "an event of its own for"

EXCEPTIONS = {
    "acuity": EVERY_ARRIVAL,
    "auth0": UNPROVEN_BODY,
    "azure-event-grid": UNPROVEN_BODY,
    "chargebee": UNPROVEN_BODY,
    "cloudevents": UNPROVEN_BODY,
    "dropbox": EVERY_ARRIVAL,
    "gitlab": UNPROVEN_BODY,
    "google-pubsub": UNPROVEN_BODY,
    "helpscout": SIBLINGS,
    "microsoft-graph": UNPROVEN_BODY,
    "mollie": UNPROVEN_BODY,
    "okta": UNPROVEN_BODY,
    "plaid": EVERY_ARRIVAL,
    "postmark": UNPROVEN_BODY,
    "shopify": SIBLINGS,
    "telegram": UNPROVEN_BODY,
    "woocommerce": SIBLINGS,
}
"""Where a changed request may run, and the words with which the provider's page says so."""


@pytest.mark.req("R1", "R4")
@pytest.mark.parametrize("part", range(ROUNDS))
async def test_a_changed_request_is_refused_a_duplicate_or_held(part: int, tmp_path: Path) -> None:
    """The cache knows nothing, so that the inbox decides."""
    await _sweep(list(PROFILES)[part::ROUNDS], tmp_path, forgets=True)


@pytest.mark.req("R4", "R5")
async def test_a_cache_hides_no_request_that_has_to_be_held(tmp_path: Path) -> None:
    await _sweep([name for name, profile in PROFILES.items() if profile.unsigned_type], tmp_path, forgets=False)


async def _sweep(names: list[str], folder: Path, *, forgets: bool) -> None:
    victims = [each for name in names for each in (victim(name), *in_other_ways(name))]
    counter = Counter(folder, victims, forgets=forgets)
    await counter.inbox.open()
    await counter.inbox.migrate()
    failures = [failure for each in victims for failure in await _swept(counter, each)]
    await counter.inbox.close()
    assert failures == []


async def _swept(counter: Counter, victim: Victim) -> list[str]:
    exception = EXCEPTIONS.get(victim.profile.name)
    answer, new = await counter.take(victim, victim.genuine)
    assert [each.hold for each in new] == [""], f"{victim.name}: {answer}"
    _, again = await counter.take(victim, victim.genuine)
    failures = ["sent again it is another event"] if again and exception != EVERY_ARRIVAL else []
    accepted = []
    for name, sent in changes(victim):
        _, new = await counter.take(victim, sent)
        accepted += [f"{name}: {each.type}" for each in new if not each.hold]
    wrong = [each for each in accepted if not _is_excepted(exception, victim, each)]
    if exception is not None and not accepted:
        failures += ["is in the list of exceptions, and needs no place there"]
    return [f"{victim.name}: {failure}" for failure in [*failures, *wrong]]


def _is_excepted(exception: str | None, victim: Victim, accepted: str) -> bool:
    if exception == SIBLINGS:
        types = ("the type ", *(f"{header.lower()}: " for header in victim.profile.unsigned_type))
        return accepted.startswith(types)
    return exception == UNPROVEN_BODY or (exception == EVERY_ARRIVAL and " s later: " in accepted)


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_every_exception_is_told_on_the_page_of_its_provider(name: str) -> None:
    assert EXCEPTIONS[name] in provider_pages()[f"providers/{name}.md"]


@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.unsigned_type])
def test_a_type_that_is_not_signed_is_told_on_the_page_of_its_provider(name: str) -> None:
    page = provider_pages()[f"providers/{name}.md"]
    assert "the type is not signed" in page
    assert all(f"`{header}`" in page for header in PROFILES[name].unsigned_type)
