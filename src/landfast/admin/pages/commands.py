"""Forms: `POST /do/api/...` is the command of that path, with the fields of a form in place of JSON. It leads back to a
page that tells what came of it. So every button works without a script."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import compile_path

from landfast.admin.access.guard import require
from landfast.admin.access.origin import own_path
from landfast.admin.desk import Desk
from landfast.admin.endpoint import BODY_BYTES, BodyTooLongError, call, change, parameters_of
from landfast.admin.pages.notice import Notice, put
from landfast.admin.pages.outcomes import outcome
from landfast.admin.pages.words import plural
from landfast.admin.problems import NothingThereError, problem_of
from landfast.admin.route import Route
from landfast.admin.routes import ROUTES

COMMANDS = [(compile_path(route.path), route) for route in ROUTES if route.is_change]
EACH_AT_MOST = 500
"""Events of one form."""

OURS = frozenset({"back", "then"})
"""Fields of a form that are no parameters: where to go afterwards, and where to if it went well."""


async def do(request: Request, desk: Desk) -> Response:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    fields: dict[str, list[str]] = {}
    try:
        fields = await form_of(request)
        route, named = _command(f"/{request.path_params['path']}")
        operator = require(request, route.role)
        asked = parameters_of(route, {**_given(route, fields), **named})
        answer = await call(route, desk, asked, operator)
    except Exception as error:  # noqa: BLE001 - whatever it is, the page says so
        return _back(root, fields, Notice("bad", problem_of(error).detail))
    told, then = outcome(route, asked, answer)
    return _back(root, fields if not then else {"back": [then]}, told)


async def do_each(request: Request, desk: Desk) -> Response:
    """The same command for each event of a form: `/do/each/api/events/{event}/replay`."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    fields = await form_of(request)
    events = fields.pop("event", [])[:EACH_AT_MOST]
    try:
        notices = [await _one_of(request, desk, fields, event) for event in events]
    finally:
        desk.live.forget()
    done = sum(notice.tone == "ok" for notice in notices)
    told = [notice.text for notice in notices if notice.tone != "ok"]
    rest = f"; not the others: {'; '.join(dict.fromkeys(told))}" if told else ""
    return _back(root, fields, Notice("warn" if told else "ok", f"{plural(done, 'event')} done{rest}"))


async def _one_of(request: Request, desk: Desk, fields: Mapping[str, Sequence[str]], event: str) -> Notice:
    try:
        route, named = _command(f"/{request.path_params['path']}".replace("{event}", event))
        operator = require(request, route.role)
        asked = parameters_of(route, {**_given(route, fields), **named})
        notice, _ = outcome(route, asked, await change(route, desk, asked, operator))
    except Exception as error:  # noqa: BLE001 - whatever it is, the page says so, and the next one is tried
        return Notice("bad", problem_of(error).detail)
    return notice


async def form_of(request: Request) -> dict[str, list[str]]:
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > BODY_BYTES:
            raise BodyTooLongError(f"a form has {BODY_BYTES:,} bytes at most")
    fields: dict[str, list[str]] = {}
    for name, value in parse_qsl(read.decode("utf-8", "replace"), keep_blank_values=True):
        fields.setdefault(name, []).append(value)
    return fields


def _command(path: str) -> tuple[Route, Mapping[str, Any]]:
    for (pattern, _, _), route in COMMANDS:
        if found := pattern.match(path):
            return route, found.groupdict()
    raise NothingThereError(f"there is no command {path!r}")


def _given(route: Route, fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What was left empty was not said: the parameter's default stands."""
    listed = {field.encode_name for field in msgspec.structs.fields(route.parameters) if _is_list(field.type)}
    return {
        name: list(values) if name in listed else values[-1]
        for name, values in fields.items()
        if name not in OURS and any(values)
    }


def _is_list(kind: Any) -> bool:
    bare = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
    return typing.get_origin(bare) is Sequence


def _back(root: str, fields: Mapping[str, Sequence[str]], notice: Notice) -> Response:
    response = RedirectResponse(f"{root}{own_path(fields.get('back', ['/'])[-1])}", 303)
    put(response, notice)
    return response
