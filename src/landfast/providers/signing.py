"""Signed webhooks for `landfast send`, the demo and tests: what each provider would send, without the provider."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

from landfast.ports.provider import Secret
from landfast.providers import Profile
from landfast.providers import provider as provider_named

_BORN = 1_767_225_600
"""The time in the samples, 2026-01-01: fixed, so that a sample is the same bytes on every machine."""

_ID_HEADERS = {"github": "X-GitHub-Delivery", "shopify": "X-Shopify-Webhook-Id"}
_DEFAULT_TYPES = {
    "stripe": "payment_intent.succeeded",
    "github": "pull_request.opened",
    "shopify": "orders/create",
    "slack": "message",
    "standard-webhooks": "invoice.paid",
    "generic": "order.created",
}


def sign(
    provider: str | Profile,
    body: bytes,
    secret: str | Secret,
    *,
    now: float,
    id: str | None = None,  # noqa: A002 - the word that senders use
    type: str | None = None,  # noqa: A002 - same
) -> dict[str, str]:
    """The headers of a genuine request with this body. `id` and `type` matter where a provider has them in headers. The
    secret is as the sender hands it out, or as it was loaded."""
    profile = provider_named(provider) if isinstance(provider, str) else provider
    chosen_id = id or f"msg_{hashlib.sha256(body).hexdigest()[:24]}"
    headers = {"Content-Type": "application/json"}
    key = profile.decode_secret(secret) if isinstance(secret, str) else secret.key
    headers.update(profile.scheme.sign(body, key, now=now, id_=chosen_id))
    if profile.name in _ID_HEADERS:
        headers[_ID_HEADERS[profile.name]] = chosen_id
    headers.update(_type_headers(profile.name, type or _DEFAULT_TYPES[profile.name]))
    return headers


def sample(
    provider: str,
    type: str | None = None,  # noqa: A002 - the word that senders use
    *,
    id: str | None = None,  # noqa: A002 - same
) -> bytes:
    """A realistic body of this type. The same arguments give the same bytes; another `id` is another event."""
    name = provider_named(provider).name
    chosen_type = type or _DEFAULT_TYPES[name]
    data: dict[str, Any] = copy.deepcopy(_SAMPLES[name])
    _FILLERS[name](data, chosen_type, id)
    return json.dumps(data, separators=(",", ":")).encode()


def _type_headers(name: str, type_: str) -> dict[str, str]:
    if name == "github":
        return {"X-GitHub-Event": type_.partition(".")[0]}
    if name == "shopify":
        return {"X-Shopify-Topic": type_, "X-Shopify-Shop-Domain": "north-pier.myshopify.com"}
    return {}


def _fill_stripe(data: dict[str, Any], type_: str, id_: str | None) -> None:
    data["id"] = id_ or data["id"]
    data["type"] = type_
    data["data"]["object"]["object"] = type_.rpartition(".")[0] or "payment_intent"


def _fill_github(data: dict[str, Any], type_: str, id_: str | None) -> None:
    _, _, action = type_.partition(".")
    if action:
        data["action"] = action
    else:
        del data["action"]
    if id_ is not None:  # the body must differ too: its digest is what tells GitHub's events apart
        data["pull_request"]["node_id"] = id_


def _fill_shopify(data: dict[str, Any], _type: str, id_: str | None) -> None:
    if id_ is not None:  # as for GitHub
        data["token"] = id_


def _fill_slack(data: dict[str, Any], type_: str, id_: str | None) -> None:
    data["event_id"] = id_ or data["event_id"]
    data["event"]["type"] = type_


def _fill_standard(data: dict[str, Any], type_: str, id_: str | None) -> None:
    data["type"] = type_
    if id_ is not None:
        data["data"]["reference"] = id_


def _fill_generic(data: dict[str, Any], type_: str, id_: str | None) -> None:
    data["type"] = type_
    data["id"] = id_ or data["id"]


_FILLERS = {
    "stripe": _fill_stripe,
    "github": _fill_github,
    "shopify": _fill_shopify,
    "slack": _fill_slack,
    "standard-webhooks": _fill_standard,
    "generic": _fill_generic,
}

_SAMPLES: dict[str, dict[str, Any]] = {
    "stripe": {
        "id": "evt_1LandfastSample0001",
        "object": "event",
        "api_version": "2025-09-30",
        "created": _BORN,
        "data": {
            "object": {
                "id": "pi_1LandfastSample0001",
                "object": "payment_intent",
                "amount": 4200,
                "amount_received": 4200,
                "currency": "eur",
                "customer": "cus_LandfastSample01",
                "description": "Two tickets for the harbour tour",
                "metadata": {"order": "1001"},
                "status": "succeeded",
            }
        },
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": "payment_intent.succeeded",
    },
    "github": {
        "action": "opened",
        "number": 7,
        "pull_request": {
            "id": 900007,
            "number": 7,
            "state": "open",
            "title": "Moor the ice",
            "user": {"login": "selma", "id": 4001},
            "created_at": "2026-01-01T00:00:00Z",
            "head": {"ref": "moor", "sha": "5a1e0c3b9d7f2468ace013579bdf02468ace1357"},
            "base": {"ref": "main", "sha": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334"},
        },
        "repository": {"id": 700001, "name": "shore", "full_name": "north-pier/shore", "private": False},
        "organization": {"login": "north-pier", "id": 5001},
        "sender": {"login": "selma", "id": 4001, "type": "User"},
    },
    "shopify": {
        "id": 820000001001,
        "admin_graphql_api_id": "gid://shopify/Order/820000001001",
        "created_at": "2026-01-01T00:00:00+00:00",
        "updated_at": "2026-01-01T00:00:00+00:00",
        "currency": "EUR",
        "email": "selma@example.com",
        "financial_status": "paid",
        "line_items": [{"id": 1, "title": "Harbour tour", "quantity": 2, "price": "21.00"}],
        "name": "#1001",
        "token": "sample",
        "total_price": "42.00",
    },
    "slack": {
        "token": "unused",
        "team_id": "T0000SHORE",
        "api_app_id": "A0000LAND",
        "event": {
            "type": "message",
            "channel": "C0000PIER",
            "user": "U0000SELMA",
            "text": "The ice holds.",
            "ts": "1767225600.000100",
        },
        "type": "event_callback",
        "event_id": "Ev0000SAMPLE",
        "event_time": _BORN,
    },
    "standard-webhooks": {
        "type": "invoice.paid",
        "timestamp": "2026-01-01T00:00:00.000000Z",
        "data": {"id": "inv_1001", "reference": "sample", "amount": 4200, "currency": "EUR"},
    },
    "generic": {
        "id": "order-event-1001",
        "type": "order.created",
        "created_at": "2026-01-01T00:00:00Z",
        "data": {"order": "1001", "total": 4200, "currency": "EUR"},
    },
}
