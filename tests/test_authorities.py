"""Nobody is trusted by the tests, and pip goes on trusting whom the machine trusts."""

from __future__ import annotations

import os
import ssl

import pytest

from tests.authorities import NAMES, NOBODY, as_given, trust_nobody


def test_a_client_for_tls_knows_one_authority_and_it_is_nobody() -> None:
    (known,) = ssl.create_default_context().get_ca_certs()
    assert known["subject"] == ((("commonName", "Nobody. The key was thrown away."),),)


@pytest.mark.parametrize("given", [{}, {"SSL_CERT_FILE": "/own.pem"}, dict.fromkeys(NAMES, "/own")], ids=str)
def test_who_speaks_to_strangers_gets_what_was_given(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"GIVEN_{name}", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    trust_nobody()
    trust_nobody()  # as each process of the test run does
    assert os.environ["SSL_CERT_FILE"] == NOBODY
    assert {name: value for name, value in as_given().items() if name in NAMES} == given
