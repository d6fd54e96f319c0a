"""Chat, and messages between programs: what is special to each."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from landfast.domain.delivery import Identity
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.providers import Profile, provider
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.requests import headers_of

NOW = 1_767_323_045
AT = datetime.fromtimestamp(NOW, UTC)
BORN = datetime(2026, 1, 1, tzinfo=UTC)


def taken(profile: Profile | str, data: Any, *, now: int = NOW, headers: dict[str, str] | None = None) -> Examined:
    """What intake makes of these data, signed as the provider would."""
    chosen = provider(profile) if isinstance(profile, str) else profile
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    draft = signed_request(chosen, body, sender_secret(chosen.name), now=now)
    draft.headers.update(headers or {})
    return examine(Source("source", chosen, our_secrets(chosen)), draft.head(), draft.body, now=AT)


def only(profile: Profile | str, data: Any, **further: Any) -> Identity:
    (identity,) = taken(profile, data, **further).identities
    return identity


def test_a_ping_of_discord_is_answered_with_204_and_nothing_else() -> None:
    greeting = taken("discord-events", {"version": 1, "application_id": "827", "type": 0}).greeting
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (204, b"")
    assert taken("discord-events", sample("discord-events")).greeting is None


def test_a_wrong_signature_of_discord_gets_the_401_that_it_looks_for() -> None:
    source = Source("source", provider("discord-events"), our_secrets(provider("discord-events")))
    draft = signed_request("discord-events", b'{"type":0}', sender_secret("discord-events"), now=NOW)
    with pytest.raises(UnverifiedError) as refused:
        examine(source, draft.head(), b'{"type":0 }', now=AT)
    assert refused.value.answer.status == 401


def test_a_discord_event_is_about_its_user_and_has_its_own_time() -> None:
    event = {"type": "ENTITLEMENT_CREATE", "timestamp": "2026-01-01T00:00:00Z", "data": {"user_id": "995", "id": "1"}}
    identity = only("discord-events", {"type": 1, "event": event})
    assert (identity.type, identity.entity, identity.occurred_at) == ("ENTITLEMENT_CREATE", "995", BORN)


@pytest.mark.parametrize(
    ("field", "inside", "entity"),
    [
        ("message", {"chat": {"id": -100123}, "from": {"id": 7}, "date": 1_767_225_600}, "-100123"),
        ("callback_query", {"id": "9", "from": {"id": 7}, "message": {"chat": {"id": 42}}}, "42"),
        ("inline_query", {"id": "9", "from": {"id": 7}, "query": "ice"}, "7"),
        ("poll", {"id": "9", "options": []}, None),
    ],
)
def test_the_type_of_a_telegram_update_is_the_name_of_its_field(field: str, inside: Any, entity: str | None) -> None:
    identity = only("telegram", {"update_id": 710001, field: inside})
    assert (identity.key, identity.type, identity.entity) == ("710001", field, entity)
    assert identity.occurred_at == (BORN if "date" in inside else None)


def test_a_telegram_update_without_the_token_is_refused_and_no_body_is_proven() -> None:
    profile = provider("telegram")
    source = Source("source", profile, our_secrets(profile))
    draft = signed_request(profile, b'{"update_id":1}', sender_secret("telegram"), now=NOW)
    assert profile.coverage == "no"
    assert examine(source, draft.head(), b'{"update_id":2}', now=AT).identities[0].key == "2"
    draft.headers["X-Telegram-Bot-Api-Secret-Token"] += "x"
    with pytest.raises(UnverifiedError, match="none of the active secrets"):
        examine(source, draft.head(), draft.body, now=AT)


def line_event(id_: str, *, again: bool = False) -> dict[str, Any]:
    return {
        "type": "message", "webhookEventId": id_, "deliveryContext": {"isRedelivery": again},
        "timestamp": 1_767_225_600_000, "source": {"type": "group", "groupId": "C1", "userId": "U1"},
    }  # fmt: skip


@pytest.mark.req("R4")
def test_each_line_event_has_its_own_key_and_a_redelivered_one_the_same() -> None:
    first, second = taken("line", {"destination": "U0", "events": [line_event("A"), line_event("B")]}).identities
    again = only("line", {"destination": "U0", "events": [line_event("A", again=True)]})
    assert (first.key, second.key, again.key) == ("A", "B", "A")
    assert (first.type, first.entity, first.occurred_at) == ("message", "C1", BORN)


def test_the_verify_button_of_line_brings_no_event() -> None:
    assert taken("line", {"destination": "U0", "events": []}).identities == []


def test_two_webex_messages_are_two_events_though_the_webhooks_id_is_the_same() -> None:
    first, second = (
        only("webex", {"id": "W", "resource": "messages", "event": "created", "data": {"id": id_, "roomId": "R"}})
        for id_ in ("M1", "M2")
    )
    assert first.key != second.key
    assert (first.type, first.entity) == ("messages.created", "R")


PUSHED = {"name": "channel_occupied", "channel": "pier"}


@pytest.mark.req("R4")
def test_events_of_pusher_that_are_alike_are_kept_apart_by_their_place_and_by_their_request() -> None:
    body = {"time_ms": NOW * 1000, "events": [PUSHED, {**PUSHED, "name": "channel_vacated"}, PUSHED]}
    first, vacated, second = taken("pusher", body).identities
    assert len({first.key, vacated.key, second.key}) == 3
    assert [each.key for each in taken("pusher", body).identities] == [first.key, vacated.key, second.key]
    assert only("pusher", {"time_ms": NOW * 1000 + 1, "events": [PUSHED]}).key != first.key
    assert (first.type, first.entity, first.occurred_at) == ("channel_occupied", "pier", AT)


@pytest.mark.req("R1")
def test_pushers_time_in_the_body_is_checked_to_five_minutes() -> None:
    only("pusher", {"time_ms": (NOW - 300) * 1000, "events": [PUSHED]})
    for seconds in (-301, 301):
        with pytest.raises(UnverifiedError, match="our clock"):
            taken("pusher", {"time_ms": (NOW + seconds) * 1000, "events": [PUSHED]})


@pytest.mark.req("R1")
@pytest.mark.parametrize("named", ["another", "OURS", ""])
def test_pushers_key_must_be_the_sources_where_it_gives_one(named: str) -> None:
    body = {"time_ms": NOW * 1000, "events": [PUSHED]}
    assert taken(provider("pusher", app_key="ours"), body).identities
    assert taken("pusher", body, headers={"X-Pusher-Key": named}).identities
    with pytest.raises(UnverifiedError, match="X-Pusher-Key"):
        taken(provider("pusher", app_key="ours"), body, headers={"X-Pusher-Key": named})


@pytest.mark.parametrize(("name", "status"), [("slack", 200), ("discord-events", 204), ("twilio", 200)])
def test_those_that_read_the_answer_get_an_empty_one(name: str, status: int) -> None:
    thanks = provider(name).thanks
    assert thanks is not None and (thanks.status, thanks.body) == (status, b"")


def test_line_itself_accepts_what_we_sign() -> None:
    webhook = pytest.importorskip("linebot.v3.webhook")
    draft = signed_request("line", sample("line"), sender_secret("line"), now=NOW)
    validator = webhook.SignatureValidator(sender_secret("line"))
    assert validator.validate(draft.body.decode(), draft.headers["X-Line-Signature"])
    assert not validator.validate(draft.body.decode() + " ", draft.headers["X-Line-Signature"])


def test_pusher_itself_accepts_what_we_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    pusher = pytest.importorskip("pusher")
    monkeypatch.setattr(time, "time", lambda: NOW)
    client = pusher.Pusher(app_id="1", key="ours", secret=sender_secret("pusher"))
    body = json.dumps({"time_ms": NOW * 1000, "events": [PUSHED]}).encode()
    draft = signed_request(provider("pusher", app_key="ours"), body, sender_secret("pusher"), now=NOW)
    shown = headers_of(draft.headers)
    key, signature = (str(shown.text(name)) for name in (b"x-pusher-key", b"x-pusher-signature"))
    assert client.validate_webhook(key, signature, body.decode()) == json.loads(body)
    assert client.validate_webhook(key, signature, body.decode() + " ") is None


def test_slack_itself_accepts_what_we_sign() -> None:
    signature = pytest.importorskip("slack_sdk.signature")
    draft = signed_request("slack", sample("slack"), sender_secret("slack"), now=NOW)

    class Clock:
        def now(self) -> float:
            return NOW

    verifier = signature.SignatureVerifier(sender_secret("slack"), clock=Clock())
    assert verifier.is_valid_request(draft.body, draft.headers)
    assert not verifier.is_valid_request(draft.body + b" ", draft.headers)
