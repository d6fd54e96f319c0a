"""JSON-RPC 2.0, as far as the Model Context Protocol uses it: one message in each line. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022
"""The protocol's own: the client asks in a version that is not spoken here."""

Id = str | int
"""Of a request: the answer carries it."""


@dataclass(frozen=True, slots=True)
class Request:
    """`id` is None for a notification, which nobody answers."""

    id: Id | None
    method: str
    params: dict[str, Any] = field(default_factory=dict)


class RpcError(Exception):
    """An answer of the protocol that refuses a message. It never leaves this package."""

    def __init__(self, code: int, sentence: str, *, id: Id | None = None, data: Any = None) -> None:  # noqa: A002 - JSON-RPC's word
        super().__init__(sentence)
        self.code = code
        self.id = id
        self.data = data


def read(line: bytes) -> Request | None:
    """None for an answer, because nothing is ever asked of a client."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, f"the line is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "a message is one JSON object in a line; send them one by one")
    method, params, given = message.get("method"), message.get("params", {}), message.get("id")
    if method is None and ("result" in message or "error" in message):
        return None
    id_ = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, 'a message has "jsonrpc": "2.0" and a method', id=id_)
    if "id" in message and id_ is None:
        raise RpcError(INVALID_REQUEST, "id: give a text or a whole number")
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "params: give a JSON object", id=id_)
    return Request(id_, method, params)


def result_line(id_: Id, result: dict[str, Any]) -> bytes:
    return _line({"jsonrpc": "2.0", "id": id_, "result": result})


def error_line(error: RpcError, id_: Id | None = None) -> bytes:
    told: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        told["data"] = error.data
    return _line({"jsonrpc": "2.0", "id": error.id if id_ is None else id_, "error": told})


def _line(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode(message) + b"\n"
