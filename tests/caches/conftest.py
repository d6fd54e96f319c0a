from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from landfast.caches import redis_marks
from tests.patience import PATIENCE_SECONDS
from tests.valkey import Valkey, valkey


@pytest.fixture
def server() -> Iterator[Valkey]:
    """Its own for each test: every one of them breaks it in some way."""
    with valkey() as one:
        yield one


@pytest.fixture(autouse=True)
def budget(monkeypatch: pytest.MonkeyPatch) -> float:
    """The real budget. On a machine that runs every other test beside it a healthy server may take longer, and a mark may
    end before it is looked at; a test of what is slow sets it again."""
    real = redis_marks.ANSWER_SECONDS
    for name in ("ANSWER_SECONDS", "CONNECT_SECONDS"):
        monkeypatch.setattr(redis_marks, name, PATIENCE_SECONDS)
    defaults: Any = redis_marks._Line.ask.__kwdefaults__
    monkeypatch.setitem(defaults, "within", PATIENCE_SECONDS)
    monkeypatch.setattr(redis_marks, "IN_FLIGHT_MILLISECONDS", int(PATIENCE_SECONDS * 1000))
    return real
