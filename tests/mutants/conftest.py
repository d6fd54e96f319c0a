"""The shop of the processing tests, on each store."""

from __future__ import annotations

from tests.processing.conftest import postgres_shop, shop

__all__ = ["postgres_shop", "shop"]
