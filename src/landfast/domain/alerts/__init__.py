"""Alerts, pure: what is looked at, which rule finds what in it, and when somebody is told."""
