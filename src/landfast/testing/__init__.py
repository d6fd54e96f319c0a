"""The public test kit: `TestInbox`, signed samples, a clock to hold, and the conformance suites of the ports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landfast.testing.inbox import TestInbox
    from landfast.testing.signing import sample, sign, signed_request

__all__ = ["TestInbox", "sample", "sign", "signed_request"]


def __getattr__(name: str) -> Any:
    # Late: a conformance suite of one driver needs no other driver.
    if name == "TestInbox":
        from landfast.testing.inbox import TestInbox

        return TestInbox
    if name in __all__:
        return getattr(import_module("landfast.testing.signing"), name)
    raise AttributeError(f"module 'landfast.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
