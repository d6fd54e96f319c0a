"""The checkup of `[admin.oidc]`: without its secret nobody could sign in, and only whoever tries would be told."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Sequence

from landfast.config import Settings
from landfast.config.dotenv import dotenv
from landfast.domain.errors import ConfigError
from landfast.providers.secrets import referred
from landfast.recovery.doctor import Check, Level, failed


def examine_sign_in(settings: Settings) -> Sequence[Check]:
    """Nothing where people sign in by tokens alone."""
    if settings.oidc is None:
        return []
    try:
        oidc_secret(settings)
    except ConfigError as error:
        return [failed("sign-in", error)]
    return [Check("sign-in", Level.OK, f"at {settings.oidc.issuer}, with the secret that it gave")]


def oidc_secret(settings: Settings) -> str:
    """What the identity provider gave this dashboard to prove itself with. ConfigError where it is not there."""
    text, _ = referred(
        settings.oidc.client_secret if settings.oidc else "",
        name="admin.oidc: client_secret",
        environ=ChainMap(dict(os.environ), dict(dotenv(settings.folder))),
        read_file=lambda path: (settings.folder / path).read_bytes(),
    )
    return text.strip()
