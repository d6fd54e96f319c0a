"""Reconcile: ask the provider for its own list of events, and take in what never arrived."""

from __future__ import annotations

from landfast.operations.reconcile.run import Asked, Missing, Result, reconcile
from landfast.operations.reconcile.window import GRACE_SECONDS, UNSURE, due_since

__all__ = ["GRACE_SECONDS", "UNSURE", "Asked", "Missing", "Result", "due_since", "reconcile"]
