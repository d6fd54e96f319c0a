"""What a failed attempt means."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import httpx
import msgspec
import pydantic
import pytest

from landfast.domain.backoff import Backoff
from landfast.domain.errors import VerdictError
from landfast.domain.fault import Fault
from landfast.domain.outcome import Tries
from landfast.domain.verdict import GiveUp, RetryLater
from landfast.processing.judge import Judgement, Ruling, judge

NOW = datetime(2026, 11, 15, 3, 42, tzinfo=UTC)


def judged(
    error: BaseException, *, fault: Fault = Fault.OTHER, tries: Tries | None = None, **options: Any
) -> Judgement:
    given: dict[str, Any] = {
        "attempts": 5,
        "backoff": Backoff(first=2, total=1000),
        "seconds": 0.1,
        "now": NOW,
        "fraction": 0.5,
    }
    return judge(error, fault=fault, tries=tries or Tries(), **(given | options))


def http(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://localhost/")
    response = httpx.Response(status, headers=headers, request=request)
    return httpx.HTTPStatusError("no", request=request, response=response)


@pytest.mark.req("R23")
@pytest.mark.parametrize("status", [408, 409, 423, 425, 429, 500, 502, 503, 504])
def test_an_http_error_that_may_pass_is_tried_again(status: int) -> None:
    assert judged(http(status)).ruling is Ruling.RETRY


@pytest.mark.req("R23")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422])
def test_an_http_error_that_will_not_pass_is_a_dead_letter(status: int) -> None:
    assert judged(http(status)) == Judgement(Ruling.BURY, reason="permanent")


def test_retry_after_is_honoured_in_seconds_and_as_a_date_and_when_it_is_nonsense() -> None:
    assert judged(http(429, **{"Retry-After": "17"})).after == 17
    later = format_datetime(NOW + timedelta(seconds=90), usegmt=True)
    assert judged(http(503, **{"Retry-After": later})).after == pytest.approx(90, abs=1)
    assert judged(http(503, **{"Retry-After": "Sun, 15 Nov 2026 03:43:00"})).after == pytest.approx(60, abs=1)
    assert judged(http(503, **{"Retry-After": "soon"})).after == 1
    assert judged(http(503, **{"Retry-After": "999999999"}), backoff=Backoff()).after == 86_400


def test_an_aiohttp_like_error_is_read_too() -> None:
    class ClientResponseError(Exception):
        status = 404
        headers = None

    assert judged(ClientResponseError()).ruling is Ruling.BURY


def test_an_error_whose_response_holds_no_number_is_an_ordinary_one() -> None:
    class OddError(Exception):
        response = SimpleNamespace(status_code="teapot", headers=7)
        status = True

    assert judged(OddError()).ruling is Ruling.RETRY


@pytest.mark.req("R23")
def test_validation_errors_are_permanent() -> None:
    class Model(pydantic.BaseModel):
        id: int

    with pytest.raises(pydantic.ValidationError) as caught:
        Model.model_validate({"id": "x"})
    assert judged(caught.value).ruling is Ruling.BURY
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert("x", int)
    assert judged(raised.value).ruling is Ruling.BURY


def test_verdicts_are_obeyed() -> None:
    assert judged(GiveUp("no such customer")) == Judgement(Ruling.BURY, reason="gave_up")
    assert judged(RetryLater("not yet", after=42)) == Judgement(Ruling.RETRY, 42, "failed", charged=2)


@pytest.mark.req("R23")
def test_a_wait_that_the_handler_asks_for_may_be_longer_than_the_total() -> None:
    later = RetryLater("closed until Monday", after=4 * 86_400)
    assert judged(later, backoff=Backoff(), attempts=None) == Judgement(
        Ruling.RETRY, 4 * 86_400, "failed", charged=Backoff().first
    )
    assert judged(later, backoff=Backoff(longest=3600, total=300), attempts=None).ruling is Ruling.RETRY
    assert judged(RetryLater(after=float("inf"))).after == 365 * 86_400


@pytest.mark.req("R23")
def test_a_handler_that_asks_for_ever_ends_as_a_dead_letter() -> None:
    later, tries = RetryLater("not yet", after=4 * 86_400), Tries()
    assert judged(later, tries=Tries(4)) == Judgement(Ruling.BURY, reason="attempts_exhausted")
    while (told := judged(later, tries=tries, attempts=None, backoff=Backoff())).ruling is Ruling.RETRY:
        assert told.charged is not None
        tries = Tries(tries.count + 1, tries.spent + 0.1 + told.charged)
    assert told.reason == "time_exhausted"
    assert tries.count == 81, "as many as with the longest waits of the backoff"


@pytest.mark.req("R20")
@pytest.mark.parametrize("fault", [Fault.INFRASTRUCTURE, Fault.SCHEMA, Fault.OWN_CONNECTION])
def test_what_is_not_the_events_fault_costs_no_attempt(fault: Fault) -> None:
    assert judged(RuntimeError(), fault=fault).ruling is Ruling.POSTPONE


@pytest.mark.req("R23")
def test_attempts_delay_and_total_time_are_capped() -> None:
    assert judged(RuntimeError(), tries=Tries(3)).ruling is Ruling.RETRY
    assert judged(RuntimeError(), tries=Tries(4)) == Judgement(Ruling.BURY, reason="attempts_exhausted")
    assert judged(RuntimeError(), tries=Tries(1, spent=999)) == Judgement(Ruling.BURY, reason="time_exhausted")
    assert judged(RuntimeError(), tries=Tries(2), backoff=Backoff(longest=3), fraction=0.99).after <= 3


def test_a_verdict_that_means_nothing_is_a_dead_letter_and_not_tried_again() -> None:
    naive = datetime(2027, 1, 1)  # noqa: DTZ001 - that is the point
    meaningless: list[dict[str, Any]] = [{"until": naive}, {"until": "tomorrow"}, {"after": -1.0}, {}]
    for given in meaningless:
        with pytest.raises(VerdictError) as refused:
            RetryLater("closed", **given)
        assert judged(refused.value) == Judgement(Ruling.BURY, reason="permanent")
