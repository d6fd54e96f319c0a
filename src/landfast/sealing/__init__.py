"""Sealing: what is stored of an event is encrypted, and can be erased by destroying its key."""

from landfast.domain.store_key import StoreKey
from landfast.sealing.master import load_seal
from landfast.sealing.seal import Seal, SealedEvent

__all__ = ["Seal", "SealedEvent", "StoreKey", "load_seal"]
