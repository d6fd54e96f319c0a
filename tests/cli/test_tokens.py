"""`landfast tokens`: shown once, kept as a digest, listed and revoked."""

from __future__ import annotations

import json

import pytest

from landfast.domain.access import TOKEN_START
from tests.cli.conftest import Run


def made(landfast: Run, *words: str) -> str:
    ended = landfast("tokens", "create", *words)
    assert ended.code == 0, ended.err
    return ended.out.strip()


def test_a_token_is_printed_once_and_listed_without_itself(landfast: Run) -> None:
    assert landfast("migrate").code == 0
    token = made(landfast, "anna", "--role", "operator", "--for", "90d")
    assert token.startswith(TOKEN_START) and len(token) > 40
    listed = landfast("tokens", "list", "--json")
    (row,) = json.loads(listed.out)["tokens"]
    assert (row["name"], row["role"], row["state"]) == ("anna", "operator", "valid")
    assert token not in listed.out + landfast("tokens", "list").out + landfast("audit", "list", "--json").out


def test_of_one_name_there_is_one_until_it_is_revoked(landfast: Run) -> None:
    assert landfast("migrate").code == 0
    first = made(landfast, "ci")
    refused = landfast("tokens", "create", "ci")
    assert (refused.code, "revoke that one first" in refused.err) == (2, True)
    assert landfast("tokens", "revoke", "ci", "--why", "rotated").code == 0
    assert landfast("tokens", "revoke", "ci").code == 1
    assert made(landfast, "ci") != first
    states = [row["state"] for row in json.loads(landfast("tokens", "list", "--json").out)["tokens"]]
    assert states == ["valid", "revoked"]


@pytest.mark.parametrize("words", [("a b",), ("",), ("ci", "--for", "soon"), ("ci", "--for", "2999-01-01"), ("x/y",)])
def test_what_cannot_be_is_said_in_one_sentence(landfast: Run, words: tuple[str, ...]) -> None:
    assert landfast("migrate").code == 0
    refused = landfast("tokens", "create", *words)
    assert (refused.code, refused.err.startswith("landfast: tokens create: ")) == (2, True)


def test_without_a_token_the_list_says_who_may(landfast: Run) -> None:
    assert landfast("migrate").code == 0
    assert "on the loopback" in landfast("tokens", "list").out
