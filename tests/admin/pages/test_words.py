"""How pages say things."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from starlette.requests import Request
from starlette.responses import Response

from landfast.admin.access.origin import own_path
from landfast.admin.pages.body_view import body_view
from landfast.admin.pages.notice import Notice, notice_of, put
from landfast.admin.pages.story import moments, story, trace_lines
from landfast.admin.pages.words import ago, duration, json_lines, share, size, tag, visible
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Attempt
from landfast.domain.summary import HistoryLine

NOW = datetime(2026, 11, 17, 6, 18, tzinfo=UTC)


def failed(number: int, *, error: str = "KeyError") -> HistoryLine:
    attempt = Attempt("create_order", number, "retry", 6.0, error, "'email'", "Traceback")
    return HistoryLine(NOW + timedelta(seconds=number), 1, Signal.RETRY, State.DELAYED, (attempt,))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0.4 ms"),
        (0.25, "250 ms"),
        (3, "3 s"),
        (90, "1.5 min"),
        (7200, "2 h"),
        (None, "-"),
        (float("inf"), "over 30 s"),
    ],
)
def test_a_time_span_is_said_in_its_unit(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_what_turns_or_hides_text_is_made_visible() -> None:
    assert visible("a\u202egnp.exe\x00\u200b") == "a\\u202egnp.exe\\x00\\u200b"
    assert visible("two\nlines", lines=True) == "two\nlines"


def test_a_state_is_told_by_a_word_and_a_colour() -> None:
    assert str(tag("dead")) == '<span class="tag bad">dead</span>'
    assert "<script>" not in str(tag("<script>"))


def test_ages_are_of_the_past_and_of_what_is_to_come() -> None:
    assert ">now<" in ago(NOW, NOW)
    assert ">2 min ago<" in ago(NOW - timedelta(minutes=2), NOW)
    assert ">in 2 min<" in ago(NOW + timedelta(minutes=2), NOW)
    assert "never" in ago(None, NOW)


def test_shares_and_sizes() -> None:
    assert [share(1, 8), share(1, 0)] == ["12.5 %", "-"]
    assert [size(12), size(41_200_000_000)] == ["12 bytes", "41.2 GB"]


def test_the_names_in_json_are_marked_and_the_rest_stays_text() -> None:
    marked = str(json_lines('{\n  "a<b": "</pre><script>"\n}'))
    assert '<span class="name">&#34;a&lt;b&#34;</span>' in marked
    assert "<script>" not in marked


def test_a_body_is_shown_for_reading_and_as_it_is() -> None:
    shown = body_view('{"a":\t1}', None)
    assert (shown.pretty, shown.exact, shown.size) == ('{\n  "a": 1\n}', '{"a":\t1}', 8)
    assert body_view("no json", None).pretty == ""
    assert body_view("[" * 100_000, None).pretty == "", "however deep"
    assert body_view("[" * 700 + "]" * 700, None).pretty, "deep, and short"
    assert body_view("[" * 300 + "1," * 100_000 + "1" + "]" * 300, None).pretty == "", "60 million characters"
    digits = body_view(None, "AAH/")
    assert (digits.is_text, digits.exact.split("  ")[1]) == (False, "00 01 ff" + " " * 0)


def test_a_story_begins_with_the_delivery_and_counts_redeliveries() -> None:
    lines = story(NOW, 2, [])
    assert [line.strong for line in lines] == ["Received", "Came 2 times more"]


def test_failures_that_repeat_themselves_are_folded() -> None:
    lines = story(NOW, 0, [failed(number) for number in range(1, 13)])
    assert [line.text for line in lines[1:]] == [
        "attempt 1 failed after 6 ms",
        "10 more attempts, the same error",
        "attempt 12 failed after 6 ms",
    ]
    assert len(lines[2].folded) == 10
    assert len(moments(lines)) == 13, "the strip shows each"


def test_another_error_is_not_folded() -> None:
    history = [failed(1), failed(2, error="ValueError"), failed(3), failed(4, error="ValueError")]
    assert not any(line.folded for line in story(NOW, 0, history))


def test_what_an_operator_did_is_told_with_his_name() -> None:
    lines = story(NOW, 0, [HistoryLine(NOW, 2, Signal.REPLAY, State.READY, who="ada, job 1f")])
    assert (lines[1].strong, lines[1].text) == ("Run 2: replayed: a new run begins", "ada, job 1f")


def test_the_users_own_line_is_marked_in_a_trace() -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/lib/landfast/invoke.py", line 180, in _boxed\n    outcome = await function()\n'
        '  File "/srv/shop.py", line 41, in create_order\n    email = payment["email"]\n'
        "KeyError: 'email'"
    )
    assert [line.kind for line in trace_lines(trace, "shop.py:41")] == ["far", "far", "far", "mine", "mine", "error"]


@pytest.mark.parametrize(
    "text", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "/a\r\nx: y", ""]
)
def test_a_form_leads_nobody_away(text: str) -> None:
    assert own_path(text) == "/"


def test_a_form_leads_back_to_its_page() -> None:
    assert own_path("/events?q=state%3Adead") == "/events?q=state%3Adead"


@pytest.mark.parametrize("text", ["x" * 5_000, "\u20ac" * 5_000, "\U0001f600" * 5_000, '"' * 5_000, "short"])
def test_a_notice_fits_into_a_cookie_that_browsers_keep(text: str) -> None:
    response = Response()
    put(response, Notice("bad", text))
    assert len(response.headers["set-cookie"]) < 4_096
    cookie = response.headers["set-cookie"].partition(";")[0]
    seen = notice_of(Request({"type": "http", "headers": [(b"cookie", cookie.encode())]}))
    assert seen is not None and text.startswith(seen.text) and len(seen.text) >= min(len(text), 400)
