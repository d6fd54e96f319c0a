"""The OpenAPI document, made of the table of routes: what is not in the table is not in the API."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from landfast import __version__
from landfast.admin.access.sign_in import SignedIn, SignIn
from landfast.admin.problems import MEDIA_TYPE, Problem
from landfast.admin.route import Route
from landfast.admin.routes import ROUTES

REFUSALS = {
    "400": "A parameter cannot be read; `detail` names it, and `position` the character of a filter.",
    "401": "No token, or none that is valid.",
    "403": "The role does not do, or the request comes from a foreign page.",
    "404": "What was named is not there.",
    "429": "Too often; `Retry-After` says when to come again.",
    "503": "The question failed: a database is away. Never an empty list.",
    "504": "The question took too long; narrow it.",
}
REFUSED_COMMANDS = {
    "409": "Not as things are now: somebody else is at it, or other events match than were confirmed.",
    "413": "The body is too large.",
    "415": "The body is no JSON object.",
}


def document(routes: Iterable[Route] = ROUTES) -> dict[str, Any]:
    routes = list(routes)
    types: list[type] = [Problem, SignIn, SignedIn]
    types += {kind: None for route in routes for kind in (route.parameters, route.answer)}
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    refs = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        fields = _fields(refs[route.parameters], components)
        paths.setdefault(path_of(route), {})[route.method.lower()] = _operation(route, refs, fields)
    paths["/api/session"] = {"post": _sign_in(refs)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Landfast admin API",
            "version": __version__,
            "description": "What operators ask and change. Times are ISO 8601 in UTC, ids hexadecimal digits.",
        },
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {
                status: {"description": why, "content": {MEDIA_TYPE: {"schema": refs[Problem]}}}
                for status, why in (REFUSALS | REFUSED_COMMANDS).items()
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "landfast_session"},
            },
        },
    }


def path_of(route: Route) -> str:
    """As OpenAPI writes it."""
    return re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path)


def names_in(route: Route) -> list[str]:
    """Of the parameters that stand in the path."""
    return re.findall(r"\{(\w+)", route.path)


def _operation(route: Route, refs: Mapping[type, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    refusals = [*REFUSALS, *(REFUSED_COMMANDS if route.is_change else ())]
    in_path = names_in(route)
    told: dict[str, Any] = {
        "operationId": route.name,
        "summary": (inspect.getdoc(route.function) or route.name).splitlines()[0],
        "x-landfast-role": route.role,
        "parameters": [_parameter(name, fields, is_in_path=True) for name in in_path],
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": refs[route.answer]}}},
            **_refusals(refusals),
        },
    }
    rest = [name for name in fields["properties"] if name not in in_path]
    if not route.is_change:
        told["parameters"] += [_parameter(name, fields, is_in_path=False) for name in rest]
    else:
        body = {
            "type": "object",
            "properties": {name: fields["properties"][name] for name in rest},
            "required": [name for name in fields.get("required", ()) if name in rest],
            "additionalProperties": False,
        }
        told["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return told


def _parameter(name: str, fields: Mapping[str, Any], *, is_in_path: bool) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path" if is_in_path else "query",
        "required": is_in_path or name in fields.get("required", ()),
        "schema": fields["properties"][name],
    }


def _fields(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = components[schema["$ref"].rpartition("/")[2]]
    return found


def _refusals(statuses: Iterable[str]) -> dict[str, Any]:
    return {status: {"$ref": f"#/components/responses/{status}"} for status in statuses}


def _sign_in(refs: Mapping[type, Any]) -> dict[str, Any]:
    return {
        "operationId": "session.begin",
        "summary": "Show a token once, and have a cookie from then on: for browsers.",
        "security": [],
        "requestBody": {"required": True, "content": {"application/json": {"schema": refs[SignIn]}}},
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": refs[SignedIn]}}},
            **_refusals(("400", "401", "403", "429")),
        },
    }
