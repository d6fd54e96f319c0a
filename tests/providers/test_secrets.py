from __future__ import annotations

import base64
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider
from landfast.providers.request import Draft
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.keyforms import KeyForm, decode_key
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.secrets import load_secret
from tests.providers.keypairs import pair
from tests.providers.requests import scheme_of

STANDARD = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def load(reference: str, name: str = "stripe", **environ: str) -> Secret:
    return load_secret(
        reference,
        provider=provider(name),
        name="payments.secret",
        environ=environ,
        read_file=lambda path: Path(path).read_bytes(),
    )


@pytest.mark.req("R1")
def test_a_secret_comes_from_the_environment_a_file_or_the_setting_itself(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"whsec_abc\n")
    wanted = Secret("payments.secret", b"whsec_abc")
    assert load("env:STRIPE", STRIPE="whsec_abc") == wanted
    assert load(f"file:{file}") == wanted
    assert load("whsec_abc") == wanted
    assert load("a:b").key == b"a:b"


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("evn:STRIPE", "env:NAME"),
        ("ENV:STRIPE", "env:NAME"),
        ("Env:stripe", "env:NAME"),
        ("en:STRIPE_SECRET_2", "env:NAME"),
        ("fil:PATH", "file:PATH"),
        ("flie:/run/secrets/stripe", "file:PATH"),
        ("FILE:secret", "file:PATH"),
        ("files:secret.txt", "file:PATH"),
    ],
)
def test_a_misspelt_reference_is_no_secret(reference: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(reference, STRIPE="whsec_abc")
    kind = reference.partition(":")[0]
    assert str(caught.value) == (
        f"payments.secret: {kind!r} before the colon is no kind of reference; did you mean {meant}?"
    )


@pytest.mark.parametrize("text", ["eve:a password", "user:NAME", "tile:hunter2", "whsec:ABC", ":x", "a:b:c", "fiona:X"])
def test_a_secret_that_merely_has_a_colon_in_it_is_a_secret(text: str) -> None:
    assert load(text).key == text.encode()


@pytest.mark.parametrize(
    ("content", "key"), [(b"a\r\n", b"a"), (b"a\n\n", b"a\n"), (b" a", b" a"), ("é".encode(), "é".encode())]
)
def test_a_file_loses_one_line_end_and_nothing_else(tmp_path: Path, content: bytes, key: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)
    assert load(f"file:{tmp_path / 'secret'}").key == key


def test_a_public_key_in_the_place_of_a_secret_is_refused_however_it_is_written() -> None:
    """Anybody knows it, and could sign with it."""
    for kind in ("rsa", "ecdsa", "ed25519"):
        pem = pair(kind)[1]
        der = base64.b64decode("".join(pem.splitlines()[1:-1]))
        bare = base64.b64encode(der).decode()
        unpadded, url_safe = bare.rstrip("="), base64.urlsafe_b64encode(der).decode()
        as_bytes = der.decode("utf-8", "surrogateescape")
        lines = "\n".join(pem.splitlines()[1:-1])
        for text in (pem, bare, unpadded, url_safe, f"whsec_{bare}", lines, der.hex(), as_bytes):
            for name in ("stripe", "fusionauth"):
                if name == "fusionauth" and text == pem:
                    continue  # which takes one, as PEM
                with pytest.raises(ConfigError, match=r"public key|certificate"):
                    provider(name).decode_secret(text)
        with pytest.raises(ConfigError, match=r"public key|certificate"):
            decode_key(bare, "base64")
    for jwk in ('{"kty":"RSA","n":"AQAB","e":"AQAB"}', ' {"keys": []}'):
        with pytest.raises(ConfigError, match=r"public key"):
            provider("stripe").decode_secret(jwk)


def test_a_standard_secret_that_could_be_a_public_key_says_which_it_is() -> None:
    bare = base64.b64encode(b"\x01" * 32).decode()
    with pytest.raises(ConfigError, match=r"write whsec_ before it .* or whpk_"):
        decode_key(bare, "whsec")
    assert decode_key(f"whsec_{bare}", "whsec") == b"\x01" * 32


@pytest.mark.parametrize("text", [f"whsec_{STANDARD}", STANDARD, f"  {STANDARD}\n"])
def test_a_standard_secret_is_base64_after_its_prefix(text: str) -> None:
    assert load(text, "standard-webhooks").key == base64.b64decode(STANDARD)


def test_missing_padding_of_a_standard_secret_is_tolerated() -> None:
    for size in (16, 17, 18):
        padded = base64.b64encode(b"k" * size).decode()
        assert load(padded.rstrip("="), "standard-webhooks").key == load(padded, "standard-webhooks").key == b"k" * size


def test_bytes_of_the_environment_that_are_no_text_are_kept() -> None:
    assert load("env:S", S=os.fsdecode(b"k\xff")).key == b"k\xff"


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("", "payments.secret: the secret is empty"),
        ("  ", "payments.secret: the secret is empty"),
        ("env:", "payments.secret: env: names no variable"),
        ("file:", "payments.secret: file: names no file"),
        ("env:NOWHERE", "payments.secret: the environment variable NOWHERE is not set"),
        ("env:EMPTY", "payments.secret (env:EMPTY): the secret is empty"),
        ("env:BLANK", "payments.secret (env:BLANK): the secret is empty"),
        ("file:nowhere/at/all", "payments.secret: the file nowhere/at/all cannot be read: No such file or directory"),
    ],
)
def test_a_secret_that_is_missing_or_empty_is_one_clear_sentence(reference: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(reference, EMPTY="", BLANK=" \n")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("whsec_not*base64", "the secret is not base64"),
        ("whsec_A", "the secret is not base64"),
        ("whsec_é", "the secret is not base64"),
        ("whsec_", "the secret is empty"),
        ("whpk_" + STANDARD, "the secret is an Ed25519 key"),
    ],
)
def test_a_badly_encoded_secret_is_refused_and_not_shown(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load("env:SECRET", "standard-webhooks", SECRET=text)
    assert f"payments.secret (env:SECRET): {sentence}" in str(caught.value)
    assert text not in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load(f"file:{tmp_path / 'secret'}")


def test_a_secret_never_shows_its_key() -> None:
    assert "hush" not in repr(load("hush"))


@pytest.mark.req("R1")
def test_a_short_secret_is_refused_unless_the_source_says_so() -> None:
    def loaded(text: str, *, allow_short: bool, name: str = "stripe") -> Secret:
        return load_secret(
            text, provider=provider(name), name="s", environ={}, read_file=lambda path: Path(path).read_bytes(), allow_short=allow_short
        )  # fmt: skip

    with pytest.raises(ConfigError, match=r"has 15 bytes.*allow_short_secret") as caught:
        loaded("fifteen-letters", allow_short=False)
    assert "fifteen" not in str(caught.value)
    assert loaded("fifteen-letters", allow_short=True).key == b"fifteen-letters"
    assert loaded("sixteen--letters", allow_short=False).key == b"sixteen--letters"


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("form", "text", "key"),
    [
        ("text", "whsec_x", b"whsec_x"),
        ("base64", "whsec_AAEC", b"\x00\x01\x02"),
        ("base64", "AAEC", b"\x00\x01\x02"),
        ("hex", " 00FF ", b"\x00\xff"),
        ("sha1", "key", bytes.fromhex("a62f2225bf70bfaccbc7f1ef2a397836717377de")),
        ("nfkd", "s\u00e9", b"se\xcc\x81"),
    ],
)
def test_a_secret_becomes_a_key_in_the_way_of_its_sender(form: KeyForm, text: str, key: bytes) -> None:
    assert decode_key(text, form) == key


@pytest.mark.parametrize(("form", "text"), [("hex", "xyz"), ("hex", "abc"), ("base64", "a!"), ("base64", "whpk_AAAA")])
def test_a_badly_encoded_secret_is_refused_without_being_shown(form: KeyForm, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        decode_key(text, form)
    assert text not in str(caught.value)


@pytest.mark.req("R1")
def test_a_public_key_is_never_the_key_of_an_hmac() -> None:
    """Anybody knows it: with Standard Webhooks, whose secrets may be of either kind, anybody could sign with it."""
    profile = provider("standard-webhooks")
    public = Secret("public", profile.decode_secret("whpk_" + base64.b64encode(bytes(31) + b"\x01").decode()))
    draft = Draft(b"{}")
    scheme_of(profile).sign(draft, bytes(public.key), now=1_767_323_045.0, id_="msg_1")
    head = draft.head()
    with pytest.raises(UnverifiedError):
        profile.verify(profile.present(head), head, b"{}", [public])


@pytest.mark.req("R1")
def test_a_secret_counts_from_its_beginning_until_its_end() -> None:
    old, new = Secret("old", b"o", retired_at=200.0), Secret("new", b"n", active_from=100.0)
    source = Source("source", provider("stripe"), (old, new))
    named = {now: [secret.name for secret in source.active(now)] for now in (99.0, 100.0, 199.0, 200.0)}
    assert named == {99.0: ["old"], 100.0: ["old", "new"], 199.0: ["old", "new"], 200.0: ["new"]}


@pytest.mark.req("R1")
def test_an_old_genuine_signature_beside_a_fresh_forged_one_is_refused() -> None:
    """Each way to sign has its own time: a fresh one of one way must not vouch for a stale one of another."""
    scheme = AnyOf(
        SignedScheme(signature="header:X-New", content="{timestamp}{body}", timestamp="header:X-New-Time"),
        SignedScheme(signature="header:X-Old", content="{timestamp}{body}", timestamp="header:X-Old-Time"),
        by_key=True,
    )
    profile = Profile(name="made-up", scheme=scheme, key="body", type="body:type")
    draft = Draft(b"{}")
    scheme.schemes[1].sign(draft, b"k", now=1_000.0, id_="")
    source = Source("source", profile, (Secret("s", b"k"),))
    at = datetime.fromtimestamp(100_000, UTC)
    draft.headers |= {"X-New": "0" * 64, "X-New-Time": "100000"}
    with pytest.raises(UnverifiedError):
        examine(source, draft.head(), b"{}", now=at)
    assert examine(source, draft.head(), b"{}", now=datetime.fromtimestamp(1_000, UTC)).secret
