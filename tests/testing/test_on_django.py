"""The test kit on Django's test database: in the test's thread, and in the transaction of its TestCase."""

from __future__ import annotations

import pytest

from tests.servers import Postgres

pytest_plugins = ["pytester"]

FILES = {
    "pytest.ini": """
[pytest]
filterwarnings = error
asyncio_default_fixture_loop_scope = function
addopts = -p no:cacheprovider
""",
    "site_settings.py": """
SECRET_KEY = "only for tests"
INSTALLED_APPS = ["landfast.django", "shop"]
DATABASES = {"default": %s}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
""",
    "shop/__init__.py": "",
    "shop/models.py": """
from django.db import models


class Order(models.Model):
    event = models.CharField(max_length=100)
    amount = models.IntegerField()
""",
    "shop/webhooks.py": """
from landfast import Inbox
from shop.models import Order

inbox = Inbox(ledger="django:default")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
def create_order(event):
    order = Order.objects.create(event=event.key, amount=event.data["data"]["object"]["amount"])
    assert order.amount > 0, "a payment of nothing"
""",
    "conftest.py": """
import os

os.environ["DJANGO_SETTINGS_MODULE"] = "site_settings"

import django
import pytest
from django.test import utils

django.setup()


@pytest.fixture(scope="session")
def databases():
    utils.setup_test_environment()
    made = utils.setup_databases(verbosity=0, interactive=False)
    yield
    utils.teardown_databases(made, 0)
    utils.teardown_test_environment()


@pytest.fixture
def landfast_app():
    from shop.webhooks import inbox

    return inbox
""",
    "test_a_site.py": """
def test_the_configured_database_is_refused(inbox): ...
""",
    "test_b_shop.py": """
import pytest
from django.test import TestCase, TransactionTestCase
from shop.models import Order

PAID = ("stripe", "payment_intent.succeeded")


class Orders:
    @pytest.fixture(autouse=True)
    def give_inbox(self, databases, inbox):
        self.inbox = inbox

    def test_an_order_is_made_once_beside_the_rows_of_the_test(self):
        Order.objects.create(event="of the test", amount=1)
        for _ in range(2):
            self.inbox.deliver(*PAID, amount=7)
        self.inbox.crash_at("before commit")
        self.inbox.drain()
        self.inbox.assert_handled_once("create_order")
        assert sorted(Order.objects.values_list("amount", flat=True)) == [1, 7]

    def test_what_a_handler_raises_leaves_nothing(self):
        assert not Order.objects.exists(), "a test finds nothing of another"
        self.inbox.deliver(*PAID, amount=0)
        with pytest.raises(AssertionError, match="a payment of nothing"):
            self.inbox.drain()
        assert not Order.objects.exists()

    def test_a_storm_with_crashes(self):
        self.inbox.storm(*PAID, times=4, events=5, crashes=2)
        assert Order.objects.count() == 5


class TestInATransaction(Orders, TestCase): ...


class TestCommitted(Orders, TransactionTestCase): ...
""",
}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_fixture_lives_in_the_transaction_of_a_django_test(
    pytester: pytest.Pytester, kind: str, request: pytest.FixtureRequest
) -> None:
    database: dict[str, object] = {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.sqlite3"}
    if kind == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        place = {"HOST": "127.0.0.1", "PORT": server.port, "USER": "postgres"}
        database = {"ENGINE": "django.db.backends.postgresql", "NAME": "site", **place}
    for name, text in FILES.items():
        file = pytester.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text % database if "%s" in text else text)
    ended = pytester.runpytest_subprocess("-n0")
    ended.assert_outcomes(passed=6, errors=1)
    ended.stdout.fnmatch_lines(["landfast_ledger: Django's database 'default' is the configured one, *"])
    assert not list(pytester.path.glob("*.sqlite3")), "the site's own database was not opened"
