"""Whatever is asked, the answer is one that the OpenAPI document knows: never a 500, never something else than JSON."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landfast.admin.openapi import document, names_in, path_of
from landfast.admin.problems import Problem
from landfast.admin.route import Route
from landfast.admin.routes import ROUTES
from landfast.domain.lifecycle import State
from landfast.testing.factory import delivery, event_in
from tests.admin.conftest import Admin, serving, shop

EXAMPLES = int(os.environ.get("LANDFAST_EXAMPLES", "150"))

WORDS = ("", "evt_1", "shop/evt_1", "shop", "create_order", "state:dead", "since:2h", "error:*", "key:evt_1 since:1h")
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=40), st.sampled_from(["\x00", "a\x00b", "\ud800", "%", "'"]))
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.lists(TEXTS, max_size=3))


@st.composite
def requests(draw: st.DrawFn) -> tuple[Route, str, dict[str, Any]]:
    """A route, its path, and its parameters: some as the schema has them, some as nobody does."""
    route = draw(st.sampled_from(ROUTES))
    names = {field.name: field for field in msgspec.structs.fields(route.parameters)}
    path = re.sub(r"\{\w+(:\w+)?\}", lambda _: quote(_encodable(draw(TEXTS)) or "x", safe="/"), route.path)
    chosen = draw(st.sets(st.sampled_from([*names, "nobody_knows"]))) if names else set()
    required = {name for name, field in names.items() if field.required}
    return route, path, {name: draw(_like(name)) for name in sorted({*chosen, *required} - {*names_in(route)})}


def _like(name: str) -> st.SearchStrategy[Any]:
    likely: dict[str, st.SearchStrategy[Any]] = {
        "limit": st.integers(1, 500),
        "minutes": st.integers(1, 1440),
        "confirm": st.integers(0, 3),
        "events": st.lists(st.sampled_from(["evt_1", "evt_2", "nothing"]), max_size=3),
        "kind": st.sampled_from(["source", "handler", "dependency"]),
        "alert": st.sampled_from(["dead-letters", "failing-handler/create_order"]),
        "seconds": st.floats(1, 100),
        "filter": st.sampled_from(WORDS),
    }
    return st.one_of(likely.get(name, TEXTS), VALUES)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


async def ask(admin: Admin, route: Route, path: str, given: dict[str, Any]) -> httpx.Response:
    if route.is_change:
        # Infinity and NaN are no JSON, but clients write them; a lone surrogate is an escape.
        return await admin.client.post(path, content=_json(given), headers={"content-type": "application/json"})
    query = urlencode({name: _encodable(str(value)) for name, value in given.items()})
    return await admin.client.get(f"{path}?{query}")


def _json(given: dict[str, Any]) -> bytes:
    import json

    return json.dumps(given).encode()


@asynccontextmanager
async def busy(store: str, ledger: str) -> AsyncIterator[Admin]:
    inbox = shop(store=store, ledger=ledger)
    await inbox.migrate()
    async with serving(inbox) as admin:
        for number, state in enumerate((State.DEAD, State.DELAYED, State.DONE, State.HELD), start=1):
            await event_in(admin.desk.archive, state, delivery(f"evt_{number}"), number=number)
        yield admin


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_no_request_is_answered_by_something_that_nobody_foresaw(
    tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    if store == "sqlite":
        places = f"sqlite:{tmp_path / 'inbox.db'}", f"sqlite:{tmp_path / 'ledger.db'}"
    else:
        places = (request.getfixturevalue("migrated_database"),) * 2
    known = {
        (route.method, route.path): frozenset(document()["paths"][path_of(route)][route.method.lower()]["responses"])
        for route in ROUTES
    }
    with asyncio.Runner() as runner:
        admins = busy(*places)
        admin = runner.run(admins.__aenter__())

        @settings(max_examples=EXAMPLES)  # and, as everywhere, however slow the machine is
        @given(requests())
        def check(asked: tuple[Route, str, dict[str, Any]]) -> None:
            route, path, given = asked
            answer = runner.run(ask(admin, route, path, given))
            # A path whose name is empty, or has slashes where it may not, is another one: nobody's, or another method's.
            statuses = known[route.method, route.path] | {"405"}
            assert str(answer.status_code) in statuses, (path, given, answer.text)
            kind = route.answer if answer.status_code == 200 else Problem
            if kind is Problem:
                assert msgspec.json.decode(answer.content, type=Problem).detail
            else:
                assert answer.headers["content-type"] == "application/json"

        try:
            check()
        finally:
            runner.run(admins.__aexit__(None, None, None))


def test_the_document_names_each_operation_once_and_refers_to_nothing_that_is_not_there() -> None:
    made = document()
    operations = [one["operationId"] for methods in made["paths"].values() for one in methods.values()]
    assert len(operations) == len(set(operations)) == len(ROUTES) + 1
    refs = set(re.findall(r"#/components/schemas/([^\"]+)\"", msgspec.json.encode(made).decode()))
    assert refs <= set(made["components"]["schemas"])
