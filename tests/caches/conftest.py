from __future__ import annotations

from collections.abc import Iterator

import pytest

from landfast.caches import redis_marks
from tests.valkey import Valkey, valkey


@pytest.fixture
def server() -> Iterator[Valkey]:
    """Its own for each test: every one of them breaks it in some way."""
    with valkey() as one:
        yield one


@pytest.fixture(autouse=True)
def budget(monkeypatch: pytest.MonkeyPatch) -> float:
    """The real budget. On a machine that runs every other test beside it a healthy server may take longer; a test of
    what is slow sets it again."""
    real = redis_marks.ANSWER_SECONDS
    monkeypatch.setattr(redis_marks, "ANSWER_SECONDS", 10.0)
    return real
