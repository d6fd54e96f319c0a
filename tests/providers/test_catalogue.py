"""Every entry of the catalogue, by the very steps that intake takes: its sample is signed, verified, identified."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import KeyNeeded, Secret
from landfast.providers import Profile, catalogue, provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.request import Draft
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.requests import proven_of

NOW = 1_767_323_045
URL = "https://hooks.example.com/in/source"
SETTINGS = {name: f"the {name} of the source" for name in ("verify_token",)}

every_entry = pytest.mark.parametrize("name", PROFILES)


def profile_of(name: str) -> Profile:
    settings = [setting.removesuffix("?") for setting in PROFILES[name].settings]
    given: dict[str, Any] = {setting: SETTINGS.get(setting, "a value") for setting in settings}
    return provider(name, **given)


def source_of(name: str, *secrets: Secret) -> Source:
    profile = profile_of(name)
    return Source("source", profile, secrets or our_secrets(profile), public_url=URL)


def signed(name: str, *, id_: str | None = None, type_: str | None = None) -> Draft:
    profile = profile_of(name)
    body = sample(profile, type_, id=id_, now=NOW)
    return signed_request(profile, body, sender_secret(name), now=NOW, id=id_, type=type_, url=URL)


def taken(source: Source, draft: Draft, *, now: float = NOW) -> Examined:
    return examine(source, draft.head(), draft.body, now=datetime.fromtimestamp(now, UTC))


def is_refused(source: Source, head: Head, body: bytes) -> bool:
    try:
        examine(source, head, body, now=datetime.fromtimestamp(NOW, UTC))
    except (UnverifiedError, KeyNeeded):  # a key that nobody gives is none
        return True
    return False


def test_the_table_of_families_names_every_profile_of_every_module() -> None:
    modules = {module.name for module in iter_modules(catalogue.__path__)} - {"units"}
    written = {name: import_module(f"{catalogue.__name__}.{name}").PROFILES for name in modules}
    listed = {family: [PROFILES[name] for name in names] for family, names in catalogue._FAMILIES.items()}
    assert listed == {family: list(profiles) for family, profiles in written.items()}
    assert len(PROFILES) == sum(map(len, written.values()))


@pytest.mark.req("R1", "R2")
@every_entry
def test_a_sample_that_we_sign_is_verified_and_is_an_event(name: str) -> None:
    for each in PROFILES[name].samples:
        examined = taken(source_of(name), signed(name, type_=each.type))
        assert examined.secret in our_secrets(profile_of(name))
        assert [identity.type for identity in examined.identities] == [each.type]
        assert examined.greeting is None


@every_entry
def test_an_entry_has_a_title_a_sample_and_words_for_its_page(name: str) -> None:
    profile = PROFILES[name]
    assert profile.title and profile.samples and profile.setup
    assert name == name.lower() and name.replace("-", "").isalnum()


@pytest.mark.req("R4")
@every_entry
def test_another_id_is_another_event_and_the_same_id_the_same(name: str) -> None:
    def key(id_: str) -> str:
        (identity,) = taken(source_of(name), signed(name, id_=id_)).identities
        return identity.key

    assert key("1001") == key("1001") != key("1002")


@pytest.mark.req("R1")
@every_entry
def test_no_secret_and_a_strangers_secret_are_refused(name: str) -> None:
    draft = signed(name)
    stranger = Secret("stranger", b"the secret of somebody else")
    assert is_refused(source_of(name, stranger), draft.head(), draft.body)
    assert is_refused(replace(source_of(name), secrets=()), draft.head(), draft.body)


@pytest.mark.req("R1")
@every_entry
def test_a_request_without_its_headers_is_refused(name: str) -> None:
    draft = signed(name)
    if profile_of(name).coverage != "no" and name != "aws-sns":  # which has everything in its body
        assert is_refused(source_of(name), replace_headers(draft.head()), draft.body)


def replace_headers(head: Head) -> Head:
    return Head(head.method, head.path, head.query, Headers(), head.content_length)


@pytest.mark.req("R1")
@settings(deadline=None)  # the first example of a kind makes its key
@given(st.sampled_from([name for name, entry in PROFILES.items() if entry.coverage != "no"]), st.data())
def test_any_changed_bit_of_a_covered_body_is_refused(name: str, data: st.DataObject) -> None:
    draft = signed(name)
    body = bytearray(draft.body)
    body[data.draw(st.integers(0, 9_999)) % len(body)] ^= 1 << data.draw(st.integers(0, 7))
    if name == "aws-sns" and _same_fields(draft.body, bytes(body)):
        return  # what stands between and beside the signed fields is not signed
    if name in {"twilio", "mandrill"} and _is_same_form(draft.body, bytes(body)):
        return
    if name in {"braintree", "paddle-classic"} and _signed_fields(draft.body) == _signed_fields(bytes(body)):
        return  # the same form, escaped otherwise; or another public key beside the signature
    assert is_refused(source_of(name), draft.head(), bytes(body))


@pytest.mark.req("R1")
@settings(deadline=None)  # the first example of a kind makes its key
@given(st.sampled_from(list(PROFILES)), st.data())
def test_any_changed_bit_of_a_signature_is_refused(name: str, data: st.DataObject) -> None:
    """In headers: what else is signed there, and what is not, is in `test_scheme`."""
    draft = signed(name)
    header = next((each for each in draft.headers if "signature" in each.lower() or each in _SIGNATURES), None)
    if header is None or name == "ebay":  # whose header holds more than the signature: see test_commerce
        return
    text = bytearray(draft.headers[header].encode())
    # Drawn from a fixed range: the lengths of ECDSA signatures differ from run to run.
    text[data.draw(st.integers(0, 9_999)) % len(text)] ^= 1 << data.draw(st.integers(0, 6))
    if bytes(text).lower() == draft.headers[header].lower().encode() and not profile_of(name).name.startswith("s"):
        return  # hex, and the scheme of a token, may be in either case
    changed = Headers(
        [
            *((key, value) for key, value in draft.head().headers if key != header.lower().encode()),
            (header.encode(), bytes(text)),
        ]
    )
    head = draft.head()
    refused = is_refused(source_of(name), Head(head.method, head.path, head.query, changed), draft.body)
    assert refused or bytes(text).strip().lower() == draft.headers[header].lower().encode()


_SIGNATURES = {
    "Plaid-Verification",
    "PAYPAL-TRANSMISSION-SIG",
    "X-Shopify-Hmac-Sha256",
    "X-Trello-Webhook",
    "X-Gitlab-Token",
    "X-Telegram-Bot-Api-Secret-Token",
    "Authorization",
}


@pytest.mark.req("R1")
@every_entry
def test_a_request_from_long_ago_is_refused_where_its_time_is_signed(name: str) -> None:
    source, draft = source_of(name), signed(name)
    presented = source.provider.present(draft.head())
    times = [presented, *(each for _, each in presented.alternatives)]
    is_timed = any(each.signed_at or each.lifetime for each in times) or source.provider.signed_at(
        proven_of(draft.head(), draft.body)
    )
    if is_timed and source.tolerance < 10**6:
        with pytest.raises(UnverifiedError):
            taken(source, draft, now=NOW + max(90_000, source.tolerance + 1))


def _same_fields(one: bytes, other: bytes) -> bool:
    names = {"Type", "MessageId", "TopicArn", "Message", "Timestamp", "Signature", "SignatureVersion"}
    try:
        first, second = json.loads(one), json.loads(other)
    except ValueError:
        return False
    return isinstance(second, dict) and all(first.get(name) == second.get(name) for name in names)


def _signed_fields(body: bytes) -> dict[str, str]:
    fields = dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True))
    if "bt_signature" in fields:
        fields["bt_signature"] = fields["bt_signature"].rpartition("|")[2].lower()
    return fields


def _is_same_form(one: bytes, other: bytes) -> bool:
    draft = Draft(one, {"Content-Type": "application/x-www-form-urlencoded"})
    changed = Draft(other, {"Content-Type": "application/x-www-form-urlencoded"})
    return draft.request().as_form().sorted_form() == changed.request().as_form().sorted_form()
