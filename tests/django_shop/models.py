"""The shop's table, which the tests make themselves."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    payment = models.TextField(primary_key=True)

    class Meta:
        app_label = "django_shop"
        db_table = "shop_order"
        managed = False

    def __str__(self) -> str:
        return str(self.payment)


class Line(models.Model):
    """Of an order that must be there at the COMMIT."""

    payment = models.TextField(primary_key=True)

    class Meta:
        app_label = "django_shop"
        db_table = "shop_line"
        managed = False

    def __str__(self) -> str:
        return str(self.payment)
