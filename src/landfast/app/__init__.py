"""The composition root: the only package that knows every adapter."""

from landfast.app.inbox import Inbox
from landfast.app.loading import load

__all__ = ["Inbox", "load"]
