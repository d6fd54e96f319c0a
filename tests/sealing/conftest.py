"""The shop on each store."""

from tests.processing.conftest import postgres_shop, shop

__all__ = ["postgres_shop", "shop"]
