"""Alerts at work: look at the inbox, keep what was found, and tell the sinks."""
