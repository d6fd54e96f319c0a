"""Where fields are signed and not the bytes: who captured a request and spells it otherwise has no new event."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.providers import provider
from landfast.providers.items import slicer
from landfast.providers.locations import query_value
from landfast.providers.request import Draft
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.signing import signed_request
from tests.providers.arrivals import NOW, URL, event, is_refused, sent, taken, with_headers
from tests.providers.keypairs import pair, sender_secret


@pytest.mark.req("R4")
def test_an_id_written_as_a_number_is_the_id_written_as_text() -> None:
    first = sent("adyen", id_="8825408195409505")
    again = replace(first, body=first.body.replace(b'"8825408195409505"', b"8825408195409505"))
    assert again.body != first.body
    assert event("adyen", again).key == event("adyen", first).key


@pytest.mark.req("R4")
def test_a_parameter_whose_name_is_escaped_is_still_found() -> None:
    assert query_value("%69d=abc&status=sent", "id") == "abc"
    assert query_value("%69d=abc&id=other", "id") is None


@pytest.mark.req("R4")
def test_a_field_of_a_form_that_moves_into_the_signed_url_makes_no_new_event() -> None:
    url, body = f"{URL}?shop=1", b"AccountSid=AC1&MessageSid=SM1&MessageStatus=sent"
    first = signed_request("twilio", body, sender_secret("twilio"), now=NOW, url=url)
    moved = replace(first, body=body.removeprefix(b"AccountSid=AC1&"), url=f"{url}AccountSidAC1")
    assert not is_refused("twilio", first, url=url)
    assert is_refused("twilio", moved, url=url)


@pytest.mark.req("R1")
def test_a_time_out_of_the_body_is_no_timestamp() -> None:
    body = b'{"at":"2026-01-02T03:04:05Z","subscription":{"type":"stream.online"}}'
    first = sent("twitch", body)
    headers = {name.lower(): value for name, value in first.headers.items()}
    id_, at = (headers[f"twitch-eventsub-message-{name}"] for name in ("id", "timestamp"))
    longer = {"twitch-eventsub-message-id": id_ + at + '{"at":"'}
    shifted = Draft(body[27:], headers | longer | {"twitch-eventsub-message-timestamp": "2026-01-02T03:04:05Z"}, URL)
    assert not is_refused("twitch", first)
    assert is_refused("twitch", shifted)


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["fusionauth", "stripe", "gitlab"])
def test_a_public_key_is_never_taken_for_a_shared_secret(name: str) -> None:
    with pytest.raises(ConfigError, match="PEM"):  # a byte order mark before it hides what it is
        provider(name).decode_secret("\ufeff" + pair("rsa")[1])


def test_items_share_what_they_stand_in() -> None:
    items = slicer("body:entry.*.changes")(b'{"entry":[{"id":"1","changes":[1,2]},{"id":"2","changes":[3]}]}')
    assert items is not None
    first, second, third = items
    assert first.parent is second.parent
    assert third.parent == b'{"id":"2","changes":[3]}'


@pytest.mark.req("R1")
def test_a_thousand_signed_items_are_read_in_time() -> None:
    data = json.loads(sent("adyen").body)
    many = Draft(json.dumps(data | {"notificationItems": data["notificationItems"] * 1000}).encode(), {}, URL)
    started = time.process_time()
    assert len(taken("adyen", many).identities) == 1000
    assert time.process_time() - started < 5.0  # it was a minute while each field of each had the whole body decoded
    with pytest.raises(UnverifiedError):
        taken("adyen", replace(many, body=many.body.replace(b"AUTHORISATION", b"REFUND", 1)))


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    "changed",
    [
        {"merchantReference": "order", "amount": {"value": 99, "currency": "4200:EUR"}},
        {"pspReference": "8825408195409505:", "originalReference": "NorthPier", "merchantAccountCode": "order"},
    ],
    ids=["another amount", "a fresh key"],
)
def test_of_what_adyen_signs_only_the_merchants_reference_may_hold_the_delimiter(changed: dict[str, object]) -> None:
    data = json.loads(sent("adyen").body)
    item = data["notificationItems"][0]["NotificationRequestItem"]
    item["merchantReference"] = "order:99"
    genuine = signed_request(provider("adyen"), json.dumps(data).encode(), sender_secret("adyen"), now=NOW, url=URL)
    assert not is_refused("adyen", genuine)
    data = json.loads(genuine.body)
    data["notificationItems"][0]["NotificationRequestItem"].update(changed)
    with pytest.raises(UnverifiedError, match="delimiter"):
        taken("adyen", replace(genuine, body=json.dumps(data).encode()))


@pytest.mark.req("R1")
def test_plivos_third_signature_does_not_pass_for_the_second_which_covers_no_body() -> None:
    genuine = sent("plivo")
    assert not is_refused("plivo", genuine)
    rest = genuine.request().url_and_form().decode()[len(URL) :]
    forged = {
        "X-Plivo-Signature-V2": genuine.headers["X-Plivo-Signature-V3"],
        "X-Plivo-Signature-V2-Nonce": f"{rest}.{genuine.headers['X-Plivo-Signature-V3-Nonce']}",
    }
    assert is_refused("plivo", Draft(b'{"Event":"forged"}', forged, URL))


NONCE = "X-Plivo-Signature-V3-Nonce"


@pytest.mark.req("R1", "R4")
@pytest.mark.parametrize("url", [URL, f"{URL}?shop=1"])
def test_no_end_of_plivos_form_moves_into_its_nonce(url: str) -> None:
    genuine = signed_request("plivo", sent("plivo").body, sender_secret("plivo"), now=NOW, url=url)
    assert not is_refused("plivo", genuine, url=url)
    assert genuine.body.endswith(b"&TotalAmount=0.0041&Units=1")
    shorter = genuine.body.replace(b".0041&Units=1", b"")
    forged = replace(genuine, body=shorter, headers=genuine.headers | {NONCE: f"0041Units1.{genuine.headers[NONCE]}"})
    assert is_refused("plivo", forged, url=url)
    fields = genuine.request().as_form().sorted_form().decode()
    emptied = replace(genuine, body=b"", headers=genuine.headers | {NONCE: f"{fields}.{genuine.headers[NONCE]}"})
    assert is_refused("plivo", emptied, url=url)


@pytest.mark.req("R4")
def test_a_value_of_plivos_cut_into_the_same_field_twice_makes_no_new_event() -> None:
    """Plivo signs repeats, and Twilio leaves them out: the key counts them as the signature does."""
    body = b"Event=x&Text=TfTf&To=2"
    genuine = signed_request("plivo", body, sender_secret("plivo"), now=NOW, url=URL)
    again = replace(genuine, body=b"Event=x&Text=&Tf=&Tf=&To=2")
    assert event("plivo", again).key == event("plivo", genuine).key
    genuine = signed_request("twilio", body, sender_secret("twilio"), now=NOW, url=URL)
    again = replace(genuine, body=body + b"&Event=x")
    assert event("twilio", again).key == event("twilio", genuine).key


@pytest.mark.req("R4")
@pytest.mark.parametrize("kind", ["text/plain", "application/json", None])
def test_a_form_under_plivos_second_signature_is_the_same_event_whatever_it_is_called(kind: str | None) -> None:
    """Its proof counts for these bytes, and so it counts for one event of them."""
    scheme = provider("plivo").scheme
    assert isinstance(scheme, AnyOf)
    genuine = Draft(sent("plivo").body, {"Content-Type": "application/x-www-form-urlencoded"}, URL)
    scheme.schemes[1].sign(genuine, sender_secret("plivo").encode(), now=NOW, id_="1001")
    assert event("plivo", with_headers(genuine, {"Content-Type": kind})).key == event("plivo", genuine).key


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    "query", ["originator=49&body=hello%20you&id=1", "id=1&status=sent&statusDatetime=2026", "x=i"]
)
def test_a_report_of_messagebirds_spelt_otherwise_is_the_same_event(query: str) -> None:
    scheme = provider("messagebird").scheme
    assert isinstance(scheme, AnyOf)
    genuine = Draft(b"", {}, f"{URL}?{query}", "GET")
    scheme.schemes[1].sign(genuine, sender_secret("messagebird").encode(), now=NOW, id_="1")
    key = event("messagebird", genuine).key
    respelt = "&".join(sorted(query.split("&"), reverse=True)).replace("%20", "+").replace("i", "%69")
    assert respelt != query
    assert event("messagebird", replace(genuine, url=f"{URL}?{respelt}")).key == key
    assert event("messagebird", replace(genuine, method="POST")).key == key
    other = Draft(b"", {}, f"{URL}?{query}&more=1", "GET")
    scheme.schemes[1].sign(other, sender_secret("messagebird").encode(), now=NOW, id_="1")
    assert (event("messagebird", other).key == key) == ("status" in query)


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    "added", [{"success": ""}, {"reason": "another"}, {"success": None, "reason": "other"}], ids=str
)
def test_an_event_of_adyens_without_its_success_has_a_key_of_signed_fields_too(added: dict[str, object]) -> None:
    data = json.loads(sent("adyen").body)
    del data["notificationItems"][0]["NotificationRequestItem"]["success"]
    genuine = signed_request(provider("adyen"), json.dumps(data).encode(), sender_secret("adyen"), now=NOW, url=URL)
    data = json.loads(genuine.body)
    data["notificationItems"][0]["NotificationRequestItem"].update(added)
    again = replace(genuine, body=json.dumps(data).encode())
    assert event("adyen", again).key == event("adyen", genuine).key
