"""Fetch a small document over https, and check a certificate: what `keys` does in a thread."""

from __future__ import annotations

import http.client
import ssl
import warnings
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

FETCH_STEP_SECONDS = 3.0
"""For each step of the connection; whoever waits has a deadline for the whole."""

LARGEST_DOCUMENT_BYTES = 64 * 1024
"""Bytes; a chain of certificates has about 8,000, Google's set of keys 1,500."""


def fetch_https(url: str, post: bytes | None = None, *, context: ssl.SSLContext | None = None) -> bytes:
    """OSError for everything that goes wrong. A redirect is another status than 200: it could lead anywhere."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise OSError("keys are fetched over https only")
    connection = http.client.HTTPSConnection(
        parts.hostname, parts.port, timeout=FETCH_STEP_SECONDS, context=context or _trusting_the_system()
    )
    try:
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        headers = {"accept": "*/*"} if post is None else {"accept": "*/*", "content-type": "application/json"}
        connection.request("GET" if post is None else "POST", target, post, headers)
        response = connection.getresponse()
        document = response.read(LARGEST_DOCUMENT_BYTES + 1)
    except http.client.HTTPException as error:
        raise OSError(f"no HTTP answer: {type(error).__name__}") from error
    finally:
        connection.close()
    if response.status != 200 or len(document) > LARGEST_DOCUMENT_BYTES:
        raise OSError(f"status {response.status} with {len(document)} bytes")
    return document


def certified(document: bytes, name: str | None, now: datetime) -> None:
    """ValueError for a certificate that has expired or, where a name is asked for, is not that name's, or does not lead
    to a root that this machine trusts. Documents that hold no certificate pass if none is asked for."""
    if not document.lstrip().startswith(b"-----BEGIN CERTIFICATE"):
        if name is not None:
            raise ValueError("there is no certificate")
        return
    from cryptography import x509
    from cryptography.x509 import verification

    leaf, *others = x509.load_pem_x509_certificates(document)
    if not leaf.not_valid_before_utc <= now <= leaf.not_valid_after_utc:
        raise ValueError("the certificate has expired, or is not valid yet")
    if name is None:
        return
    store = verification.Store(_roots())
    verifier = verification.PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(leaf, others)
    except verification.VerificationError as error:
        raise ValueError(f"the certificate does not hold: {error}") from error


@cache
def _trusting_the_system() -> ssl.SSLContext:
    return ssl.create_default_context()


@cache
def _roots() -> list[Any]:
    from cryptography import x509

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some old roots have serial numbers that are not allowed any more
        return [x509.load_der_x509_certificate(der) for der in _trusting_the_system().get_ca_certs(binary_form=True)]
