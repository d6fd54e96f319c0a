"""The pytest plugin: the fixtures `inbox` and `async_inbox`, and what they are told about the user's application.

pytest imports this module in every project in whose environment Landfast is installed: it imports nothing else of
Landfast until one of its fixtures is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import asyncio

    from landfast import Inbox
    from landfast.testing.blocking import BlockingInboxTester
    from landfast.testing.tester import InboxTester


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("landfast_app", "the inbox that the fixture `inbox` tests, such as shop:inbox")
    parser.addini("landfast_ledger", "the database that handlers write to in tests: an address, sqlite, or configured")


@pytest.fixture
def inbox(landfast_inbox: InboxTester, landfast_runner: asyncio.Runner) -> BlockingInboxTester:
    """Your Landfast inbox on temporary stores, for `def` tests: deliver, drain, and look."""
    from landfast.testing.blocking import BlockingInboxTester

    return BlockingInboxTester(landfast_inbox, landfast_runner)


@pytest.fixture
def async_inbox(landfast_inbox: InboxTester) -> InboxTester:
    """Your Landfast inbox on temporary stores, for `async def` tests: await its calls."""
    return landfast_inbox


@pytest.fixture
def landfast_app(pytestconfig: pytest.Config) -> Any:
    """Which inbox is tested: "module:inbox", or the Inbox itself. Override it, or set landfast_app in pytest's
    configuration, LANDFAST_APP, or app in landfast.toml."""
    return pytestconfig.getini("landfast_app") or None


@pytest.fixture
def landfast_ledger(pytestconfig: pytest.Config) -> Any:
    """Where handlers write in tests: None for a temporary SQLite file, "sqlite" for one although your inbox uses
    another database, an address, engine or pool of a test database, or "configured" if your inbox names one already."""
    return pytestconfig.getini("landfast_ledger") or None


@pytest.fixture
def landfast_lifespan() -> bool:
    """Whether your `@inbox.lifespan` functions run around each drain. They do not, because they connect to wherever
    they say."""
    return False


@pytest.fixture
def landfast_inbox(
    landfast_app: Any,
    landfast_ledger: Any,
    landfast_lifespan: bool,  # noqa: FBT001 - a fixture, asked for by name
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[InboxTester]:
    """What `inbox` and `async_inbox` are made of: for a project in which a fixture of its own is called `inbox`."""
    from landfast.domain.errors import LandfastError
    from landfast.testing.tester import InboxTester

    try:
        found = _found(landfast_app, request.config)
        if found.settings.ledger.scheme == "django" and _has_pytest_django(request.config):
            _ask_for_db(request)
        folder = tmp_path_factory.mktemp("landfast")
        tester = InboxTester(found, folder, ledger=landfast_ledger, lifespan=landfast_lifespan)
    except LandfastError as error:
        pytest.fail(str(error), pytrace=False)
    # Whoever opens it during the test, such as an application that mounts it, gets the test's stores.
    for name in ("settings", "sources", "registry", "clock", "_lifespans"):
        monkeypatch.setattr(found, name, getattr(tester.app, name))
    yield tester
    try:
        tester.close()
    except AssertionError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def landfast_runner() -> Iterator[asyncio.Runner]:
    """The event loop of all `def` tests: `landfast.testing.blocking` says why there is one."""
    import asyncio

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        yield runner


def _has_pytest_django(pytestconfig: pytest.Config) -> bool:
    """By its entry point, or named with -p."""
    return any(pytestconfig.pluginmanager.hasplugin(name) for name in ("django", "pytest_django.plugin"))


def _ask_for_db(request: pytest.FixtureRequest) -> None:
    """From here on the test database of pytest-django is in place. It makes those of the tests that name `db`: so this
    one does."""
    if "db" not in request.fixturenames:
        request.node.fixturenames.append("db")
    request.getfixturevalue("db")


def _found(app: Any, pytestconfig: pytest.Config) -> Inbox:
    import sys

    from landfast import config
    from landfast.app import Inbox, load
    from landfast.domain.errors import UserError

    if isinstance(app, Inbox):
        return app
    app = config.load().app if app is None else app
    if not app:
        raise UserError(
            "landfast_app: which inbox is tested is not said; set landfast_app = shop:inbox in pytest's configuration,"
            " or let a fixture landfast_app return it"
        )
    if not isinstance(app, str):
        raise UserError(f"landfast_app: it is a {type(app).__name__}; it must be a landfast.Inbox, or module:inbox")
    if (root := str(pytestconfig.rootpath)) not in sys.path:  # where the configuration is that names it
        sys.path.insert(0, root)
    return load(app)
