from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from landfast.domain.errors import ConfigError
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.secrets import load_secret

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
    ("content", "key"), [(b"a\r\n", b"a"), (b"a\n\n", b"a\n"), (b" a", b" a"), ("é".encode(), "é".encode())]
)
def test_a_file_loses_one_line_end_and_nothing_else(tmp_path: Path, content: bytes, key: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)
    assert load(f"file:{tmp_path / 'secret'}").key == key


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
