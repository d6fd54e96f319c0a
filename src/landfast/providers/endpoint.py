"""The profile of an endpoint: a provider's own proof, and a call in place of its events.

The key is the caller's `Idempotency-Key`, and the type is always `call`: whatever the provider reads from a webhook is
not looked for. What it signs is its own affair; the default below signs the key and the time, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from landfast.domain.delivery import Head
from landfast.domain.endpoint import CALL, KEY_HEADER, key_in
from landfast.domain.errors import UnverifiedError
from landfast.ports.provider import Hidden, Proven, Secret, Signature
from landfast.providers.locations import Sight
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage

LOOPBACK = "loopback"
"""The word for an endpoint that asks for no proof, and is there for callers on this machine alone."""

LOOPBACK_NETWORKS = ("127.0.0.0/8", "::1/128")

SIGNED_CALL = {
    "timestamp_header": "X-Request-Timestamp",
    "content": "{timestamp}\n{method}\n{path}\n{header:Idempotency-Key}\n{body}",
}
"""Options of the generic provider unless others are given. Lines, because no header can hold the end of one: between
dots, a key that has a dot in it could be cut at two places. Method and path, because several endpoints may share a
secret: a call of one is none of another's. The path is the declared one, wherever the host has mounted us."""

HOST_CHARACTERS = 100
"""Of the host in a line of the log: a stranger chose it."""

_is_this_machine = re.compile(r"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE).fullmatch
"""What a caller here says. A page in somebody's browser cannot: its name may come to mean 127.0.0.1, and then it calls
us from here, but the browser still says that name."""

_FORWARDED = (b"forwarded", b"x-real-ip", b"via", b"x-client-ip", b"true-client-ip", b"cf-connecting-ip")
_FORWARDED_START = b"x-forwarded-"
"""Headers that most proxies add. nginx adds none unless it is told to; but it asks in HTTP/1.0."""

_SAMPLE = Sample(
    type=CALL,
    id="call-1001",
    data={"order": "1001"},
    headers={"Idempotency-Key": "{id}", "X-Request-Timestamp": "{now.s}"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointProfile(Profile):
    def key_of(self, sight: Sight, body: bytes) -> str:
        # Intake has refused a call without a key before. What stands in for it is for tools that look at any request.
        return key_in(sight.head.headers.get(KEY_HEADER)) or hashlib.sha256(body).hexdigest()

    def takes(self, method: str) -> bool:
        return method in {"POST", "GET"}


@dataclass(frozen=True, slots=True)
class NoProof:
    """Whoever can connect is believed. Where a proxy stands in front, that would be everybody."""

    coverage: Coverage = field(default="no", init=False)
    needs_url: bool = field(default=False, init=False)

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return {}

    def decode_secret(self, text: str) -> bytes:
        return text.encode()

    def present(self, head: Head) -> Signature:
        host = head.headers.text(b"host") or ""
        if not _is_this_machine(host):
            raise UnverifiedError(
                f"it is for the host {host[:HOST_CHARACTERS]!r}, and an open endpoint is called as localhost, 127.0.0.1"
                " or [::1]"
            )
        names = [name for name, _ in head.headers.pairs]
        passed = [name.decode() for name in names if name in _FORWARDED or name.startswith(_FORWARDED_START)]
        passed += ["HTTP/1.0"] if head.is_old else []
        if passed:
            raise UnverifiedError(f"it came through a proxy ({passed[0]}), and an open endpoint is for callers here")
        return Signature()

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:  # noqa: ARG002 - the port's
        return Proven(_NOBODY, signature, request)

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:  # noqa: ARG002 - the port's
        """Nothing to sign; but a caller here says so."""
        draft.headers["Host"] = "localhost"


_NOBODY = Secret("none", b"")


def endpoint_profile(profile: Profile) -> Profile:
    """This provider's proof, for calls."""
    kept = {each.name: getattr(profile, each.name) for each in fields(Profile) if each.init}
    calls = {
        "key": "header:Idempotency-Key",
        "type": f"always:{CALL}",
        "entity": None,
        "occurred_at": None,
        "time_of_object": False,
        "body_varies": False,
        "items": None,
        "handshakes": (),
        "thanks": None,
        "refusal": 401,
        "methods": ("POST",),
        "redelivery": Redelivery(),
        "samples": (_SAMPLE,),
        "type_letters": "",
    }
    return EndpointProfile(**kept | calls)


def loopback_profile() -> Profile:
    scheme = NoProof()
    bare = Profile(name=LOOPBACK, title="callers on this machine", scheme=scheme, key="body", type=f"always:{CALL}")
    return endpoint_profile(bare)
