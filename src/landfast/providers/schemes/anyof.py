"""Several schemes, for a sender that has more than one way to sign: an older one, or one with public keys.

The first that is well presented counts, and those after it only where the key decides which of them it is for. That is
no weaker than to insist on the newest: a forger chooses what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Hidden, KeyNeeded, Proven, Secret, Signature
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage, Scheme, once
from landfast.providers.schemes.signed import SignedScheme


class AnyOf:
    __slots__ = ("by_key", "schemes")

    def __init__(self, *schemes: Scheme, by_key: bool = False) -> None:
        self.schemes = schemes
        """The one that new senders use first: it is the one to sign with."""
        self.by_key = by_key
        """Whether one request may carry several of them, and the source's key says which one to look at."""
        if by_key and self.signs_once:
            raise ConfigError("which scheme proved the sender must be known where one of them signs a nonce")

    def __repr__(self) -> str:
        return f"AnyOf{self.schemes!r}"

    @property
    def coverage(self) -> Coverage:
        """The weakest: a forger chooses."""
        found = {scheme.coverage for scheme in self.schemes}
        return "no" if "no" in found else "checksum" if "checksum" in found else "yes"

    @property
    def signs_once(self) -> bool:
        return any(once(scheme) for scheme in self.schemes)

    def proof(self, signature: Signature, request: Request) -> bytes | None:
        for scheme, presented in signature.alternatives:  # one: `by_key` is none of these
            proven = once(scheme)
            return None if proven is None else proven.proof(presented, request)
        return None

    @property
    def needs_url(self) -> bool:
        return any(scheme.needs_url for scheme in self.schemes)

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return {name: hidden for scheme in self.schemes for name, hidden in scheme.hidden_headers.items()}

    def decode_secret(self, text: str) -> bytes:
        """As the first scheme that can reads it. The others read it alike, or it is a public key, which none of them
        takes for a secret."""
        errors = []
        for scheme in self.schemes:
            try:
                return scheme.decode_secret(text)
            except ConfigError as error:
                errors.append(error)
        raise errors[0]

    def present(self, head: Head) -> Signature:
        found: list[tuple[Scheme, Signature]] = []
        reasons = []
        for scheme in self.schemes:
            if found and isinstance(scheme, SignedScheme) and scheme.is_absent(head):
                continue  # a refusal that nobody reads costs as much as an HMAC
            try:
                found.append((scheme, scheme.present(head)))
            except UnverifiedError as error:
                reasons.append(error)
            else:
                if not self.by_key:
                    break
        if not found:
            # A header that is there and wrong says more than one that is not there.
            raise next((error for error in reasons if "missing" not in error.reason), reasons[0])
        return Signature(alternatives=tuple(found))

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        """Only the alternatives that are left in the signature: whoever checks its time takes out the stale ones."""
        reasons: list[Exception] = []
        for scheme, presented in signature.alternatives:
            try:
                found: Proven = scheme.verify(presented, request, secrets)
            except (UnverifiedError, KeyNeeded) as error:
                reasons.append(error)
            else:
                return found
        try:
            raise next((error for error in reasons if isinstance(error, KeyNeeded)), reasons[0])
        finally:
            reasons.clear()  # an error that its own frame holds would keep the body until the garbage is collected

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:
        self.schemes[0].sign(draft, key, now=now, id_=id_)
