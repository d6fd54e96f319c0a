"""docs/reference/admin-api.md and openapi.json, drawn from the table of routes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator

import msgspec

from landfast.admin.openapi import document, path_of
from landfast.admin.route import Route
from landfast.admin.routes import COMMANDS, QUESTIONS


def admin_api() -> str:
    return "\n".join(_lines())


def openapi() -> str:
    return json.dumps(document(), indent=1, sort_keys=True) + "\n"


def _lines() -> Iterator[str]:
    yield "# Admin API"
    yield ""
    yield "Drawn from the one table, `src/landfast/admin/routes.py`. As OpenAPI: [openapi.json](openapi.json), or"
    yield "`GET /api/openapi.json` of a server. [How to use it](../howto/admin-api.md)."
    yield ""
    yield "A question is a GET with its parameters in the query, a command a POST with a JSON object. Each takes a"
    yield "role, or one above it: `viewer`, `operator`, `admin`. What fails is `application/problem+json`."
    for title, routes in (("Questions", QUESTIONS), ("Commands", COMMANDS)):
        yield f"\n## {title}"
        for route in routes:
            yield from _route(route)
    yield ""


def _route(route: Route) -> Iterator[str]:
    yield f"\n### `{route.method} {path_of(route)}`\n"
    yield f"{' '.join((inspect.getdoc(route.function) or '').split())} Role: {route.role}."
    fields = msgspec.structs.fields(route.parameters)
    if fields:
        yield ""
        for field in fields:
            yield f"- `{field.name}`{'' if field.required else f', {_default(field.default)}'}"
    answer = ", ".join(f"`{field.name}`" for field in msgspec.structs.fields(route.answer))
    yield f"\nAnswers {answer}."


def _default(value: object) -> str:
    return "optional" if value in (None, "", ()) else f"`{json.dumps(value)}` by default"
