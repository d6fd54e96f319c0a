"""TLS from two files."""

from __future__ import annotations

import ssl
from pathlib import Path

from landfast.domain.errors import ConfigError


def context(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """None without a certificate; ConfigError when what is given cannot be used."""
    if cert is None:
        if key is not None:
            raise ConfigError("--tls-key is given without --tls-cert; give both, or neither")
        return None
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        made.load_cert_chain(cert, key)
    except FileNotFoundError:
        raise ConfigError(f"--tls-cert, --tls-key: {cert} or its key is not there; correct the paths") from None
    except (ssl.SSLError, OSError) as error:
        why = getattr(error, "reason", None) or error.strerror
        raise ConfigError(
            f"--tls-cert, --tls-key: {cert} and its key cannot be used ({why}); give a PEM pair"
        ) from None
    return made
