"""Isolation levels, by their SQL names."""

LEVELS = ("read committed", "repeatable read", "serializable")
