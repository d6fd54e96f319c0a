"""The table of tools: all of the admin API, or a reason; one schema for both; and answers that can be read."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from landfast.admin.openapi import document, names_in, path_of
from landfast.admin.parameters import Answered
from landfast.admin.routes import COMMANDS, ROUTES
from landfast.assistant import answers
from landfast.assistant.stdio import LINE_BYTES, Splitter
from landfast.assistant.tools import CHANGES, ENDS, HINTS, LEFT_OUT, LOOKS, tools
from landfast.domain.access import Operator, Role

ALL = tools(Operator("ada via mcp", Role.ADMIN, "here"), allow_changes=True)


def test_every_route_is_a_tool_or_left_out_for_a_reason() -> None:
    named = [*LOOKS.values(), *CHANGES.values(), *LEFT_OUT]
    assert sorted(named) == sorted(route.name for route in ROUTES)
    assert not {route.name for route in COMMANDS} & {*LOOKS.values()}
    assert {*HINTS, *ENDS} <= {*LOOKS, *CHANGES}


@pytest.mark.parametrize("role", Role)
def test_nobody_is_offered_what_the_role_may_not(role: Role) -> None:
    offered = tools(Operator("ada", role, "here"), allow_changes=True)
    assert {*offered} == {name for name, tool in ALL.items() if role.may(tool.route.role)}
    assert (role is Role.VIEWER) == (not {*CHANGES} & {*offered})


def test_a_tool_takes_what_its_route_takes() -> None:
    paths, components = document()["paths"], document()["components"]["schemas"]
    for tool in ALL.values():
        operation = paths[path_of(tool.route)][tool.route.method.lower()]
        known = {one["name"]: one["schema"] for one in operation["parameters"]}
        if tool.route.is_change:
            known |= operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
        schema = tool.schema()
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        text = json.dumps(schema["properties"]).replace("#/$defs/", "#/components/schemas/")
        found, known = json.loads(text), json.loads(json.dumps(known))
        assert found.keys() == known.keys()
        for name in found.keys() - {"why"}:
            assert found[name] == known[name], (tool.name, name)
        assert {*names_in(tool.route)} <= {*schema["required"]}
        assert {*re.findall(r"#/components/schemas/(\w+)", text)} <= {*components}
        assert tool.listed()["description"] and re.fullmatch(r"[a-z_]{3,40}", tool.name)


class Long(Answered):
    body: str
    rows: list[str]
    names: dict[str, int]


@pytest.mark.parametrize(
    "answer",
    [
        Long(body="x" * 5_000_000, rows=[], names={}),
        Long(body="", rows=["y" * 3_000] * 2_000, names={}),
        Long(body="", rows=[], names={f"n{number}": number for number in range(100_000)}),
        Long(body="\u202e\U000e0041\x00" * 50_000, rows=[], names={}),
    ],
)
def test_an_answer_is_short_enough_and_says_that_it_was_shortened(answer: Long) -> None:
    result = answers.shown(answer)
    (content,) = result["content"]
    notice, _, text = content["text"].partition("\n")
    assert len(text) <= answers.ANSWER_CHARACTERS and notice == answers.NOTICE
    assert json.loads(text)["shortened"].startswith("shortened to fit")
    assert content["text"].replace("\n", "").isprintable()


def test_a_short_answer_is_whole() -> None:
    answer = Long(body='say "hi"\n\u202e\U000e0041 Zürich', rows=["a"], names={"b": 1})
    (content,) = answers.shown(answer)["content"]
    text = content["text"].partition("\n")[2]
    assert json.loads(text) == msgspec.to_builtins(answer)
    assert "Zürich" in text and "\\u202e" in text and "\\udb40\\udc41" in text


class Slow(Answered):
    p95: float | None
    below: list[dict[str, float]]


def test_a_number_that_json_does_not_have_is_null() -> None:
    (content,) = answers.shown(Slow(p95=float("inf"), below=[{"p50": float("nan"), "p99": 1.5}]))["content"]
    text = content["text"].partition("\n")[2]
    assert json.loads(text, parse_constant=pytest.fail) == {"p95": None, "below": [{"p50": None, "p99": 1.5}]}


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_lines_are_the_same_however_the_bytes_come(size: int) -> None:
    stream = b"one\r\n\n" + b"x" * (LINE_BYTES + 5) + b"\n  two \n" + b"y" * LINE_BYTES + b"\nrest"
    splitter = Splitter()
    lines = [line for at in range(0, len(stream), size) for line in splitter.feed(stream[at : at + size])]
    assert lines == [b"one", None, b"two", b"y" * LINE_BYTES]
    assert splitter.feed(b"\n") == [b"rest"]
