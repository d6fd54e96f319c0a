"""The public test kit: `TestInbox`, signed samples, a clock to hold, and the conformance suites of the ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landfast.testing.inbox import TestInbox

__all__ = ["TestInbox"]


def __getattr__(name: str) -> Any:
    # Late: a conformance suite of one driver needs no other driver.
    if name == "TestInbox":
        from landfast.testing.inbox import TestInbox

        return TestInbox
    raise AttributeError(f"module 'landfast.testing' has no attribute {name!r}")
