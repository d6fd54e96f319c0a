"""Reconcile: ask the provider for its own list of events, and take in what never arrived."""

from __future__ import annotations

from landfast.operations.reconcile.run import GRACE_SECONDS, OVERLAP, Asked, Missing, Result, reconcile

__all__ = ["GRACE_SECONDS", "OVERLAP", "Asked", "Missing", "Result", "reconcile"]
