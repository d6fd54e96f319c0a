from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from landfast.processes import logs

NAMES = ("landfast", "asyncpg")


@pytest.fixture
def loggers() -> Iterator[None]:
    """As they were, afterwards."""
    before = [(logging.getLogger(name), [*logging.getLogger(name).handlers]) for name in NAMES]
    yield
    for logger, handlers in before:
        logger.handlers[:], logger.propagate = handlers, True
        logger.setLevel(logging.NOTSET)


def test_while_a_server_is_away_the_driver_logs_one_line_and_no_traceback(
    loggers: None, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.to_stderr("worker")
    try:
        raise ConnectionRefusedError("Connect call failed")
    except OSError:
        logging.getLogger("asyncpg.pool").warning("Failed to restore the pool connection %s", "floor", exc_info=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert "WARNING worker" in line
    assert line.endswith("Failed to restore the pool connection floor (ConnectionRefusedError: Connect call failed)")
