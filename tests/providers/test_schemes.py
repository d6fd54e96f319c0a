"""The schemes beside the plain HMAC in a header, and how each could be fooled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import KeyNeeded, PublicKey, Secret
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.schemes import Scheme
from landfast.providers.schemes.algorithms import ALGORITHMS, decode, encode, public_key
from landfast.providers.schemes.compact_token import compact
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.paypal import PayPalScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.sns import SnsScheme
from landfast.providers.schemes.token import TokenScheme
from tests.providers.keypairs import HEX, TOPIC, WEBHOOK, pair

NOW = 1_767_323_045.0
URL = "https://hooks.example.com/in/source"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def verified(scheme: Scheme, draft: Draft, *keys: bytes) -> Secret:
    secrets = [Secret(f"secret {number}", key) for number, key in enumerate(keys)]
    return scheme.verify(scheme.present(draft.head()), draft.request(), secrets).secret


def is_refused(scheme: Scheme, draft: Draft, keys: Sequence[bytes]) -> bool:
    try:
        verified(scheme, draft, *keys)
    except UnverifiedError:
        return True
    return False


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("url", "is_pinned"),
    [
        ("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem", True),
        ("https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-1.pem", True),
        ("http://sns.eu-west-1.amazonaws.com/a.pem", False),
        ("https://sns.eu-west-1.amazonaws.com.evil.example/a.pem", False),
        ("https://evil.example/sns.eu-west-1.amazonaws.com/a.pem", False),
        ("https://sns.eu-west-1.amazonaws.com@evil.example/a.pem", False),
        ("https://sns.eu-west-1.amazonaws.com:8443/a.pem", False),
        ("https://sns.us-gov-west-1.amazonaws.com/a.pem", True),
        ("https://sns.s3-eu-west-1.amazonaws.com/a.pem", False),
        ("https://sns.eu-west-1.amazonaws.com/../a.pem", False),
        ("https://sns.eu-west-1.amazonaws.com/a.pem\n", False),
        ("https://sns.eu-west-1.amazonaws.com/a.pem?x=.pem", False),
        ("https://s3.amazonaws.com/bucket/a.pem", False),
        (3, False),
    ],
)
def test_a_key_is_fetched_from_an_address_of_the_provider_only(url: object, is_pinned: bool) -> None:
    message = {"Type": "Notification", "MessageId": "m", "Message": "x", "Timestamp": "t", "TopicArn": TOPIC}
    body = json.dumps({**message, "SignatureVersion": "2", "Signature": "AAAA", "SigningCertURL": url}).encode()
    with pytest.raises(KeyNeeded if is_pinned else UnverifiedError):
        verified(SnsScheme(), Draft(body), TOPIC.encode())


@pytest.mark.req("R1")
def test_a_message_of_another_topic_is_refused_before_any_key_is_fetched() -> None:
    draft = Draft(
        json.dumps(
            {"Type": "Notification", "MessageId": "m", "Message": "x", "Timestamp": "t", "TopicArn": "arn:other"}
        ).encode()
    )
    SnsScheme().sign(draft, pair("rsa")[0].encode(), now=NOW, id_="")
    with pytest.raises(UnverifiedError, match="topic"):
        verified(SnsScheme(), draft, TOPIC.encode())
    assert verified(SnsScheme(), draft, public_key(pair("rsa")[1]), b"arn:other").key == b"arn:other"
    with pytest.raises(UnverifiedError, match="topic"):  # its key signs for everybody
        verified(SnsScheme(), draft, public_key(pair("rsa")[1]))


def test_a_certificate_of_paypals_must_be_for_its_name() -> None:
    draft = Draft(b"{}")
    PayPalScheme().sign(draft, f"{WEBHOOK}\n{pair('rsa')[0]}".encode(), now=NOW, id_="t-1")
    with pytest.raises(KeyNeeded) as caught:
        verified(PayPalScheme(), draft, WEBHOOK.encode())
    assert caught.value.certificate_for == "messageverificationcerts.paypal.com"
    draft.headers["PAYPAL-CERT-URL"] = "https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1"
    with pytest.raises(UnverifiedError, match="address of the key"):
        verified(PayPalScheme(), draft, WEBHOOK.encode())
    for id_ in ("t|1", "t" * 300):
        forged = Draft(b"{}", {**draft.headers, "PAYPAL-TRANSMISSION-ID": id_})
        assert is_refused(PayPalScheme(), forged, [public_key(pair("rsa")[1]), WEBHOOK.encode()])


@pytest.mark.req("R1")
@pytest.mark.parametrize(("environment", "own", "other"), [(None, "", "-sandbox"), ("sandbox", "-sandbox", "")])
def test_a_key_of_truelayers_sandbox_counts_in_the_sandbox_only(environment: str | None, own: str, other: str) -> None:
    options: dict[str, Any] = {} if environment is None else {"environment": environment}
    profile = provider("truelayer", **options)
    url = "https://webhooks.truelayer{}.com/.well-known/jwks"
    assert profile.fixed_keys == url.format(own)

    def asked(where: str) -> Draft:
        header = {"alg": "ES512", "kid": "k", "jku": url.format(where), "tl_headers": ""}
        encoded, _, digest = compact(header, b"POST /in/bank\n{}", pair("p521")[0].encode()).split(".")
        return Draft(b"{}", {"Tl-Signature": f"{encoded}..{digest}"}, "https://hooks.example.com/in/bank")

    def verify(draft: Draft) -> None:
        presented = profile.present(draft.head())
        profile.verify(presented, draft.head(), draft.body, [Secret("client", b"client")], url=draft.url)

    with pytest.raises(KeyNeeded) as needed:
        verify(asked(own))
    assert (needed.value.url, needed.value.is_fixed) == (url.format(own), True)
    with pytest.raises(UnverifiedError, match="environment"):
        verify(asked(other))


@pytest.mark.parametrize(
    "kid", ["invented", "bfbd5111-8e33-4643-8ced-b2e642a72f3", "BFBD5111-8E33-4643-8CED-B2E642A72F3C"]
)
def test_no_credentials_are_sent_for_what_cannot_be_a_key_of_plaids(kid: str) -> None:
    profile = provider("plaid", environment="sandbox")
    for name, expected in ((kid, UnverifiedError), ("bfbd5111-8e33-4643-8ced-b2e642a72f3c", KeyNeeded)):
        claims = json.dumps({"iat": int(NOW), "request_body_sha256": hashlib.sha256(b"{}").hexdigest()}).encode()
        token = compact({"alg": "ES256", "kid": name}, claims, pair("ecdsa")[0].encode())
        head = Draft(b"{}", {"Plaid-Verification": token}).head()
        with pytest.raises(expected) as caught:
            profile.verify(profile.present(head), head, b"{}", [Secret("ours", b"client:secret")])
        if isinstance(caught.value, KeyNeeded):
            assert caught.value.url.startswith("https://sandbox.plaid.com/") and not caught.value.is_fixed


def test_certificates_of_paypals_sandbox_count_in_the_sandbox_only() -> None:
    draft = Draft(b"{}")
    PayPalScheme().sign(draft, f"{WEBHOOK}\n{pair('rsa')[0]}".encode(), now=NOW, id_="t-1")
    draft.headers["PAYPAL-CERT-URL"] = "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1"
    with pytest.raises(UnverifiedError, match="address of the key"):
        verified(PayPalScheme(), draft, WEBHOOK.encode())
    profile, head = provider("paypal", environment="sandbox"), draft.head()
    with pytest.raises(KeyNeeded):
        profile.verify(profile.present(head), head, b"{}", [Secret("webhook", WEBHOOK.encode())])


def test_an_environment_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match="environment is 'prod'; truelayer has production or sandbox"):
        provider("truelayer", environment="prod")


JWT = JwtScheme(header="X-Jwt", algorithms=("HS256", "RS256", "ES256"), body_claim="sha", claims={"iss": "me"})


def token(header: dict[str, Any], claims: Any, key: bytes, algorithm: str = "sha256") -> str:
    signed = ".".join(encode(json.dumps(part).encode(), "base64url") for part in (header, claims))
    return f"{signed}.{encode(ALGORITHMS[algorithm].make(key, signed.encode()), 'base64url')}"


@pytest.mark.req("R1")
def test_a_token_cannot_choose_how_it_is_checked() -> None:
    public = public_key(pair("rsa")[1])
    claims = {"iss": "me", "sha": Draft(b"{}").request().sha256().hex()}
    genuine = token({"alg": "RS256"}, claims, pair("rsa")[0].encode(), "rsa-sha256")
    assert verified(JWT, Draft(b"{}", {"X-Jwt": genuine}), public)
    # The oldest trick: an HMAC whose key is the public one, in each form that it could be compared in.
    for key in (bytes(public), pair("rsa")[1].encode()):
        assert is_refused(JWT, Draft(b"{}", {"X-Jwt": token({"alg": "HS256"}, claims, key)}), [public])
    for header in ({"alg": "none"}, {}, {"alg": "HS512"}, {"alg": ["HS256"]}, {"alg": "HS256", "crit": ["b64"]}):
        forged = token(header, claims, b"k")
        for text in (forged, forged.rpartition(".")[0] + "."):
            assert is_refused(JWT, Draft(b"{}", {"X-Jwt": text}), [b"k", public])


@pytest.mark.req("R1")
@pytest.mark.parametrize("claims", [{"iss": "me"}, {"iss": "you", "sha": "right"}, {"sha": "right"}, {"iss": "me", "sha": 3}, {"iss": "me", "sha": "right", "nbf": "soon"}, {"iss": "me", "sha": "right", "exp": True}, [], 3])  # fmt: skip
def test_a_token_must_say_what_it_is_for(claims: Any) -> None:
    digest = Draft(b"{}").request().sha256().hex()
    filled = (
        {name: digest if value == "right" else value for name, value in claims.items()}
        if isinstance(claims, dict)
        else claims
    )
    assert is_refused(JWT, Draft(b"{}", {"X-Jwt": token({"alg": "HS256"}, filled, b"k")}), [b"k"])


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(str.encode), st.sampled_from([JWT, SnsScheme(), PayPalScheme()])
)
def test_no_bytes_make_a_scheme_raise_anything_but_a_refusal(noise: bytes, scheme: Scheme) -> None:
    headers = {
        "X-Jwt": noise.decode("latin-1"),
        "PAYPAL-TRANSMISSION-SIG": noise.decode("latin-1"),
        "PAYPAL-AUTH-ALGO": "SHA256withRSA",
    }
    assert is_refused(scheme, Draft(noise, headers), [b"k"])


@pytest.mark.req("R1")
def test_of_many_signed_items_one_that_is_wrong_is_enough() -> None:
    adyen, key = provider("adyen").scheme, bytes.fromhex(HEX)
    item = {
        "pspReference": "1",
        "merchantAccountCode": "m",
        "eventCode": "AUTHORISATION",
        "success": "true",
        "additionalData": {},
    }
    items = [{"NotificationRequestItem": {**item, "pspReference": str(number)}} for number in range(3)]
    draft = Draft(json.dumps({"notificationItems": items}).encode())
    adyen.sign(draft, key, now=NOW, id_="")
    assert verified(adyen, draft, b"another", key).key == key
    for number in range(3):
        data = json.loads(draft.body)
        data["notificationItems"][number]["NotificationRequestItem"]["success"] = "false"
        assert is_refused(adyen, Draft(json.dumps(data).encode()), [key])
    for nothing in (b'{"notificationItems":[]}', b"{}", b"not json"):
        assert is_refused(adyen, Draft(nothing), [key])


@pytest.mark.req("R1")
def test_the_address_that_was_signed_may_name_its_default_port_and_no_other() -> None:
    twilio = provider("twilio").scheme
    for signed_url, public_url, is_right in (
        ("https://a.example/x?q=1", "https://a.example:443/x?q=1", True),
        ("https://a.example:443/x", "https://a.example/x", True),
        ("https://a.example:8443/x", "https://a.example/x", False),
        ("http://a.example/x", "https://a.example/x", False),
        ("https://a.example/x?q=1", "https://a.example/x?q=2", False),
    ):
        draft = Draft(b"a=1&b=2", dict(FORM), signed_url)
        twilio.sign(draft, b"k", now=NOW, id_="")
        assert is_refused(twilio, Draft(draft.body, draft.headers, public_url), [b"k"]) is not is_right


@pytest.mark.req("R1")
def test_a_body_of_twilios_that_is_no_form_needs_its_digest_in_the_address() -> None:
    twilio = provider("twilio").scheme
    draft = Draft(b'{"a":1}', {"Content-Type": "application/json"}, URL)
    twilio.sign(draft, b"k", now=NOW, id_="")
    assert "bodySHA256=" in draft.url and verified(twilio, draft, b"k")
    assert is_refused(twilio, Draft(b'{"a":2}', draft.headers, draft.url), [b"k"])
    bare = Draft(b"", dict(draft.headers), URL)
    twilio.sign(bare, b"k", now=NOW, id_="")
    assert is_refused(twilio, Draft(b'{"a":1}', bare.headers, URL), [b"k"])


@pytest.mark.req("R1")
def test_tokens_are_compared_whole_and_basic_authentication_is_decoded() -> None:
    basic = TokenScheme(token="header:Authorization", is_basic=True)
    draft = Draft(b"")
    basic.sign(draft, b"user:pass", now=NOW, id_="")
    assert draft.headers["Authorization"] == "Basic dXNlcjpwYXNz"
    assert verified(basic, draft, b"old:one", b"user:pass").name == "secret 1"
    for wrong in ("Basic dXNlcjpwYXNzMQ==", "Bearer dXNlcjpwYXNz", "Basic !", "Basic ", ""):
        assert is_refused(basic, Draft(b"", {"Authorization": wrong}), [b"user:pass"])
    with pytest.raises(ConfigError, match="user:password"):
        basic.decode_secret("password")
    items = TokenScheme(token="item:clientState", items="body:value")
    assert verified(items, Draft(b'{"value":[{"clientState":"k"},{"clientState":"k"}]}'), b"k")
    for body in (
        b'{"value":[{"clientState":"k"},{"clientState":"x"}]}',
        b'{"value":[{"clientState":"k"},{}]}',
        b'{"value":[]}',
    ):
        assert is_refused(items, Draft(body), [b"k"])
    query = TokenScheme(token="query:code")
    assert verified(query, Draft(b"", url=f"{URL}?code=k"), b"k")
    assert is_refused(query, Draft(b"", url=f"{URL}?code=k&code=k"), [b"k"])


@pytest.mark.parametrize("kind", ["ecdsa", "rsa", "ed25519"])
def test_a_key_of_another_kind_is_refused_when_it_is_configured(kind: str) -> None:
    private, public = pair(kind)
    assert isinstance(public_key(public, kind), PublicKey)
    for other in {"ecdsa", "rsa", "ed25519"} - {kind}:
        with pytest.raises(ConfigError, match=f"a key for {kind}"):
            public_key(public, other)
    with pytest.raises(ConfigError, match="private key"):
        public_key(private)


@pytest.mark.parametrize("text", ["", "xyz", "-----BEGIN PUBLIC KEY-----", "00" * 31, "whpk_AAAA"])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        public_key(text)


@pytest.mark.req("R1")
@settings(deadline=None)  # the first example of a kind makes its key
@given(st.sampled_from(["ecdsa", "rsa", "ed25519"]), st.binary(min_size=1, max_size=60), st.data())
def test_any_changed_bit_of_what_a_private_key_signed_is_refused(kind: str, body: bytes, data: st.DataObject) -> None:
    private, public = pair(kind)
    scheme = SignedScheme(
        signature="header:X-Sig",
        encoding="base64",
        algorithm=kind if kind == "ed25519" else f"{kind}-sha256",
        content="{timestamp}{body}",
        timestamp="header:X-Time",
    )
    draft = Draft(body)
    scheme.sign(draft, private.encode(), now=NOW, id_="")
    key = scheme.decode_secret(public)
    assert verified(scheme, draft, key)
    changed = bytearray(body)
    changed[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert is_refused(scheme, Draft(bytes(changed), draft.headers), [key])
    signature = bytearray(decode(draft.headers["X-Sig"].encode(), "base64") or b"")
    # Drawn from a fixed range: the lengths of ECDSA signatures differ from run to run.
    signature[data.draw(st.integers(0, 9_999)) % len(signature)] ^= 1 << data.draw(st.integers(0, 7))
    assert is_refused(scheme, Draft(body, {**draft.headers, "X-Sig": encode(bytes(signature), "base64")}), [key])
    assert is_refused(scheme, Draft(body, {**draft.headers, "X-Time": "1767323046"}), [key])


@given(st.binary(max_size=70), st.sampled_from(["hex", "base64", "base64url"]))
def test_a_digest_has_one_spelling(digest: bytes, encoding: str) -> None:
    text = encode(digest, encoding).encode()
    assert decode(text, encoding) == digest
    for other in (text + b"=", text + b"\n", b" " + text, text + b"A" * 3 + b"!"):
        assert decode(other, encoding) is None
