from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider
from landfast.testing.signing import sample, sign
from tests.providers.requests import (
    HMAC,
    NOW,
    head_of,
    scheme_of,
    secret_of,
    secret_text,
    signature_header,
    signed_headers,
)

BODY = b'{"id":"evt_1","type":"thing.made"}'
KEY = secret_text("stripe").encode()

every_provider = st.sampled_from([*(provider(name) for name in HMAC), provider("generic", timestamp_header="X-Time")])


def is_accepted(profile: Profile, fields: dict[str, str], body: bytes, *secrets: Secret) -> bool:
    head = head_of(fields)
    try:
        profile.verify(profile.present(head), head, body, secrets or (secret_of(profile),))
    except UnverifiedError:
        return False
    return True


def signed_fields(profile: Profile, body: bytes = BODY) -> dict[str, str]:
    return signed_headers(profile, body, secret_of(profile).key)


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", HMAC)
def test_a_genuine_request_is_verified_and_names_its_secret(name: str) -> None:
    body = sample(name)
    head = head_of(sign(name, body, secret_text(name), now=NOW))
    profile = provider(name)
    current, old = secret_of(name), Secret("old", b"another")
    assert profile.verify(profile.present(head), head, body, [old, current]).secret is current


def test_the_signatures_are_what_the_documentation_of_each_provider_says() -> None:
    def mac(content: bytes, algorithm: str = "sha256") -> bytes:
        return hmac.new(KEY, content, algorithm).digest()

    second = str(int(NOW)).encode()
    plain = mac(BODY)
    standard_key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    standard = hmac.new(standard_key, b"msg_1." + second + b"." + BODY, hashlib.sha256).digest()
    expected = {
        "stripe": {"Stripe-Signature": f"t={second.decode()},v1={mac(second + b'.' + BODY).hex()}"},
        "github": {"X-Hub-Signature-256": f"sha256={plain.hex()}"},
        "shopify": {"X-Shopify-Hmac-Sha256": base64.b64encode(plain).decode()},
        "slack": {
            "X-Slack-Signature": f"v0={mac(b'v0:' + second + b':' + BODY).hex()}",
            "X-Slack-Request-Timestamp": second.decode(),
        },
        "standard-webhooks": {
            "webhook-signature": f"v1,{base64.b64encode(standard).decode()}",
            "webhook-timestamp": second.decode(),
            "webhook-id": "msg_1",
        },
        "generic": {"X-Signature": plain.hex()},
    }
    assert {name: signed_fields(provider(name)) for name in HMAC} == expected
    assert all(is_accepted(provider(name), fields, BODY) for name, fields in expected.items())


@pytest.mark.req("R1")
@given(every_provider, st.data())
def test_any_changed_bit_of_the_body_is_refused(profile: Profile, data: st.DataObject) -> None:
    body = bytearray(BODY)
    body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    fields = signed_fields(profile)
    assert is_accepted(profile, fields, BODY)
    assert not is_accepted(profile, fields, bytes(body))


@pytest.mark.req("R1")
@given(every_provider, st.data())
def test_any_changed_character_of_what_was_signed_is_refused(profile: Profile, data: st.DataObject) -> None:
    fields = signed_fields(profile)
    name = data.draw(st.sampled_from(sorted(fields)))
    at = data.draw(st.integers(0, len(fields[name]) - 1))
    other = data.draw(
        st.characters(min_codepoint=0x21, max_codepoint=0xFF).filter(lambda it: it.lower() != fields[name][at].lower())
    )
    fields[name] = fields[name][:at] + other + fields[name][at + 1 :]
    assert not is_accepted(profile, fields, BODY)


@pytest.mark.req("R1")
@given(every_provider, st.data())
def test_a_truncated_or_extended_signature_is_refused(profile: Profile, data: st.DataObject) -> None:
    fields = signed_fields(profile)
    signature = signature_header(profile)
    whole = fields[signature]
    fields[signature] = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert not is_accepted(profile, fields, BODY)
    fields[signature] = whole + data.draw(st.text("0aA=+/-_.,x\x7f", min_size=1))
    # A list may go on with entries that are not for us; the genuine one in it is still genuine.
    if fields[signature][len(whole)] != scheme_of(profile).separator:
        assert not is_accepted(profile, fields, BODY)


@given(every_provider, st.data())
def test_arbitrary_headers_raise_nothing_but_unverified(profile: Profile, data: st.DataObject) -> None:
    parts = st.binary() | st.sampled_from(
        [b"t=", b"v1=", b"v1,", b"v0=", b"sha256=", b",", b" ", b"1", b"\xff", b"9" * 40]
    )
    values = st.lists(parts, max_size=6).map(b"".join)
    pairs = data.draw(st.lists(st.tuples(st.sampled_from([name.encode() for name in signed_fields(profile)]), values)))
    head = Head("POST", "/in/source", headers=Headers(pairs))
    with pytest.raises(UnverifiedError):
        profile.verify(profile.present(head), head, BODY, [secret_of(profile)])


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", HMAC)
def test_a_malformed_signature_is_refused_before_the_body_is_read(name: str) -> None:
    profile = provider(name)
    signature = signature_header(profile)
    fields = signed_fields(profile)
    whole = fields[signature]
    prefix_only = whole[: whole.index(scheme_of(profile).prefix) + len(scheme_of(profile).prefix)]
    for malformed in (
        "",
        " ",
        prefix_only,
        whole[:-1],
        whole + "0",
        whole + "00",
        whole[:-2] + "\xe9\xe9",
        "g" * len(whole),
    ):
        with pytest.raises(UnverifiedError):
            profile.present(head_of({**fields, signature: malformed}))


@pytest.mark.parametrize("name", HMAC)
def test_a_missing_empty_or_repeated_header_is_refused(name: str) -> None:
    profile = provider(name)
    fields = signed_fields(profile)
    for header, value in fields.items():
        without = {key: text for key, text in fields.items() if key != header}
        assert not is_accepted(profile, without, BODY)
        assert not is_accepted(profile, {**without, header: ""}, BODY)
        assert not is_accepted(profile, {**without, header: "  "}, BODY)
        repeated = Headers([*head_of(fields).headers, (header.lower().encode(), value.encode())])
        with pytest.raises(UnverifiedError, match="repeated"):
            profile.present(Head("POST", "/in/source", headers=repeated))


@pytest.mark.parametrize(
    "timestamp",
    ["", "soon", "-1", "+1", "1.5", "1e9", "Infinity", "NaN", "0x10", "1_000", "1" + "0" * 30, "9" * 16, "\xb2", "1 2"],
)
@pytest.mark.parametrize("name", ["stripe", "slack", "standard-webhooks"])
def test_a_timestamp_that_is_no_time_is_refused_even_when_it_was_signed(name: str, timestamp: str) -> None:
    profile = provider(name)
    fields = {key: text.replace(str(int(NOW)), timestamp) for key, text in signed_fields(profile).items()}
    with pytest.raises(UnverifiedError):
        profile.present(head_of(fields))


def test_the_timestamp_is_kept_as_text_and_read_in_its_unit() -> None:
    seconds = provider("slack").present(head_of(signed_fields(provider("slack"))))
    assert (seconds.timestamp, seconds.signed_at) == (b"1767323045", NOW)
    in_milliseconds = provider("generic", timestamp_header="X-Time", timestamp_unit="ms")
    presented = in_milliseconds.present(head_of(signed_fields(in_milliseconds)))
    assert (presented.timestamp, presented.signed_at) == (b"1767323045000", NOW)
    zeros = {**signed_fields(provider("slack")), "X-Slack-Request-Timestamp": "001767323045"}
    assert provider("slack").present(head_of(zeros)).timestamp == b"001767323045"


def test_two_timestamps_in_one_signature_are_refused() -> None:
    fields = signed_fields(provider("stripe"))
    fields["Stripe-Signature"] = "t=1," + fields["Stripe-Signature"]
    with pytest.raises(UnverifiedError, match="exactly one timestamp"):
        provider("stripe").present(head_of(fields))


@pytest.mark.parametrize(
    ("name", "filler"), [("stripe", "v1=" + "0" * 64), ("standard-webhooks", "v1," + "A" * 43 + "=")]
)
def test_a_sender_that_rolls_its_secret_may_sign_twice_but_not_ten_thousand_times(name: str, filler: str) -> None:
    profile = provider(name)
    signature, separator = signature_header(profile), str(scheme_of(profile).separator)
    fields = signed_fields(profile)
    genuine = fields[signature]
    for rolled in (f"{genuine}{separator}{filler}", f"{filler}{separator}{genuine}"):
        assert is_accepted(profile, {**fields, signature: rolled}, BODY)
    flooded = separator.join([genuine, *[filler] * 10_000])
    with pytest.raises(UnverifiedError, match="more than 16"):
        profile.present(head_of({**fields, signature: flooded}))


def test_other_versions_in_the_list_are_ignored_and_alone_are_refused() -> None:
    stripe = provider("stripe")
    genuine = signed_fields(stripe)["Stripe-Signature"]
    assert is_accepted(stripe, {"Stripe-Signature": f"{genuine},v0={'0' * 64}"}, BODY)
    assert not is_accepted(stripe, {"Stripe-Signature": genuine.replace("v1=", "v0=")}, BODY)


def test_hex_may_be_in_either_case_and_base64_has_one_spelling() -> None:
    github, shopify = provider("github"), provider("shopify")
    text = signed_fields(github)["X-Hub-Signature-256"]
    assert is_accepted(github, {"X-Hub-Signature-256": "sha256=" + text.removeprefix("sha256=").upper()}, BODY)
    assert not is_accepted(github, {"X-Hub-Signature-256": text.upper()}, BODY)
    encoded = signed_fields(shopify)["X-Shopify-Hmac-Sha256"]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    twin = encoded[:-2] + alphabet[alphabet.index(encoded[-2]) ^ 1] + "="
    assert base64.b64decode(twin) == base64.b64decode(encoded)
    for refused in (twin, encoded.rstrip("="), encoded.replace("=", "\n"), encoded[:-1] + "A"):
        assert not is_accepted(shopify, {"X-Shopify-Hmac-Sha256": refused}, BODY)


def test_the_new_header_names_of_shopify_are_read_too() -> None:
    encoded = signed_fields(provider("shopify"))["X-Shopify-Hmac-Sha256"]
    assert is_accepted(provider("shopify"), {"shopify-hmac-sha256": encoded}, BODY)


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", HMAC)
def test_a_wrong_an_empty_and_no_secret_are_refused(name: str) -> None:
    profile = provider(name)
    assert not is_accepted(profile, signed_fields(profile), BODY, Secret("wrong", b"wrong"))
    by_anybody = signed_headers(profile, BODY, b"")
    assert not is_accepted(profile, by_anybody, BODY, Secret("empty", b""))
    head = head_of(signed_fields(profile))
    with pytest.raises(UnverifiedError):
        profile.verify(profile.present(head), head, BODY, [])


def test_every_secret_is_tried_against_every_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    stripe = provider("stripe")
    genuine = signed_fields(stripe)["Stripe-Signature"]
    head = head_of({"Stripe-Signature": f"{genuine},v1={'0' * 64},v1={'1' * 64}"})
    compared: list[bytes] = []
    genuine_compare = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(other)
        return genuine_compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    secrets = [secret_of("stripe"), Secret("second", b"2"), Secret("third", b"3")]
    assert stripe.verify(stripe.present(head), head, BODY, secrets).secret.name == "current"
    assert len(compared) == 9


def test_a_signed_id_that_could_be_cut_at_two_places_is_refused() -> None:
    profile = provider("standard-webhooks")
    for id_ in ("msg.1", "m" * 300, "m\xe9"):
        fields = {**signed_fields(profile), "webhook-id": id_}
        with pytest.raises(UnverifiedError, match="webhook-id"):
            profile.present(head_of(fields))


def test_an_empty_signed_id_is_refused_even_when_it_was_signed() -> None:
    profile = provider("standard-webhooks")
    fields = signed_headers(profile, BODY, secret_of(profile).key, id_="")
    with pytest.raises(UnverifiedError, match="webhook-id is empty"):
        profile.present(head_of(fields))


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_the_generic_provider_signs_with_each_algorithm_and_encoding(algorithm: str, encoding: str) -> None:
    profile = provider(
        "generic", header="X-Sig", algorithm=algorithm, encoding=encoding, prefix="mac=", timestamp_header="X-Time", content="100% {{{timestamp}|{body}"
    )  # fmt: skip
    fields = signed_fields(profile)
    digest = hmac.new(KEY, b"100% {" + fields["X-Time"].encode() + b"|" + BODY, algorithm).digest()
    assert fields["X-Sig"] == "mac=" + (digest.hex() if encoding == "hex" else base64.b64encode(digest).decode())
    assert is_accepted(profile, fields, BODY)
    assert not is_accepted(profile, {**fields, "X-Time": "1767323046"}, BODY)
