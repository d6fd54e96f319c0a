"""Dropbox, Box."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers.signing import signed_request
from tests.providers.senders import NOW, event, greeting, profile_of, sample_of, signed, source_of, taken


def test_dropbox_gets_its_challenge_back_as_plain_text() -> None:
    answer = greeting("dropbox", "GET", {"challenge": "<b>abc123"}).answer
    assert (answer.status, answer.body) == (200, b"<b>abc123")
    assert answer.content_type.startswith(b"text/plain")


@pytest.mark.req("R4")
def test_an_account_of_dropbox_that_changes_twice_is_two_events() -> None:
    data = sample_of("dropbox")
    first, second = event("dropbox", data), event("dropbox", data, at=NOW + 60)
    assert first.key != second.key
    assert first.type == second.type == "changed"


@pytest.mark.req("R4")
def test_box_names_each_attempt_anew_and_the_event_stays_the_same() -> None:
    data = sample_of("box")
    first = event("box", data, headers={"BOX-DELIVERY-ID": "f96bb54b-ee16-4fc5-aa65-8c2d9e5b546f"})
    second = event("box", data, headers={"BOX-DELIVERY-ID": "00000000-ee16-4fc5-aa65-8c2d9e5b546f"}, at=NOW + 3_600)
    assert first.key == second.key == data["id"]
    assert (first.type, first.entity) == ("FILE.UPLOADED", "73835521473")
    assert first.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.req("R54")
def test_either_key_of_box_will_do_while_one_of_them_changes() -> None:
    profile, body = profile_of("box"), b'{"id":"1","trigger":"FILE.UPLOADED"}'
    draft = signed_request(profile, body, "the new key of the sender", now=NOW)
    older = signed_request(profile, body, "the old key of the sender", now=NOW)
    draft.headers["BOX-SIGNATURE-SECONDARY"] = older.headers["BOX-SIGNATURE-PRIMARY"]
    for key in ("the new key of the sender", "the old key of the sender"):
        source = Source("source", profile, (Secret("only", key.encode()),))
        assert source.provider.verify(profile.present(draft.head()), draft.head(), body, source.secrets)


@pytest.mark.req("R1")
@pytest.mark.parametrize(("header", "value"), [("BOX-SIGNATURE-VERSION", "2"), ("BOX-SIGNATURE-ALGORITHM", "HmacSHA1")])
def test_box_in_another_version_or_algorithm_is_refused(header: str, value: str) -> None:
    draft = signed("box", sample_of("box"))
    draft.headers[header] = value
    with pytest.raises(UnverifiedError, match=header):
        taken("box", draft)


def test_boxs_own_library_agrees_with_what_we_sign() -> None:
    manager = pytest.importorskip("box_sdk_gen").WebhooksManager
    draft = signed("box", sample_of("box"), at=datetime.now(UTC).timestamp())  # its clock is the machine's
    headers = {name.lower(): value for name, value in draft.headers.items()}
    key = source_of("box").secrets[0].key.decode()
    assert manager.validate_message(draft.body.decode(), headers, key)
    assert not manager.validate_message(draft.body.decode() + " ", headers, key)
