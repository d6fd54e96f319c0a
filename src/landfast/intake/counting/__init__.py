"""Counts: what was received, what senders were told, what came again."""
