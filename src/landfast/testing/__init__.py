"""The public test kit: what the pytest fixtures give, `TestInbox`, signed samples, and the conformance suites of the
ports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landfast.testing.blocking import BlockingInboxTester
    from landfast.testing.inbox import TestInbox
    from landfast.testing.signing import sample, sign, signed_request
    from landfast.testing.tester import InboxTester

__all__ = ["BlockingInboxTester", "InboxTester", "TestInbox", "sample", "sign", "signed_request"]

_HOMES = {"BlockingInboxTester": "blocking", "InboxTester": "tester", "TestInbox": "inbox"}


def __getattr__(name: str) -> Any:
    # Late: a conformance suite of one driver needs no other driver, and pytest imports the plugin in every project.
    if name in __all__:
        return getattr(import_module(f"landfast.testing.{_HOMES.get(name, 'signing')}"), name)
    raise AttributeError(f"module 'landfast.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
