"""What `landfast send` and `landfast listen` sign with, whatever they send."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from landfast.domain.errors import UnverifiedError, UserError
from landfast.ports.clock import Clock
from landfast.ports.provider import Secret
from landfast.providers import Profile
from landfast.providers.request import Draft
from landfast.providers.signing import signed_request

Requests = Callable[[], Draft]
"""The same request each time, signed anew: a thousand of them take longer than a signature counts."""


@dataclass(frozen=True, slots=True)
class Signing:
    profile: Profile
    key: str | Secret
    target: str
    """Where it is posted to."""
    public: str
    """The address that the sender would sign."""
    clock: Clock
    path: str = ""
    """What is signed in place of the address's, for an endpoint."""
    given_id: str | None = None
    """The sender's id of the event, where the user chose one."""
    command: str = "send"
    """Whose sentences say what is wrong."""

    def new_id(self) -> str:
        return self.given_id or f"evt_{secrets.token_hex(8)}"

    @property
    def now(self) -> float:
        return self.clock.now().timestamp()

    def requests(
        self, body: bytes, *, id_: str, type_: str | None, headers: Mapping[str, str] | None = None
    ) -> Requests:
        """Each call signs. The first is made here, so that what cannot be signed is known before anything is sent."""

        def sign() -> Draft:
            return signed_request(
                self.profile,
                body,
                self.key,
                now=self.now,
                id=id_,
                type=type_,
                url=self.public,
                path=self.path,
                headers=headers,
            )

        try:
            sign()
        except (UnverifiedError, ValueError, LookupError) as error:
            why = error.reason if isinstance(error, UnverifiedError) else f"{error}"
            raise UserError(f"{self.command}: a request of {self.profile.name} cannot be signed: {why}") from None
        return sign
