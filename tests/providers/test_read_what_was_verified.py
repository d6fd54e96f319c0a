"""What is read of a request is what its signature covers: one parse, and nothing beside it."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from urllib.parse import quote, unquote_plus, urlencode

import pytest

from landfast.providers import provider
from landfast.providers.elements import element_text
from landfast.providers.request import Draft
from landfast.providers.signing import signed_request
from tests.providers.arrivals import NOW, URL, event, is_refused, sent, with_headers
from tests.providers.keypairs import our_secrets, sender_secret

FORM = "application/x-www-form-urlencoded"
FORGED = '[{"event":"hard_bounce","_id":"forged","ts":1767225600}]'


@pytest.mark.req("R1", "R4")
def test_mandrills_signed_field_in_json_brings_no_list_of_somebody_elses() -> None:
    genuine = sent("mandrill")
    signed = dict([field.split("=") for field in genuine.body.decode().split("&")])["mandrill_events"]
    text = {"a": f"&mandrill_events={quote(FORGED)}&", "mandrill_events": unquote_plus(signed)}
    forged = replace(with_headers(genuine, {"Content-Type": "application/json"}), body=json.dumps(text).encode())
    assert is_refused("mandrill", forged)


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["mandrill", "braintree"])
def test_a_form_with_a_field_that_nobody_signed_is_refused(name: str) -> None:
    genuine = sent(name)
    assert not is_refused(name, genuine)
    assert is_refused(name, replace(genuine, body=genuine.body + b"&extra=1"))
    assert is_refused(name, replace(genuine, body=b"extra&" + genuine.body))


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["mandrill", "braintree", "paddle-classic", "twilio", "plivo3"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", None])
def test_whoever_signs_a_form_is_believed_for_nothing_else(name: str, kind: str | None) -> None:
    genuine = _plivo_v3() if name == "plivo3" else sent(name)
    name = name.removesuffix("3")
    assert not is_refused(name, genuine)
    assert is_refused(name, with_headers(genuine, {"Content-Type": kind}))


@pytest.mark.req("R1")
def test_plivos_form_does_not_move_into_the_query_behind_a_dot() -> None:
    registered = f"{URL}?shop=1"
    genuine = _plivo_v3(registered)
    assert not is_refused("plivo", genuine, url=registered)
    fields = genuine.request().as_form().sorted_form().decode()
    moved = Draft(b'{"Event":"forged"}', genuine.headers | {"Content-Type": "application/json"})
    moved.url = f"{registered}.{quote(fields)}"
    assert is_refused("plivo", moved, url=registered)


@pytest.mark.req("R1")
def test_twilios_digest_of_a_body_is_no_text_in_a_message() -> None:
    body = b'{"EventType":"forged"}'
    digest = hashlib.sha256(body).hexdigest()
    registered = f"{URL}?shop=1"
    message = {"AccountSid": "AC1", "Body": f"&bodySHA256={digest}&", "MessageSid": "SM1"}
    genuine = signed_request("twilio", urlencode(message).encode(), sender_secret("twilio"), now=NOW, url=registered)
    assert not is_refused("twilio", genuine, url=registered)
    forged = Draft(body, genuine.headers | {"Content-Type": "application/json"})
    forged.url = f"{registered}AccountSidAC1Body&bodySHA256={digest}&MessageSidSM1"
    assert is_refused("twilio", forged, url=registered)


@pytest.mark.req("R1")
@pytest.mark.parametrize("registered", [URL, f"{URL}?shop=1"])
def test_twilios_json_is_covered_by_the_digest_that_ends_the_registered_url(registered: str) -> None:
    body = b'{"EventType":"call.ended"}'
    genuine = signed_request("twilio", body, sender_secret("twilio"), now=NOW, url=registered)
    genuine = with_headers(genuine, {"Content-Type": "application/json"})
    genuine.headers["X-Twilio-Signature"] = _signed_as_json(body, registered).headers["X-Twilio-Signature"]
    genuine.url = _signed_as_json(body, registered).url
    assert not is_refused("twilio", genuine, url=registered)
    assert is_refused("twilio", replace(genuine, body=b'{"EventType":"forged"}'), url=registered)


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["twilio", "plivo", "mandrill", "square", "trello", "hubspot"])
def test_where_the_url_is_signed_only_the_registered_query_is_taken(name: str) -> None:
    registered = f"{URL}?shop=1"
    genuine = signed_request(name, sent(name).body, sender_secret(name), now=NOW, url=registered)
    assert not is_refused(name, genuine, url=registered)
    assert is_refused(name, genuine, url=URL)
    assert is_refused(name, replace(genuine, url=f"{registered}&more=1"), url=registered)


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    "spell",
    [
        lambda fields: urlencode(sorted(fields.items(), reverse=True)),
        lambda fields: "&".join(f"{name}={quote(value, safe='+')}" for name, value in fields.items()).replace(
            "e", "%65"
        ),
        lambda fields: urlencode(fields) + "&",
    ],
    ids=["another order", "escaped otherwise", "an empty field"],
)
def test_plivos_form_spelt_otherwise_is_the_same_event(spell: object) -> None:
    genuine = _plivo_v3()
    fields = {name.decode(): value.decode() for name, value in genuine.request().as_form().form or ()}
    again = replace(genuine, body=spell(fields).encode())  # type: ignore[operator]
    assert again.body != genuine.body
    assert event("plivo", again).key == event("plivo", genuine).key


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    "amount",
    [{"value": 99999.5, "currency": "EUR"}, {"value": True}, {"value": [1]}, [{"value": 5}], "EUR 5", 5],
    ids=str,
)
def test_adyens_amount_that_is_no_amount_does_not_count_as_none(amount: object) -> None:
    data = json.loads(sent("adyen").body)
    item = data["notificationItems"][0]["NotificationRequestItem"]
    del item["amount"]
    genuine = signed_request(provider("adyen"), json.dumps(data).encode(), sender_secret("adyen"), now=NOW, url=URL)
    assert not is_refused("adyen", genuine)
    forged = json.loads(genuine.body)
    forged["notificationItems"][0]["NotificationRequestItem"]["amount"] = amount
    assert is_refused("adyen", replace(genuine, body=json.dumps(forged).encode()))


@pytest.mark.req("R1")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037"])
def test_xml_in_another_encoding_hides_no_entities(encoding: str) -> None:
    bomb = '<!DOCTYPE n [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><n><kind>&b;&b;</kind></n>'
    declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-le").removesuffix("-be")}"?>{bomb}'
    for text in (bomb, declared):
        assert element_text(base64.b64encode(text.encode(encoding)).decode(), ("n", "kind")) is None
    plain = '<?xml version="1.0" encoding="UTF-8"?><n><kind>opened</kind></n>'
    assert element_text(base64.b64encode(plain.encode()).decode(), ("n", "kind")) == "opened"


@pytest.mark.req("R4")
@pytest.mark.parametrize("name", ["formstack", "clickup", "github", "stripe"])
@pytest.mark.parametrize(
    "kind",
    [FORM, "application/json", "text/plain", "application/json; charset=x", "multipart/form-data; boundary=edge", None],
)
def test_a_content_type_that_nobody_signed_names_no_other_event(name: str, kind: str | None) -> None:
    data = b'{"FormID":"7","UniqueID":"9","id":"evt_1"}'
    parts = b'--edge\r\nContent-Disposition: form-data; name="json"\r\n\r\n' + data + b"\r\n--edge--\r\n"
    for body in (b"FormID=7&UniqueID=9&id=1", data, parts):
        genuine = sent(name, body)
        assert event(name, with_headers(genuine, {"Content-Type": kind})).key == event(name, genuine).key


@pytest.mark.req("R1")
def test_the_time_of_truelayers_events_is_read_from_a_signed_header_only() -> None:
    name = "X-Tl-Webhook-Timestamp"
    genuine = sent("truelayer")
    assert event("truelayer", genuine).occurred_at is not None
    bare = Draft(genuine.body, {"Content-Type": "application/json"}, URL)
    provider("truelayer").scheme.sign(bare, sender_secret("truelayer").encode(), now=NOW, id_="1")
    later = with_headers(bare, {name: "2026-01-02T03:04:06Z"})
    assert not is_refused("truelayer", later)
    assert event("truelayer", later).occurred_at is None


@pytest.mark.req("R1", "R4")
@pytest.mark.parametrize("name", ["svix", "resend", "clerk"])
def test_svix_is_believed_under_unbranded_names_and_its_key_is_the_id_that_was_signed(name: str) -> None:
    branded = sent(name, id_="msg_1")
    assert event(name, branded).key == "msg_1"
    unbranded = replace(branded, headers={key.replace("svix-", "webhook-"): to for key, to in branded.headers.items()})
    assert event(name, unbranded).key == "msg_1"
    assert event(name, with_headers(unbranded, {"svix-id": "msg_2"})).key == "msg_1"
    assert event(name, with_headers(branded, {"webhook-id": "msg_2"})).key == "msg_1"


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("https://hooks.example.com:8443/in/source", "https://hooks.example.com/in/source"),
        ("https://hooks.example.com/in/source", "https://hooks.example.com:443/in/source"),
        ("http://hooks.example.com:80/in/source?a=1", "http://hooks.example.com/in/source?a=1"),
    ],
)
def test_twilio_may_sign_the_url_with_or_without_its_port(ours: str, theirs: str) -> None:
    draft = signed_request("twilio", b"MessageSid=SM1&MessageStatus=sent", sender_secret("twilio"), now=NOW, url=theirs)
    assert not is_refused("twilio", draft, url=ours)


def _plivo_v3(url: str = URL) -> Draft:
    return signed_request("plivo", sent("plivo").body, sender_secret("plivo"), now=NOW, url=url)


def _signed_as_json(body: bytes, url: str) -> Draft:
    draft = Draft(body, {"Content-Type": "application/json"}, url)
    profile = provider("twilio")
    profile.scheme.sign(draft, our_secrets(profile)[0].key, now=NOW, id_="1")
    return draft
