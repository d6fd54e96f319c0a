"""Whom the tests trust over TLS: nobody, because they speak to nobody else.

Whoever makes a client for TLS reads the certificates of all the authorities that the machine trusts, which takes 60 ms:
PyMySQL for each connection, httpx for each client. `nobody.pem` has one, whose key was thrown away.
"""

from __future__ import annotations

import os
from pathlib import Path

NOBODY = str(Path(__file__).with_name("nobody.pem"))
NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_KEPT = "GIVEN_{}"
"""What the variables were: every process of the test run inherits those of the first."""


def trust_nobody() -> None:
    if os.environ.get("SSL_CERT_FILE") != NOBODY:
        given = {_KEPT.format(name): os.environ[name] for name in NAMES if name in os.environ}
        os.environ |= {**given, "SSL_CERT_FILE": NOBODY, "SSL_CERT_DIR": ""}


def as_given() -> dict[str, str]:
    """The environment for the one who does speak to strangers: pip, to an index."""
    others = {name: value for name, value in os.environ.items() if name not in NAMES}
    return others | {name: others[_KEPT.format(name)] for name in NAMES if _KEPT.format(name) in others}
