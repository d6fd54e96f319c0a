"""One order for each payment."""

from django.db import models


class Order(models.Model):
    # Not unique, so that a second one would show.
    payment_id = models.CharField(max_length=100)
    amount = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.payment_id}: {self.amount}"
