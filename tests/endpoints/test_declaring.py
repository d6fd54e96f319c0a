"""What cannot be an endpoint is one clear sentence when it is declared, not a surprise for its first caller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast import Inbox
from landfast.domain.errors import ConfigError

pytestmark = pytest.mark.req("R14")


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    (tmp_path / "none.toml").touch()
    return Inbox(tmp_path / "none.toml", store=str(tmp_path / "i.db"), ledger=str(tmp_path / "l.db"))


def declare(inbox: Inbox, path: Any = "/internal/provision", name: str | None = None, **options: Any) -> None:
    options = {"secrets": ["env:SECRET"], **options}

    async def provision(event: Any, tx: Any) -> None: ...

    inbox.endpoint(path, name=name, **options)(provision)


@pytest.mark.parametrize(
    "path",
    ["", "internal", "/", "/internal/", "//internal", "/in/ternal", "/in", "/ready", "/health", "/a/../b", "/a b", "/a?b",
     "/a%2Fb", "/ä", "/" + "x" * 200, 7],
)  # fmt: skip
def test_a_path_that_cannot_be_one_is_refused(inbox: Inbox, path: Any) -> None:
    with pytest.raises(ConfigError, match=r"endpoint .*: .*path"):
        declare(inbox, path)
    assert not inbox.sources and not inbox.registry.handlers


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"failed": "retry"}, "there is no policy failed='retry'"),
        ({"failed": "run_agian"}, "did you mean 'run_again'"),
        ({"wait": -1}, "wait is -1; it is seconds from 0 to 60"),
        ({"wait": 61}, "wait is 61"),
        ({"wait": float("nan")}, "wait is nan"),
        ({"secrets": []}, 'secrets is missing.*provider="loopback"'),
        ({"provider": "loopback"}, "asks for no proof; leave secrets out"),
        ({"provider": "loopback", "secrets": [], "allow_from": ["10.0.0.1"]}, "allow_from is this machine"),
        ({"provider": "loopback", "secrets": [], "header": "X"}, "there is no option 'header'"),
        ({"provider": "strype"}, "there is no provider 'strype'"),
        ({"dedup": "body"}, "dedup is for webhooks"),
        ({"ignore": ["call"]}, "ignore is for webhooks"),
        ({"attempts": 0}, "attempts"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(inbox: Inbox, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        declare(inbox, **options)
    assert not inbox.sources and not inbox.registry.handlers


def test_a_path_or_a_name_that_is_taken_is_refused(inbox: Inbox) -> None:
    inbox.source("stripe", provider="stripe", secrets=["env:SECRET"])
    declare(inbox)
    with pytest.raises(ConfigError, match="the path is taken by provision"):
        declare(inbox, name="another")
    with pytest.raises(ConfigError, match="there is a source 'provision' already"):
        declare(inbox, "/internal/another")
    with pytest.raises(ConfigError, match="there is a source 'stripe' already"):
        declare(inbox, "/internal/another", name="stripe")
    with pytest.raises(ConfigError, match="it is there already"):
        inbox.source("provision", provider="stripe", secrets=["env:SECRET"])
    with pytest.raises(ConfigError, match="Landfast's own"):  # every source's path is below it
        declare(inbox, "/in/stripe", name="another")
    assert list(inbox.sources) == ["stripe", "provision"] and len(inbox.registry.handlers) == 1


def test_a_missing_secret_is_told_when_the_inbox_is_mounted(inbox: Inbox) -> None:
    declare(inbox, secrets=["env:NOBODY_HAS_SET_THIS"])
    with pytest.raises(ConfigError, match="NOBODY_HAS_SET_THIS"):
        inbox.asgi()


def test_an_endpoint_is_no_route_of_the_host(inbox: Inbox) -> None:
    declare(inbox)
    with pytest.raises(ConfigError, match="give it a route or handlers, not both"):
        inbox.middleware({"/somewhere": "provision"})
