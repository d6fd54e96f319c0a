"""What Django asks of an app when it starts."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate


class LandfastConfig(AppConfig):
    name = "landfast.django"
    label = "landfast"
    verbose_name = "Landfast"

    def ready(self) -> None:
        """The inbox is not looked for yet: a mistake in it must not keep `manage.py check` from saying so."""
        from landfast.django.system_checks import check_landfast

        checks.register(check_landfast, "landfast")
        post_migrate.connect(_create_tables, sender=self, dispatch_uid="landfast")


def _create_tables(*, using: str, verbosity: int = 1, **more: Any) -> None:
    if "plan" not in more:
        return  # it was `flush`, which each TransactionTestCase ends with: the tables are there

    from landfast.django.tables import create_tables

    create_tables(using, verbosity=verbosity)
