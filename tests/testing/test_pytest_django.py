"""A Django project whose tests run under pytest-django: the fixture `inbox` asks for its `db` by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT = {
    "settings.py": """
SECRET_KEY = "x"
INSTALLED_APPS = ["landfast.django", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
""",
    "shop/__init__.py": "",
    "shop/models.py": """
from django.db import models

class Order(models.Model):
    payment = models.CharField(max_length=100)
""",
    "shop/webhooks.py": """
from landfast import Event, Inbox

inbox = Inbox(ledger="django:default")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])

@inbox.on("stripe", "payment_intent.succeeded")
def create_order(event: Event) -> None:
    from shop.models import Order

    Order.objects.create(payment=event.data["data"]["object"]["id"])
""",
    "test_orders.py": """
import pytest

@pytest.mark.parametrize("again", [1, 2])
def test_one_order(inbox, again):
    from shop.models import Order

    assert Order.objects.count() == 0, "the test before was not rolled back"
    for _ in range(3):
        inbox.deliver("stripe", "payment_intent.succeeded")
    inbox.drain()
    inbox.assert_handled_once("create_order")
    assert Order.objects.count() == 1
""",
    "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = settings\nlandfast_app = shop.webhooks:inbox\npythonpath = .\n",
}


@pytest.mark.skipif(find_spec("pytest_django") is None, reason="pip install pytest-django")
def test_the_fixture_brings_the_test_database_of_pytest_django_along(tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    plugins = ["-p", "landfast.testing.plugin", "-p", "pytest_django.plugin", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--nomigrations", *plugins],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr
    assert not (tmp_path / "shop.sqlite3").exists(), "the configured database was touched"
