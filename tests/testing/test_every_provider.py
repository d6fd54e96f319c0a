"""The test kit for every provider of the catalogue: signed, delivered, stored, with no secret of anybody's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

import landfast.testing
from landfast import Inbox
from landfast.domain.errors import UserError
from landfast.providers import provider
from landfast.providers.catalogue import PROFILES
from landfast.testing import TestInbox
from landfast.testing.sender_secrets import pair_for

URL = "https://hooks.example.com/in/source"


def inbox_for(name: str) -> Inbox:
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "landfast.toml"
        empty.touch()
        inbox = Inbox(empty)
    options: dict[str, Any] = {setting.removesuffix("?"): "a value" for setting in PROFILES[name].settings}
    inbox.source(name, provider=name, secrets=["env:NOT_NEEDED"], public_url=URL, **options)
    return inbox


@pytest.mark.req("R54")
@pytest.mark.parametrize("name", PROFILES)
async def test_a_test_inbox_takes_what_every_provider_sends(name: str) -> None:
    async with TestInbox(inbox_for(name)) as t:
        for each in PROFILES[name].samples:
            delivered = await t.deliver(name, type=each.type, id="1001")
            assert delivered.status in {200, 204}, (each.type, delivered)


@pytest.mark.req("R54")
def test_sign_is_part_of_the_test_kit() -> None:
    body = landfast.testing.sample("stripe", "invoice.paid")
    assert "Stripe-Signature" in landfast.testing.sign("stripe", body, "a secret", now=1_767_323_045)


def test_a_provider_whose_requests_nobody_else_can_sign_says_so() -> None:
    class Unsigned:
        def __getattr__(self, name: str) -> Any:
            raise AttributeError(name)

    profile = provider("stripe")
    object.__setattr__(profile, "scheme", Unsigned())
    with pytest.raises(UserError, match="nobody but the provider can sign for it"):
        pair_for(profile)
