"""Landfast: a webhook inbox that proves, keeps and processes each event exactly once."""

__version__ = "0.1.0"
