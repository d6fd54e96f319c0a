"""What the admin lists. It has no table: events are read through the inbox, wherever that is."""

from __future__ import annotations

from typing import Any

from django.db import models


class NoRows(models.Manager):
    """`dumpdata` and the like find nothing, and ask no database."""

    def get_queryset(self) -> Any:
        return super().get_queryset().none()


class Event(models.Model):
    """For the admin's index, and for the permission landfast.view_event."""

    id = models.CharField(primary_key=True, max_length=32)

    objects = NoRows()

    class Meta:
        managed = False
        default_permissions = ("view",)
        base_manager_name = "objects"
        verbose_name = "event"
        verbose_name_plural = "events"

    def __str__(self) -> str:
        return str(self.id)
