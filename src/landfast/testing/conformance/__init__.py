"""One suite per port, run against every driver without a skip: a driver's test module subclasses it."""

try:
    import pytest
except ImportError:
    raise ImportError("the conformance suites need pytest; install landfast[testing]") from None

# Before the suites are imported, so that a failed assert shows its values as in any test module.
pytest.register_assert_rewrite("landfast.testing.conformance.inbox", "landfast.testing.conformance.ledger")
