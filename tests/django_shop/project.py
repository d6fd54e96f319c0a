"""Django, set up once in a process; databases come and go with the tests."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.db import connections

if os.environ.get("TEST_WITH_PSYCOPG2"):  # Django takes psycopg 3 where it is
    sys.modules["psycopg"] = None  # type: ignore[assignment]

NUMBERS = itertools.count(1)


def set_up() -> None:
    if not settings.configured:
        settings.configure(
            INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "tests.django_shop"],
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
            USE_TZ=True,
            SECRET_KEY="of no use",
        )
        django.setup()


def for_postgres(dsn: str, **more: Any) -> dict[str, Any]:
    address = urlsplit(dsn)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": address.path[1:],
        "USER": address.username,
        "HOST": address.hostname,
        "PORT": address.port,
        **more,
    }


def for_sqlite(path: Path, **more: Any) -> dict[str, Any]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path), **more}


@contextmanager
def database(given: dict[str, Any]) -> Iterator[str]:
    """An alias for it, as long as a test lasts."""
    set_up()
    alias = f"shop_{next(NUMBERS)}"
    connections.settings[alias] = connections.configure_settings({"default": {}, alias: given})[alias]
    try:
        yield alias
    finally:
        if connections[alias].connection is not None:
            connections[alias].close()
        del connections[alias]
        del connections.settings[alias]
