"""Which headers a signature covers, and so what of an event anybody could write who has captured a request."""

from __future__ import annotations

from landfast.providers.locations import split_place
from landfast.providers.schemes import Scheme
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.template import Template


def unsigned_headers(scheme: Scheme, location: str) -> tuple[str, ...]:
    """The headers that a location reads and the signature does not cover. None where the body is not covered either: a
    header is no worse there."""
    signed = signed_headers(scheme) if scheme.coverage != "no" else None
    if signed is None:
        return ()
    places = [split_place(place) for choice in location.split("+") for place in choice.split("|")]
    return tuple(rest for kind, rest in places if kind == "header" and rest.lower() not in signed)


def signed_headers(scheme: Scheme) -> frozenset[str] | None:
    """Their names in small letters; None for a scheme of which it is not known."""
    match scheme:
        case SignedScheme(content=content, id=id_, timestamp=timestamp):
            names = [*Template(content).names, *(place for place in (id_, timestamp) if place)]
            headers = [name.removeprefix("header:") for name in names if name.startswith("header:")]
            return frozenset(header.rstrip("?!").lower() for header in headers)
        case JwtScheme():
            return frozenset()
        case AnyOf(schemes=schemes):
            each = [signed_headers(one) for one in schemes]
            known = [one for one in each if one is not None]
            return frozenset.intersection(*known) if len(known) == len(each) else None
    return None
