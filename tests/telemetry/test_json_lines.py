"""The log as JSON."""

from __future__ import annotations

import json
import logging
from datetime import datetime

import pytest

from landfast import telemetry
from landfast.log_lines import FIELDS
from landfast.processes import logs
from landfast.telemetry.json_lines import HEAD
from tests.processes.test_logs import loggers

__all__ = ["loggers"]


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_is_an_object_with_the_facts_of_the_text(loggers: None, capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr("worker")
    logs.to_stderr("worker", "json")  # said again, it replaces what was said before
    facts = {"handler": "pay", "source": "a b", "key": 'x"\n\u202e', "event": b"\x01\xff", "ms": 1.5}
    telemetry.info_each("handler_done", [facts, facts | {"ms": 2.5}])
    telemetry.warn_in_detail("handler_failed", lambda: "the trace", handler="pay", attempt=3)
    first, second, third = told(capsys)
    assert first | {"time": ""} == {
        "time": "",
        "level": "info",
        "process": "worker",
        "process_id": first["process_id"],
        "message": "handler_done",
        "handler": "pay",
        "source": "a b",
        "key": 'x"\n\u202e',
        "event": "01ff",
        "ms": 1.5,
    }
    assert datetime.fromisoformat(str(first["time"])).tzinfo is not None
    assert second["ms"] == 2.5
    assert (third["message"], third["level"], third["attempt"]) == ("handler_failed", "warning", 3)
    assert "the trace" not in json.dumps(third), "for a terminal alone"


def test_what_a_library_logs_and_the_trace_of_a_bug_are_objects_too(
    loggers: None, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.to_stderr("intake", "json")
    try:
        raise ConnectionRefusedError("no")
    except OSError as error:
        logging.getLogger("asyncpg.pool").warning("lost %s", "it", exc_info=True)
        telemetry.error("request_failed", trace=error, source="stripe")
    foreign, ours = told(capsys)
    assert (foreign["message"], foreign["logger"], foreign["error"]) == (
        "lost it",
        "asyncpg.pool",
        "ConnectionRefusedError: no",
    )
    assert str(ours["trace"]).endswith("ConnectionRefusedError")


def test_no_fact_has_the_name_of_what_every_line_has() -> None:
    assert not set(HEAD) & set(FIELDS)


def test_facts_that_the_settings_hide_are_hidden_in_text_and_in_json(
    loggers: None, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.redact(["key"])
    try:
        logs.to_stderr("intake", "json")
        telemetry.info("stored", source="stripe", type="paid", key="evt_1", event=b"1")
        telemetry.warn("store_unavailable", store="inbox", error="refused: password=hunter2")
        logs.to_stderr("intake")
        telemetry.info("stored", source="stripe", type="paid", key="evt_1", event=b"1")
        telemetry.info("secret_in_use", source="stripe", secret="no. 1")
    finally:
        telemetry.redact([])
    stored, away, *text = capsys.readouterr().err.splitlines()
    assert json.loads(stored)["key"] == "[redacted]" and json.loads(away)["error"] == "refused: password=[redacted]"
    assert "key=[redacted]" in text[0] and 'secret="no. 1"' in text[1]
