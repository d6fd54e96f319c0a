"""What a description of a signed scheme must not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from landfast.domain.errors import ConfigError
from landfast.providers.schemes.algorithms import ALGORITHMS
from landfast.providers.schemes.keyforms import KeyForm
from landfast.providers.schemes.signature_headers import Encoding
from landfast.providers.schemes.timestamps import Unit
from landfast.providers.template import Template

if TYPE_CHECKING:
    from landfast.providers.schemes.signed import SignedScheme


def check_choices(scheme: SignedScheme) -> None:
    """Before anything is derived from it."""
    for name, value, choices in (
        ("algorithm", scheme.algorithm, tuple(ALGORITHMS)),
        ("encoding", scheme.encoding, get_args(Encoding)),
        ("timestamp_unit", scheme.timestamp_unit, get_args(Unit)),
        ("secret", scheme.secret, get_args(KeyForm)),
    ):
        if value not in choices:
            raise ConfigError(f"{name} {value!r} is not known: use {', '.join(choices)}")
    if scheme.signature.strip() in {"", "header:"}:
        raise ConfigError("header is empty: name the header that holds the signature")
    if scheme.key_name is not None and not all(part.strip() for part in f"{scheme.key_name}=".split("=", 2)[:2]):
        raise ConfigError(f"key_name {scheme.key_name!r} must be HEADER=SETTING, such as X-Pusher-Key=app_key")
    if scheme.timestamp is not None and not scheme.timestamp.startswith(("header:", "entry:")):
        raise ConfigError(f"timestamp {scheme.timestamp!r} must be header:NAME, or entry:PREFIX in the signature")


def check_content(scheme: SignedScheme, template: Template) -> None:
    names, content = template.names, scheme.content
    for part, given in (("timestamp", scheme.timestamp), ("id", scheme.id)):
        if part in names and given is None:
            raise ConfigError(f"content {content!r} uses {{{part}}}, and no header is given that holds it")
        if part not in names and given is not None:
            raise ConfigError(f"content {content!r} must hold {{{part}}}: what is not signed proves nothing")
    if template.has_secret != scheme.algorithm.startswith("plain-"):
        raise ConfigError(f"content {content!r} must hold {{secret}} with a plain hash, and with nothing else")
    if scheme.signs_once and (scheme.coverage == "yes" or scheme.items is not None or template.has_secret):
        raise ConfigError(f"signs_once is for a signature that does not cover the body, and {content!r} does")
    if not names - {"timestamp", "id", "secret"}:
        raise ConfigError(f"content {content!r} must hold {{body}}, or parts of it")
