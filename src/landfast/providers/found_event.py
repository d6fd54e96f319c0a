"""An event that a profile found in a proven request."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from landfast.domain.delivery import Identity
from landfast.providers.locations import Sight

if TYPE_CHECKING:
    from landfast.providers.profile import Profile


class FoundEvent:
    """Implements the Found port: the key at once, the rest when it is asked for."""

    __slots__ = ("_identity", "_own", "_profile", "_sight", "key")

    def __init__(self, profile: Profile, sight: Sight, body: bytes, own: bytes | None) -> None:
        self._profile = profile
        self._sight = sight
        self._own = own
        """Its exact bytes, where the request brings several events."""
        self._identity: Identity | None = None
        self.key = profile.key_of(sight, body)

    def identity(self, received_at: datetime) -> Identity:
        # Kept: where types are not signed, the mark of an event needs it before its delivery does.
        if self._identity is None:
            profile, sight = self._profile, self._sight
            at = profile.moment_of(sight, received_at)
            self._identity = Identity(self.key, profile.type_of(sight), profile.entity_of(sight), at, self._own)
        return self._identity
