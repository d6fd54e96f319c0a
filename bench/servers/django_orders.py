"""The shop's writes through Django's ORM: as a handler, and in a plain transaction without Landfast."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from landfast.ports.ledger import Scope

_numbers = itertools.count()
_thread = ThreadPoolExecutor(1)
"""For what runs without Landfast: a connection of Django's belongs to a thread."""


@asynccontextmanager
async def alias(dsn: str) -> AsyncIterator[str]:
    """The name of the database in Django's settings."""
    _configure(dsn)
    yield "django:default"


@cache
def _configure(dsn: str) -> None:
    import django
    from django.conf import settings

    parts = urlsplit(dsn)
    query = dict(parse_qsl(parts.query))
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or query.get("user", "")),
        "PASSWORD": unquote(parts.password or query.get("password", "")),
        "HOST": parts.hostname or query.get("host", ""),
        "PORT": str(parts.port or query.get("port", "")),
    }
    if not settings.configured:
        settings.configure(DATABASES={"default": database}, INSTALLED_APPS=[], USE_TZ=True)
        django.setup()


@cache
def _order() -> Any:
    from django.db import models

    class Order(models.Model):  # type: ignore[misc]  # noqa: DJ008 - nobody prints it
        id = models.BigAutoField(primary_key=True)
        payment = models.TextField()

        class Meta:
            app_label = "bench"
            db_table = "stack_order"

    return Order


def blocks(_scope: Scope, payment: str) -> None:
    _order().objects.create(payment=payment)


async def blocks_alone(_given: Any, size: int) -> None:
    await asyncio.get_running_loop().run_in_executor(_thread, _alone, size)


def _alone(size: int) -> None:
    from django.db import transaction

    with transaction.atomic():
        for _ in range(size):
            _order().objects.create(payment=f"plain_{next(_numbers)}")
