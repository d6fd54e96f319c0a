"""Spans of time, in seconds."""

MINUTE = 60.0
HOUR = 3_600.0
DAY = 86_400.0
BORN = 1_767_225_600
"""The time in the samples, 2026-01-01: fixed, so that a sample is the same bytes on every machine."""
