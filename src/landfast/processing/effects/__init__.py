"""Staged effects: claimed as places get free, and performed after their COMMIT."""
