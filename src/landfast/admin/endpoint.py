"""From a request to the function of its route, and from what that returns to an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from landfast.admin.access.guard import require
from landfast.admin.desk import Desk
from landfast.admin.problems import AdminError, answer_of
from landfast.admin.route import Command, Question, Route
from landfast.domain.access import Operator
from landfast.domain.errors import TookTooLongError
from landfast.domain.text import storable
from landfast.operations.operator_log import asked_from
from landfast.statement_limit import statements_within

BODY_BYTES = 64 * 1024
"""Of a command: a long filter and a reason have some thousands; five hundred ids have 20,000."""


class BodyTooLongError(AdminError):
    """A command's body has more bytes than any command needs."""

    status, title = 413, "Too large"


class NotJsonError(AdminError):
    """A command's body is something else than a JSON object, or does not say that it is one. A form of a foreign page
    cannot send JSON without asking first."""

    status, title = 415, "Not JSON"


def endpoint(route: Route, desk: Desk) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        try:
            operator = require(request, route.role)
            given = await _sent(request) if route.is_change else _asked(request)
            # What is in the path cannot be said again elsewhere.
            asked = parameters_of(route, {**given, **request.path_params}, strict=route.is_change)
            answer = await call(route, desk, asked, operator)
            return Response(msgspec.json.encode(answer), media_type="application/json")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is answered as a problem
            return answer_of(error)

    return answered


async def call(route: Route, desk: Desk, asked: msgspec.Struct, by: Operator) -> Any:
    """The function of a route, as pages call it, too: a question within its time, a command for as long as it takes."""
    if route.is_change:
        try:
            return await change(route, desk, asked, by)
        finally:
            desk.live.forget()
    await desk.open()
    try:
        with statements_within(route.seconds):
            async with asyncio.timeout(route.seconds):
                return await cast("Question", route.function)(desk, asked)
    except TimeoutError:
        raise TookTooLongError(
            f"no answer within {route.seconds:g} s; narrow the filter, with since:1h or source:, and ask again"
        ) from None


async def change(route: Route, desk: Desk, asked: msgspec.Struct, by: Operator) -> Any:
    """A command alone. Whoever calls it has the dashboards forget what they know: once after many."""
    await desk.open()
    with asked_from("" if by.is_here else by.host):
        return await cast("Command", route.function)(desk, asked, by)


def parameters_of(route: Route, given: Mapping[str, Any], *, strict: bool = False) -> Any:
    """As the API, the pages and the forms read them."""
    must_be_text(given)
    return msgspec.convert(given, route.parameters, strict=strict)


def _asked(request: Request) -> dict[str, Any]:
    query = request.query_params
    twice = [name for name in query if len(query.getlist(name)) > 1]
    if twice:
        raise msgspec.ValidationError(f"{twice[0]} is given twice; give it once")
    return dict(query)


def must_be_text(given: Mapping[str, Any]) -> None:
    """No database holds a NUL or half of a pair, so that nothing is called so: who asks for it made a mistake."""
    for name, value in given.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text != storable(text):
                raise AdminError(f"{name}: has a character that no text has, a NUL or half of a pair; leave it out")


async def _sent(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise NotJsonError("content-type: a command is JSON; send application/json")
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > BODY_BYTES:
            raise BodyTooLongError(f"a command has {BODY_BYTES:,} bytes at most")
    try:
        decoded = msgspec.json.decode(bytes(read)) if read else {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJsonError(f"the body is no JSON: {error}") from None
    if not isinstance(decoded, dict):
        raise NotJsonError('the body is no JSON object; send {"why": "..."}, or {}')
    return decoded
