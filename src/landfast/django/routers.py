"""A router for whoever lists what may be migrated: nothing of Landfast's is Django's to create, change or drop."""

from __future__ import annotations

from typing import Any


class LandfastRouter:
    """`DATABASE_ROUTERS = ["landfast.django.routers.LandfastRouter", ...]`. Landfast makes its own tables."""

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool | None:  # noqa: ARG002 - Django's signature
        return False if app_label == "landfast" else None
