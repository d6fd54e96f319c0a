"""What is stored of an endpoint's answer, and what is not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from landfast import Response
from landfast.domain.errors import UserError
from landfast.domain.response import StoredResponse, fingerprint_of, kept_result, read_result

pytestmark = pytest.mark.req("R14")


def stored(returned: Any) -> StoredResponse:
    read = read_result(msgspec.json.encode(kept_result(returned, b"{}")))
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("returned", "status", "kind", "content"),
    [
        ({"a": 1}, 200, "application/json", b'{"a":1}'),
        ("text", 200, "application/json", b'"text"'),
        ([], 200, "application/json", b"[]"),
        (None, 204, None, b""),
        (Response(201, body={"a": 1}), 201, "application/json", b'{"a":1}'),
        (Response(body="text"), 200, "text/plain; charset=utf-8", b"text"),
        (Response(body=b"\xff\x00"), 200, "application/octet-stream", b"\xff\x00"),
        (Response(body="a,b", headers={"Content-Type": "text/csv"}), 200, "text/csv", b"a,b"),
        (Response(404), 404, "application/json", b""),
        (Response(204), 204, None, b""),
    ],
)
def test_it_comes_back_byte_for_byte(returned: Any, status: int, kind: str | None, content: bytes) -> None:
    answer = stored(returned)
    assert (answer.status, dict(answer.headers).get("content-type"), answer.content) == (status, kind, content)
    assert answer.fingerprint == fingerprint_of(b"{}")


def test_headers_about_one_connection_or_one_caller_are_not_stored() -> None:
    left_out = [
        "Connection",
        "Keep-Alive",
        "Proxy-Authenticate",
        "Proxy-Authorization",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Content-Length",
        "Date",
        "Server",
        "Set-Cookie",
        "Set-Cookie2",
        "Clear-Site-Data",
        "Alt-Svc",
        "X-Hop",
    ]
    given = dict.fromkeys(left_out, "1") | {"Connection": "close, X-Hop", "X-Kept": "yes", "Location": "/accounts/1"}
    answer = stored(Response(201, headers=given))
    assert dict(answer.headers) == {"content-type": "application/json", "x-kept": "yes", "location": "/accounts/1"}


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"status": 99}, "status is 99"),
        ({"status": 101}, "status is 101"),
        ({"status": 304}, "not 304"),
        ({"status": 299}, "status is 299"),
        ({"status": "200"}, "status is '200'"),
        ({"status": 204, "body": {}}, "204 has no body"),
        ({"headers": {"X-A": "1\r\nSet-Cookie: stolen"}}, "must be printable ASCII text, on one line"),
        ({"headers": {"X A": "1"}}, "is no name of a header"),
        ({"headers": {"": "1"}}, "is no name of a header"),
        ({"headers": {"X-A": "ä"}}, "printable ASCII"),
        ({"headers": {f"X-{n}": "1" for n in range(33)}}, "it has 33 headers"),
    ],
)
def test_what_no_answer_can_be_is_refused_when_it_is_made(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Response(**how)


def test_what_is_no_answer_is_none() -> None:
    for result in (None, b"{}", b"1", b'{"response":{"status":200}}', b'{"response":{},"more":1}'):
        assert read_result(result) is None
