"""Ledgers: where receipts and staged effects stand beside the user's own tables."""
