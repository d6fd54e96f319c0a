"""Models, voices and agents: what is special about each, and their own libraries as a second opinion."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from landfast.domain.errors import UnverifiedError
from tests.providers.arrivals import NOW, event, is_refused, sent, taken, with_headers
from tests.providers.keypairs import STANDARD, TEXT

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.req("R1", "R4")
def test_the_id_of_openai_is_signed_and_is_the_key() -> None:
    draft = sent("openai", id_="wh_1")
    assert event("openai", draft).key == "wh_1"
    assert is_refused("openai", with_headers(draft, {"webhook-id": "wh_2"}))


def test_a_request_of_elevenlabs_counts_for_half_an_hour() -> None:
    draft = sent("elevenlabs")
    assert not is_refused("elevenlabs", draft, now=NOW + 1_799)
    assert is_refused("elevenlabs", draft, now=NOW + 1_801)


def test_a_refusal_makes_elevenlabs_come_again() -> None:
    with pytest.raises(UnverifiedError) as refusal:
        taken("elevenlabs", sent("elevenlabs"), now=NOW + 10_000)
    assert refusal.value.answer.status == 503


def test_transcript_and_recording_of_one_call_are_two_events_of_one_entity() -> None:
    one, two = (
        event("elevenlabs", sent("elevenlabs", type_=f"post_call_{kind}")) for kind in ("transcription", "audio")
    )
    assert one.key != two.key
    assert one.entity == two.entity


def test_an_agent_of_cursor_that_finishes_twice_has_two_events() -> None:
    one, two = (
        event("cursor", sent("cursor", {"event": "statusChange", "id": "bc_1", "status": "FINISHED", "timestamp": at}))
        for at in ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z")
    )
    assert one.key != two.key
    assert (one.entity, one.occurred_at) == ("bc_1", MIDNIGHT)


def test_what_we_sign_for_openai_passes_its_own_library() -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key="none", webhook_secret=STANDARD)
    draft = sent("openai", now=time.time())  # the library asks the clock itself
    client.webhooks.verify_signature(draft.body, draft.headers)
    with pytest.raises(openai.InvalidWebhookSignatureError):
        client.webhooks.verify_signature(draft.body + b" ", draft.headers)


def test_what_we_sign_for_elevenlabs_passes_its_own_library() -> None:
    elevenlabs = pytest.importorskip("elevenlabs")
    client = elevenlabs.ElevenLabs(api_key="none")
    draft = sent("elevenlabs", now=time.time())
    header = draft.headers["ElevenLabs-Signature"]
    assert client.webhooks.construct_event(draft.body.decode(), header, TEXT)["type"] == "post_call_transcription"
    with pytest.raises(elevenlabs.BadRequestError):
        client.webhooks.construct_event(draft.body.decode() + " ", header, TEXT)
